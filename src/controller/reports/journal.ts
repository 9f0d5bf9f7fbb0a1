/**
 * The last changes and where their time went: a ring of numbers that are written in place, so a change costs no memory
 * that stays. The reports tell it of each sync at its end. It steers nothing.
 */
import type { Now } from '../event.ts';
import type { FailureClass } from '../queues/backoff.ts';
import type { ControllerName } from '../options.ts';
import type { Sync, Unit } from '../caches/service-state.ts';

export interface Journal {
  /** Changes that it holds at most; 0 = it is off. */
  readonly size: number;
  /** Changes that it was ever told of; the newest is at `(count - 1) % size`. */
  count: number;
  /** `COLUMNS` for each change. */
  readonly numbers: Float64Array;
  readonly namespaces: string[];
  readonly names: string[];
  readonly controllers: ControllerName[];
  readonly results: JournalResult[];
}

export type JournalResult = FailureClass | 'written' | 'unchanged';

/** One sync of one Service by one controller; milliseconds, -1 = there was no such stage. */
export interface JournalEntry {
  /** Grows by one with each change. */
  readonly id: number;
  readonly namespace: string;
  readonly name: string;
  readonly controller: ControllerName;
  readonly result: JournalResult;
  readonly writes: number;
  /** Monotonic, when the sync began, and wall-clock, when it ended. */
  readonly startedAtMs: number;
  readonly endedWallMs: number;
  /** From the pod's Ready transition, told in whole seconds, until it was seen. */
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
 * Takes a sync that has ended. A sync that nothing had changed for, and that changed nothing, is no change. Nor is one
 * of a process that stands by: the leader's journal has it.
 */
export function noteSync(journal: Journal, { controller, service }: Unit, sync: Sync, now: Now): void {
  const { size, numbers } = journal;
  const { failure, applied, changedAtMs, startedAtMs, postedAtMs, plannedAtMs } = sync;
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
  numbers[from + 4] = changedAtMs < 0 ? -1 : startedAtMs - changedAtMs;
  numbers[from + 5] = postedAtMs < 0 ? -1 : postedAtMs - startedAtMs;
  numbers[from + 6] = plannedAtMs < 0 ? -1 : plannedAtMs - postedAtMs;
  numbers[from + 7] = sync.throttledMs;
  numbers[from + 8] = sync.answeredMs;
  numbers[from + 9] = now.nowMs - (changedAtMs < 0 ? startedAtMs : changedAtMs);
}

/** Newest first, at most `max` of those that are asked for. */
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
