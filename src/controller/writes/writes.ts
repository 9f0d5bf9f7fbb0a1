/**
 * The one way to write: a token bucket, fresh changes ahead of chores, Services that take turns, a bound on writes without
 * an answer, of which no namespace has all, and what each answer means (docs/spec/endpoints.md "Errors",
 * docs/spec/wire.md "Answers to writes"). The writes of the concurrent syncs are all that waits.
 */
import type { Now } from '../event.ts';
import { reachedVersion, type Reached } from '../reflectors/history.ts';
import {
  createLaneShare,
  FRESH_WRITES_PER_CHORE,
  TURN_WRITES,
  noteLane,
  pickLane,
  placesOfOne,
  type LaneShare,
  type WorkLane,
} from '../queues/lane-share.ts';
import { keyOf, type ObjectState, type ServiceState, type Unit } from '../caches/service-state.ts';
import { isEndpoints } from '../caches/unit.ts';
import type { Outbox } from '../outbox.ts';
import type { Instruments } from '../reports/instruments.ts';
import { outcomeOf, type WriteOutcome } from './write-outcome.ts';
import { createWritePause, nextWriteMs, noteWriteAnswered, noteWriteSent, type WritePause } from './write-pause.ts';
import { endpointsPath, slicesPath } from '../../kube/key.ts';
import { ACCEPT_METADATA, JSON_TYPE, PROTOBUF } from '../../kube/media-type.ts';
import { assert } from '../../lib/assert.ts';
import type { Interner } from '../../lib/interner.ts';
import { nextTokenMs, tryTakeToken, type TokenBucket } from '../../lib/token-bucket.ts';
import { addTurn, createTurns, nextTurn, takeAllTurns, takeTurn, type Turns } from '../../lib/turns.ts';
import type { Deadline, TransportEvent } from '../../ports/transport.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';

/**
 * An admission webhook has 10 s by default. kube-apiserver passes over one that is down and may be (`failurePolicy:
 * Ignore`) only after that time, and only if the request has time left. Else no write would ever succeed, not even the
 * one that takes the dead pod of the webhook out of its own Service.
 */
const WRITE_TIMEOUT_MS = 14_000;
const METHODS = { create: 'POST', update: 'PUT', delete: 'DELETE' } as const;

export interface QueuedWrite {
  readonly unit: Unit;
  readonly object: ObjectState;
  readonly write: PlannedWrite;
  readonly lane: WorkLane;
  readonly queuedAtMs: number;
  /** `Writes.tokenWaitMs` when it was queued; -1 = it was not yet. */
  tokenWaitBeforeMs: number;
  /** Monotonic ms; -1 = it was not sent yet. */
  sentAtMs: number;
  /** The version that its resource had reached when the write was sent. */
  reachedBefore: string;
}

/** The writes that wait, how many are under way, and what holds them back. */
export interface Writes {
  readonly fresh: Turns<ServiceState, QueuedWrite>;
  readonly chore: Turns<ServiceState, QueuedWrite>;
  readonly share: LaneShare;
  /** Sent and without an answer. */
  inFlight: number;
  /** The same by namespace. One without such a write is not in it. */
  readonly inFlightOf: Map<string, number>;
  readonly tokens: TokenBucket;
  readonly pause: WritePause;
  /** For how long a missing token alone has held writes back, until the last flush. */
  tokenWaitMs: number;
  /** Since when it does; Infinity = it does not. */
  tokenWaitSinceMs: number;
}

export interface WritePurpose {
  readonly for: 'write';
  readonly queued: QueuedWrite;
}

/** What writes need of the machine around them. */
export interface WriteHands {
  readonly outbox: Outbox<WritePurpose>;
  readonly interner: Interner;
  readonly metrics: Pick<Instruments, 'rateLimiter' | 'conflicts' | 'decodeErrors'>;
  /** `--max-writes-in-flight`. */
  readonly inFlightMax: number;
  /** The write is not wanted any more, or this process is a shadow: it is withdrawn and not sent. */
  isMoot(queued: QueuedWrite): boolean;
  withdraw(queued: QueuedWrite, now: Now): void;
  /** The versions that the object's resource has reached; undefined = nothing watches that resource. */
  reachedOf(object: ObjectState): Reached | undefined;
  /** The time after which a write must not be sent or done, because another process may be the leader. */
  fence(now: Now): { readonly notAfter?: Deadline; readonly query: string };
}

export function createWrites(tokens: TokenBucket): Writes {
  return {
    fresh: createTurns(TURN_WRITES),
    chore: createTurns(TURN_WRITES),
    share: createLaneShare(FRESH_WRITES_PER_CHORE),
    inFlight: 0,
    inFlightOf: new Map(),
    tokens,
    pause: createWritePause(),
    tokenWaitMs: 0,
    tokenWaitSinceMs: Infinity,
  };
}

export function queueWrite(writes: Writes, queued: QueuedWrite): void {
  assert(queued.sentAtMs < 0, `a write of ${queued.write.name} is queued that was sent`);
  queued.tokenWaitBeforeMs = tokenWaitMsAt(writes, queued.queuedAtMs);
  addTurn(writes[queued.lane], queued.unit.service, queued);
}

/** What comes after the token is no wait for it. None was taken since `tokenWaitSinceMs`. */
function tokenWaitMsAt({ tokenWaitMs, tokenWaitSinceMs, tokens }: Writes, nowMs: number): number {
  return tokenWaitMs + Math.max(0, Math.min(nowMs, nextTokenMs(tokens)) - tokenWaitSinceMs);
}

/**
 * Sends the writes that the token bucket, the bound and the API server allow. Returns when the next one may be sent;
 * Infinity = none waits for a time. A write that has become moot goes to `withdraw` instead. Services of a namespace that
 * has all its places are skipped.
 */
export function flushWrites(writes: Writes, hands: WriteHands, now: Now): number {
  const { tokens, pause } = writes;
  writes.tokenWaitMs = tokenWaitMsAt(writes, now.nowMs);
  writes.tokenWaitSinceMs = Infinity;
  const places = placesOfOne(hands.inFlightMax);
  const mayGo = (queued: QueuedWrite): boolean => hasPlace(writes, queued, places) || hands.isMoot(queued);
  for (;;) {
    const next = { fresh: nextTurn(writes.fresh, mayGo), chore: nextTurn(writes.chore, mayGo) };
    const choreWaits = next.chore !== undefined;
    const lane = pickLane(writes.share, next.fresh !== undefined, choreWaits);
    if (lane === null) return Infinity;
    const queued = next[lane]!;
    if (hands.isMoot(queued)) {
      takeTurn(writes[lane], mayGo);
      hands.withdraw(queued, now);
      continue;
    }
    if (writes.inFlight >= hands.inFlightMax) return Infinity;
    const pausedUntilMs = nextWriteMs(pause);
    if (now.nowMs < pausedUntilMs) return pausedUntilMs;
    if (!tryTakeToken(tokens, now.nowMs)) {
      writes.tokenWaitSinceMs = now.nowMs;
      return nextTokenMs(tokens);
    }
    noteLane(writes.share, lane, choreWaits);
    takeTurn(writes[lane], mayGo);
    sendWrite(writes, hands, queued, now);
  }
}

/** Whether the namespace of the write has fewer than so many writes under way. */
function hasPlace({ inFlight, inFlightOf }: Writes, { unit }: QueuedWrite, places: number): boolean {
  return inFlight < places || (inFlightOf.get(unit.service.namespace) ?? 0) < places;
}

function countInFlight(writes: Writes, { unit }: QueuedWrite, change: 1 | -1): void {
  const { inFlightOf } = writes;
  const { namespace } = unit.service;
  const left = (inFlightOf.get(namespace) ?? 0) + change;
  writes.inFlight += change;
  if (left === 0) inFlightOf.delete(namespace);
  else inFlightOf.set(namespace, left);
}

function sendWrite(writes: Writes, hands: WriteHands, queued: QueuedWrite, now: Now): void {
  const { unit, object, write } = queued;
  const { verb, body } = write;
  const { instruments } = unit.controller;
  assert(object.sent === null, `two writes of ${object.name} at once`);
  countInFlight(writes, queued, 1);
  noteWriteSent(writes.pause, hands.outbox.log, queued, now);
  queued.sentAtMs = now.nowMs;
  const reached = hands.reachedOf(object);
  queued.reachedBefore = reached === undefined ? '' : reachedVersion(reached);
  if (verb !== 'delete') object.sent = body;
  hands.metrics.rateLimiter(METHODS[verb]).observe((writes.tokenWaitMs - queued.tokenWaitBeforeMs) / 1000);
  instruments.writeBytes(verb).inc(body.length);
  const { query, ...fence } = hands.fence(now);
  hands.outbox.send(
    { for: 'write', queued },
    {
      pool: 'write',
      method: METHODS[verb],
      path: pathOf(queued) + query,
      accept: ACCEPT_METADATA,
      contentType: verb === 'delete' ? JSON_TYPE : PROTOBUF,
      body: verb === 'delete' ? deleteOptions(write) : body,
      stream: false,
      timeoutMs: WRITE_TIMEOUT_MS,
      ...fence,
    },
  );
}

/** The path of the request: the collection for a create, else the object. */
function pathOf({ unit, object, write }: QueuedWrite): string {
  const name = write.verb === 'create' ? '' : object.name;
  return (isEndpoints(object) ? endpointsPath : slicesPath)(unit.service.namespace, name);
}

function deleteOptions(write: PlannedWrite): Uint8Array {
  const { uid, resourceVersion } = write;
  const preconditions = resourceVersion === '' ? { uid } : { uid, resourceVersion };
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions }), 'utf8');
}

/** Takes the answer to a write. Counts it, pauses all writes if the server asks for that, and says what it means. */
export function readWriteAnswer(
  writes: Writes,
  hands: WriteHands,
  queued: QueuedWrite,
  event: TransportEvent,
  now: Now,
): WriteOutcome {
  const { unit, write, sentAtMs } = queued;
  const { instruments } = unit.controller;
  const { metrics, outbox } = hands;
  assert(sentAtMs >= 0 && writes.inFlight > 0, `an answer to a write of ${write.name} that was not sent`);
  countInFlight(writes, queued, -1);
  const outcome = outcomeOf(write, event, isOvertaken(hands, queued), hands.interner);
  const result = outcome.failure?.class ?? outcome.result;
  instruments.writes(write.verb, result).inc();
  if (outcome.result === 'applied') unit.controller.report.applied(write.verb);
  outbox.log('info', 4, 'Write answered', {
    controller: unit.controller.name,
    service: keyOf(unit.service),
    object: write.name,
    verb: write.verb,
    result,
    bytes: write.body.length,
    ms: Math.round(now.nowMs - sentAtMs),
  });
  if (outcome.isUndecodable) metrics.decodeErrors(isEndpoints(queued.object) ? 'endpoints' : 'endpointslices').inc();
  if (outcome.isConflict) metrics.conflicts.inc();
  noteWriteAnswered(writes.pause, outbox.log, queued, event, now);
  return outcome;
}

/** Whether a list of the resource was asked for after the write was sent. */
function isOvertaken(hands: WriteHands, { object, sentAtMs }: QueuedWrite): boolean {
  return (hands.reachedOf(object)?.askedAtMs ?? -Infinity) >= sentAtMs;
}

/** Takes back every write that was not sent. */
export function takeBackWrites(writes: Writes): QueuedWrite[] {
  return [...takeAllTurns(writes.fresh), ...takeAllTurns(writes.chore)];
}
