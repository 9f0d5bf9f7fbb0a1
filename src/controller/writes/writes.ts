/**
 * The one way to write: a token bucket, fresh changes ahead of chores, a bound on writes without an answer, and what
 * each answer means (docs/spec/endpoints.md "Errors", docs/spec/wire.md "Answers to writes"). The queue is bounded by
 * the concurrent syncs.
 */
import { retryAfterMs } from '../queues/backoff.ts';
import type { Now } from '../event.ts';
import { reachedVersion, reflectorOf } from '../reflectors/history.ts';
import { createLaneShare, FRESH_WRITES_PER_CHORE, noteLane, pickLane } from '../queues/lane-share.ts';
import { nextTokenMs, tryTakeToken } from './rate-limit.ts';
import { keyOf, type Failure } from '../caches/service-state.ts';
import { log, send, type ControllerState, type QueuedWrite, type WriteQueue } from '../state.ts';
import { nextWriteMs, noteWriteAnswered, noteWriteSent } from './write-pause.ts';
import { endpointsPath, slicesPath } from '../../kube/key.ts';
import { readObject } from '../../kube/object.ts';
import { ACCEPT_METADATA, JSON_TYPE, PROTOBUF } from '../../kube/media-type.ts';
import { projectOutput } from '../../kube/project.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { isApiAnswer, isNamespaceTerminating, isNotFound, readStatus } from '../../kube/status.ts';
import type { OutputRecord, Status } from '../../kube/types.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import type { Ack, PlannedWrite } from '../../shard/protocol.ts';

/** What an answer to a write means. */
export interface WriteOutcome {
  readonly result: Ack['result'];
  /** The object after an applied write; null = there is none (not applied, or a delete). */
  readonly applied: OutputRecord | null;
  /** The server may hold something that nobody told us. */
  readonly uncertain: boolean;
  /** 409: somebody else has written the object since. */
  readonly isOutrun: boolean;
  readonly failure: Failure | null;
  /** The failure is no news for an operator: no event. */
  readonly silent: boolean;
}

const WRITE_TIMEOUT_MS = 10_000;
const METHODS = { create: 'POST', update: 'PUT', delete: 'DELETE' } as const;
/** Of a delete whose answer does not tell what there is now. */
const OVERTAKEN: WriteOutcome = {
  result: 'unknown',
  applied: null,
  uncertain: true,
  isOutrun: false,
  failure: { class: 'conflict', message: 'a list was asked for while the delete was under way', retryAfterMs: -1 },
  silent: true,
};
const APPLIED: WriteOutcome = {
  result: 'applied',
  applied: null,
  uncertain: false,
  isOutrun: false,
  failure: null,
  silent: true,
};

export function createWriteQueue(): WriteQueue {
  return { fresh: [], chore: [], share: createLaneShare(FRESH_WRITES_PER_CHORE), inFlight: 0 };
}

export function queueWrite(state: ControllerState, queued: QueuedWrite): void {
  state.writes[queued.lane].push(queued);
}

/**
 * Sends what the bucket, the bound and the API server allow. Returns when the next one may go; Infinity = none waits
 * for a time. One that is `isMoot` by then goes to `withdraw` instead.
 */
export function flushWrites(
  state: ControllerState,
  now: Now,
  isMoot: (queued: QueuedWrite) => boolean,
  withdraw: (state: ControllerState, queued: QueuedWrite, now: Now) => void,
): number {
  const { writes, tokens, pause } = state;
  for (;;) {
    const choreWaits = writes.chore.length > 0;
    const lane = pickLane(writes.share, writes.fresh.length > 0, choreWaits);
    if (lane === null) return Infinity;
    const queued = writes[lane][0]!;
    if (isMoot(queued)) {
      writes[lane].shift();
      withdraw(state, queued, now);
      continue;
    }
    if (writes.inFlight >= state.options.maxWritesInFlight) return Infinity;
    const pausedUntilMs = nextWriteMs(pause);
    if (now.nowMs < pausedUntilMs) return pausedUntilMs;
    if (!tryTakeToken(tokens, now.nowMs)) return nextTokenMs(tokens);
    noteLane(writes.share, lane, choreWaits);
    writes[lane].shift();
    sendWrite(state, queued, now);
  }
}

function sendWrite(state: ControllerState, queued: QueuedWrite, now: Now): void {
  const { unit, write } = queued;
  const { verb, body } = write;
  const { instruments } = unit.controller;
  state.writes.inFlight++;
  noteWriteSent(state.pause, queued);
  queued.sentAtMs = now.nowMs;
  const reflector = reflectorOf(state.reflectors, queued.output);
  queued.reachedBefore = reflector === undefined ? '' : reachedVersion(reflector);
  if (verb !== 'delete') queued.output.sent = body;
  const throttledSeconds = (now.nowMs - queued.queuedAtMs) / 1000;
  instruments.stage('throttle').observe(throttledSeconds);
  state.instruments.rateLimiter(METHODS[verb]).observe(throttledSeconds);
  instruments.writeBytes(verb).inc(body.length);
  send(
    state,
    { for: 'write', queued },
    {
      lane: 'write',
      method: METHODS[verb],
      path: pathOf(queued),
      accept: ACCEPT_METADATA,
      contentType: verb === 'delete' ? JSON_TYPE : PROTOBUF,
      body: verb === 'delete' ? deleteOptions(write) : body,
      stream: false,
      timeoutMs: WRITE_TIMEOUT_MS,
    },
  );
}

/** Creates go to the collection, the rest to the object. */
function pathOf({ unit, output, write }: QueuedWrite): string {
  const { namespace } = unit.service;
  if (output.unit === null) {
    return write.verb === 'create' ? endpointsPath(namespace) : endpointsPath(namespace, output.name);
  }
  return write.verb === 'create' ? slicesPath(namespace) : `${slicesPath(namespace)}/${output.name}`;
}

function deleteOptions(write: PlannedWrite): Uint8Array {
  const { uid, resourceVersion } = write;
  const preconditions = resourceVersion === '' ? { uid } : { uid, resourceVersion };
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions }), 'utf8');
}

/** The answer to a write: counts it, pauses all writes where the server asks for that, and says what it means. */
export function onWriteAnswered(
  state: ControllerState,
  queued: QueuedWrite,
  event: TransportEvent,
  now: Now,
): WriteOutcome {
  const { unit, write } = queued;
  const { instruments } = unit.controller;
  state.writes.inFlight--;
  instruments.stage('write').observe((now.nowMs - queued.sentAtMs) / 1000);
  const outcome = writeOutcome(state, queued, event);
  const result = outcome.failure?.class ?? outcome.result;
  instruments.writes(write.verb, result).inc();
  if (outcome.result === 'applied') (instruments.slices ?? instruments.mirror)?.changes(write.verb).inc();
  log(state, 'info', 4, 'Write answered', {
    controller: unit.controller.name,
    service: keyOf(unit.service),
    object: write.name,
    verb: write.verb,
    result,
    bytes: write.body.length,
    ms: Math.round(now.nowMs - queued.sentAtMs),
  });
  if (outcome.failure?.class === 'conflict') state.instruments.conflicts.inc();
  noteWriteAnswered(state, queued, event, now);
  return outcome;
}

function writeOutcome(state: ControllerState, queued: QueuedWrite, event: TransportEvent): WriteOutcome {
  const { write } = queued;
  if (event.type === 'response') {
    const { status, contentType, body } = event;
    if (write.verb === 'delete') {
      const isDone = (status === 200 || status === 202) && isApiAnswer(contentType, body);
      if (isDone || isNotFound(contentType, status, body)) return isOvertaken(state, queued) ? OVERTAKEN : APPLIED;
    } else if (status === 200 || status === 201) {
      try {
        const applied = projectOutput(readObject(contentType, body), state.interner);
        if (applied.name !== write.name) throw new DecodeError(`it is of ${JSON.stringify(applied.name)}`);
        return { ...APPLIED, applied };
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        state.instruments.decodeErrors('endpoints').inc();
        const failure: Failure = { class: 'server', message: `undecodable reply: ${error.message}`, retryAfterMs: -1 };
        return { ...APPLIED, result: 'unknown', uncertain: true, failure };
      }
    }
  }
  const { failure, uncertain, silent } = classify(event, write.verb === 'create');
  // A create that finds its name taken has done nothing, and if the object is not ours it must not be tried again.
  const isOutrun = event.type === 'response' && event.status === 409;
  const isTaken = write.verb === 'create' && isOutrun;
  const result = uncertain && !isTaken ? 'unknown' : 'refused';
  return { result, applied: null, uncertain, isOutrun, failure, silent };
}

/**
 * The answer to a delete has no version. Where a list was asked for meanwhile, it may be of the history before that list,
 * in which the object was there again; else the list has seen the object before the delete was done.
 */
function isOvertaken(state: ControllerState, { output, sentAtMs }: QueuedWrite): boolean {
  const reflector = reflectorOf(state.reflectors, output);
  return reflector !== undefined && reflector.askedAtMs >= sentAtMs;
}

interface Verdict {
  /** null = nothing is wrong with the service: a create in a namespace that goes away. */
  readonly failure: Failure | null;
  /** The write may have been applied, or the object is not what we think: read it before the next plan. */
  readonly uncertain: boolean;
  readonly silent: boolean;
}

/** What an answer that is no success means for a sync. */
export function classify(event: TransportEvent, isCreate = false): Verdict {
  if (event.type === 'failure') {
    const { kind, message } = event;
    const failureClass = kind === 'refused' || kind === 'reset' ? 'unreachable' : 'server';
    const failure: Failure = { class: failureClass, message: `${kind}: ${message}`, retryAfterMs: -1 };
    return { failure, uncertain: event.mayHaveArrived, silent: true };
  }
  if (event.type !== 'response') throw new Error(`assertion failed: ${event.type} is no answer`);
  const status = readStatus(event.contentType, event.status, event.body);
  const failed = (failureClass: Failure['class'], uncertain: boolean, silent: boolean): Verdict => ({
    failure: { class: failureClass, message: messageOf(status), retryAfterMs: retryAfterMs(event.retryAfterSeconds) },
    uncertain,
    silent,
  });
  switch (event.status) {
    case 409:
      // Someone was faster, or our view of the object is behind: the GET that follows tells.
      return failed('conflict', true, true);
    case 404:
      // Of a create it is the namespace that is missing; of an update the object.
      return failed(isCreate ? 'forbidden' : 'conflict', !isCreate, true);
    case 403:
      if (isCreate && isNamespaceTerminating(status)) return { failure: null, uncertain: false, silent: true };
      return failed('forbidden', false, false);
    case 429:
      return failed('throttled', false, true);
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return failed('invalid', false, false);
    case 401:
      return failed('server', false, false);
    default:
      if (event.status >= 500 && isTooLarge(status)) return failed('invalid', false, false);
      // A 503 is refused before anything is done; a bare 500 or a 504 may come after.
      return failed('server', event.status !== 503, false);
  }
}

/** etcd's and gRPC's limits arrive as a bare 500 (docs/spec/wire.md "Answers to writes"). */
function isTooLarge(status: Status): boolean {
  const message = status.message ?? '';
  return message.includes('request is too large') || message.includes('message larger than max');
}

function messageOf(status: Status): string {
  return status.message ?? `${status.code} ${status.reason ?? ''}`;
}

/** Takes back every write that was not sent. */
export function takeBackWrites(state: ControllerState): QueuedWrite[] {
  const { writes } = state;
  const withdrawn = [...writes.fresh, ...writes.chore];
  writes.fresh = [];
  writes.chore = [];
  return withdrawn;
}
