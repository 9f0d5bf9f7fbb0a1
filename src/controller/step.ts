/**
 * The controller as one synchronous machine: an event and the time in, effects appended to `state.effects`. No await, no
 * timer, no ambient time or randomness: the same events give the same effects.
 */
import type { Event, Now } from './event.ts';
import { nextEventMs, nextEventRequest, onEventReply } from './event-recorder.ts';
import { podTarget, serviceTarget } from './inputs.ts';
import { outputTarget } from './outputs.ts';
import { createReflector, onReflectorEvent, startReflector, stopReflector, wakeReflector } from './reflector.ts';
import { checkShardDeadlines, flushShards, onShardLost, onShardPlanned } from './shard-batches.ts';
import { log, send, type ControllerState, type Purpose } from './state.ts';
import { resyncIfDue, startSweep } from './sweep.ts';
import {
  beginPlan,
  fail,
  finish,
  onOrphanConfirmed,
  onOutputRead,
  onPlanned,
  onWriteDone,
  startSync,
  withdraw,
  withdrawAll,
} from './sync.ts';
import { nextWorkMs, shutDownWork, takeWork } from './workqueue.ts';
import { flushWrites, onWriteAnswered } from './writes.ts';
import { ACCEPT_METADATA } from '../kube/media-type.ts';
import { unreachable } from '../lib/assert.ts';
import type { TransportEvent } from '../ports/transport.ts';

/** Longest that a stop waits for writes to be answered. */
const DRAIN_MS_MAX = 10_000;
const EVENT_TIMEOUT_MS = 10_000;

/**
 * Takes events that came together, in order, then does all that can be done: so that a burst of answers makes one batch
 * for each shard. Returns the monotonic ms at which a `wake` is wanted; Infinity = only events matter.
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
      for (const [service, result] of onShardPlanned(state, event.shard, event.batch, event.bytes, now)) {
        onPlanned(state, service, result, now);
      }
      break;
    case 'shard.lost': {
      const { again, poisoned } = onShardLost(state, event.shard, event.batches, event.reason);
      for (const { service, failure } of poisoned) fail(state, service, failure, now);
      for (const service of again) beginPlan(state, service, now);
      break;
    }
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
  if (state.reflectors.length > 0) return;
  const { watchList } = state.options;
  const inputsSynced = (at: Now): void => {
    if (state.phase !== 'starting' || !services.synced || !pods.synced) return;
    state.phase = 'running';
    log(state, 'info', 0, 'caches are filled, syncing begins', {
      services: state.serviceCount,
      sinceStartMs: Math.round(at.nowMs - now.nowMs),
    });
    startSweep(state, at);
  };
  const services = createReflector('services', '/api/v1/services', serviceTarget(state, inputsSynced), watchList);
  const pods = createReflector('pods', '/api/v1/pods', podTarget(state, inputsSynced), watchList);
  // Outputs first: inputs are then never older than they are (design, section 6 "Start and relist").
  const outputsSynced = (): void => {
    if (state.phase !== 'starting') return;
    startReflector(state, services);
    startReflector(state, pods);
  };
  const endpoints = createReflector('endpoints', '/api/v1/endpoints', outputTarget(state, outputsSynced), watchList);
  state.reflectors = [endpoints, services, pods];
  startReflector(state, endpoints);
}

function stop(state: ControllerState, now: Now): void {
  if (state.phase === 'stopping' || state.phase === 'stopped') return;
  state.phase = 'stopping';
  state.stopByMs = now.nowMs + DRAIN_MS_MAX;
  state.resyncAtMs = Infinity;
  shutDownWork(state.queue);
  for (const reflector of state.reflectors) stopReflector(state, reflector);
}

function onTransportEvent(state: ControllerState, event: TransportEvent, now: Now): void {
  const purpose = state.requests.get(event.id);
  // An answer that crossed its cancel.
  if (purpose === undefined) return;
  const goesOn =
    event.type === 'chunk' ||
    (event.type === 'response' && purpose.for === 'reflector' && isStreamOpened(purpose, event));
  if (!goesOn) state.requests.delete(event.id);
  switch (purpose.for) {
    case 'reflector':
      onReflectorEvent(state, purpose.reflector, event, now);
      return;
    case 'write':
      onWriteDone(
        state,
        purpose.queued.service,
        purpose.queued.write,
        onWriteAnswered(state, purpose.queued, event, now),
        now,
      );
      return;
    case 'read-output':
      onOutputRead(state, purpose.service, event, now);
      return;
    case 'confirm-orphan':
      onOrphanConfirmed(state, purpose.service, event, now);
      return;
    case 'event':
      onEventReply(state.recorder, eventReply(event), state.prng, now.nowMs);
      return;
    default:
      unreachable(purpose);
  }
}

function isStreamOpened(
  purpose: Purpose & { for: 'reflector' },
  event: TransportEvent & { type: 'response' },
): boolean {
  return event.status === 200 && purpose.reflector.phase === 'opening';
}

/** Does everything that can be done now. */
function advance(state: ControllerState, now: Now): number {
  let wakeMs = Infinity;
  for (const reflector of state.reflectors) {
    wakeReflector(state, reflector, now);
    wakeMs = Math.min(wakeMs, reflector.wakeAtMs);
  }
  resyncIfDue(state, now);
  wakeMs = Math.min(wakeMs, state.resyncAtMs);
  wakeMs = Math.min(wakeMs, work(state, now), checkShardDeadlines(state, now), nextWorkMs(state.queue));
  wakeMs = Math.min(wakeMs, flushEvents(state, now));
  if (state.phase === 'stopping') wakeMs = Math.min(wakeMs, drain(state, now));
  return wakeMs;
}

/** Starts syncs, hands them over and sends writes, until nothing of that frees a slot for more. */
function work(state: ControllerState, now: Now): number {
  const { queue } = state;
  for (;;) {
    for (let item = takeWork(queue, now.nowMs); item !== null; item = takeWork(queue, now.nowMs)) {
      startSync(state, item.key, item.processing === 'chore', now);
    }
    const { held } = queue.slots;
    for (const { service, failure } of flushShards(state, now)) {
      if (failure === null) finish(state, service, now);
      else fail(state, service, failure, now);
    }
    const tokenMs = flushWrites(state, now, withdraw);
    if (queue.slots.held === held) return tokenMs;
  }
}

function flushEvents(state: ControllerState, now: Now): number {
  for (
    let next = nextEventRequest(state.recorder, now.nowMs);
    next !== null;
    next = nextEventRequest(state.recorder, now.nowMs)
  ) {
    send(
      state,
      { for: 'event' },
      {
        lane: 'event',
        method: next.method,
        path: next.path,
        accept: ACCEPT_METADATA,
        contentType: next.contentType,
        body: next.body,
        stream: false,
        timeoutMs: EVENT_TIMEOUT_MS,
      },
    );
  }
  return nextEventMs(state.recorder);
}

function eventReply(event: TransportEvent): { status: number; retryAfterSeconds: number } {
  if (event.type !== 'response') return { status: 0, retryAfterSeconds: -1 };
  return { status: event.status, retryAfterSeconds: event.retryAfterSeconds };
}

/** Syncs under way still end, as far as tokens and answers allow, until the time is up. */
function drain(state: ControllerState, now: Now): number {
  if (state.queue.processing.length > 0 && now.nowMs < state.stopByMs) return state.stopByMs;
  withdrawAll(state, now);
  state.phase = 'stopped';
  state.effects.push({ type: 'stopped' });
  return Infinity;
}
