/**
 * The steps by which the holder of the Lease begins to write after another controller (`hand-over.ts`). When something
 * has been due for long enough, endpointd looks once more, through new watches and at what the server holds. Otherwise
 * a watch that has fallen silent could be mistaken for a controller that has. Then the Lease has to say that endpointd
 * begins. Then it begins.
 */
import { addWork } from '../queues/workqueue.ts';
import type { Now } from '../event.ts';
import { areWatchesUp, openWatchesAgain } from '../reflectors/reflector-group.ts';
import type { ControllerState } from '../state.ts';
import { noteUncertain } from '../syncs/planner-view.ts';
import { keyOf, type Unit } from '../caches/service-state.ts';
import { roughDuration } from '../../lib/duration.ts';
import { renewNow } from './elector.ts';
import { handOverFields, ripeAtMs, stillWritten, waitsTooLong, WAITING, type HandOver } from './hand-over.ts';
import type { Leadership } from './leadership.ts';
import { assert } from '../../lib/assert.ts';

const TELL_EVERY_MS = 60_000;
/** Within this time a new watch has brought the events that an old one has missed. */
const SETTLE_MS = 1000;
/** The least time between two looks, because each opens new watches. */
const LOOK_EVERY_MS = 10_000;

/** Does what is due while the process waits for the hand-over. Returns when something is due next, as `step` does. */
export function stepHandOver(state: ControllerState, { elector }: Leadership, handOver: HandOver, now: Now): number {
  tellWaiting(state, handOver, now);
  const { step } = handOver;
  const ripeMs = ripeAtMs(handOver);
  const isLook = step.name === 'watches' || step.name === 'objects';
  if (isLook && (now.nowMs < ripeMs || !handOver.due.has(step.unit))) {
    handOver.step = { name: 'waiting', notBeforeMs: now.nowMs + LOOK_EVERY_MS };
  } else if (step.name === 'waiting' && now.nowMs >= Math.max(ripeMs, step.notBeforeMs)) {
    const [unit] = handOver.due.keys();
    openWatchesAgain(state.hands.reflectors, state.reflectors, now);
    handOver.step = { name: 'watches', unit: unit!, settledAtMs: Infinity };
  } else if (step.name === 'watches') {
    const isUp = areWatchesUp(state.reflectors);
    if (isUp && now.nowMs >= step.settledAtMs) readObjects(handOver, step.unit, now);
    else if (isUp !== step.settledAtMs < Infinity) {
      handOver.step = { ...step, settledAtMs: isUp ? now.nowMs + SETTLE_MS : Infinity };
    }
  } else if (step.name === 'objects' && step.isDue && areWatchesUp(state.reflectors)) {
    decide(state, handOver, step.unit, now);
    renewNow(elector, now);
  }
  return Math.min(handOver.tellAtMs, nextMs(handOver, now));
}

/** Goes back to the first step if the Lease is lost before endpointd has begun. */
export function giveUpHandOver({ handOver }: Leadership): void {
  if (handOver !== null && handOver.step.name !== 'begun') handOver.step = WAITING;
}

function readObjects(handOver: HandOver, unit: Unit, now: Now): void {
  const { controller, service, item } = unit;
  noteUncertain(service.view, controller.kind);
  addWork(controller.queue, item, 'fresh', now.nowMs);
  handOver.step = { name: 'objects', unit, sinceMs: now.nowMs, isDue: false };
}

function decide({ outbox }: ControllerState, handOver: HandOver, unit: Unit, now: Now): void {
  const { due, from } = handOver;
  assert(due.has(unit), `the hand-over is decided by ${keyOf(unit.service)}, which is not due`);
  handOver.step = { name: 'decided', atMs: now.nowMs };
  outbox.log('info', 0, 'Takes over: what is due is not written by the manager any more', {
    ...handOverFields(handOver, now),
    manager: from,
    controller: unit.controller.name,
    service: keyOf(unit.service),
    dueFor: roughDuration(now.nowMs - due.get(unit)!),
  });
}

function tellWaiting({ outbox, reflectors }: ControllerState, handOver: HandOver, now: Now): void {
  if (now.nowMs < handOver.tellAtMs) return;
  handOver.tellAtMs = now.nowMs + TELL_EVERY_MS;
  const isLong = waitsTooLong(handOver, now);
  const still = stillWritten(handOver, now);
  outbox.log(isLong ? 'warning' : 'info', 0, `Holds the Lease and writes nothing: ${why()}`, {
    ...handOverFields(handOver, now),
    ...(isLong ? { managerStillWrites: still.length === 0 ? 'none' : still.join(', ') } : {}),
  });

  function why(): string {
    if (!areWatchesUp(reflectors)) return 'its caches are not up to date';
    if (handOver.due.size === 0) return 'nothing is due, so it waits on';
    return isLong && still.length > 0
      ? 'nobody writes what is due, and the manager still writes objects of some controllers: switch them off there'
      : 'it waits until the manager leaves something undone';
  }
}

function nextMs(handOver: HandOver, now: Now): number {
  const { step } = handOver;
  if (step.name === 'waiting') {
    const nextMs = Math.max(ripeAtMs(handOver), step.notBeforeMs);
    // A step that is due by now is taken in the next call.
    return Math.max(nextMs, now.nowMs);
  }
  return step.name === 'watches' ? step.settledAtMs : Infinity;
}
