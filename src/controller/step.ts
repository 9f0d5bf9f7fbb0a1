/**
 * The controller as one synchronous machine. An event and the time go in; effects are appended to
 * `state.outbox.effects`. There is no await, no timer, no ambient time or randomness: the same events give the same
 * effects.
 */
import type { Event, Now } from './event.ts';
import { onEventObjectAnswered, sendEventObjects } from './reports/event-requests.ts';
import { nodeTarget, podTarget, serviceTarget } from './caches/inputs.ts';
import { endpointsTarget, sliceTarget } from './caches/objects.ts';
import { isLeader } from './leader/elector.ts';
import {
  hasLeftLease,
  leaveLease,
  onLeaseEvent,
  RELEASE_MS_MAX,
  stopTakingLease,
  wakeLeadership,
} from './leader/leader-changes.ts';
import { createReflector, type Reflector } from './reflectors/reflector.ts';
import { onReflectorEvent, wakeReflector } from './reflectors/reflector-answers.ts';
import { startReflector, stopReflector } from './reflectors/reflector-requests.ts';
import {
  checkShardDeadlines,
  flushShards,
  onShardLost,
  onShardPlanned,
  type UnitWithoutPlan,
} from './syncs/shard-batches.ts';
import type { ControllerState, Purpose } from './state.ts';
import { resyncIfDue, scheduleResync, startSweep } from './caches/sweep.ts';
import { onOrphanConfirmed } from './syncs/clean-up.ts';
import { fail } from './syncs/sync-end.ts';
import { takeWriteAnswer, withdrawAll } from './syncs/sync-writes.ts';
import { beginPlan, onEndpointsRead, onPlanned, onSliceFound, onSlicesRead, startSync } from './syncs/sync.ts';
import { nextWorkMs, shutDownWork, takeWork, workDepth } from './queues/workqueue.ts';
import { flushWrites } from './writes/writes.ts';
import { SLICE_MANAGED_BY_LABEL } from '../kube/names.ts';
import { unreachable } from '../lib/assert.ts';
import { roughDuration } from '../lib/duration.ts';
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

/** Starts lists and watches. A second call does nothing. */
function openCaches(state: ControllerState, startedAt: Now): void {
  if (state.reflectors.length > 0) return;
  state.cachesOpenedAtMs = startedAt.nowMs;
  const { watchList } = state.options;
  const needed = new Set(state.controllers.flatMap((controller) => controller.caches(state.options)));
  const onSynced = (now: Now): void => {
    startInputs(state, now);
    startControllers(state, startedAt, now);
  };
  const create = (resource: Reflector['resource'], make: () => Reflector): Reflector[] =>
    needed.has(resource) ? [make()] : [];
  const outputs: Reflector[] = [
    ...create('endpoints', () =>
      createReflector('endpoints', '/api/v1/endpoints', endpointsTarget(state, onSynced), watchList),
    ),
    ...create('endpointslices', () =>
      createReflector(
        'endpointslices',
        '/apis/discovery.k8s.io/v1/endpointslices',
        sliceTarget(state, onSynced),
        watchList,
        sliceSelector(state),
      ),
    ),
  ];
  const inputs: Reflector[] = [
    createReflector('services', '/api/v1/services', serviceTarget(state, onSynced), watchList),
    ...create('nodes', () => createReflector('nodes', '/api/v1/nodes', nodeTarget(state, onSynced), watchList)),
    ...create('pods', () => createReflector('pods', '/api/v1/pods', podTarget(state, onSynced), watchList)),
  ];
  state.reflectors = [...outputs, ...inputs];
  for (const reflector of outputs) startReflector(state.hands.reflectors, reflector, startedAt);
}

const OUTPUTS: ReadonlySet<Reflector['resource']> = new Set(['endpoints', 'endpointslices']);

/** After so long an output whose list fails again and again holds up no other controller any more. */
const OUTPUT_FAILS_MS = 60_000;

/**
 * Outputs are listed first, so that inputs are never older than they are (docs/protocols.md "Start and relist"). An output
 * that the server refuses to list, does not know, or has failed to list for a minute must not hold up the controllers that
 * do not need it.
 */
function startInputs(state: ControllerState, now: Now): void {
  if (state.phase !== 'starting') return;
  const outputs = state.reflectors.filter(({ resource }) => OUTPUTS.has(resource));
  const isLate = now.nowMs >= state.cachesOpenedAtMs + OUTPUT_FAILS_MS;
  const isGivenUp = ({ refused, phase }: Reflector): boolean => refused || (isLate && phase.name === 'waiting');
  if (!outputs.some(({ synced }) => synced)) return;
  if (!outputs.every((output) => output.synced || isGivenUp(output))) return;
  for (const reflector of state.reflectors) {
    if (!OUTPUTS.has(reflector.resource)) startReflector(state.hands.reflectors, reflector, now);
  }
}

/** Only EndpointSlices of these controllers are listed and watched. */
function sliceSelector(state: ControllerState): string {
  const ours = state.controllers.map(({ managedBy }) => managedBy).filter((value) => value !== '');
  return `${SLICE_MANAGED_BY_LABEL} in (${ours.join(',')})`;
}

/** Each controller waits only for the caches that it reads. */
function startControllers(state: ControllerState, startedAt: Now, now: Now): void {
  if (state.phase !== 'starting') return;
  const synced = new Set(state.reflectors.filter((reflector) => reflector.synced).map(({ resource }) => resource));
  for (const controller of state.controllers) {
    if (controller.running || !controller.caches(state.options).every((resource) => synced.has(resource))) continue;
    controller.running = true;
    state.outbox.log('info', 0, 'Caches are filled', {
      controller: controller.name,
      services: state.serviceRecords,
      took: roughDuration(now.nowMs - startedAt.nowMs),
    });
    startSweep(state, controller, now);
  }
  if (state.resyncAtMs === Infinity && state.controllers.some(({ running }) => running)) scheduleResync(state, now);
  if (!state.controllers.every(({ running }) => running)) return;
  state.phase = 'running';
  state.reports.allDue({ services: state.serviceRecords, startedAt }, now);
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
  const purpose = state.outbox.requests.get(event.id);
  // The answer was under way when its request was cancelled.
  if (purpose === undefined) return;
  const goesOn = event.type === 'chunk' || (event.type === 'response' && isStreamOpened(purpose, event));
  if (!goesOn) state.outbox.requests.delete(event.id);
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
      onEventObjectAnswered(state.outbox, state.recorder, event, now);
      return;
    default:
      unreachable(purpose);
  }
}

function isStreamOpened(purpose: Purpose, event: TransportEvent & { type: 'response' }): boolean {
  if (event.status < 200 || event.status >= 300) return false;
  if (purpose.for === 'lease') return purpose.isWatch;
  return purpose.for === 'reflector' && purpose.reflector.phase.name === 'opening';
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
    wakeMs = Math.min(wakeMs, sendEventObjects(state.outbox, state.recorder, now));
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
