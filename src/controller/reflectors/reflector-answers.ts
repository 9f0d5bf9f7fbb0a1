/** What comes of a reflector's requests: pages, streams and their pieces, refusals, and time in which nothing comes. */
import { isBraked, judgeRemovals } from './brake.ts';
import { takeProgress } from './list-progress.ts';
import { itemsAfterFullPage, itemsAfterTooBig } from './page-size.ts';
import { noteWatch } from './reconnect.ts';
import type { Now } from '../event.ts';
import { wentBack } from './history.ts';
import { log, type ControllerState, type Removal } from '../state.ts';
import { describeEnd, isPastItsTime, lifeEndsAtMs, noteFrame, noteOpened } from './stream-life.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { readList, type ListPage } from '../../kube/list.ts';
import { projectMeta } from '../../kube/object-meta.ts';
import { compareResourceVersions } from '../../kube/resource-version.ts';
import type { ObjectSource } from '../../kube/source.ts';
import { isResourceVersionTooLarge, readStatus, readStatusSource } from '../../kube/status.ts';
import type { Status } from '../../kube/types.ts';
import { createWatchReader, type WatchFrame } from '../../kube/watch-framing.ts';
import type { Reflector, Versioned } from './reflector.ts';
import {
  abandon,
  check,
  giveUpWatchList,
  goOn,
  isStream,
  list,
  listOthersAgain,
  noteRestart,
  page,
  retry,
  scheduleWake,
  watch,
} from './reflector-requests.ts';

/** Normally there are none; with more of them the list is taken in pages, each of which tells the version. */
const SET_ASIDE_MAX = 1000;

/**
 * A stream that ends sooner and brought nothing is an error (docs/spec/wire.md "Errors of lists and watches").
 */
const SHORT_WATCH_MS = 1000;

/**
 * Does what time alone brings: the next request, a line about a list that takes long, the end of a stream without life.
 */
export function wakeReflector(state: ControllerState, reflector: Reflector, now: Now): void {
  if (reflector.wakeAtMs > now.nowMs) return;
  if (reflector.phase === 'waiting') {
    if (reflector.next === 'list') list(state, reflector, now);
    else check(state, reflector, now);
    return;
  }
  sayProgress(state, reflector, now);
  if (isStream(reflector) && lifeEndsAtMs(reflector.life, reflector.phase === 'initial') <= now.nowMs) {
    endStream(state, reflector, now);
    return;
  }
  scheduleWake(reflector);
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
        if (state.outbox.requests.has(one.request)) abandon(state, one);
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
  check(state, reflector, now);
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
