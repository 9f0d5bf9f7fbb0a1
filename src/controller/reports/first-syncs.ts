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
  /** A standby says nothing before it leads. */
  standsBy: boolean;
  readonly stuck: Set<Unit>;
  /** Writes that were applied so far. */
  writes: number;
  /** When the first lists were asked for, and the Services that they have told. */
  startedAtMs: number;
  services: number;
}

export function createFirstSyncs(): FirstSyncs {
  return { due: new Set(), allDue: false, standsBy: false, stuck: new Set(), writes: 0, startedAtMs: 0, services: 0 };
}

/** What the first lists have brought, when every controller has begun with it. */
export interface FirstLists {
  readonly services: number;
  /** When they were asked for. */
  readonly startedAt: Now;
  /** Nothing is written yet. */
  readonly standsBy: boolean;
}

/** Nothing more becomes due. */
export function noteAllDue(first: FirstSyncs, log: Log, { services, startedAt, standsBy }: FirstLists, now: Now): void {
  Object.assign(first, { allDue: true, services, startedAtMs: startedAt.nowMs, standsBy });
  tellIfDone(first, log, now);
}

export function noteFirstSync(
  first: FirstSyncs,
  log: Log,
  unit: Unit,
  { failure, applied, shadow }: Sync,
  now: Now,
): void {
  if (first.due === null) return;
  first.writes += applied;
  // What a standby has planned and not written is not synced.
  if (failure !== null || (shadow !== null && shadow.writes.length > 0)) return;
  first.stuck.delete(unit);
  first.due.delete(unit);
  tellIfDone(first, log, now);
}

/** A standby leads now: what it has planned before is written first. */
export function noteLeads(first: FirstSyncs, log: Log, now: Now): void {
  first.standsBy = false;
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
  const { due, allDue, standsBy, services, writes, stuck, startedAtMs } = first;
  if (!allDue || standsBy || due === null || due.size > 0) return;
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
