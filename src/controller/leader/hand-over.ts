/**
 * Whether the hand-over from another controller has come (`--take-over-from`). That controller knows nothing of the
 * Lease. So whoever holds the Lease writes nothing while it works, and finds out by two things that it does no longer:
 * something has been due for a while, and it has written nothing meanwhile. The Lease remembers by an annotation that
 * endpointd has begun.
 */
import type { Sync, Unit } from '../caches/service-state.ts';
import type { Now } from '../event.ts';
import { lastWriters } from '../reports/writer-name.ts';
import { UNPLANNED } from '../writes/shadow.ts';
import { leaseAnnotation } from '../../kube/lease.ts';
import { roughDuration } from '../../lib/duration.ts';
import type { ObjectBytes } from '../../shard/protocol.ts';
import type { Elector } from './elector.ts';

export interface TakeOverOptions {
  /** The other controller, by its name in managedFields. */
  readonly from: string;
  /** How long something must have been due. */
  readonly afterMs: number;
}

export interface HandOver extends TakeOverOptions {
  /** Units with planned writes, by the monotonic ms since when; the longest due first. */
  readonly due: Map<Unit, number>;
  /** Monotonic ms at which a write of the manager was seen last, by the controller whose object it was. */
  readonly wroteAtMs: Map<string, number>;
  step: HandOverStep;
  /** Monotonic ms of the next line for the log. */
  tellAtMs: number;
}

/** What of the leadership concerns it. */
export interface HandOverHolder {
  readonly elector: Elector;
  /** null = who holds the Lease writes. */
  readonly handOver: HandOver | null;
}

export type HandOverStep =
  /** `notBeforeMs`: a last look has found nothing due just now. */
  | { readonly name: 'waiting'; readonly notBeforeMs: number }
  /** The last look: all watches are opened anew, because one may have fallen silent. `settledAtMs`: Infinity = not yet. */
  | { readonly name: 'watches'; readonly unit: Unit; readonly settledAtMs: number }
  /** The last look: the unit's objects are read, and planned once more. `isDue`: its writes were planned again. */
  | { readonly name: 'objects'; readonly unit: Unit; readonly sinceMs: number; readonly isDue: boolean }
  /** The Lease is to say so first. */
  | { readonly name: 'decided'; readonly atMs: number }
  | { readonly name: 'begun' };

export const WAITING: HandOverStep = { name: 'waiting', notBeforeMs: -Infinity };

/** The value is the controller that endpointd has taken over from. Who removes it makes the next leader wait again. */
export const TOOK_OVER_ANNOTATION = 'endpointd/took-over-from';

/** In units of `afterMs`. */
const TOO_LONG = 5;

export function createHandOver(options: TakeOverOptions): HandOver {
  return { ...options, due: new Map(), wroteAtMs: new Map(), step: WAITING, tellAtMs: -Infinity };
}

/** Whether endpointd has taken over, this process or one before: who holds the Lease writes. */
export function hasTakenOver({ handOver, elector }: HandOverHolder): boolean {
  if (handOver === null) return true;
  const { step, from } = handOver;
  const { phase, seen } = elector;
  if (step.name === 'begun' || (seen !== null && leaseAnnotation(seen.lease, TOOK_OVER_ANNOTATION) === from))
    return true;
  return step.name === 'decided' && phase.name === 'leader' && phase.confirmed.nowMs >= step.atMs;
}

/** Takes a state of one of the objects that endpointd would write for the unit. */
export function noteObjectWritten(
  { handOver }: HandOverHolder,
  { controller }: Unit,
  content: ObjectBytes,
  now: Now,
): void {
  if (handOver !== null && lastWriters(content).names.includes(handOver.from))
    handOver.wroteAtMs.set(controller.name, now.nowMs);
}

/**
 * A sync of a process that writes nothing has ended. What failed says nothing of what is due. Nor do deletions of what
 * nobody wants: upstream makes some of them at its start alone.
 */
export function noteDue(
  { handOver }: HandOverHolder,
  unit: Unit,
  { shadow, failure, startedAtMs }: Sync,
  now: Now,
): void {
  if (handOver === null) return;
  const { due, step } = handOver;
  if (failure !== null || shadow?.writes.some(({ id }) => id !== UNPLANNED) !== true) {
    due.delete(unit);
    return;
  }
  if (!due.has(unit)) due.set(unit, now.nowMs);
  if (step.name === 'objects' && step.unit === unit && startedAtMs >= step.sinceMs)
    handOver.step = { ...step, isDue: true };
}

/** Monotonic ms at which the longest due has been so for the whole time; Infinity = nothing is due. */
export function ripeAtMs({ due, wroteAtMs, afterMs }: HandOver): number {
  const [longest] = due.values();
  return longest === undefined ? Infinity : Math.max(longest, ...wroteAtMs.values()) + afterMs;
}

/** Something has been due for so long that somebody should look: the hand-over is stuck, or about to be. */
export function waitsTooLong({ due, afterMs }: HandOver, now: Now): boolean {
  const [longest] = due.values();
  return longest !== undefined && now.nowMs - longest > TOO_LONG * afterMs;
}

/** The controllers whose objects the manager still writes, by name: each of them puts the begin off for all. */
export function stillWritten({ wroteAtMs, afterMs }: HandOver, now: Now): string[] {
  return [...wroteAtMs].filter(([, atMs]) => now.nowMs - atMs < afterMs).map(([name]) => name);
}

/** For the line in the log. */
export function handOverFields({ from, due, wroteAtMs, afterMs }: HandOver, now: Now): Record<string, string | number> {
  const [longest] = due.values();
  const wrote = [...wroteAtMs].map(([name, atMs]) => `${name} ${roughDuration(now.nowMs - atMs)} ago`);
  return {
    manager: from,
    due: due.size,
    ...(longest === undefined ? {} : { longestDue: roughDuration(now.nowMs - longest) }),
    managerWrote: wrote.length === 0 ? 'not seen' : wrote.join(', '),
    after: roughDuration(afterMs),
  };
}
