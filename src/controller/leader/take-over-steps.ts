/**
 * The steps by which the holder of the Lease begins to write after another controller (`take-over.ts`). When something
 * has been due for long enough, endpointd looks once more, through new watches and at what the server holds. Otherwise
 * a watch that has fallen silent could be mistaken for a controller that has. Then the Lease has to say that endpointd
 * begins. Then it begins.
 */
import { addWork } from '../queues/workqueue.ts';
import type { Now } from '../event.ts';
import { areWatchesUp, caughtUpAtMs, openWatchesAgain } from '../reflectors/reflector-group.ts';
import type { Reflector } from '../reflectors/reflector.ts';
import type { ControllerState } from '../state.ts';
import { noteUncertain } from '../syncs/planner-view.ts';
import { keyOf, type Unit } from '../caches/service-state.ts';
import { roughDuration } from '../../lib/duration.ts';
import { renewNow } from './elector.ts';
import { ripeAtMs, stillWritten, takeOverFields, waitsTooLong, WAITING, type TakeOver } from './take-over.ts';
import type { Leadership } from './leadership.ts';
import { assert } from '../../lib/assert.ts';

const TELL_EVERY_MS = 60_000;
/**
 * A new watch that is silent for so long has missed nothing more. It is twice the time of a failover (`catch-up.ts`): what
 * is due has waited for `afterMs` already, and a mistake would make two writers.
 */
const QUIET_MS = 1000;
/** The least time between two looks, because each opens new watches. */
const LOOK_EVERY_MS = 10_000;

/** Does what is due while the process waits for the take-over. Returns when something is due next, as `step` does. */
export function stepTakeOver(state: ControllerState, { elector }: Leadership, takeOver: TakeOver, now: Now): number {
  tellWaiting(state, takeOver, now);
  const { step } = takeOver;
  const ripeMs = ripeAtMs(takeOver);
  const isLook = step.name === 'watches' || step.name === 'objects';
  if (isLook && (now.nowMs < ripeMs || !takeOver.due.has(step.unit))) {
    takeOver.step = { name: 'waiting', notBeforeMs: now.nowMs + LOOK_EVERY_MS };
  } else if (step.name === 'waiting' && now.nowMs >= Math.max(ripeMs, step.notBeforeMs)) {
    const [unit] = takeOver.due.keys();
    openWatchesAgain(state.hands.reflectors, state.reflectors, now.nowMs, now);
    takeOver.step = { name: 'watches', unit: unit!, sinceMs: now.nowMs };
  } else if (step.name === 'watches') {
    openWatchesAgain(state.hands.reflectors, state.reflectors, step.sinceMs, now);
    if (now.nowMs >= watchesTellAtMs(state.reflectors)) readObjects(takeOver, step.unit, now);
  } else if (step.name === 'objects' && step.isDue && areWatchesUp(state.reflectors)) {
    decide(state, takeOver, step.unit, now);
    renewNow(elector, now);
  }
  return Math.min(takeOver.tellAtMs, nextMs(state, takeOver, now));
}

/** Monotonic ms at which the new watches have told what the old ones may have missed; Infinity = one does not run. */
function watchesTellAtMs(reflectors: readonly Reflector[]): number {
  if (!areWatchesUp(reflectors)) return Infinity;
  const followed = reflectors.filter(({ refused }) => !refused);
  return Math.max(...followed.map((reflector) => caughtUpAtMs(reflector, QUIET_MS)));
}

/**
 * Goes back to the first step if the Lease is lost before endpointd has begun. The other controller may have lost its
 * own in the same trouble, such as a machine that stood still.
 */
export function giveUpTakeOver({ takeOver }: Leadership, now: Now): void {
  if (takeOver === null || takeOver.step.name === 'begun') return;
  takeOver.step = WAITING;
  takeOver.outageAtMs = now.nowMs;
}

function readObjects(takeOver: TakeOver, unit: Unit, now: Now): void {
  const { controller, service, item } = unit;
  noteUncertain(service.view, controller.kind);
  addWork(controller.queue, item, 'fresh', now.nowMs);
  takeOver.step = { name: 'objects', unit, sinceMs: now.nowMs, isDue: false };
}

function decide({ outbox }: ControllerState, takeOver: TakeOver, unit: Unit, now: Now): void {
  const { due } = takeOver;
  assert(due.has(unit), `the take-over is decided by ${keyOf(unit.service)}, which is not due`);
  takeOver.step = { name: 'decided', atMs: now.nowMs };
  outbox.log('info', 0, 'Takes over: what is due is not written by the manager any more', {
    ...takeOverFields(takeOver, now),
    controller: unit.controller.name,
    service: keyOf(unit.service),
    dueFor: roughDuration(now.nowMs - due.get(unit)!),
  });
}

function tellWaiting({ outbox, reflectors }: ControllerState, takeOver: TakeOver, now: Now): void {
  if (now.nowMs < takeOver.tellAtMs) return;
  takeOver.tellAtMs = now.nowMs + TELL_EVERY_MS;
  const isLong = waitsTooLong(takeOver, now);
  const still = stillWritten(takeOver, now);
  outbox.log(isLong ? 'warning' : 'info', 0, `Holds the Lease and writes nothing: ${why()}`, {
    ...takeOverFields(takeOver, now),
    ...(isLong ? { managerStillWrites: still.length === 0 ? 'none' : still.join(', ') } : {}),
  });

  function why(): string {
    if (!areWatchesUp(reflectors)) return 'its caches are not up to date';
    if (takeOver.due.size === 0) return 'nothing is due, so it waits on';
    return isLong && still.length > 0
      ? 'nobody writes what is due, and the manager still writes objects of some controllers: switch them off there'
      : 'it waits until the manager leaves something undone';
  }
}

function nextMs({ reflectors }: ControllerState, takeOver: TakeOver, now: Now): number {
  const { step } = takeOver;
  if (step.name === 'waiting') {
    const nextMs = Math.max(ripeAtMs(takeOver), step.notBeforeMs);
    // A step that is due by now is taken in the next call.
    return Math.max(nextMs, now.nowMs);
  }
  return step.name === 'watches' ? watchesTellAtMs(reflectors) : Infinity;
}
