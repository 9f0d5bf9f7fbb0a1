/**
 * The journal: the last changes, and where their time went. It is a ring of numbers that are overwritten in place, so a
 * change leaves no memory behind. The reports note each sync at its end. Nothing depends on the journal.
 */
import type { Now } from '../event.ts';
import type { FailureClass } from '../queues/backoff.ts';
import type { ControllerName } from '../options.ts';
import type { Sync, Unit } from '../caches/service-state.ts';
import { stageMs, TIMED_STAGES } from './stages.ts';

export interface Journal {
  /** Changes that it holds at most; 0 = it is off. */
  readonly size: number;
  /** How many changes have been noted. The newest is at `(count - 1) % size`. */
  count: number;
  /** `COLUMNS` for each change. */
  readonly numbers: Float64Array;
  readonly namespaces: string[];
  readonly names: string[];
  readonly controllers: ControllerName[];
  readonly results: JournalResult[];
}

export type JournalResult = FailureClass | 'written' | 'unchanged';

/** One sync of one unit. Times in milliseconds; -1 = there was no such stage. */
export interface JournalEntry {
  /** Grows by one with each change. */
  readonly id: number;
  readonly namespace: string;
  readonly name: string;
  readonly controller: ControllerName;
  readonly result: JournalResult;
  readonly writes: number;
  /** `startedAtMs`: monotonic, when the sync began. `endedWallMs`: wall clock, when it ended. */
  readonly startedAtMs: number;
  readonly endedWallMs: number;
  /** From the pod's Ready transition, which has whole seconds, until it was seen. */
  readonly watchInMs: number;
  /** From the first change seen until its turn, batch period included. */
  readonly queueMs: number;
  /** From its turn until its batch left for the shard, reads of uncertain objects included. */
  readonly batchWaitMs: number;
  readonly planMs: number;
  /** The longest that one of its writes waited for a token, or a pause. */
  readonly throttleMs: number;
  /** The longest that an answer to one of its writes took. */
  readonly writeMs: number;
  /** From the first change seen, or else from its turn, to the end. */
  readonly totalMs: number;
}

const COLUMNS = 10;

export function createJournal(size: number): Journal {
  return {
    size,
    count: 0,
    numbers: new Float64Array(size * COLUMNS),
    namespaces: Array.from({ length: size }, () => ''),
    names: Array.from({ length: size }, () => ''),
    controllers: Array.from({ length: size }, (): ControllerName => 'endpoints'),
    results: Array.from({ length: size }, (): JournalResult => 'unchanged'),
  };
}

/**
 * Notes a sync that has ended. It is no change if nothing had changed before it and it changed nothing. A standby notes
 * nothing: the leader's journal has the change.
 */
export function noteSync(journal: Journal, { controller, service }: Unit, sync: Sync, now: Now): void {
  const { size, numbers } = journal;
  const { failure, applied, changedAtMs, startedAtMs } = sync;
  if (size === 0 || sync.shadow !== null || (changedAtMs < 0 && applied === 0 && failure === null)) return;
  const at = journal.count++ % size;
  journal.namespaces[at] = service.namespace;
  journal.names[at] = service.name;
  journal.controllers[at] = controller.name;
  journal.results[at] = failure === null ? (applied > 0 ? 'written' : 'unchanged') : failure.class;
  const from = at * COLUMNS;
  numbers[from] = startedAtMs;
  numbers[from + 1] = now.wallMs;
  numbers[from + 2] = applied;
  numbers[from + 3] = sync.watchInSeconds < 0 ? -1 : sync.watchInSeconds * 1000;
  for (let i = 0; i < TIMED_STAGES.length; i++) numbers[from + 4 + i] = stageMs(TIMED_STAGES[i]!, sync, now.nowMs);
}

/** The newest `max` changes among those that are wanted, newest first. */
export function journalEntries(
  journal: Journal,
  max: number,
  wanted: (namespace: string, name: string) => boolean = () => true,
): JournalEntry[] {
  const entries: JournalEntry[] = [];
  const oldest = Math.max(0, journal.count - journal.size);
  for (let id = journal.count - 1; id >= oldest && entries.length < max; id--) {
    const at = id % journal.size;
    if (wanted(journal.namespaces[at]!, journal.names[at]!)) entries.push(entryAt(journal, id, at));
  }
  return entries;
}

function entryAt({ numbers, namespaces, names, controllers, results }: Journal, id: number, at: number): JournalEntry {
  const column = (i: number): number => numbers[at * COLUMNS + i]!;
  return {
    id,
    namespace: namespaces[at]!,
    name: names[at]!,
    controller: controllers[at]!,
    result: results[at]!,
    startedAtMs: column(0),
    endedWallMs: column(1),
    writes: column(2),
    watchInMs: column(3),
    queueMs: column(4),
    batchWaitMs: column(5),
    planMs: column(6),
    throttleMs: column(7),
    writeMs: column(8),
    totalMs: column(9),
  };
}
