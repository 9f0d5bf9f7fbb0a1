/** What a reflector asks the API server for: a list, a page, a watch, or a look at the version before a watch goes on. */
import { retryAfterMs } from '../queues/backoff.ts';
import { noteListBegins } from './brake.ts';
import { createListProgress } from './list-progress.ts';
import { nextReconnectMs } from './reconnect.ts';
import type { Now } from '../event.ts';
import { reachedVersion } from './history.ts';
import { log, send, type ControllerState } from '../state.ts';
import { createStreamLife, lifeEndsAtMs } from './stream-life.ts';
import type { Reflector } from './reflector.ts';
import type { HttpRequest } from '../../ports/transport.ts';
import { ACCEPT } from '../../kube/media-type.ts';
import { nextFloat } from '../../lib/prng.ts';

const PAGE_TIMEOUT_MS = 60_000;

/** Until the headers of a stream: some proxies hold them back until the first event. A WatchList begins with events. */
const WATCH_TIMEOUT_MS = 150_000;

const WATCH_LIST_TIMEOUT_MS = 30_000;

export function startReflector(state: ControllerState, reflector: Reflector, now: Now): void {
  if (reflector.phase === 'idle') list(state, reflector, now);
}

/** Ends it for good. */
export function stopReflector(state: ControllerState, reflector: Reflector): void {
  if (state.outbox.requests.has(reflector.request)) abandon(state, reflector);
  reflector.phase = 'idle';
  reflector.wakeAtMs = Infinity;
}

/** An own write, sent at `sentAtMs`, has shown that history went back: the reflector and all others list again. */
export function onWrittenInThePast(state: ControllerState, reflector: Reflector, sentAtMs: number, now: Now): void {
  listAgain(state, reflector, sentAtMs, now);
  listOthersAgain(state, reflector, now);
}

/**
 * Etcd is restored as a whole, and own writes that follow may take the version past what another reflector had reached
 * before that one asks for it: its next list would be no sign any more, and its watch would miss what lies between.
 */
export function listOthersAgain(state: ControllerState, reflector: Reflector, now: Now): void {
  for (const other of state.reflectors) if (other !== reflector) listAgain(state, other, -Infinity, now);
}

/** Lists at once, unless that was asked for since `sinceMs` or is to be. */
function listAgain(state: ControllerState, reflector: Reflector, sinceMs: number, now: Now): void {
  const { phase, next, askedAtMs } = reflector;
  if (phase === 'idle' || (phase === 'waiting' && next === 'list')) return;
  if (isListing(reflector) && askedAtMs >= sinceMs) return;
  if (state.outbox.requests.has(reflector.request)) abandon(state, reflector);
  if (reflector.downSinceMs < 0) reflector.downSinceMs = now.nowMs;
  list(state, reflector, now);
}

function isListing({ phase, streamingList }: Reflector): boolean {
  return phase === 'paging' || ((phase === 'opening' || phase === 'initial') && streamingList);
}

export function list(state: ControllerState, reflector: Reflector, now: Now): void {
  // The cache is empty before the first list: nothing in it can be gone.
  reflector.marks = reflector.listsBegun++ === 0 ? null : new Set();
  reflector.aside = [];
  reflector.listIncomplete = false;
  reflector.progress = createListProgress(now.nowMs);
  reflector.askedAtMs = now.nowMs;
  reflector.reachedBefore = reachedVersion(reflector);
  reflector.target.listing();
  noteListBegins(state, reflector);
  if (reflector.watchList && !reflector.inPages) {
    reflector.streamingList = true;
    openStream(
      state,
      reflector,
      'resourceVersion=&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    );
  } else {
    reflector.continueToken = '';
    page(state, reflector);
  }
}

export function page(state: ControllerState, reflector: Reflector): void {
  reflector.phase = 'paging';
  reflector.streamingList = false;
  const more = reflector.continueToken === '' ? '' : `&continue=${encodeURIComponent(reflector.continueToken)}`;
  reflector.request = send(
    state,
    { for: 'reflector', reflector },
    listRequest(`${reflector.path}?limit=${reflector.pageItems}${more}${selection(reflector)}`),
  );
  scheduleWake(reflector);
}

function listRequest(path: string): Omit<HttpRequest, 'id'> {
  return {
    lane: 'list',
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
 * A watch that has broken goes on only if history has not gone back meanwhile: a watch would not tell. What an own delete
 * has taken away may be there again then, and the version of a list does not tell that either; the objects in it do.
 */
export function check(state: ControllerState, reflector: Reflector, now: Now): void {
  if (reflector.target.awaitsDeletions()) {
    list(state, reflector, now);
    return;
  }
  reflector.phase = 'checking';
  reflector.askedAtMs = now.nowMs;
  reflector.reachedBefore = reachedVersion(reflector);
  reflector.streamingList = false;
  const path = `${reflector.path}?limit=1${selection(reflector)}`;
  reflector.request = send(state, { for: 'reflector', reflector }, listRequest(path));
  scheduleWake(reflector);
}

export function watch(state: ControllerState, reflector: Reflector): void {
  reflector.streamingList = false;
  openStream(state, reflector, `resourceVersion=${reflector.resourceVersion}&allowWatchBookmarks=true`);
}

function openStream(state: ControllerState, reflector: Reflector, query: string): void {
  reflector.life = createStreamLife(nextFloat(state.prng));
  reflector.phase = 'opening';
  reflector.reader = null;
  reflector.request = send(
    state,
    { for: 'reflector', reflector },
    {
      lane: 'watch',
      method: 'GET',
      path: `${reflector.path}?watch=true&timeoutSeconds=${reflector.life.seconds}&${query}${selection(reflector)}`,
      accept: ACCEPT,
      contentType: '',
      body: null,
      stream: true,
      timeoutMs: reflector.streamingList ? WATCH_LIST_TIMEOUT_MS : WATCH_TIMEOUT_MS,
    },
  );
  scheduleWake(reflector);
}

function selection({ selector }: Reflector): string {
  return selector === '' ? '' : `&labelSelector=${encodeURIComponent(selector)}`;
}

/** A new stream at once, from where the last one was. */
export function goOn(state: ControllerState, reflector: Reflector, now: Now): void {
  noteRestart(state, reflector, now);
  watch(state, reflector);
}

export function noteRestart(state: ControllerState, reflector: Reflector, now: Now): void {
  reflector.downSinceMs = now.nowMs;
  state.instruments.watchRestarts(reflector.resource).inc();
}

/** What was listed so far stays in the cache, but a list in pages has to find it again. */
export function giveUpWatchList(state: ControllerState, reflector: Reflector, reason: string, now: Now): void {
  log(state, 'warning', 0, `the WatchList of ${reflector.resource} is given up, listing in pages`, {
    resource: reflector.resource,
    objects: reflector.progress?.objects ?? 0,
    reason,
  });
  state.instruments.watchRestarts(reflector.resource).inc();
  abandon(state, reflector);
  reflector.inPages = true;
  list(state, reflector, now);
}

export function abandon(state: ControllerState, reflector: Reflector): void {
  state.outbox.requests.delete(reflector.request);
  state.outbox.effects.push({ type: 'cancel', id: reflector.request });
  reflector.request = 0;
  reflector.reader = null;
}

export function retry(
  state: ControllerState,
  reflector: Reflector,
  next: 'list' | 'watch',
  reason: string,
  now: Now,
  retryAfterSeconds = -1,
): void {
  const isCheap = reflector.progress?.isAnswered !== true;
  const delayMs = Math.max(
    nextReconnectMs(reflector.reconnect, state.prng, now.nowMs, isCheap),
    retryAfterMs(retryAfterSeconds),
  );
  reflector.phase = 'waiting';
  reflector.next = next;
  reflector.wakeAtMs = now.nowMs + delayMs;
  reflector.reader = null;
  if (reflector.downSinceMs < 0) reflector.downSinceMs = now.nowMs;
  state.instruments.watchRestarts(reflector.resource).inc();
  log(state, 'warning', 0, `${next === 'list' ? 'list' : 'watch'} of ${reflector.resource} is tried again`, {
    resource: reflector.resource,
    afterMs: Math.round(delayMs),
    reason,
  });
}

export function isStream({ phase }: Reflector): boolean {
  return phase === 'initial' || phase === 'watching';
}

/** A frame, or the end of a list, moves it only when it has come: so no frame costs a timer. */
export function scheduleWake(reflector: Reflector): void {
  const lifeMs = isStream(reflector) ? lifeEndsAtMs(reflector.life, reflector.phase === 'initial') : Infinity;
  reflector.wakeAtMs = Math.min(lifeMs, reflector.progress?.lineAtMs ?? Infinity);
}
