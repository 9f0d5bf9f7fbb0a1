/**
 * A reflector keeps one cache equal to one resource of the API server: it lists (by WatchList streaming where the server
 * has it, else in pages), then watches, and recovers by the rules of spec/wire.md 2.3 and 2.4.
 *
 * Listed objects are applied as they arrive, older ones ignored, and marked; at the end of a list the unmarked ones that
 * are not newer than it are removed. So there is never a second copy of a cache, and never an emptied one.
 */
import { retryAfterMs } from './backoff.ts';
import { createReconnect, nextReconnectMs, noteWatch, type Reconnect } from './reconnect.ts';
import type { Now } from './event.ts';
import { log, send, type ControllerState } from './state.ts';
import type { TransportEvent } from '../ports/transport.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { readList } from '../kube/list.ts';
import { ACCEPT } from '../kube/media-type.ts';
import { projectMeta } from '../kube/object-meta.ts';
import type { ObjectSource } from '../kube/source.ts';
import { isResourceVersionTooLarge, readStatus, readStatusSource } from '../kube/status.ts';
import type { Status } from '../kube/types.ts';
import { createWatchReader, type WatchFrame, type WatchReader } from '../kube/watch-framing.ts';
import { nextFloat } from '../lib/prng.ts';

export interface Versioned {
  readonly resourceVersion: string;
}

/** What a reflector feeds. */
export interface ReflectorTarget<R extends Versioned> {
  /** @throws DecodeError */
  project(source: ObjectSource): R;
  /** Takes an object unless the cache has a newer one. Returns what the cache holds now: it serves as the mark. */
  upsert(record: R, source: ObjectSource, now: Now): object;
  remove(record: R, now: Now): void;
  /** Removes what is not marked and not newer than `resourceVersion`. */
  removeUnmarked(marks: ReadonlySet<object>, resourceVersion: string, now: Now): void;
  /** The first list is complete. */
  synced(now: Now): void;
}

export interface Reflector<R extends Versioned = Versioned> {
  readonly resource: 'pods' | 'services' | 'nodes' | 'endpoints' | 'endpointslices';
  readonly path: string;
  /** Of labels; '' = all objects. */
  readonly selector: string;
  readonly target: ReflectorTarget<R>;
  /**
   * idle: not started; waiting: until `wakeAtMs`, then `next`; paging: a page is under way; opening: a stream was asked
   * for; initial: a WatchList stream before its end bookmark; watching: an ordinary stream.
   */
  phase: 'idle' | 'waiting' | 'paging' | 'opening' | 'initial' | 'watching';
  next: 'list' | 'watch';
  wakeAtMs: number;
  request: number;
  /** Last version seen: where a watch goes on. */
  resourceVersion: string;
  continueToken: string;
  /** The stream asked for is a WatchList. */
  streamingList: boolean;
  watchListSupported: boolean;
  reader: WatchReader | null;
  marks: Set<object> | null;
  /** An object of the list under way could not be read: nothing is removed at its end. */
  listIncomplete: boolean;
  listsBegun: number;
  openedAtMs: number;
  framesInStream: number;
  /** The last stream ended at an undecodable frame before anything new was read from it. */
  undecodableInARow: number;
  synced: boolean;
  /** The last list was answered 403 or 404: this may take until somebody changes roles, or the server. */
  refused: boolean;
  /** When the watch was lost; -1 = it runs. Starts at 0: never had. */
  downSinceMs: number;
  readonly reconnect: Reconnect;
}

/** Items of a page; client-go's page size. */
const PAGE_ITEMS_MAX = 500;
const PAGE_TIMEOUT_MS = 60_000;
/** The server sends bookmarks about every 60 s: twice that and a margin in silence is a dead connection. */
const STREAM_SILENCE_MS = 150_000;
const WATCH_SECONDS_MIN = 300;
/** A stream that ends sooner and brought nothing is an error (spec/wire.md 2.4 "very short watch"). */
const SHORT_WATCH_MS = 1000;

export function createReflector<R extends Versioned>(
  resource: Reflector['resource'],
  path: string,
  target: ReflectorTarget<R>,
  watchListSupported: boolean,
  selector = '',
): Reflector<R> {
  return {
    resource,
    path,
    selector,
    target,
    phase: 'idle',
    next: 'list',
    wakeAtMs: Infinity,
    request: 0,
    resourceVersion: '',
    continueToken: '',
    streamingList: false,
    watchListSupported,
    reader: null,
    marks: null,
    listIncomplete: false,
    listsBegun: 0,
    openedAtMs: 0,
    framesInStream: 0,
    undecodableInARow: 0,
    synced: false,
    refused: false,
    downSinceMs: 0,
    reconnect: createReconnect(),
  };
}

export function startReflector(state: ControllerState, reflector: Reflector): void {
  if (reflector.phase === 'idle') list(state, reflector);
}

/** Ends it for good. */
export function stopReflector(state: ControllerState, reflector: Reflector): void {
  if (state.requests.has(reflector.request)) abandon(state, reflector);
  reflector.phase = 'idle';
  reflector.wakeAtMs = Infinity;
}

/** Begins a waiting reflector's next request when its time has come. */
export function wakeReflector(state: ControllerState, reflector: Reflector, now: Now): void {
  if (reflector.phase !== 'waiting' || reflector.wakeAtMs > now.nowMs) return;
  reflector.wakeAtMs = Infinity;
  if (reflector.next === 'list') list(state, reflector);
  else watch(state, reflector);
}

/** Whatever came of the reflector's request: a page, the start, a piece or the end of a stream, or no answer. */
export function onReflectorEvent(state: ControllerState, reflector: Reflector, event: TransportEvent, now: Now): void {
  switch (event.type) {
    case 'response':
      if (reflector.phase === 'paging') onPage(state, reflector, event, now);
      else if (event.status === 200) onOpened(state, reflector, event.contentType, now);
      else onRefused(state, reflector, event, now);
      return;
    case 'chunk':
      onChunk(state, reflector, event.bytes, now);
      return;
    case 'ended':
      onEnded(state, reflector, event.error, now);
      return;
    case 'failure': {
      const wasList = reflector.phase === 'paging' || reflector.streamingList;
      retry(state, reflector, wasList ? 'list' : 'watch', `${event.kind}: ${event.message}`, now);
      return;
    }
  }
}

function list(state: ControllerState, reflector: Reflector): void {
  // The cache is empty before the first list: nothing in it can be gone.
  reflector.marks = reflector.listsBegun++ === 0 ? null : new Set();
  reflector.listIncomplete = false;
  if (reflector.watchListSupported) {
    reflector.resourceVersion = '';
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

function page(state: ControllerState, reflector: Reflector): void {
  reflector.phase = 'paging';
  reflector.streamingList = false;
  const more = reflector.continueToken === '' ? '' : `&continue=${encodeURIComponent(reflector.continueToken)}`;
  reflector.request = send(
    state,
    { for: 'reflector', reflector },
    {
      lane: 'list',
      method: 'GET',
      path: `${reflector.path}?limit=${PAGE_ITEMS_MAX}${more}${selection(reflector)}`,
      accept: ACCEPT,
      contentType: '',
      body: null,
      stream: false,
      timeoutMs: PAGE_TIMEOUT_MS,
    },
  );
}

function watch(state: ControllerState, reflector: Reflector): void {
  reflector.streamingList = false;
  openStream(state, reflector, `resourceVersion=${reflector.resourceVersion}&allowWatchBookmarks=true`);
}

function openStream(state: ControllerState, reflector: Reflector, query: string): void {
  const seconds = Math.floor(WATCH_SECONDS_MIN * (1 + nextFloat(state.prng)));
  reflector.phase = 'opening';
  reflector.reader = null;
  reflector.framesInStream = 0;
  reflector.request = send(
    state,
    { for: 'reflector', reflector },
    {
      lane: 'watch',
      method: 'GET',
      path: `${reflector.path}?watch=true&timeoutSeconds=${seconds}&${query}${selection(reflector)}`,
      accept: ACCEPT,
      contentType: '',
      body: null,
      stream: true,
      timeoutMs: STREAM_SILENCE_MS,
    },
  );
}

function selection({ selector }: Reflector): string {
  return selector === '' ? '' : `&labelSelector=${encodeURIComponent(selector)}`;
}

function onPage(
  state: ControllerState,
  reflector: Reflector,
  event: TransportEvent & { type: 'response' },
  now: Now,
): void {
  if (event.status !== 200) {
    onListRefused(state, reflector, event, now);
    return;
  }
  try {
    const list = readList(event.contentType, event.body);
    for (const item of list.items) applyListed(state, reflector, item, now);
    reflector.resourceVersion = list.resourceVersion;
    reflector.continueToken = list.continueToken;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(state, reflector, 'list', error);
    retry(state, reflector, 'list', error.message, now);
    return;
  }
  if (reflector.continueToken !== '') {
    page(state, reflector);
    return;
  }
  listed(reflector, now);
  watch(state, reflector);
}

/** One bad object of a list is left out; what is cached of it stays, for it is not known to be gone. */
function applyListed(state: ControllerState, reflector: Reflector, item: ObjectSource, now: Now): void {
  try {
    apply(reflector, item, now);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    reflector.listIncomplete = true;
    countUndecodable(state, reflector, 'object', error);
  }
}

function apply(reflector: Reflector, source: ObjectSource, now: Now): Versioned {
  const record = reflector.target.project(source);
  const mark = reflector.target.upsert(record, source, now);
  reflector.marks?.add(mark);
  return record;
}

function listed(reflector: Reflector, now: Now): void {
  if (reflector.marks !== null && !reflector.listIncomplete) {
    reflector.target.removeUnmarked(reflector.marks, reflector.resourceVersion, now);
  }
  reflector.marks = null;
  reflector.refused = false;
  reflector.undecodableInARow = 0;
  if (!reflector.synced) {
    reflector.synced = true;
    reflector.target.synced(now);
  }
}

function onListRefused(
  state: ControllerState,
  reflector: Reflector,
  event: TransportEvent & { type: 'response' },
  now: Now,
): void {
  const status = readStatus(event.contentType, event.status, event.body);
  reflector.refused = isRefusal(event.status);
  retry(state, reflector, 'list', describe(status), now, event.retryAfterSeconds);
}

function isRefusal(status: number): boolean {
  return status === 403 || status === 404;
}

function onOpened(state: ControllerState, reflector: Reflector, contentType: string, now: Now): void {
  try {
    reflector.reader = createWatchReader(contentType);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(state, reflector, 'stream', error);
    abandon(state, reflector);
    retry(state, reflector, reflector.streamingList ? 'list' : 'watch', error.message, now);
    return;
  }
  reflector.phase = reflector.streamingList ? 'initial' : 'watching';
  reflector.openedAtMs = now.nowMs;
  if (reflector.phase === 'watching') reflector.downSinceMs = -1;
}

function onRefused(
  state: ControllerState,
  reflector: Reflector,
  event: TransportEvent & { type: 'response' },
  now: Now,
): void {
  const status = readStatus(event.contentType, event.status, event.body);
  const later = event.status === 429 || event.status >= 500 || event.status === 401 || event.status === 403;
  if (reflector.streamingList && !later && event.status !== 410 && !isResourceVersionTooLarge(status)) {
    // A server without WatchList answers 422, other layers say it in their own way: ask for pages from now on.
    log(state, 'info', 1, 'no WatchList streaming, listing in pages', {
      resource: reflector.resource,
      answer: describe(status),
    });
    reflector.watchListSupported = false;
    reflector.continueToken = '';
    page(state, reflector);
    return;
  }
  if (reflector.streamingList) reflector.refused = isRefusal(event.status);
  const next = reflector.streamingList || !later ? 'list' : 'watch';
  retry(state, reflector, next, describe(status), now, event.retryAfterSeconds);
}

function onChunk(state: ControllerState, reflector: Reflector, bytes: Uint8Array, now: Now): void {
  const { reader, request } = reflector;
  if (reader === null) return;
  try {
    reader.push(bytes);
    for (let frame = reader.next(); frame !== null; frame = reader.next()) {
      onFrame(state, reflector, frame, now);
      // The frame was an error and the stream is given up.
      if (reflector.request !== request) return;
      reflector.framesInStream++;
      reflector.undecodableInARow = 0;
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(state, reflector, 'stream', error);
    abandon(state, reflector);
    reflector.undecodableInARow++;
    // The same bytes would come again from the same version: the second time a list goes around them.
    const next = reflector.streamingList || reflector.undecodableInARow > 1 ? 'list' : 'watch';
    // Stuck on one object, pages leave just that object out; a stream would stop at it again.
    if (reflector.undecodableInARow > 1 || reflector.streamingList) reflector.watchListSupported = false;
    retry(state, reflector, next, error.message, now);
  }
}

function onFrame(state: ControllerState, reflector: Reflector, frame: WatchFrame, now: Now): void {
  switch (frame.type) {
    case 'ADDED':
    case 'MODIFIED': {
      const record = apply(reflector, frame.object, now);
      // Initial events come in any order: only the bookmark says from where a watch may go on.
      if (reflector.phase === 'watching') reflector.resourceVersion = record.resourceVersion;
      return;
    }
    case 'DELETED': {
      const record = reflector.target.project(frame.object);
      reflector.target.remove(record, now);
      if (reflector.phase === 'watching') reflector.resourceVersion = record.resourceVersion;
      return;
    }
    case 'BOOKMARK': {
      const meta = projectMeta(frame.object);
      if (reflector.phase === 'watching') reflector.resourceVersion = meta.resourceVersion;
      if (reflector.phase === 'initial' && meta.initialEventsEnd) {
        reflector.resourceVersion = meta.resourceVersion;
        reflector.phase = 'watching';
        reflector.streamingList = false;
        reflector.downSinceMs = -1;
        listed(reflector, now);
      }
      return;
    }
    case 'ERROR': {
      const status = readStatusSource(frame.object);
      abandon(state, reflector);
      // 429 in a stream: go on from the same version; 410, 500, 504 and all others: list again (spec/wire.md 2.4).
      const next = status.code === 429 && !reflector.streamingList ? 'watch' : 'list';
      retry(state, reflector, next, describe(status), now, status.details?.retryAfterSeconds ?? -1);
      return;
    }
  }
}

function onEnded(state: ControllerState, reflector: Reflector, error: string | null, now: Now): void {
  if (reflector.phase === 'watching') noteWatch(reflector.reconnect, now.nowMs - reflector.openedAtMs);
  if (reflector.phase === 'initial') {
    // What does not know WatchList and refuses nothing streams on, and never says that the list is complete.
    if (now.nowMs - reflector.openedAtMs >= STREAM_SILENCE_MS) reflector.watchListSupported = false;
    retry(state, reflector, 'list', error ?? 'the stream ended before its initial events', now);
  } else if (error !== null) {
    retry(state, reflector, 'watch', error, now);
  } else if (reflector.framesInStream === 0 && now.nowMs - reflector.openedAtMs < SHORT_WATCH_MS) {
    retry(state, reflector, 'list', 'very short watch: it ended at once without an event', now);
  } else {
    // The ordinary end: the server's time limit, a slow reader, a server that shuts down.
    reflector.downSinceMs = now.nowMs;
    state.instruments.watchRestarts(reflector.resource).inc();
    watch(state, reflector);
  }
}

function abandon(state: ControllerState, reflector: Reflector): void {
  state.requests.delete(reflector.request);
  state.effects.push({ type: 'cancel', id: reflector.request });
  reflector.request = 0;
  reflector.reader = null;
}

function retry(
  state: ControllerState,
  reflector: Reflector,
  next: 'list' | 'watch',
  reason: string,
  now: Now,
  retryAfterSeconds = -1,
): void {
  const delayMs = Math.max(
    nextReconnectMs(reflector.reconnect, state.prng, now.nowMs),
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

function countUndecodable(state: ControllerState, reflector: Reflector, what: string, error: DecodeError): void {
  state.instruments.decodeErrors(reflector.resource).inc();
  log(state, 'error', 0, `undecodable ${what} of ${reflector.resource}`, {
    resource: reflector.resource,
    reason: error.message,
  });
}

function describe(status: Status): string {
  return `${status.code} ${status.reason ?? ''}: ${status.message ?? ''}`;
}
