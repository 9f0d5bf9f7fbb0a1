/**
 * The log line that an operator waits for when this process takes over: everything that was due from the first lists
 * has been synced once.
 */
import type { Now } from '../event.ts';
import type { Sync, Unit } from '../caches/service-state.ts';
import type { Log } from '../outbox.ts';
import { roughDuration } from '../../lib/duration.ts';

export interface FirstSyncs {
  /** Units that were due and have neither been synced nor become stuck; null = the line was written. */
  due: Set<Unit> | null;
  /** Every controller has its caches: nothing more becomes due. */
  allDue: boolean;
  readonly stuck: Set<Unit>;
  /** Writes that were applied so far. */
  writes: number;
  /** When the first lists were asked for, and the Services that they have told. */
  startedAtMs: number;
  services: number;
}

export function createFirstSyncs(): FirstSyncs {
  return { due: new Set(), allDue: false, stuck: new Set(), writes: 0, startedAtMs: 0, services: 0 };
}

/** Nothing more becomes due. */
export function noteAllDue(first: FirstSyncs, log: Log, services: number, startedAt: Now, now: Now): void {
  Object.assign(first, { allDue: true, services, startedAtMs: startedAt.nowMs });
  tellIfDone(first, log, now);
}

export function noteFirstSync(first: FirstSyncs, log: Log, unit: Unit, { failure, applied }: Sync, now: Now): void {
  if (first.due === null) return;
  first.writes += applied;
  if (failure !== null) return;
  first.stuck.delete(unit);
  first.due.delete(unit);
  tellIfDone(first, log, now);
}

/** The unit holds up the line no longer, and is counted in it. */
export function noteFirstStuck(first: FirstSyncs, log: Log, unit: Unit, now: Now): void {
  if (first.due === null) return;
  first.stuck.add(unit);
  first.due.delete(unit);
  tellIfDone(first, log, now);
}

function tellIfDone(first: FirstSyncs, log: Log, now: Now): void {
  const { due, allDue, services, writes, stuck, startedAtMs } = first;
  if (!allDue || due === null || due.size > 0) return;
  first.due = null;
  const took = roughDuration(now.nowMs - startedAtMs);
  log('info', 0, 'All services are synced', {
    services,
    took,
    writes,
    stuck: new Set([...stuck].map(({ service }) => service)).size,
  });
  stuck.clear();
}
