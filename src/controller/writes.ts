/**
 * The one way to write: a token bucket, fresh changes ahead of chores, a bound on writes without an answer, and what each
 * answer means (spec/endpoints.md 14.4, spec/wire.md 3.2). The queue is bounded by the concurrent syncs.
 */
import type { Now } from './event.ts';
import {
  createLaneShare,
  FRESH_WRITES_PER_CHORE,
  noteLane,
  pickLane,
  type LaneShare,
  type WorkLane,
} from './lane-share.ts';
import { nextTokenMs, pauseTokens, tryTakeToken } from './rate-limit.ts';
import { keyOf, type Failure, type ServiceState } from './service-state.ts';
import { log, send, type ControllerState } from './state.ts';
import { endpointsPath } from '../kube/key.ts';
import { readObject } from '../kube/object.ts';
import { ACCEPT_METADATA, JSON_TYPE, PROTOBUF } from '../kube/media-type.ts';
import { projectOutput } from '../kube/project.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { isNamespaceTerminating, readStatus } from '../kube/status.ts';
import type { OutputRecord, Status } from '../kube/types.ts';
import type { TransportEvent } from '../ports/transport.ts';
import type { Ack, PlannedWrite } from '../shard/protocol.ts';

export interface QueuedWrite {
  readonly service: ServiceState;
  readonly write: PlannedWrite;
  readonly lane: WorkLane;
  readonly queuedAtMs: number;
  sentAtMs: number;
}

export interface WriteQueue {
  fresh: QueuedWrite[];
  chore: QueuedWrite[];
  readonly share: LaneShare;
  /** Sent and without an answer. */
  inFlight: number;
}

/** What an answer to a write means. */
export interface WriteOutcome {
  readonly result: Ack['result'];
  /** The object after an applied write; null = there is none (not applied, or a delete). */
  readonly applied: OutputRecord | null;
  /** The server may hold something that nobody told us. */
  readonly uncertain: boolean;
  readonly failure: Failure | null;
  /** The failure is no news for an operator: no event. */
  readonly silent: boolean;
}

const WRITE_TIMEOUT_MS = 10_000;
const METHODS = { create: 'POST', update: 'PUT', delete: 'DELETE' } as const;
const APPLIED: WriteOutcome = { result: 'applied', applied: null, uncertain: false, failure: null, silent: true };

export function createWriteQueue(): WriteQueue {
  return { fresh: [], chore: [], share: createLaneShare(FRESH_WRITES_PER_CHORE), inFlight: 0 };
}

export function queueWrite(state: ControllerState, queued: QueuedWrite): void {
  state.writes[queued.lane].push(queued);
}

/**
 * Sends what the bucket and the bound allow. Returns when a token lets the next one go; Infinity = none waits for that.
 * A delete whose Service has appeared while it waited goes to `withdraw` instead.
 */
export function flushWrites(
  state: ControllerState,
  now: Now,
  withdraw: (state: ControllerState, queued: QueuedWrite, now: Now) => void,
): number {
  const { writes, tokens } = state;
  for (;;) {
    const choreWaits = writes.chore.length > 0;
    const lane = pickLane(writes.share, writes.fresh.length > 0, choreWaits);
    if (lane === null) return Infinity;
    const queued = writes[lane][0]!;
    if (queued.write.verb === 'delete' && queued.service.record !== null) {
      writes[lane].shift();
      withdraw(state, queued, now);
      continue;
    }
    if (writes.inFlight >= state.options.writesInFlightMax) return Infinity;
    if (!tryTakeToken(tokens, now.nowMs)) return nextTokenMs(tokens);
    noteLane(writes.share, lane, choreWaits);
    writes[lane].shift();
    sendWrite(state, queued, now);
  }
}

function sendWrite(state: ControllerState, queued: QueuedWrite, now: Now): void {
  const { service, write } = queued;
  state.writes.inFlight++;
  queued.sentAtMs = now.nowMs;
  const throttledSeconds = (now.nowMs - queued.queuedAtMs) / 1000;
  state.instruments.stage('throttle').observe(throttledSeconds);
  state.instruments.rateLimiter(METHODS[write.verb]).observe(throttledSeconds);
  state.instruments.writeBytes(write.verb).inc(write.body.length);
  const collection = `/api/v1/namespaces/${service.namespace}/endpoints`;
  const common = { lane: 'write', accept: ACCEPT_METADATA, stream: false, timeoutMs: WRITE_TIMEOUT_MS } as const;
  const purpose = { for: 'write', queued } as const;
  switch (write.verb) {
    case 'create':
      send(state, purpose, { ...common, method: 'POST', path: collection, contentType: PROTOBUF, body: write.body });
      return;
    case 'update':
      send(state, purpose, {
        ...common,
        method: 'PUT',
        path: endpointsPath(service.namespace, service.name),
        contentType: PROTOBUF,
        body: write.body,
      });
      return;
    case 'delete':
      send(state, purpose, {
        ...common,
        method: 'DELETE',
        path: endpointsPath(service.namespace, service.name),
        contentType: JSON_TYPE,
        body: deleteOptions(write),
      });
      return;
  }
}

function deleteOptions(write: PlannedWrite): Uint8Array {
  const { uid, resourceVersion } = write;
  return Buffer.from(
    JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } }),
    'utf8',
  );
}

/** The answer to a write: counts it, pauses the client where the server asks for it, and says what it means. */
export function onWriteAnswered(
  state: ControllerState,
  queued: QueuedWrite,
  event: TransportEvent,
  now: Now,
): WriteOutcome {
  const { write } = queued;
  state.writes.inFlight--;
  state.instruments.stage('write').observe((now.nowMs - queued.sentAtMs) / 1000);
  const outcome = writeOutcome(state, write, event);
  state.instruments.writes(write.verb, outcome.failure?.class ?? outcome.result).inc();
  log(state, 'info', 4, 'write answered', {
    service: keyOf(queued.service),
    verb: write.verb,
    result: outcome.failure?.class ?? outcome.result,
    bytes: write.body.length,
    ms: Math.round(now.nowMs - queued.sentAtMs),
  });
  if (outcome.failure?.class === 'conflict') state.instruments.conflicts.inc();
  if (outcome.failure !== null && outcome.failure.retryAfterMs > 0) {
    pauseTokens(state.tokens, now.nowMs + outcome.failure.retryAfterMs);
  }
  return outcome;
}

function writeOutcome(state: ControllerState, write: PlannedWrite, event: TransportEvent): WriteOutcome {
  if (event.type === 'response') {
    if (write.verb === 'delete' && (event.status === 200 || event.status === 202 || event.status === 404))
      return APPLIED;
    if (event.status === 200 || event.status === 201) {
      try {
        const applied = projectOutput(readObject(event.contentType, event.body), state.interner);
        return { ...APPLIED, applied };
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        state.instruments.decodeErrors('endpoints').inc();
        const failure: Failure = { class: 'server', message: `undecodable reply: ${error.message}`, retryAfterMs: -1 };
        return { result: 'unknown', applied: null, uncertain: true, failure, silent: true };
      }
    }
  }
  const { failure, uncertain, silent } = classify(event, write.verb === 'create');
  return { result: uncertain ? 'unknown' : 'refused', applied: null, uncertain, failure, silent };
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
    const failure: Failure = { class: 'server', message: `${event.kind}: ${event.message}`, retryAfterMs: -1 };
    return { failure, uncertain: event.mayHaveArrived, silent: true };
  }
  if (event.type !== 'response') throw new Error(`assertion failed: ${event.type} is no answer`);
  const status = readStatus(event.contentType, event.status, event.body);
  const retryAfterMs = event.retryAfterSeconds < 0 ? -1 : event.retryAfterSeconds * 1000;
  const failed = (failureClass: Failure['class'], uncertain: boolean, silent: boolean): Verdict => ({
    failure: { class: failureClass, message: messageOf(status), retryAfterMs },
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

/** etcd's and gRPC's limits arrive as a bare 500 (spec/wire.md 3.2). */
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
