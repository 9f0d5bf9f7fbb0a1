/**
 * Leader election by a Lease, with client-go's record and its rule of safety. The own clock is never compared with
 * times of the server or of another process. A leader ceases to be one `renewDeadlineMs` after it *sent* the last
 * renewal that was confirmed, by whichever of its two clocks is ahead. Another process takes the Lease no sooner than
 * the Lease's duration after it *saw* the record change. Unlike client-go, a standby watches the Lease and tries at the
 * moment at which it runs out.
 */
import { assert, unreachable } from '../../lib/assert.ts';
import { nextFloat, type Prng } from '../../lib/prng.ts';
import {
  isSameRecord,
  leaseBody,
  leaseTime,
  readLease,
  type Lease,
  type LeaseKey,
  type LeaseRecord,
} from '../../kube/lease.ts';
import { JSON_TYPE } from '../../kube/media-type.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { isNotFound, readStatus } from '../../kube/status.ts';
import type { HttpRequest, TransportEvent } from '../../ports/transport.ts';
import type { Now } from '../event.ts';
import type { Log } from '../outbox.ts';
import { leasesPath, leaseWatchRequest, takeWatchEvent, type LeaseNews, type LeaseWatch } from './lease-watch.ts';

export interface ElectionOptions extends LeaseKey {
  /** Unique for each life of a process. */
  readonly identity: string;
  /** How long others wait after the last renewal that they saw; whole seconds in the record. */
  readonly leaseDurationMs: number;
  /** How long after it sent its last confirmed renewal the leader still acts as one. */
  readonly renewDeadlineMs: number;
  /** Time between two renewals, and the least time between two tries. */
  readonly retryPeriodMs: number;
}

/** What an elector needs of the process around it. */
export interface ElectorHands {
  /** Sends a request and returns its id. The caller gives the request's events to `onElectorEvent`. */
  readonly send: (request: Omit<HttpRequest, 'id'>) => number;
  readonly cancel: (id: number) => void;
  readonly log: Log;
  /** The annotations of the Lease while this process holds it. */
  readonly annotations: () => Readonly<Record<string, string>>;
  /** The process leads from now on. */
  readonly begin: (now: Now) => void;
  /** The process leads no longer: nothing may be written any more. */
  readonly end: (now: Now) => void;
}

export interface Elector {
  readonly options: ElectionOptions;
  readonly prng: Prng;
  phase: ElectorPhase;
  /** Whether the process stops: once it leads no longer, it takes the Lease no more. */
  isStopping: boolean;
  seen: SeenLease | null;
  /** Monotonic ms at which another process was last seen to have written the Lease; -Infinity = never. */
  otherSeenMs: number;
  attempt: Attempt | null;
  /** Whether it has sent a record of its own since it saw another holder. */
  hasSent: boolean;
  /** Whether it has waited for the Lease, or has lost it: another process may have led meanwhile. */
  hasStoodBy: boolean;
  watch: LeaseWatch;
  /** Monotonic ms at which a standby tries next and opens the watch again, whatever the watch has told. */
  pollAtMs: number;
  /** Why the last request failed ('' = it did not), since which monotonic ms requests fail, and when the log told it. */
  failing: string;
  failingSinceMs: number;
  failingToldAtMs: number;
  /** How many renewals met another version than the known one (`leader_election_slowpath_total`). */
  slowPaths: number;
}

/**
 * releasing: the process ends, and gives back the Lease that it holds or may hold. released: it has done so, or does not
 * know, and asks for nothing any more.
 */
export type ElectorPhase =
  | { readonly name: 'standby' | 'released' }
  /** `askAgainMs`: monotonic ms at which the Lease is read, whatever is under way. */
  | { readonly name: 'releasing'; readonly askAgainMs: number }
  | {
      readonly name: 'leader';
      readonly since: Now;
      /** Whether another process, or an earlier leadership of this one, held the Lease and has not released it. */
      readonly isAfterOther: boolean;
      /** When the last confirmed renewal was sent. */
      readonly confirmed: Now;
      readonly renewAtMs: number;
    };

/** The Lease as it was last read or written, and the monotonic ms at which its record was first seen. */
export interface SeenLease {
  readonly lease: Lease;
  readonly sinceMs: number;
  /**
   * Monotonic ms of the last look that found the Lease missing, as did all looks since `sinceMs`; -Infinity = it
   * exists.
   */
  readonly missedAtMs: number;
}

/** The one request that is under way. The watch is not counted. */
interface Attempt {
  readonly id: number;
  readonly verb: 'read' | 'create' | 'update' | 'release';
  readonly sentAt: Now;
  /** Who held the Lease, as far as it was known then. */
  readonly holderBefore: string;
  /** Whether the request follows a write that met another version. */
  readonly isAfterConflict: boolean;
}

/** client-go's spread of its retries. */
const JITTER = 1.2;
/** The duration in a Lease that nobody holds, as client-go writes it. */
const RELEASED_SECONDS = 1;
/** The longest time limit of a request, however late the deadline is: Node's timers hold 24 days. */
const ANSWER_MS_MAX = 60_000;
/** While the Lease is released: how long an answer is awaited, and the pause after a failure. The end waits two seconds. */
const RELEASE_ANSWER_MS_MAX = 700;
const RELEASE_PAUSE_MS = 250;
/** How often the log tells of an outage that lasts. */
const FAILURE_TOLD_EVERY_MS = 3_600_000;

export function createElector(options: ElectionOptions, prng: Prng): Elector {
  return {
    options,
    prng,
    phase: { name: 'standby' },
    isStopping: false,
    seen: null,
    otherSeenMs: -Infinity,
    attempt: null,
    hasSent: false,
    hasStoodBy: false,
    watch: { name: 'closed' },
    pollAtMs: -Infinity,
    failing: '',
    failingSinceMs: -Infinity,
    failingToldAtMs: -Infinity,
    slowPaths: 0,
  };
}

export function isLeader({ phase }: Elector): boolean {
  return phase.name === 'leader';
}

/** Whether the process ends, and asks for the Lease no more. */
function isLeaving({ phase }: Elector): boolean {
  return phase.name === 'releasing' || phase.name === 'released';
}

/** The other process that holds the Lease; null = nobody is known to hold it, or this process does. */
export function holderOf({ seen, options }: Elector): string | null {
  const holder = seen?.lease.record.holder ?? '';
  return holder === '' || holder === options.identity ? null : holder;
}

/** The time, by either clock, after which no write may be sent. */
export function fenceOf({ phase, options }: Elector): Now {
  assert(phase.name === 'leader', 'elector: who does not lead has no fence');
  const { nowMs, wallMs } = phase.confirmed;
  return { nowMs: nowMs + options.renewDeadlineMs, wallMs: wallMs + options.renewDeadlineMs };
}

/** Makes the next renewal due at once, because the annotations have changed. */
export function renewNow(elector: Elector, now: Now): void {
  const { phase } = elector;
  if (phase.name === 'leader') elector.phase = { ...phase, renewAtMs: now.nowMs };
}

/** Does what is due. Returns the monotonic ms at which something is due next; Infinity = only events matter. */
export function wakeElector(elector: Elector, hands: ElectorHands, now: Now): number {
  endIfLapsed(elector, hands, now);
  const { phase } = elector;
  if (phase.name === 'released') return Infinity;
  if (phase.name === 'releasing') return wakeRelease(elector, hands, phase.askAgainMs, now);
  if (elector.attempt === null && now.nowMs >= dueMs(elector)) tryNow(elector, hands, now);
  const lapseMs = isLeader(elector) ? fenceOf(elector).nowMs : Infinity;
  return elector.attempt === null ? Math.min(dueMs(elector), lapseMs) : lapseMs;
}

/** Takes an event of one of its requests. */
export function onElectorEvent(elector: Elector, hands: ElectorHands, event: TransportEvent, now: Now): void {
  endIfLapsed(elector, hands, now);
  const { attempt, watch } = elector;
  if (attempt?.id === event.id) {
    elector.attempt = null;
    onAnswer(elector, hands, attempt, event, now);
  } else if (watch.name !== 'closed' && watch.id === event.id) {
    const taken = takeWatchEvent(watch, elector.options, event);
    elector.watch = taken.watch;
    // A stream that is no watch goes on too.
    if (taken.watch.name === 'closed') hands.cancel(event.id);
    for (const news of taken.news) onNews(elector, hands, news, now);
  }
}

/**
 * Releases the Lease at the end of the process, if it is held, or may be: a request that was lost or cancelled may be
 * done all the same. Before, the caller waits until every write has been answered, because the next leader begins at
 * once.
 */
export function releaseLease(elector: Elector, hands: ElectorHands, now: Now): void {
  const { phase, seen, attempt, hasSent } = elector;
  if (isLeaving(elector)) return;
  if (phase.name === 'leader') {
    assert(seen !== null, 'elector: a leader has seen its Lease');
    dropRequests(elector, hands);
    askAgainIn(elector, RELEASE_ANSWER_MS_MAX, now);
    hands.end(now);
    writeRelease(elector, hands, seen, false, now);
  } else if (hasSent) {
    closeWatch(elector, hands);
    if (attempt === null) askWhoHolds(elector, hands, now);
    else askAgainIn(elector, RELEASE_ANSWER_MS_MAX, now);
  } else {
    dropRequests(elector, hands);
    elector.phase = { name: 'released' };
  }
}

/** Asks who holds the Lease when an answer is late, or a request has failed. @returns as `wakeElector` */
function wakeRelease(elector: Elector, hands: ElectorHands, askAgainMs: number, now: Now): number {
  if (now.nowMs < askAgainMs) return askAgainMs;
  dropAttempt(elector, hands);
  return askWhoHolds(elector, hands, now);
}

/** @returns monotonic ms at which it asks again */
function askWhoHolds(elector: Elector, hands: ElectorHands, now: Now): number {
  read(elector, hands, true, now);
  return askAgainIn(elector, RELEASE_ANSWER_MS_MAX, now);
}

function askAgainIn(elector: Elector, ms: number, now: Now): number {
  const askAgainMs = now.nowMs + ms;
  elector.phase = { name: 'releasing', askAgainMs };
  return askAgainMs;
}

function writeRelease(
  elector: Elector,
  hands: ElectorHands,
  { lease }: SeenLease,
  isAfterConflict: boolean,
  now: Now,
): void {
  const time = leaseTime(now.wallMs);
  const { transitions } = lease.record;
  const durationSeconds = RELEASED_SECONDS;
  const record = { holder: '', durationSeconds, acquireTime: time, renewTime: time, transitions };
  write(elector, hands, 'release', record, now, isAfterConflict);
  askAgainIn(elector, RELEASE_ANSWER_MS_MAX, now);
}

/**
 * Takes an answer while the Lease is released. A renewal whose answer was not awaited may have given the Lease another
 * version: after a conflict it is read and released once more. So is one that this process may have taken. A failure
 * tells nothing, so the Lease is read after a pause; the caller bounds how often.
 */
function onReleaseAnswer(
  elector: Elector,
  hands: ElectorHands,
  attempt: Attempt,
  event: TransportEvent,
  now: Now,
): void {
  const { verb, isAfterConflict } = attempt;
  const { options } = elector;
  const answer = readAnswer(event, verb, options);
  const isHeld = verb !== 'release' && answer.type === 'lease' && answer.lease.record.holder === options.identity;
  if (isHeld) {
    elector.seen = { lease: answer.lease, sinceMs: now.nowMs, missedAtMs: -Infinity };
    writeRelease(elector, hands, elector.seen, verb === 'read', now);
    return;
  }
  if (answer.type === 'failed') {
    askAgainIn(elector, RELEASE_PAUSE_MS, now);
    return;
  }
  const isUnknown = verb === 'release' ? answer.type === 'conflict' && !isAfterConflict : verb !== 'read';
  if (isUnknown) {
    askWhoHolds(elector, hands, now);
    return;
  }
  elector.phase = { name: 'released' };
}

/**
 * Ends without releasing the Lease. A write may still be under way, so other processes wait until the Lease runs out.
 */
export function abandonLease(elector: Elector, hands: ElectorHands, now: Now): void {
  dropRequests(elector, hands);
  if (isLeader(elector)) hands.end(now);
  elector.phase = { name: 'released' };
}

function dropRequests(elector: Elector, hands: ElectorHands): void {
  dropAttempt(elector, hands);
  closeWatch(elector, hands);
}

function dropAttempt(elector: Elector, hands: ElectorHands): void {
  if (elector.attempt !== null) hands.cancel(elector.attempt.id);
  elector.attempt = null;
}

function closeWatch(elector: Elector, hands: ElectorHands): void {
  if (elector.watch.name !== 'closed') hands.cancel(elector.watch.id);
  elector.watch = { name: 'closed' };
}

/** Monotonic ms of the next try. */
function dueMs(elector: Elector): number {
  const { phase, seen, watch } = elector;
  if (phase.name === 'leader') return phase.renewAtMs;
  const pollMs = watch.name === 'closed' ? elector.pollAtMs : Infinity;
  return seen === null ? elector.pollAtMs : Math.min(pollMs, Math.max(freeAtMs(elector, seen), elector.pollAtMs));
}

/**
 * When the Lease may be taken: at once if nobody holds it, or this elector does. If the elector has seen another holder
 * and has sent nothing since, its own name in the Lease comes from a backup of etcd, and the other holder may still
 * write.
 */
function freeAtMs(elector: Elector, { lease, sinceMs, missedAtMs }: SeenLease): number {
  const { identity, leaseDurationMs } = elector.options;
  const { holder, durationSeconds } = lease.record;
  // Only the leader knows who last held a Lease that is missing.
  if (missedAtMs > -Infinity)
    return isLeader(elector) ? -Infinity : sinceMs + Math.max(leaseDurationMs, durationSeconds * 1000);
  return holder === '' || (holder === identity && elector.hasSent) ? -Infinity : sinceMs + durationSeconds * 1000;
}

function isFree(elector: Elector, now: Now): boolean {
  return elector.seen === null || now.nowMs >= freeAtMs(elector, elector.seen);
}

function tryNow(elector: Elector, hands: ElectorHands, now: Now): void {
  const { seen } = elector;
  if (seen === null || !isFree(elector, now)) read(elector, hands, false, now);
  else write(elector, hands, 'update', ownRecord(elector, seen.lease.record, now), now);
}

function ownRecord({ options }: Elector, before: LeaseRecord | null, now: Now): LeaseRecord {
  const time = leaseTime(now.wallMs);
  const isRenewal = before !== null && before.holder === options.identity;
  return {
    holder: options.identity,
    durationSeconds: Math.floor(options.leaseDurationMs / 1000),
    acquireTime: isRenewal ? before.acquireTime : time,
    renewTime: time,
    transitions: before === null ? 0 : before.transitions + (isRenewal ? 0 : 1),
  };
}

function read(elector: Elector, hands: ElectorHands, isAfterConflict: boolean, now: Now): void {
  const { namespace, name } = elector.options;
  const path = `${leasesPath(namespace)}/${name}`;
  request(elector, hands, 'read', { method: 'GET', path, body: null }, now, isAfterConflict);
}

function write(
  elector: Elector,
  hands: ElectorHands,
  verb: 'create' | 'update' | 'release',
  record: LeaseRecord,
  now: Now,
  isAfterConflict = false,
): void {
  const { options, seen } = elector;
  const collection = leasesPath(options.namespace);
  const isCreate = verb === 'create';
  const path = isCreate ? collection : `${collection}/${options.name}`;
  elector.hasSent = true;
  const annotations = verb === 'release' ? {} : hands.annotations();
  const body = leaseBody(isCreate ? null : seen!.lease, options, record, annotations);
  request(elector, hands, verb, { method: isCreate ? 'POST' : 'PUT', path, body }, now, isAfterConflict);
}

/**
 * Takes the answer that there is no Lease: somebody has removed it. Its holder may have renewed it since it was last
 * seen, and may not have noticed the removal. So the Lease is made again only when a renewal of this moment would have
 * run out. (Two processes may write if the Lease is removed several times within that time, or before one of them has
 * seen it once.)
 */
function onMissing(elector: Elector, hands: ElectorHands, now: Now): void {
  const { seen } = elector;
  closeWatch(elector, hands);
  if (seen !== null) {
    // If nobody has looked for longer than this, the Lease may have existed in between.
    const wasMissing = now.nowMs - seen.missedAtMs <= elector.options.renewDeadlineMs / 2;
    elector.seen = { ...seen, sinceMs: wasMissing ? seen.sinceMs : now.nowMs, missedAtMs: now.nowMs };
  }
  if (isFree(elector, now)) write(elector, hands, 'create', ownRecord(elector, null, now), now);
  else tryLater(elector, now);
}

function request(
  elector: Elector,
  hands: ElectorHands,
  verb: Attempt['verb'],
  { method, path, body }: Pick<HttpRequest, 'method' | 'path' | 'body'>,
  now: Now,
  isAfterConflict: boolean,
): void {
  assert(elector.attempt === null, 'elector: one request at a time');
  const id = hands.send({
    pool: 'lease',
    method,
    path,
    accept: JSON_TYPE,
    contentType: body === null ? '' : JSON_TYPE,
    body,
    stream: false,
    // A request that is lost leaves time for another one before the deadline.
    timeoutMs: Math.min(elector.options.renewDeadlineMs / 2, ANSWER_MS_MAX),
  });
  // Whoever held a Lease that was removed may still have writes under way.
  const holderBefore = elector.seen?.lease.record.holder ?? '';
  elector.attempt = { id, verb, sentAt: now, holderBefore, isAfterConflict };
}

function onAnswer(elector: Elector, hands: ElectorHands, attempt: Attempt, event: TransportEvent, now: Now): void {
  if (elector.phase.name === 'releasing') {
    onReleaseAnswer(elector, hands, attempt, event, now);
    return;
  }
  const answer = readAnswer(event, attempt.verb, elector.options);
  switch (answer.type) {
    case 'lease':
      noteSuccess(elector, hands);
      see(elector, hands, answer.lease, attempt.verb === 'read' ? now : attempt.sentAt);
      // A process that stops has lost the Lease by this answer.
      if (isLeaving(elector)) return;
      if (attempt.verb === 'read') afterRead(elector, hands, attempt.isAfterConflict, now);
      else confirm(elector, hands, attempt, now);
      return;
    case 'conflict':
    case 'missing':
      if (attempt.verb === 'update') afterConflict(elector, hands, attempt, now);
      else if (attempt.verb === 'read') onMissing(elector, hands, now);
      else {
        // There was no Lease to read, and none can be made: its namespace does not exist.
        if (answer.type === 'missing' && attempt.verb === 'create') noteFailure(elector, hands, answer.message, now);
        tryLater(elector, now);
      }
      return;
    case 'failed':
      noteFailure(elector, hands, answer.message, now);
      tryLater(elector, now, attempt.sentAt.nowMs);
      return;
    default:
      unreachable(answer);
  }
}

type Answer =
  | { readonly type: 'lease'; readonly lease: Lease }
  /** conflict: the Lease has another version, or exists already. missing: there is no such Lease. */
  | { readonly type: 'conflict' }
  | { readonly type: 'missing'; readonly message: string }
  | { readonly type: 'failed'; readonly message: string };

/**
 * Reads the answer to a request. An answer without a Lease says nothing: it is a proxy's, or a page to sign in. An
 * answer to a write confirms nothing if it names another holder: admission has altered the write.
 */
function readAnswer(event: TransportEvent, verb: Attempt['verb'], { identity, ...key }: ElectionOptions): Answer {
  if (event.type === 'failure') return { type: 'failed', message: `${event.kind}: ${event.message}` };
  assert(event.type === 'response', 'elector: an answer');
  const { status, contentType, body } = event;
  if (status === 409) return { type: 'conflict' };
  if (isNotFound(contentType, status, body)) {
    return { type: 'missing', message: readStatus(contentType, status, body).message ?? '' };
  }
  if (status !== 200 && status !== 201) {
    return { type: 'failed', message: readStatus(contentType, status, body).message ?? `HTTP status ${status}` };
  }
  try {
    const lease = readLease(body, key);
    const { holder } = lease.record;
    if (verb === 'read' || holder === (verb === 'release' ? '' : identity)) return { type: 'lease', lease };
    return { type: 'failed', message: `what was written names ${JSON.stringify(holder)} as the holder` };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { type: 'failed', message: `HTTP status ${status}, but ${error.message}` };
  }
}

/**
 * Notes a failed request. The log tells of an outage when it begins, once an hour while it lasts, and when it is over.
 */
function noteFailure(elector: Elector, hands: ElectorHands, err: string, now: Now): void {
  if (elector.failing === err && now.nowMs - elector.failingToldAtMs < FAILURE_TOLD_EVERY_MS) return;
  hands.log('warning', 0, 'Cannot read or write the Lease', { lease: leaseText(elector), err });
  if (elector.failing === '') elector.failingSinceMs = now.nowMs;
  elector.failing = err;
  elector.failingToldAtMs = now.nowMs;
}

function noteSuccess(elector: Elector, hands: ElectorHands): void {
  if (elector.failing !== '') hands.log('info', 0, 'Lease answers again', { lease: leaseText(elector) });
  elector.failing = '';
}

function leaseText({ options }: Elector): string {
  return `${options.namespace}/${options.name}`;
}

/** Another process has written or removed the Lease. It is read before it is written again. */
function afterConflict(elector: Elector, hands: ElectorHands, { isAfterConflict }: Attempt, now: Now): void {
  if (isLeader(elector)) elector.slowPaths++;
  closeWatch(elector, hands);
  if (!isAfterConflict) {
    read(elector, hands, true, now);
    return;
  }
  // The second conflict in a row. A process that meets one at every try must pause between its tries.
  tryLater(elector, now);
}

/** Takes the Lease as it is now. If the holder is another one, the log tells it, and a leader ends. */
function see(elector: Elector, hands: ElectorHands, lease: Lease, at: Now): void {
  const before = elector.seen;
  const isSame = before !== null && isSameRecord(before.lease.record, lease.record);
  elector.seen = { lease, sinceMs: isSame ? before.sinceMs : at.nowMs, missedAtMs: -Infinity };
  const { holder } = lease.record;
  const { identity } = elector.options;
  if (holder !== identity) elector.hasSent = false;
  if (holder !== identity && !isSame && (holder !== '' || before !== null)) elector.otherSeenMs = at.nowMs;
  if (holder !== before?.lease.record.holder && holder !== '' && holder !== identity) {
    hands.log('info', 0, 'Another process leads', { holder });
  }
  if (isLeader(elector) && holder !== identity) endLeadership(elector, hands, `the Lease is held by "${holder}"`, at);
}

function afterRead(elector: Elector, hands: ElectorHands, isAfterConflict: boolean, now: Now): void {
  if (isFree(elector, now)) {
    write(elector, hands, 'update', ownRecord(elector, elector.seen!.lease.record, now), now, isAfterConflict);
    return;
  }
  tryLater(elector, now);
  openWatch(elector, hands);
}

function openWatch(elector: Elector, hands: ElectorHands): void {
  if (elector.watch.name !== 'closed' || isLeader(elector)) return;
  const { resourceVersion } = elector.seen!.lease;
  elector.watch = { name: 'opening', id: hands.send(leaseWatchRequest(elector.options, resourceVersion)) };
}

function onNews(elector: Elector, hands: ElectorHands, news: LeaseNews, now: Now): void {
  if (news.type === 'lease') {
    see(elector, hands, news.lease, now);
    if (isFree(elector, now)) elector.pollAtMs = now.nowMs;
  } else if (news.type === 'over') {
    elector.pollAtMs = now.nowMs + pauseMs(elector);
  }
}

/** Notes that the server has applied a write of the own record, which was sent at `sentAt`. */
function confirm(elector: Elector, hands: ElectorHands, { sentAt, holderBefore }: Attempt, now: Now): void {
  const before = elector.phase;
  const renewAtMs = sentAt.nowMs + elector.options.retryPeriodMs;
  const lasting =
    before.name === 'leader'
      ? { since: before.since, isAfterOther: before.isAfterOther }
      : { since: now, isAfterOther: holderBefore !== '' };
  elector.phase = { name: 'leader', ...lasting, confirmed: sentAt, renewAtMs };
  if (before.name === 'leader') return;
  closeWatch(elector, hands);
  hands.log('info', 0, 'This process leads', { identity: elector.options.identity });
  hands.begin(now);
  // The answer came after the deadline that it would have set.
  endIfLapsed(elector, hands, now);
}

/** A leader whose Lease has run out leads no longer. */
export function endIfLapsed(elector: Elector, hands: ElectorHands, now: Now): void {
  if (elector.phase.name !== 'leader') return;
  const fence = fenceOf(elector);
  if (now.nowMs < fence.nowMs && now.wallMs < fence.wallMs) return;
  endLeadership(elector, hands, `the Lease was not renewed within ${elector.options.renewDeadlineMs} ms`, now);
}

function endLeadership(elector: Elector, hands: ElectorHands, reason: string, now: Now): void {
  elector.phase = { name: 'standby' };
  elector.hasStoodBy = true;
  dropAttempt(elector, hands);
  elector.pollAtMs = now.nowMs;
  hands.log('warning', 0, 'This process leads no longer', { reason });
  hands.end(now);
}

/**
 * A leader whose renewal was not answered in time tries again at once, as client-go: what is left of the deadline is
 * short. @param sentMs when the renewal was sent
 */
function tryLater(elector: Elector, now: Now, sentMs = now.nowMs): void {
  const { phase, options } = elector;
  const renewAtMs = Math.max(now.nowMs, sentMs + options.retryPeriodMs);
  if (phase.name === 'leader') {
    elector.phase = { ...phase, renewAtMs };
    return;
  }
  elector.hasStoodBy = true;
  elector.pollAtMs = now.nowMs + pauseMs(elector);
}

function pauseMs({ options, prng }: Elector): number {
  return options.retryPeriodMs * (1 + JITTER * nextFloat(prng));
}
