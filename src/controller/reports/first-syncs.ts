/**
 * The log line that an operator waits for when this process takes over: everything that was due after the first lists
 * has been synced once.
 */
import type { Now } from '../event.ts';
import type { Sync, Unit } from '../caches/service-state.ts';
import type { Log } from '../outbox.ts';
import { roughDuration } from '../../lib/duration.ts';
import { assert } from '../../lib/assert.ts';

export interface FirstSyncs {
  /** Units that were due and are neither synced nor stuck yet; null = the line was written. */
  due: Set<Unit> | null;
  /** Every controller has filled its caches, so no further unit becomes due. */
  allDue: boolean;
  /** The line is not told while the process waits to write. */
  readonly waitsToWrite: () => boolean;
  readonly stuck: Set<Unit>;
  /** Writes that were applied so far. */
  writes: number;
  /** When the first lists were asked for, and how many Services they told. */
  startedAtMs: number;
  services: number;
}

export function createFirstSyncs(waitsToWrite: () => boolean): FirstSyncs {
  return { due: new Set(), allDue: false, waitsToWrite, stuck: new Set(), writes: 0, startedAtMs: 0, services: 0 };
}

/** The first lists, when every controller has begun with what they told. */
export interface FirstLists {
  readonly services: number;
  /** Monotonic ms at which they were asked for. */
  readonly startedAtMs: number;
}

/** No further unit becomes due. */
export function noteAllDue(first: FirstSyncs, log: Log, { services, startedAtMs }: FirstLists, now: Now): void {
  assert(!first.allDue, 'the first lists are complete once');
  Object.assign(first, { allDue: true, services, startedAtMs });
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
  // A plan whose writes were not sent is no sync. A process that has lost the Lease plans the unit again.
  const isUnsent = shadow === null ? first.waitsToWrite() : shadow.writes.length > 0;
  if (failure !== null || isUnsent) return;
  first.stuck.delete(unit);
  first.due.delete(unit);
  tellIfDone(first, log, now);
}

/** A stuck unit no longer delays the line. It is counted in it. */
export function noteFirstStuck(first: FirstSyncs, log: Log, unit: Unit, now: Now): void {
  if (first.due === null) return;
  first.stuck.add(unit);
  first.due.delete(unit);
  tellIfDone(first, log, now);
}

/**
 * Nothing waits for a unit that is forgotten. While the process writes, it forgets a unit only after a sync. So one that
 * is due is forgotten only while the process waits to write, and the line comes when it begins.
 */
export function forgetFirstSync({ due, stuck }: FirstSyncs, unit: Unit): void {
  due?.delete(unit);
  stuck.delete(unit);
}

/** Also called when the process begins to write. */
export function tellIfDone(first: FirstSyncs, log: Log, now: Now): void {
  const { due, allDue, waitsToWrite, services, writes, stuck, startedAtMs } = first;
  if (!allDue || waitsToWrite() || due === null || due.size > 0) return;
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
