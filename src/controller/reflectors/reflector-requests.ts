/** The requests of a reflector: a list, a page, a watch, or a check of the version before a watch goes on. */
import { retryAfterMs } from '../queues/backoff.ts';
import { createListProgress } from './list-progress.ts';
import { logRetry, type Retried } from './outages.ts';
import { nextReconnectMs, type TryCost } from './reconnect.ts';
import type { Now } from '../event.ts';
import { reachedVersion } from './history.ts';
import { createStreamLife, lifeEndsAtMs } from './stream-life.ts';
import {
  isStream,
  listOf,
  type ListUnderWay,
  type Phase,
  type PhaseOf,
  type Reflector,
  type ReflectorHands,
} from './reflector.ts';
import type { HttpRequest } from '../../ports/transport.ts';
import { ACCEPT } from '../../kube/media-type.ts';
import { assert } from '../../lib/assert.ts';
import { nextFloat } from '../../lib/prng.ts';

const PAGE_TIMEOUT_MS = 60_000;

/**
 * How long the headers of a stream may take. Some proxies hold them back until the first event. A WatchList begins with
 * events.
 */
const WATCH_TIMEOUT_MS = 150_000;

const WATCH_LIST_TIMEOUT_MS = 30_000;

/** A watch begins with what was missed. So much later, if it is silent, it has told all of it. */
export const OWED_MS = 5000;

export function startReflector(hands: ReflectorHands, reflector: Reflector, now: Now): void {
  if (reflector.phase.name !== 'idle') return;
  reflector.downSinceMs = now.nowMs;
  list(hands, reflector, now);
}

/** Ends the reflector for good. */
export function stopReflector(hands: ReflectorHands, reflector: Reflector): void {
  leave(hands, reflector);
  reflector.phase = { name: 'idle' };
  reflector.wakeAtMs = Infinity;
}

/** Lists at once, unless a list was asked for after `sinceMs` or is about to be. */
export function listAgain(hands: ReflectorHands, reflector: Reflector, sinceMs: number, now: Now): void {
  const { phase } = reflector;
  if (phase.name === 'idle' || (phase.name === 'waiting' && phase.next === 'list')) return;
  if (listOf(reflector) !== null && reflector.askedAtMs >= sinceMs) return;
  if (reflector.downSinceMs < 0) reflector.downSinceMs = now.nowMs;
  list(hands, reflector, now);
}

export function list(hands: ReflectorHands, reflector: Reflector, now: Now): void {
  leave(hands, reflector);
  if (reflector.damaged) reflector.target.forgetVersions('damaged', now);
  reflector.damaged = false;
  const underWay: ListUnderWay = {
    progress: createListProgress(now.nowMs),
    // The cache is empty before the first list, so no object in it can be gone.
    marks: reflector.hasAskedForList ? new Set() : null,
    hasUnreadable: false,
    isIncomplete: false,
    reachedBefore: reachedVersion(reflector),
  };
  reflector.hasAskedForList = true;
  reflector.foundVersion = '';
  reflector.owesDeletes = null;
  reflector.askedAtMs = now.nowMs;
  reflector.target.listing();
  hands.listBegins(reflector);
  if (!reflector.watchList || reflector.inPages) {
    page(hands, reflector, underWay, '');
    return;
  }
  const query = 'resourceVersion=&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  openStream(hands, reflector, underWay, query);
}

/** @param continueToken from the page before; '' = this is the first page */
export function page(hands: ReflectorHands, reflector: Reflector, underWay: ListUnderWay, continueToken: string): void {
  const more = continueToken === '' ? '' : `&continue=${encodeURIComponent(continueToken)}`;
  const path = `${reflector.path}?limit=${reflector.pageItems}${more}${selection(reflector)}`;
  const request = hands.outbox.send({ for: 'reflector', reflector }, listRequest(path));
  enter(reflector, { name: 'paging', request, list: underWay, continueToken });
}

function listRequest(path: string): Omit<HttpRequest, 'id'> {
  return {
    pool: 'list',
    method: 'GET',
    path,
    accept: ACCEPT,
    contentType: '',
    body: null,
    stream: false,
    timeoutMs: PAGE_TIMEOUT_MS,
  };
}

/**
 * Asks for a list of one object before a watch goes on. Its version shows whether history went back, which a watch would
 * not tell: one from a version that the server has not reached is accepted, and silent. The own deletes that await their
 * events are noted: no version shows that their objects exist again, but the watch owes these events. If the last list
 * had an object that could not be read, everything is listed instead.
 */
export function resumeWatch(hands: ReflectorHands, reflector: Reflector, now: Now): void {
  if (reflector.hasUnreadable) {
    list(hands, reflector, now);
    return;
  }
  leave(hands, reflector);
  reflector.askedAtMs = now.nowMs;
  reflector.owesDeletes = reflector.target.awaitedDeletes();
  const reachedBefore = reachedVersion(reflector);
  const path = `${reflector.path}?limit=1${selection(reflector)}`;
  const request = hands.outbox.send({ for: 'reflector', reflector }, listRequest(path));
  enter(reflector, { name: 'checking', request, reachedBefore });
}

export function watch(hands: ReflectorHands, reflector: Reflector): void {
  assert(reflector.resourceVersion !== '', `${reflector.resource}: a watch begins at no version`);
  openStream(hands, reflector, null, `resourceVersion=${reflector.resourceVersion}&allowWatchBookmarks=true`);
}

function openStream(hands: ReflectorHands, reflector: Reflector, underWay: ListUnderWay | null, query: string): void {
  const life = createStreamLife(nextFloat(hands.prng));
  const request = hands.outbox.send(
    { for: 'reflector', reflector },
    {
      pool: 'watch',
      method: 'GET',
      path: `${reflector.path}?watch=true&timeoutSeconds=${life.seconds}&${query}${selection(reflector)}`,
      accept: ACCEPT,
      contentType: '',
      body: null,
      stream: true,
      timeoutMs: underWay === null ? WATCH_TIMEOUT_MS : WATCH_LIST_TIMEOUT_MS,
    },
  );
  enter(reflector, { name: 'opening', request, list: underWay, life });
}

function selection({ selector }: Reflector): string {
  return selector === '' ? '' : `&labelSelector=${encodeURIComponent(selector)}`;
}

export function noteRestart({ metrics }: ReflectorHands, reflector: Reflector, now: Now): void {
  reflector.downSinceMs = now.nowMs;
  metrics.watchRestarts(reflector.resource).inc();
}

/**
 * Goes over from a WatchList to pages. What was listed so far stays in the cache, but the pages have to name it again.
 */
export function giveUpWatchList(
  hands: ReflectorHands,
  reflector: Reflector,
  { progress }: ListUnderWay,
  reason: string,
  now: Now,
): void {
  const { resource } = reflector;
  hands.outbox.log('warning', 0, 'WatchList is given up, listing in pages', {
    resource,
    objects: progress.objects,
    reason,
  });
  hands.metrics.watchRestarts(resource).inc();
  reflector.inPages = true;
  list(hands, reflector, now);
}

/** Tries again after a pause. */
export function retry(
  hands: ReflectorHands,
  reflector: Reflector,
  next: 'list' | 'watch',
  reason: string,
  now: Now,
  refusal: Refusal = {},
): void {
  const cost = costOf(reflector, next, refusal.isUnreached ?? false);
  pause(hands, reflector, { name: 'waiting', next }, next, cost, reason, now, refusal);
  hands.metrics.watchRestarts(reflector.resource).inc();
}

/**
 * Asks for the page once more after a pause. What the pages before it have told stays: a server under load that refuses
 * one page in a hundred would otherwise never be done with a list of hundreds.
 */
export function retryPage(
  hands: ReflectorHands,
  reflector: Reflector,
  { list: underWay, continueToken }: Pick<PhaseOf<'paging'>, 'list' | 'continueToken'>,
  reason: string,
  now: Now,
  refusal: Refusal,
): void {
  const cost = refusal.isUnreached === true ? 'nothing' : 'little';
  pause(hands, reflector, { name: 'pausing', list: underWay, continueToken }, 'page', cost, reason, now, refusal);
}

/** Why something is tried again. */
interface Refusal {
  /** The server's Retry-After; -1, the default: it gave none. */
  readonly retryAfterSeconds?: number;
  /** The request had no answer at all; default false. */
  readonly isUnreached?: boolean;
}

function pause(
  hands: ReflectorHands,
  reflector: Reflector,
  phase: PhaseOf<'waiting' | 'pausing'>,
  next: Retried,
  cost: TryCost,
  reason: string,
  now: Now,
  { retryAfterSeconds = -1 }: Refusal,
): void {
  leave(hands, reflector);
  const delayMs = Math.max(
    nextReconnectMs(reflector.reconnect, hands.prng, now.nowMs, cost),
    retryAfterMs(retryAfterSeconds),
  );
  reflector.phase = phase;
  reflector.failure = reason;
  reflector.wakeAtMs = now.nowMs + delayMs;
  if (reflector.downSinceMs < 0) reflector.downSinceMs = now.nowMs;
  logRetry(hands.outbox.log, hands.outages, reflector, next, delayMs, reason, now);
}

function costOf(reflector: Reflector, next: 'list' | 'watch', isUnreached: boolean): TryCost {
  const underWay = listOf(reflector);
  // A watch that leads to a list, over and over, would cost one list after the other.
  if (underWay === null ? next === 'list' : underWay.progress.isAnswered) return 'list';
  return isUnreached ? 'nothing' : 'little';
}

/** Cancels the request of the phase, if it is unanswered. */
function leave({ outbox }: ReflectorHands, { phase }: Reflector): void {
  if ('request' in phase) outbox.cancel(phase.request);
}

export function enter(reflector: Reflector, phase: Phase): void {
  reflector.phase = phase;
  scheduleWake(reflector);
}

/**
 * Asks for a wake when the stream's life may end. A new time is computed only when the old one has come, so a frame
 * costs no timer.
 */
export function scheduleWake(reflector: Reflector): void {
  const { phase, owesDeletes } = reflector;
  const lifeMs = isStream(phase) ? lifeEndsAtMs(phase.life, phase.name === 'initial') : Infinity;
  const owedMs = isStream(phase) && owesDeletes !== null ? phase.life.lastFrameAtMs + OWED_MS : Infinity;
  reflector.wakeAtMs = Math.min(lifeMs, owedMs, listOf(reflector)?.progress.lineAtMs ?? Infinity);
}
