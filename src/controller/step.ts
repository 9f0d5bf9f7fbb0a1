/**
 * The controller as one synchronous machine. An event and the time go in; effects are appended to
 * `state.outbox.effects`. There is no await, no timer, no ambient time or randomness: the same events give the same
 * effects.
 */
import type { Event, Now } from './event.ts';
import { onEventObjectAnswered, sendEventObjects } from './reports/event-requests.ts';
import { isLeader } from './leader/elector.ts';
import {
  hasLeftLease,
  leaveLease,
  onLeaseEvent,
  RELEASE_MS_MAX,
  stopTakingLease,
  wakeLeadership,
} from './leader/leader-changes.ts';
import { onReflectorEvent, wakeReflector } from './reflectors/reflector-answers.ts';
import { stopReflector } from './reflectors/reflector-requests.ts';
import {
  checkShardDeadlines,
  flushShards,
  onShardLost,
  onShardPlanned,
  type UnitWithoutPlan,
} from './syncs/shard-batches.ts';
import { openCaches, startInputs } from './start.ts';
import type { ControllerState } from './state.ts';
import { resyncIfDue } from './caches/sweep.ts';
import { onOrphanConfirmed } from './syncs/clean-up.ts';
import { fail } from './syncs/sync-end.ts';
import { takeWriteAnswer, withdrawAll } from './syncs/sync-writes.ts';
import { beginPlan, onEndpointsRead, onPlanned, onSliceFound, onSlicesRead, startSync } from './syncs/sync.ts';
import { nextWorkMs, shutDownWork, takeWork, workDepth } from './queues/workqueue.ts';
import { flushWrites } from './writes/writes.ts';
import { unreachable } from '../lib/assert.ts';
import type { TransportEvent } from '../ports/transport.ts';

/** The longest that a stop waits for writes to be answered. */
const DRAIN_MS_MAX = 10_000;

/**
 * Takes events that came together, in order, and then does everything that can be done. So a burst of answers makes one
 * batch for each shard. Returns the monotonic ms at which a `wake` is wanted; Infinity = only an event can bring work.
 */
export function step(state: ControllerState, events: readonly Event[], now: Now): number {
  if (state.phase === 'stopped') return Infinity;
  for (const event of events) take(state, event, now);
  return advance(state, now);
}

function take(state: ControllerState, event: Event, now: Now): void {
  switch (event.type) {
    case 'start':
      start(state, now);
      break;
    case 'stop':
      stop(state, now);
      break;
    case 'wake':
      break;
    case 'shard.planned':
      for (const { service, outputs, result } of onShardPlanned(state, event.shard, event.batchId, event.reply, now)) {
        onPlanned(state, service, outputs, result, now);
      }
      break;
    case 'shard.lost':
      startOverOrFail(state, onShardLost(state, event.shard, event.batchIds, event.reason), now);
      break;
    case 'response':
    case 'chunk':
    case 'ended':
    case 'failure':
      onTransportEvent(state, event, now);
      break;
    default:
      unreachable(event);
  }
}

function start(state: ControllerState, now: Now): void {
  if (state.leadership?.standby !== 'cold') openCaches(state, now);
}

function stop(state: ControllerState, now: Now): void {
  if (state.phase === 'stopping' || state.phase === 'stopped') return;
  state.phase = 'stopping';
  state.stopByMs = now.nowMs + DRAIN_MS_MAX;
  state.resyncAtMs = Infinity;
  stopTakingLease(state, now);
  for (const { queue } of state.controllers) shutDownWork(queue);
  for (const reflector of state.reflectors) stopReflector(state.hands.reflectors, reflector);
}

function onTransportEvent(state: ControllerState, event: TransportEvent, now: Now): void {
  const purpose = state.outbox.takeEvent(event);
  if (purpose === undefined) return;
  switch (purpose.for) {
    case 'reflector':
      onReflectorEvent(state.hands.reflectors, purpose.reflector, event, now);
      startInputs(state, now);
      return;
    case 'write':
      takeWriteAnswer(state, purpose.queued, event, now);
      return;
    case 'read-endpoints':
      onEndpointsRead(state, purpose.unit, event, now);
      return;
    case 'read-slices':
      onSlicesRead(state, purpose.unit, event, now);
      return;
    case 'look-for-slice':
      onSliceFound(state, purpose.unit, purpose.name, event, now);
      return;
    case 'confirm-orphan':
      onOrphanConfirmed(state, purpose.unit, event, now);
      return;
    case 'lease':
      onLeaseEvent(state, event, now);
      return;
    case 'event':
      onEventObjectAnswered(state.outbox, state.eventRecorder, event, now);
      return;
    default:
      unreachable(purpose);
  }
}

/** Does everything that can be done now. */
function advance(state: ControllerState, now: Now): number {
  let wakeMs = wakeLeadership(state, now);
  const { leadership } = state;
  // A cold standby has no caches until it leads.
  if (leadership !== null && isLeader(leadership.elector) && state.phase === 'starting') openCaches(state, now);
  for (const reflector of state.reflectors) {
    wakeReflector(state.hands.reflectors, reflector, now);
    wakeMs = Math.min(wakeMs, reflector.wakeAtMs);
  }
  resyncIfDue(state, now);
  wakeMs = Math.min(wakeMs, state.resyncAtMs);
  const plansAtMs = plansFromMs(state, now);
  if (now.nowMs < plansAtMs) wakeMs = Math.min(wakeMs, plansAtMs);
  else {
    wakeMs = Math.min(wakeMs, work(state, now));
    for (const { queue } of state.controllers) wakeMs = Math.min(wakeMs, nextWorkMs(queue));
  }
  wakeMs = Math.min(wakeMs, checkShardDeadlines(state, now));
  if (!state.isShadow || leadership !== null)
    wakeMs = Math.min(wakeMs, sendEventObjects(state.outbox, state.eventRecorder, now));
  if (state.phase === 'stopping') wakeMs = Math.min(wakeMs, drain(state, now));
  return wakeMs;
}

/** By then the leader has written what has changed as a rule, so one plan looks at both. */
const STANDBY_WAITS_MS = 1000;

/**
 * Monotonic ms from which on this process plans what is due; -Infinity = at once. A standby waits a second after a rest, and
 * then goes on until nothing is due.
 */
function plansFromMs(state: ControllerState, now: Now): number {
  const { leadership, controllers } = state;
  if (leadership === null || isLeader(leadership.elector)) return -Infinity;
  if (controllers.some(({ queue }) => queue.processing.length > 0)) return -Infinity;
  const isDue = controllers.some(({ queue }) => workDepth(queue) > 0 || nextWorkMs(queue) <= now.nowMs);
  if (!isDue) state.standbyPlansAtMs = Infinity;
  else if (state.standbyPlansAtMs === Infinity) state.standbyPlansAtMs = now.nowMs + STANDBY_WAITS_MS;
  return isDue ? state.standbyPlansAtMs : -Infinity;
}

/** Starts syncs, sends batches and writes, until none of that frees a slot for more. */
function work(state: ControllerState, now: Now): number {
  for (;;) {
    for (const { queue } of state.controllers) {
      for (let item = takeWork(queue, now.nowMs); item !== null; item = takeWork(queue, now.nowMs)) {
        startSync(state, item.key, item.processing!, now);
      }
    }
    const held = slotsHeld(state);
    startOverOrFail(state, flushShards(state, now), now);
    const tokenMs = flushWrites(state.writes, state.hands.writes, now);
    if (slotsHeld(state) === held) return tokenMs;
  }
}

function startOverOrFail(state: ControllerState, without: readonly UnitWithoutPlan[], now: Now): void {
  for (const { unit, failure } of without) {
    if (failure === null) beginPlan(state, unit, now);
    else fail(state, unit, failure, now);
  }
}

function slotsHeld(state: ControllerState): number {
  let held = 0;
  for (const { queue } of state.controllers) held += queue.slots.held;
  return held;
}

/** Waits until the syncs under way have ended, or the time is up. Then withdraws the rest and releases the Lease. */
function drain(state: ControllerState, now: Now): number {
  const busy = state.controllers.some(({ queue }) => queue.processing.length > 0);
  if (busy && now.nowMs < state.stopByMs) return state.stopByMs;
  if (state.releaseByMs === Infinity) {
    withdrawAll(state, now);
    state.releaseByMs = now.nowMs + RELEASE_MS_MAX;
    leaveLease(state, state.writes.inFlight === 0, now);
  }
  if (!hasLeftLease(state) && now.nowMs < state.releaseByMs) {
    return Math.min(state.releaseByMs, wakeLeadership(state, now));
  }
  state.phase = 'stopped';
  state.outbox.effects.push({ type: 'stopped' });
  return Infinity;
}
