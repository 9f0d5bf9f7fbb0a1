/**
 * The journal: the last changes, and where their time went. It is a ring of numbers that are overwritten in place, so a
 * change leaves no memory behind. The reports note each sync at its end. Nothing depends on the journal.
 */
import type { Now } from '../event.ts';
import type { FailureClass } from '../queues/backoff.ts';
import type { ControllerName } from '../options.ts';
import type { Sync, Unit } from '../caches/service-state.ts';
import { STAGE_NAMES, stageMs, STAGES, type StageTimes } from './stages.ts';

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

/** One sync of one unit. */
export interface JournalEntry extends StageTimes {
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
}

/** Before the stages. */
const OTHER_COLUMNS = 3;
const COLUMNS = OTHER_COLUMNS + STAGE_NAMES.length;

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
 * Notes a sync that has ended. It is no change if no pod had changed before it and it changed nothing: so the looks at all
 * Services after a start leave those before them in the journal. A standby notes nothing: the leader's journal has the
 * change.
 */
export function noteSync(journal: Journal, unit: Unit, sync: Sync, now: Now): void {
  const { size, numbers } = journal;
  const { controller, service } = unit;
  const { failure, applied, changedAtMs, startedAtMs } = sync;
  if (size === 0 || sync.shadow !== null || (changedAtMs < 0 && applied === 0 && failure === null)) return;
  const at = journal.count++ % size;
  journal.namespaces[at] = service.namespace;
  journal.names[at] = service.name;
  journal.controllers[at] = controller.name;
  journal.results[at] = failure === null ? (applied > 0 ? 'written' : 'unchanged') : failure.class;
  const from = at * COLUMNS;
  const firstMs = firstChangeMs(unit, sync);
  numbers[from] = startedAtMs;
  numbers[from + 1] = now.wallMs;
  numbers[from + 2] = applied;
  for (let i = 0; i < STAGE_NAMES.length; i++) {
    numbers[from + OTHER_COLUMNS + i] = stageMs(STAGE_NAMES[i]!, sync, firstMs, now.nowMs);
  }
}

/** When the first change came that the sync covers, a pod's or another; -1 = nothing has changed. */
function firstChangeMs({ item: { coveredMs } }: Unit, { changedAtMs }: Sync): number {
  if (coveredMs < 0) return changedAtMs;
  // The queue has whole milliseconds.
  return changedAtMs < 0 || coveredMs < Math.floor(changedAtMs) ? coveredMs : changedAtMs;
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
  const times = STAGE_NAMES.map((stage, i) => [STAGES[stage], column(OTHER_COLUMNS + i)] as const);
  return {
    id,
    namespace: namespaces[at]!,
    name: names[at]!,
    controller: controllers[at]!,
    result: results[at]!,
    startedAtMs: column(0),
    endedWallMs: column(1),
    writes: column(2),
    ...(Object.fromEntries(times) as unknown as StageTimes),
  };
}
