/**
 * Sends Event objects to the API server, one at a time, with a token bucket of its own. So a storm of Event objects
 * never delays a write of endpoints. (Upstream shares one bucket.) An Event object may be lost: the queue and the
 * number of tries are bounded.
 */
import { assert } from '../../lib/assert.ts';
import { nextFloat, type Prng } from '../../lib/prng.ts';
import { createRingBuffer, ringFirst, ringPush, ringShift, type RingBuffer } from '../../lib/ring-buffer.ts';
import { createTokenBucket, nextTokenMs, tryTakeToken, type TokenBucket } from '../../lib/token-bucket.ts';
import { formatTime } from '../../kube/time.ts';
import { retryAfterMs } from '../queues/backoff.ts';
import {
  correlate,
  createEventCorrelator,
  type EventCorrelator,
  type EventInput,
  type Observation,
} from './event-correlator.ts';

/** An Event object that is to be sent. A repetition that comes before is counted in it. */
interface PendingEvent {
  readonly key: string;
  readonly event: EventInput;
  readonly observation: Observation;
  message: string;
  lastWallMs: number;
  /** `create` also after the server has expired the Event object. */
  verb: 'create' | 'patch';
  tries: number;
  notBeforeMs: number;
}

export interface EventRecorder {
  readonly prng: Prng;
  readonly correlator: EventCorrelator;
  readonly bucket: TokenBucket;
  /** None is sent before this time, because of a Retry-After. */
  pausedUntilMs: number;
  readonly queue: RingBuffer<PendingEvent>;
  /** Event objects of the queue that can still count repetitions, by key. */
  readonly unsent: Map<string, PendingEvent>;
  /** Whether the first Event object of the queue has been sent and waits for its answer. */
  inFlight: boolean;
  sentTotal: number;
  /** Event objects over the budget of their object. */
  suppressedTotal: number;
  /** Event objects that met a full queue. */
  droppedTotal: number;
  /** Event objects that the server refused, or that were tried too often. */
  failedTotal: number;
  /** Monotonic ms at which the log last said that Event objects are refused; -Infinity = never. */
  refusalToldAtMs: number;
}

export interface EventRequest {
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** The answer to the request. `status` 0 = no answer came. */
export interface EventReply {
  readonly status: number;
  /** -1 = none. */
  readonly retryAfterSeconds: number;
}

const TRIES_MAX = 12;
const RETRY_MS = 10_000;
/** client-go's defaults for a client. */
const QPS = 5;
const BURST = 10;
/** The limit of the events.k8s.io API for the same field. */
const MESSAGE_BYTES_MAX = 1024;

const encoder = new TextEncoder();

/** `queueMax`: the most Event objects that wait to be sent (client-go: 1,000). Further ones are dropped and counted. */
export function createEventRecorder(queueMax: number, prng: Prng): EventRecorder {
  return {
    prng,
    correlator: createEventCorrelator(),
    bucket: createTokenBucket(QPS, BURST),
    pausedUntilMs: -Infinity,
    queue: createRingBuffer(queueMax),
    unsent: new Map(),
    inFlight: false,
    sentTotal: 0,
    suppressedTotal: 0,
    droppedTotal: 0,
    failedTotal: 0,
    refusalToldAtMs: -Infinity,
  };
}

/**
 * Queues an Event object, or counts it in one that still waits, by client-go's limits (docs/spec/wire.md "Event
 * objects").
 */
export function recordEvent(recorder: EventRecorder, told: EventInput, nowMs: number, wallMs: number): void {
  // What is compared later is kept, and of a long refusal no more than what is sent.
  const event = { ...told, message: cut(told.message) };
  const correlated = correlate(recorder.correlator, event, nowMs, wallMs);
  if (correlated === null) {
    recorder.suppressedTotal++;
    return;
  }
  const { key, message, observation } = correlated;
  const unsent = recorder.unsent.get(key);
  if (unsent !== undefined) {
    unsent.message = message;
    unsent.lastWallMs = wallMs;
    return;
  }
  const pending: PendingEvent = {
    key,
    event,
    observation,
    message,
    lastWallMs: wallMs,
    verb: observation.count === 1 ? 'create' : 'patch',
    tries: 0,
    notBeforeMs: -Infinity,
  };
  if (ringPush(recorder.queue, pending)) recorder.unsent.set(key, pending);
  else recorder.droppedTotal++;
}

/** The next request to send; null = none. The caller gives its answer to `onEventReply` before the next call. */
export function nextEventRequest(recorder: EventRecorder, nowMs: number): EventRequest | null {
  if (nowMs < nextEventMs(recorder)) return null;
  const pending = ringFirst(recorder.queue);
  if (pending === undefined || !tryTakeToken(recorder.bucket, nowMs)) return null;
  assert(!recorder.inFlight, 'event recorder: one request at a time');
  recorder.inFlight = true;
  recorder.unsent.delete(pending.key);
  return request(pending);
}

/**
 * Takes the answer. An Event object is tried again after 429, 5xx and no answer, up to twelve times. Any other refusal
 * ends it.
 */
export function onEventReply(recorder: EventRecorder, reply: EventReply, nowMs: number): void {
  const pending = ringFirst(recorder.queue);
  assert(recorder.inFlight && pending !== undefined, 'event recorder: an answer to no request');
  recorder.inFlight = false;
  const { status, retryAfterSeconds } = reply;
  if (retryAfterSeconds > 0) {
    recorder.pausedUntilMs = Math.max(recorder.pausedUntilMs, nowMs + retryAfterMs(retryAfterSeconds));
  }
  if (status === 404 && pending.verb === 'patch') {
    // Event objects expire after an hour. The count goes on in a new one of the same name.
    pending.verb = 'create';
    return;
  }
  const exists = status === 409 && pending.verb === 'create';
  if ((status >= 200 && status < 300) || exists) {
    recorder.sentTotal++;
    ringShift(recorder.queue);
    return;
  }
  pending.tries++;
  const mayHelp = status === 0 || status === 429 || status >= 500;
  if (!mayHelp || pending.tries >= TRIES_MAX) {
    recorder.failedTotal++;
    ringShift(recorder.queue);
    return;
  }
  // The first wait is random, so that not all clients return at once when the server does.
  pending.notBeforeMs = nowMs + (pending.tries === 1 ? RETRY_MS * nextFloat(recorder.prng) : RETRY_MS);
}

/**
 * Monotonic ms at which `nextEventRequest` has something to send; Infinity = only after another Event object or an
 * answer.
 */
export function nextEventMs(recorder: EventRecorder): number {
  const pending = ringFirst(recorder.queue);
  if (pending === undefined || recorder.inFlight) return Infinity;
  return Math.max(pending.notBeforeMs, recorder.pausedUntilMs, nextTokenMs(recorder.bucket));
}

function request(pending: PendingEvent): EventRequest {
  const { event, observation, verb } = pending;
  const { involvedObject } = event;
  const namespace = involvedObject.namespace === '' ? 'default' : involvedObject.namespace;
  const collection = `/api/v1/namespaces/${namespace}/events`;
  const message = cut(pending.message);
  const lastTimestamp = formatTime(pending.lastWallMs / 1000);
  if (verb === 'patch') {
    const patch = { count: observation.count, lastTimestamp, message };
    return {
      method: 'PATCH',
      path: `${collection}/${observation.name}`,
      contentType: 'application/strategic-merge-patch+json',
      body: encoder.encode(JSON.stringify(patch)),
    };
  }
  const object = {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name: observation.name, namespace },
    involvedObject: withoutEmpty(involvedObject),
    reason: event.reason,
    message,
    source: { component: event.component },
    firstTimestamp: formatTime(observation.firstWallMs / 1000),
    lastTimestamp,
    count: observation.count,
    type: event.type,
    eventTime: null,
    reportingComponent: event.component,
    reportingInstance: '',
  };
  return {
    method: 'POST',
    path: collection,
    contentType: 'application/json',
    body: encoder.encode(JSON.stringify(object)),
  };
}

function withoutEmpty(object: EventInput['involvedObject']): Record<string, string> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== ''));
}

/** Cuts a message that is too long at a character, and ends it with dots. A 422 can quote a whole object. */
function cut(message: string): string {
  // A unit of the text takes three bytes at most.
  if (3 * message.length <= MESSAGE_BYTES_MAX) return message;
  const bytes = new Uint8Array(MESSAGE_BYTES_MAX);
  if (encoder.encodeInto(message, bytes).read === message.length) return message;
  const { read } = encoder.encodeInto(message, bytes.subarray(3));
  return `${message.slice(0, read)}...`;
}
