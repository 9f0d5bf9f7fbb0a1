/**
 * Whether the take-over from another controller has come (`--take-over-from`). That controller knows nothing of the
 * Lease. So the holder of the Lease writes nothing while the other controller works. Two things together show that it
 * works no longer: something has been due for a while, and it has written nothing meanwhile. An annotation of the Lease
 * remembers that endpointd has begun.
 */
import { keyOf, type Sync, type Unit } from '../caches/service-state.ts';
import type { Now } from '../event.ts';
import { lastWritersOf } from '../caches/writer-name.ts';
import { leaseAnnotation } from '../../kube/lease.ts';
import { roughDuration } from '../../lib/duration.ts';
import { type ObjectBytes, UNPLANNED } from '../../shard/protocol.ts';
import type { Elector } from './elector.ts';

export interface TakeOverOptions {
  /** The other controller, by its name in managedFields. */
  readonly from: string;
  /** How long something must have been due before a last look. */
  readonly afterMs: number;
}

export interface TakeOver extends TakeOverOptions {
  /** Units with planned writes, each with the monotonic ms since when. The one that has been due longest is first. */
  readonly due: Map<Unit, number>;
  /** The last write of the other controller that was seen, by the name of the controller here that keeps the object. */
  readonly wrote: Map<string, SeenWrite>;
  /** Monotonic ms at which the API server was last out of reach, or the Lease was lost; -Infinity = never. */
  outageAtMs: number;
  step: TakeOverStep;
  /** Monotonic ms of the next log line. */
  tellAtMs: number;
}

interface SeenWrite {
  /** Monotonic. */
  readonly atMs: number;
  /** The key of the Service. Anybody may write under the name of the other controller: it tells where to look. */
  readonly service: string;
}

/** The part of the leadership that a take-over needs. */
export interface TakeOverHolder {
  readonly elector: Elector;
  /** null = the holder of the Lease writes at once. */
  readonly takeOver: TakeOver | null;
}

export type TakeOverStep =
  /** `notBeforeMs`: the time of the next look. The one before found nothing due. */
  | { readonly name: 'waiting'; readonly notBeforeMs: number }
  /** The last look, first part: all watches are opened anew, because one may have fallen silent. */
  | { readonly name: 'watches'; readonly unit: Unit; readonly sinceMs: number }
  /**
   * The last look, second part: the unit's objects are read and planned once more. `isDue`: the plan had writes again.
   */
  | { readonly name: 'objects'; readonly unit: Unit; readonly sinceMs: number; readonly isDue: boolean }
  /** The Lease has to say it first. */
  | { readonly name: 'decided'; readonly atMs: number }
  | { readonly name: 'begun' };

export const WAITING: TakeOverStep = { name: 'waiting', notBeforeMs: -Infinity };

/**
 * Its value is the controller that endpointd has taken over from. If somebody removes it, the next leader waits again.
 */
export const TOOK_OVER_ANNOTATION = 'endpointd/took-over-from';

/** Waiting is too long after so many times `afterMs`. */
const TOO_LONG = 5;

export function createTakeOver(options: TakeOverOptions): TakeOver {
  return { ...options, due: new Map(), wrote: new Map(), outageAtMs: -Infinity, step: WAITING, tellAtMs: -Infinity };
}

/** Whether the holder of the Lease writes nothing yet, because neither this process nor one before has taken over. */
export function awaitsTakeOver({ takeOver, elector }: TakeOverHolder): boolean {
  if (takeOver === null) return false;
  const { step, from } = takeOver;
  const { phase, seen } = elector;
  if (step.name === 'begun' || (seen !== null && leaseAnnotation(seen.lease, TOOK_OVER_ANNOTATION) === from))
    return false;
  return step.name !== 'decided' || phase.name !== 'leader' || phase.confirmed.nowMs < step.atMs;
}

/** Notes a state of an object that endpointd keeps for the unit. */
export function noteObjectWritten(
  { takeOver }: TakeOverHolder,
  { controller, service }: Unit,
  content: ObjectBytes,
  now: Now,
): void {
  if (takeOver !== null && lastWritersOf(content).names.includes(takeOver.from))
    takeOver.wrote.set(controller.name, { atMs: now.nowMs, service: keyOf(service) });
}

/**
 * Notes the end of a shadow's sync. A failed sync does not tell what is due. Deletes of objects that no unit plans are
 * not due either: upstream makes some of them only at its start. Nor is anything of a Service that is being deleted: its
 * namespace may be too, and then the API server refuses to the other controller what is planned.
 */
export function noteDue(
  { takeOver }: TakeOverHolder,
  unit: Unit,
  { shadow, failure, startedAtMs }: Sync,
  now: Now,
): void {
  if (takeOver === null) return;
  const { due, step } = takeOver;
  const hasWrites = failure === null && shadow?.writes.some(({ id }) => id !== UNPLANNED) === true;
  if (!hasWrites || unit.service.record?.deleting === true) {
    due.delete(unit);
    return;
  }
  if (!due.has(unit)) due.set(unit, now.nowMs);
  if (step.name === 'objects' && step.unit === unit && startedAtMs >= step.sinceMs)
    takeOver.step = { ...step, isDue: true };
}

/**
 * Monotonic ms at which a last look may begin: something has been due for `afterMs`, the other controller has not written
 * for `afterMs`, and as long have passed since an outage. The other controller may have ended with its Lease in that, and
 * takes a while to come back. Infinity = nothing is due.
 */
export function ripeAtMs({ due, wrote, outageAtMs, afterMs }: TakeOver): number {
  const [longest] = due.values();
  if (longest === undefined) return Infinity;
  return Math.max(longest, outageAtMs, ...Array.from(wrote.values(), ({ atMs }) => atMs)) + afterMs;
}

/** Whether something has been due for so long that a person should look: the take-over is stuck. */
export function waitsTooLong({ due, afterMs }: TakeOver, now: Now): boolean {
  const [longest] = due.values();
  return longest !== undefined && now.nowMs - longest > TOO_LONG * afterMs;
}

/**
 * The controllers whose objects the other controller still writes, by name. Each of them delays the take-over for all.
 */
export function stillWritten({ wrote, afterMs }: TakeOver, now: Now): string[] {
  return [...wrote].filter(([, { atMs }]) => now.nowMs - atMs < afterMs).map(([name]) => name);
}

/** For the line in the log. */
export function takeOverFields({ from, due, wrote, afterMs }: TakeOver, now: Now): Record<string, string | number> {
  const [longest] = due.values();
  const seen = [...wrote].map(
    ([name, { atMs, service }]) => `${name} ${roughDuration(now.nowMs - atMs)} ago (${service})`,
  );
  return {
    manager: from,
    due: due.size,
    ...(longest === undefined ? {} : { longestDue: roughDuration(now.nowMs - longest) }),
    managerWrote: seen.length === 0 ? 'not seen' : seen.join(', '),
    after: roughDuration(afterMs),
  };
}
