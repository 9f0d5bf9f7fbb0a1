/**
 * A reflector keeps one cache equal to one resource of the API server: it lists (by WatchList streaming where the
 * server has it, else in pages), then watches, and recovers by the rules of docs/spec/wire.md "WatchList", "Errors of
 * lists and watches".
 *
 * Listed objects are applied as they arrive and marked; at the end of a list the unmarked ones that are not newer than
 * it are removed. So there is never a second copy of a cache, and never an emptied one. A list is consistent, so what
 * it tells replaces what is cached up to its version, be it older than that (`history.ts`).
 */
import { retryAfterMs } from './backoff.ts';
import { isBraked, judgeRemovals, noteListBegins, type Removal } from './brake.ts';
import { createListProgress, takeProgress, type ListProgress } from './list-progress.ts';
import { itemsAfterFullPage, itemsAfterTooBig, PAGE_ITEMS_MAX } from './page-size.ts';
import { createReconnect, nextReconnectMs, noteWatch, type Reconnect } from './reconnect.ts';
import type { Now } from './event.ts';
import { reachedVersion, wentBack } from './history.ts';
import { log, send, type ControllerState } from './state.ts';
import {
  createStreamLife,
  describeEnd,
  isPastItsTime,
  lifeEndsAtMs,
  noteFrame,
  noteOpened,
  type StreamLife,
} from './stream-life.ts';
import type { HttpRequest, TransportEvent } from '../ports/transport.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { readList, type ListPage } from '../kube/list.ts';
import { ACCEPT } from '../kube/media-type.ts';
import { projectMeta } from '../kube/object-meta.ts';
import { compareResourceVersions } from '../kube/resource-version.ts';
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
  /** Of what is cached under the record's name; '' = nothing is. */
  cachedVersion(record: R): string;
  /**
   * Takes an object unless what is cached is newer than `upTo`. Returns what the cache holds now: it serves as the
   * mark.
   */
  upsert(record: R, source: ObjectSource, upTo: string, now: Now): object;
  remove(record: R, now: Now): void;
  /** Removes what is not marked and not newer than `resourceVersion`. */
  removeUnmarked(marks: ReadonlySet<object>, resourceVersion: string, now: Now): void;
  /** A list is asked for: it will know of whatever has been told before. */
  listing(): void;
  /** History went back: whatever is cached gives way to the next list. */
  forgetVersions(now: Now): void;
  /** The first list is complete. */
  synced(now: Now): void;
}

/** A listed object that waits for the end of its list. */
interface SetAside {
  readonly record: Versioned;
  readonly source: ObjectSource;
}

export interface Reflector<R extends Versioned = Versioned> {
  readonly resource: 'pods' | 'services' | 'nodes' | 'endpoints' | 'endpointslices';
  readonly path: string;
  /** Of labels; '' = all objects. */
  readonly selector: string;
  readonly target: ReflectorTarget<R>;
  /**
   * idle: not started; waiting: until `wakeAtMs`, then `next`; paging: a page is under way; opening: a stream was asked
   * for; initial: a WatchList stream before its end bookmark; watching: an ordinary stream; checking: a list of one
   * object is under way, for its version, before a broken watch goes on.
   */
  phase: 'idle' | 'waiting' | 'paging' | 'opening' | 'initial' | 'watching' | 'checking';
  next: 'list' | 'watch';
  /**
   * Monotonic ms when time alone may bring something: the next request, a line of the log, the end of a stream's life.
   */
  wakeAtMs: number;
  request: number;
  /** Where a watch goes on; '' = nowhere. */
  resourceVersion: string;
  /** The newest version that the answer to a write or a read has told of an object; the watch may never do so. '' = none. */
  answeredVersion: string;
  /** The version that had been reached when the last list was asked for. */
  reachedBefore: string;
  continueToken: string;
  /** The stream asked for is a WatchList. */
  streamingList: boolean;
  /** WatchList may be asked for. */
  readonly watchList: boolean;
  /**
   * A WatchList was refused or given up: pages, until a list is complete. The next list begins with WatchList again, at
   * the price of one refused request: so a server that has learned it is noticed.
   */
  inPages: boolean;
  /** Items that the next page asks for. */
  pageItems: number;
  /** Of the list under way; null = none is. */
  progress: ListProgress | null;
  reader: WatchReader | null;
  /** Of the stream asked for last. */
  life: StreamLife;
  marks: Set<object> | null;
  /** Of a WatchList, whose version is told at its end: objects that are older than their cached ones. */
  aside: SetAside[];
  /** Monotonic ms. */
  listAskedAtMs: number;
  /** An object of the list under way could not be read: nothing is removed at its end. */
  listIncomplete: boolean;
  listsBegun: number;
  /** The last stream ended at an undecodable frame before anything new was read from it. */
  undecodableInARow: number;
  synced: boolean;
  /** The last list was answered 403 or 404: this may take until somebody changes roles, or the server. */
  refused: boolean;
  /** When the watch was lost; -1 = it runs. Starts at 0: never had. */
  downSinceMs: number;
  readonly reconnect: Reconnect;
}

const PAGE_TIMEOUT_MS = 60_000;
/** Until the headers of a stream: some proxies hold them back until the first event. A WatchList begins with events. */
const WATCH_TIMEOUT_MS = 150_000;
const WATCH_LIST_TIMEOUT_MS = 30_000;
/** Normally there are none; with more of them the list is taken in pages, each of which tells the version. */
const SET_ASIDE_MAX = 1000;
/**
 * A stream that ends sooner and brought nothing is an error (docs/spec/wire.md "Errors of lists and watches").
 */
const SHORT_WATCH_MS = 1000;

export function createReflector<R extends Versioned>(
  resource: Reflector['resource'],
  path: string,
  target: ReflectorTarget<R>,
  watchList: boolean,
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
    answeredVersion: '',
    reachedBefore: '',
    continueToken: '',
    streamingList: false,
    watchList,
    inPages: false,
    pageItems: PAGE_ITEMS_MAX,
    progress: null,
    reader: null,
    life: createStreamLife(0),
    marks: null,
    aside: [],
    listAskedAtMs: -Infinity,
    listIncomplete: false,
    listsBegun: 0,
    undecodableInARow: 0,
    synced: false,
    refused: false,
    downSinceMs: 0,
    reconnect: createReconnect(),
  };
}

export function startReflector(state: ControllerState, reflector: Reflector, now: Now): void {
  if (reflector.phase === 'idle') list(state, reflector, now);
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
function listOthersAgain(state: ControllerState, reflector: Reflector, now: Now): void {
  for (const other of state.reflectors) if (other !== reflector) listAgain(state, other, -Infinity, now);
}

/** Lists at once, unless that was asked for since `sinceMs` or is to be. */
function listAgain(state: ControllerState, reflector: Reflector, sinceMs: number, now: Now): void {
  const { phase, next, listAskedAtMs } = reflector;
  if (phase === 'idle' || (phase === 'waiting' && next === 'list')) return;
  if (isListing(reflector) && listAskedAtMs >= sinceMs) return;
  if (state.requests.has(reflector.request)) abandon(state, reflector);
  if (reflector.downSinceMs < 0) reflector.downSinceMs = now.nowMs;
  list(state, reflector, now);
}

function isListing({ phase, streamingList }: Reflector): boolean {
  return phase === 'paging' || ((phase === 'opening' || phase === 'initial') && streamingList);
}

/** Ends it for good. */
export function stopReflector(state: ControllerState, reflector: Reflector): void {
  if (state.requests.has(reflector.request)) abandon(state, reflector);
  reflector.phase = 'idle';
  reflector.wakeAtMs = Infinity;
}

/**
 * Does what time alone brings: the next request, a line about a list that takes long, the end of a stream without life.
 */
export function wakeReflector(state: ControllerState, reflector: Reflector, now: Now): void {
  if (reflector.wakeAtMs > now.nowMs) return;
  if (reflector.phase === 'waiting') {
    if (reflector.next === 'list') list(state, reflector, now);
    else check(state, reflector);
    return;
  }
  sayProgress(state, reflector, now);
  if (isStream(reflector) && lifeEndsAtMs(reflector.life, reflector.phase === 'initial') <= now.nowMs) {
    endStream(state, reflector, now);
    return;
  }
  scheduleWake(reflector);
}

function isStream({ phase }: Reflector): boolean {
  return phase === 'initial' || phase === 'watching';
}

/** A frame, or the end of a list, moves it only when it has come: so no frame costs a timer. */
function scheduleWake(reflector: Reflector): void {
  const lifeMs = isStream(reflector) ? lifeEndsAtMs(reflector.life, reflector.phase === 'initial') : Infinity;
  reflector.wakeAtMs = Math.min(lifeMs, reflector.progress?.lineAtMs ?? Infinity);
}

const WAITS_FOR: Readonly<Partial<Record<Reflector['phase'], string>>> = {
  paging: 'the next page',
  opening: 'an answer',
  initial: 'the bookmark at the end',
};

function sayProgress(state: ControllerState, reflector: Reflector, now: Now): void {
  const due = reflector.progress === null ? null : takeProgress(reflector.progress, now.nowMs);
  if (due === null) return;
  log(state, 'info', 0, `the list of ${reflector.resource} is under way`, {
    resource: reflector.resource,
    waitsFor: WAITS_FOR[reflector.phase] ?? '',
    ...due,
  });
}

/** Whatever came of the reflector's request: a page, the start, a piece or the end of a stream, or no answer. */
export function onReflectorEvent(state: ControllerState, reflector: Reflector, event: TransportEvent, now: Now): void {
  switch (event.type) {
    case 'response':
      if (reflector.phase === 'paging') onPage(state, reflector, event, now);
      else if (reflector.phase === 'checking') onChecked(state, reflector, event, now);
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
      if (event.kind === 'too-big' && reflector.phase === 'paging' && onPageTooBig(state, reflector)) return;
      const wasList = reflector.phase === 'paging' || reflector.streamingList;
      retry(state, reflector, wasList ? 'list' : 'watch', `${event.kind}: ${event.message}`, now);
      return;
    }
  }
}

function list(state: ControllerState, reflector: Reflector, now: Now): void {
  // The cache is empty before the first list: nothing in it can be gone.
  reflector.marks = reflector.listsBegun++ === 0 ? null : new Set();
  reflector.aside = [];
  reflector.listIncomplete = false;
  reflector.progress = createListProgress(now.nowMs);
  reflector.listAskedAtMs = now.nowMs;
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

function page(state: ControllerState, reflector: Reflector): void {
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

/** Asks for the same page with fewer items. Returns false when that does not help. */
function onPageTooBig(state: ControllerState, reflector: Reflector): boolean {
  if (reflector.progress !== null) reflector.progress.isAnswered = true;
  const items = itemsAfterTooBig(reflector.pageItems);
  if (items === 0) return false;
  log(state, 'info', 0, `a page of ${reflector.resource} is too big, the list goes on with smaller ones`, {
    resource: reflector.resource,
    items: reflector.pageItems,
    itemsNow: items,
  });
  reflector.pageItems = items;
  page(state, reflector);
  return true;
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

/** A watch that has broken goes on only if history has not gone back meanwhile: a watch would not tell. */
function check(state: ControllerState, reflector: Reflector): void {
  reflector.phase = 'checking';
  reflector.reachedBefore = reachedVersion(reflector);
  reflector.streamingList = false;
  const path = `${reflector.path}?limit=1${selection(reflector)}`;
  reflector.request = send(state, { for: 'reflector', reflector }, listRequest(path));
  scheduleWake(reflector);
}

/** To be told of the version of each list before anything of it is taken. Returns whether history went back. */
function checkHistory(state: ControllerState, reflector: Reflector, listVersion: string, now: Now): boolean {
  if (!wentBack(state, reflector, listVersion, now)) return false;
  listOthersAgain(state, reflector, now);
  return true;
}

function onChecked(
  state: ControllerState,
  reflector: Reflector,
  event: TransportEvent & { type: 'response' },
  now: Now,
): void {
  if (event.status !== 200) {
    const status = readStatus(event.contentType, event.status, event.body);
    retry(state, reflector, isPassing(event.status) ? 'watch' : 'list', describe(status), now, event.retryAfterSeconds);
    return;
  }
  try {
    const version = versionOf(readList(event.contentType, event.body));
    if (checkHistory(state, reflector, version, now)) list(state, reflector, now);
    else watch(state, reflector);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(state, reflector, 'list', error);
    retry(state, reflector, 'list', error.message, now);
  }
}

/** @throws DecodeError */
function versionOf({ kind, resourceVersion }: Pick<ListPage, 'kind' | 'resourceVersion'>): string {
  if (resourceVersion === '') throw new DecodeError(`${kind}.metadata.resourceVersion: missing`);
  return resourceVersion;
}

/** The same request may be answered another time. */
function isPassing(status: number): boolean {
  return status === 429 || status >= 500 || status === 401 || status === 403;
}

function watch(state: ControllerState, reflector: Reflector): void {
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
  if (reflector.progress !== null) reflector.progress.isAnswered = true;
  try {
    const list = readList(event.contentType, event.body);
    const version = versionOf(list);
    if (reflector.continueToken === '') checkHistory(state, reflector, version, now);
    for (const item of list.items) applyListed(state, reflector, item, version, now);
    reflector.resourceVersion = version;
    reflector.continueToken = list.continueToken;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(state, reflector, 'list', error);
    retry(state, reflector, 'list', error.message, now);
    return;
  }
  if (reflector.continueToken !== '') {
    reflector.pageItems = itemsAfterFullPage(reflector.pageItems, event.body.byteLength);
    page(state, reflector);
    return;
  }
  if (listed(state, reflector, now)) watch(state, reflector);
}

/** One bad object of a list is left out; what is cached of it stays, for it is not known to be gone. */
function applyListed(
  state: ControllerState,
  reflector: Reflector,
  item: ObjectSource,
  listVersion: string,
  now: Now,
): void {
  try {
    apply(reflector, reflector.target.project(item), item, listVersion, now);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    reflector.listIncomplete = true;
    countUndecodable(state, reflector, 'object', error);
  }
}

function apply(reflector: Reflector, record: Versioned, source: ObjectSource, upTo: string, now: Now): void {
  const mark = reflector.target.upsert(record, source, upTo, now);
  reflector.marks?.add(mark);
  if (reflector.progress !== null) {
    reflector.progress.objects++;
    reflector.progress.isAnswered = true;
  }
}

/** An object of a WatchList: whether it replaces a newer one that is cached is known at the end of the list. */
function applyInitial(state: ControllerState, reflector: Reflector, source: ObjectSource, now: Now): void {
  const { target, aside } = reflector;
  const record = target.project(source);
  const version = record.resourceVersion;
  if (compareResourceVersions(version, target.cachedVersion(record)) >= 0) {
    apply(reflector, record, source, version, now);
    return;
  }
  aside.push({ record, source: copyOf(source) });
  if (aside.length <= SET_ASIDE_MAX) return;
  giveUpWatchList(state, reflector, `more than ${SET_ASIDE_MAX} objects are older than their cached ones`, now);
}

/** A source is a view into what it came in. */
function copyOf(source: ObjectSource): ObjectSource {
  return source.encoding === 'protobuf' ? { ...source, bytes: source.bytes.slice() } : source;
}

/** The end of a WatchList, whose version is now known. */
function onInitialEnd(state: ControllerState, reflector: Reflector, listVersion: string, now: Now): void {
  if (checkHistory(state, reflector, listVersion, now)) {
    // Objects that looked the same were not taken.
    abandon(state, reflector);
    list(state, reflector, now);
    return;
  }
  for (const { record, source } of reflector.aside) apply(reflector, record, source, listVersion, now);
  reflector.aside = [];
  reflector.resourceVersion = listVersion;
  reflector.phase = 'watching';
  reflector.streamingList = false;
  reflector.downSinceMs = -1;
  listed(state, reflector, now);
}

/** The end of a list. Returns whether its watch is to go on: not if it must be confirmed by another list first. */
function listed(state: ControllerState, reflector: Reflector, now: Now): boolean {
  const { marks, listIncomplete, resourceVersion } = reflector;
  const removal = marks === null || listIncomplete ? null : { marks, upTo: resourceVersion };
  reflector.marks = null;
  reflector.progress = null;
  reflector.inPages = false;
  reflector.refused = false;
  reflector.undecodableInARow = 0;
  if (!reflector.synced) {
    reflector.synced = true;
    reflector.target.synced(now);
  }
  return removeMissed(state, reflector, removal, now);
}

/**
 * Removes what the list has missed, unless the brake has it confirmed first. Returns whether nothing is listed again.
 */
function removeMissed(state: ControllerState, reflector: Reflector, removal: Removal | null, now: Now): boolean {
  const { removals } = state.brake;
  if (!isBraked(state, reflector)) {
    if (removal !== null) reflector.target.removeUnmarked(removal.marks, removal.upTo, now);
    return true;
  }
  if (removal !== null) removals.set(reflector, removal);
  switch (judgeRemovals(state, reflector)) {
    case 'wait':
      return true;
    case 'remove':
      for (const [{ target }, { marks, upTo }] of removals) target.removeUnmarked(marks, upTo, now);
      removals.clear();
      return true;
    case 'list-again':
      for (const one of state.brake.awaited ?? []) {
        if (state.requests.has(one.request)) abandon(state, one);
        retry(state, one, 'list', 'what a list has missed is to be confirmed', now);
      }
      return false;
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
  noteOpened(reflector.life, now.nowMs);
  scheduleWake(reflector);
  if (reflector.phase === 'watching') reflector.downSinceMs = -1;
}

function onRefused(
  state: ControllerState,
  reflector: Reflector,
  event: TransportEvent & { type: 'response' },
  now: Now,
): void {
  const status = readStatus(event.contentType, event.status, event.body);
  const later = isPassing(event.status);
  if (reflector.streamingList && !later && event.status !== 410 && !isResourceVersionTooLarge(status)) {
    // A server without WatchList answers 422, other layers say it in their own way.
    log(state, 'info', 1, 'no WatchList streaming, listing in pages', {
      resource: reflector.resource,
      answer: describe(status),
    });
    reflector.inPages = true;
    list(state, reflector, now);
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
      noteFrame(reflector.life, now.nowMs);
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
    if (reflector.undecodableInARow > 1 || reflector.streamingList) reflector.inPages = true;
    retry(state, reflector, next, error.message, now);
  }
}

function onFrame(state: ControllerState, reflector: Reflector, frame: WatchFrame, now: Now): void {
  switch (frame.type) {
    case 'ADDED':
    case 'MODIFIED': {
      if (reflector.phase === 'initial') {
        // They come in any order: only the bookmark says from where a watch may go on.
        applyInitial(state, reflector, frame.object, now);
        return;
      }
      const record = reflector.target.project(frame.object);
      apply(reflector, record, frame.object, record.resourceVersion, now);
      reflector.resourceVersion = record.resourceVersion;
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
      if (reflector.phase !== 'initial') {
        reflector.resourceVersion = meta.resourceVersion;
      } else if (meta.initialEventsEnd) {
        onInitialEnd(state, reflector, versionOf({ kind: reflector.resource, ...meta }), now);
      } else {
        // Before the end there is no other: what watches so does not know WatchList.
        giveUpWatchList(state, reflector, 'a bookmark before the end that does not say that it is the end', now);
      }
      return;
    }
    case 'ERROR': {
      const status = readStatusSource(frame.object);
      abandon(state, reflector);
      // 429 in a stream: go on from the same version; 410, 500, 504 and all others: list again (docs/spec/wire.md
      // "Errors of lists and watches").
      const next = status.code === 429 && !reflector.streamingList ? 'watch' : 'list';
      retry(state, reflector, next, describe(status), now, status.details?.retryAfterSeconds ?? -1);
      return;
    }
  }
}

function onEnded(state: ControllerState, reflector: Reflector, error: string | null, now: Now): void {
  const { life } = reflector;
  if (reflector.phase === 'watching') noteWatch(reflector.reconnect, now.nowMs - life.openedAtMs);
  if (reflector.phase === 'initial') {
    // The server's time was too short for all of them in one stream, and would be again.
    if (isPastItsTime(life, now.nowMs)) reflector.inPages = true;
    retry(state, reflector, 'list', error ?? 'the stream ended before its initial events', now);
  } else if (error !== null) {
    retry(state, reflector, 'watch', error, now);
  } else if (life.frames === 0 && now.nowMs - life.openedAtMs < SHORT_WATCH_MS) {
    retry(state, reflector, 'list', 'very short watch: it ended at once without an event', now);
  } else {
    // The ordinary end: the server's time limit, a slow reader, a server that shuts down.
    goOn(state, reflector, now);
  }
}

/** A new stream at once, from where the last one was. */
function goOn(state: ControllerState, reflector: Reflector, now: Now): void {
  noteRestart(state, reflector, now);
  watch(state, reflector);
}

function noteRestart(state: ControllerState, reflector: Reflector, now: Now): void {
  reflector.downSinceMs = now.nowMs;
  state.instruments.watchRestarts(reflector.resource).inc();
}

/** Ends a stream that has no life in it. That is no alarm: a proxy may forget a connection on which nothing happens. */
function endStream(state: ControllerState, reflector: Reflector, now: Now): void {
  const reason = describeEnd(reflector.life, now.nowMs);
  if (reflector.phase === 'initial') {
    giveUpWatchList(state, reflector, reason, now);
    return;
  }
  log(state, 'info', 0, `watch of ${reflector.resource} is opened anew`, { resource: reflector.resource, reason });
  abandon(state, reflector);
  noteRestart(state, reflector, now);
  check(state, reflector);
}

/** What was listed so far stays in the cache, but a list in pages has to find it again. */
function giveUpWatchList(state: ControllerState, reflector: Reflector, reason: string, now: Now): void {
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
