/** Takes the answers to a reflector's requests: pages, streams and their chunks, refusals, and silence. */
import { takeProgress } from './list-progress.ts';
import { itemsAfterFullPage, itemsAfterTooBig } from './page-size.ts';
import { logBack, watchRuns } from './outages.ts';
import { resetPauses, noteWatch } from './reconnect.ts';
import type { Now } from '../event.ts';
import { noteTold, forgetIfWentBack } from './history.ts';
import { caughtUpAtMs } from './reflector-group.ts';
import { describeEnd, isPastItsTime, lifeEndsAtMs, noteFrame, noteOpened, notePending } from './stream-life.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import { readList, type ListPage } from '../../kube/list.ts';
import { projectMeta } from '../../kube/object-meta.ts';
import { compareResourceVersions, isResourceVersion } from '../../kube/resource-version.ts';
import type { ObjectSource } from '../../kube/source.ts';
import { isResourceVersionTooLarge, readStatus, readStatusSource } from '../../kube/status.ts';
import type { Status } from '../../kube/types.ts';
import { createWatchReader, type WatchFrame, type WatchReader } from '../../kube/watch-framing.ts';
import { assert } from '../../lib/assert.ts';
import {
  isStream,
  listOf,
  type ListUnderWay,
  type Phase,
  type PhaseOf,
  type Reflector,
  type ReflectorHands,
  type Versioned,
} from './reflector.ts';
import {
  enter,
  giveUpWatchList,
  list,
  listAgain,
  noteRestart,
  OWED_MS,
  page,
  resumeWatch,
  retry,
  retryPage,
  scheduleWake,
  watch,
} from './reflector-requests.ts';

/**
 * The bound of `aside`. Normally it is empty. With more objects the list is taken in pages, each of which tells the
 * list's version.
 */
const SET_ASIDE_MAX = 1000;

/**
 * A stream that ends sooner than this without an event is an error (docs/spec/wire.md "Errors of lists and watches").
 */
const SHORT_WATCH_MS = 1000;

/** Damage so long after the last list has the shortest pause. Damage that comes sooner has the next longer one. */
const SELDOM_DAMAGED_MS = 60_000;

/**
 * A connection that breaks off after so long without a frame may have been cut for that: load balancers close idle
 * connections after 20 s and more, and the first bookmark comes after a minute or two. So the next one follows at once.
 */
const IDLE_MS = 10_000;

/** A frame that is so old and has not come whole is damage, and no connection that broke off within a frame. */
const FRAME_MS_MAX = 10_000;

type Response = TransportEvent & { readonly type: 'response' };

/** Does what is due by time alone: sends the next request, logs about a list that takes long, ends a silent stream. */
export function wakeReflector(hands: ReflectorHands, reflector: Reflector, now: Now): void {
  if (reflector.wakeAtMs > now.nowMs) return;
  logBack(hands.outbox.log, hands.outages, reflector, now);
  const { phase } = reflector;
  if (phase.name === 'waiting') {
    if (phase.next === 'list') list(hands, reflector, now);
    else resumeWatch(hands, reflector, now);
    return;
  }
  if (phase.name === 'pausing') {
    page(hands, reflector, phase.list, phase.continueToken);
    return;
  }
  sayProgress(hands, reflector, now);
  if (isStream(phase) && lifeEndsAtMs(phase.life, phase.name === 'initial') <= now.nowMs) {
    endStream(hands, reflector, phase, now);
  } else if (!listOwed(hands, reflector, now)) scheduleWake(reflector);
}

/**
 * Lists everything if the watch has told all that was missed, but not of an own delete: the object exists again, as it
 * does where etcd was restored. Returns whether it does.
 */
function listOwed(hands: ReflectorHands, reflector: Reflector, now: Now): boolean {
  const { owesDeletes, resource } = reflector;
  if (owesDeletes === null || caughtUpAtMs(reflector, OWED_MS) > now.nowMs) return false;
  reflector.owesDeletes = null;
  if (!owesDeletes()) return false;
  hands.outbox.log('info', 0, 'Watch has not told of an own delete, everything is listed', { resource });
  listAgain(hands, reflector, now.nowMs, now);
  return true;
}

const WAITS_FOR: Readonly<Partial<Record<Phase['name'], string>>> = {
  paging: 'the next page',
  opening: 'an answer',
  initial: 'the bookmark at the end',
};

function sayProgress({ outbox }: ReflectorHands, reflector: Reflector, now: Now): void {
  const underWay = listOf(reflector);
  const due = underWay === null ? null : takeProgress(underWay.progress, now.nowMs);
  if (due === null) return;
  outbox.log('info', 0, 'List is under way', {
    resource: reflector.resource,
    waitsFor: WAITS_FOR[reflector.phase.name] ?? '',
    ...due,
  });
}

/**
 * Takes one transport event of the reflector's request: a page, the start, a chunk or the end of a stream, or a
 * failure.
 */
export function onReflectorEvent(hands: ReflectorHands, reflector: Reflector, event: TransportEvent, now: Now): void {
  const { phase, resource } = reflector;
  assert('request' in phase && phase.request === event.id, `${resource}: an answer to no request of ${phase.name}`);
  if (event.type === 'failure') {
    onFailure(hands, reflector, event, now);
    return;
  }
  switch (phase.name) {
    case 'paging':
      assert(event.type === 'response', `${resource}: a page comes as ${event.type}`);
      onPage(hands, reflector, phase, event, now);
      return;
    case 'checking':
      assert(event.type === 'response', `${resource}: a version comes as ${event.type}`);
      onChecked(hands, reflector, phase, event, now);
      return;
    case 'opening':
      assert(event.type === 'response', `${resource}: a stream begins with ${event.type}`);
      if (event.status === 200) onOpened(hands, reflector, phase, event.contentType, now);
      else onRefused(hands, reflector, phase, event, now);
      return;
    case 'initial':
    case 'watching':
      if (event.type === 'chunk') onChunk(hands, reflector, phase, event.bytes, now);
      else if (event.type === 'ended') onEnded(hands, reflector, phase, event.error, now);
      else assert(false, `${resource}: a second answer to a stream`);
  }
}

function onFailure(
  hands: ReflectorHands,
  reflector: Reflector,
  event: TransportEvent & { type: 'failure' },
  now: Now,
): void {
  const { phase } = reflector;
  if (event.kind === 'too-big' && phase.name === 'paging' && onPageTooBig(hands, reflector, phase)) return;
  const reason = `${event.kind}: ${event.message}`;
  const isUnreached = event.kind !== 'too-big';
  if (isUnreached && isLaterPage(phase)) retryPage(hands, reflector, phase, reason, now, { isUnreached });
  else retry(hands, reflector, listOf(reflector) === null ? 'watch' : 'list', reason, now, { isUnreached });
}

function isLaterPage(phase: Phase): phase is PhaseOf<'paging'> {
  return phase.name === 'paging' && phase.continueToken !== '';
}

/** Asks for the same page with fewer items. Returns false if that cannot help. */
function onPageTooBig(hands: ReflectorHands, reflector: Reflector, phase: PhaseOf<'paging'>): boolean {
  const { resource, pageItems } = reflector;
  phase.list.progress.isAnswered = true;
  const itemsNow = itemsAfterTooBig(pageItems);
  if (itemsNow === 0) return false;
  hands.outbox.log('info', 0, 'Page is too big, the list goes on with smaller ones', {
    resource,
    items: pageItems,
    itemsNow,
  });
  reflector.pageItems = itemsNow;
  page(hands, reflector, phase.list, phase.continueToken);
  return true;
}

/** Looks at the version of a list before any object of it is taken. Returns whether history went back. */
function noteIfWentBack(
  hands: ReflectorHands,
  reflector: Reflector,
  reachedBefore: string,
  listVersion: string,
  now: Now,
): boolean {
  if (!forgetIfWentBack(hands, reflector, reachedBefore, listVersion, now)) return false;
  hands.wentBack(reflector, now);
  return true;
}

function onChecked(
  hands: ReflectorHands,
  reflector: Reflector,
  phase: PhaseOf<'checking'>,
  event: Response,
  now: Now,
): void {
  if (event.status !== 200) {
    const status = readStatus(event.contentType, event.status, event.body);
    retry(hands, reflector, isTransient(event.status) ? 'watch' : 'list', describe(status), now, event);
    return;
  }
  try {
    const version = versionOf(readList(event.contentType, event.body));
    if (noteIfWentBack(hands, reflector, phase.reachedBefore, version, now)) list(hands, reflector, now);
    else {
      reflector.foundVersion = version;
      watch(hands, reflector);
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(hands, reflector, 'list', error.message);
    retry(hands, reflector, 'list', error.message, now);
  }
}

/** @throws DecodeError */
function versionOf({ kind, resourceVersion }: Pick<ListPage, 'kind' | 'resourceVersion'>): string {
  if (isResourceVersion(resourceVersion)) return resourceVersion;
  throw new DecodeError(`${kind}.metadata.resourceVersion: ${resourceVersion === '' ? 'missing' : 'not decimal'}`);
}

/** @throws DecodeError */
function recordOf({ resource, target }: Reflector, source: ObjectSource): Versioned {
  const record = target.project(source);
  versionOf({ kind: resource, resourceVersion: record.resourceVersion });
  return record;
}

/** Whether the same request may get another answer later. */
function isTransient(status: number): boolean {
  return isOverloaded(status) || status === 401 || status === 403;
}

function isOverloaded(status: number): boolean {
  return status === 429 || status >= 500;
}

function onPage(
  hands: ReflectorHands,
  reflector: Reflector,
  phase: PhaseOf<'paging'>,
  event: Response,
  now: Now,
): void {
  if (event.status !== 200) {
    if (isLaterPage(phase) && isOverloaded(event.status)) {
      const status = readStatus(event.contentType, event.status, event.body);
      retryPage(hands, reflector, phase, describe(status), now, event);
    } else onListRefused(hands, reflector, event, now);
    return;
  }
  const { list: underWay } = phase;
  underWay.progress.isAnswered = true;
  let continueToken: string;
  try {
    const listed = readList(event.contentType, event.body);
    const version = versionOf(listed);
    if (phase.continueToken === '') noteIfWentBack(hands, reflector, underWay.reachedBefore, version, now);
    for (const item of listed.items) applyListed(hands, reflector, underWay, item, version, now);
    reflector.resourceVersion = version;
    ({ continueToken } = listed);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(hands, reflector, 'list', error.message);
    noteDamaged(reflector);
    retry(hands, reflector, 'list', error.message, now);
    return;
  }
  if (continueToken !== '') {
    reflector.pageItems = itemsAfterFullPage(reflector.pageItems, event.body.byteLength);
    page(hands, reflector, underWay, continueToken);
    return;
  }
  if (noteListed(hands, reflector, underWay, now)) watch(hands, reflector);
}

/** Takes an object of a page. One that cannot be read is left out. Its cached state stays, because it still exists. */
function applyListed(
  hands: ReflectorHands,
  reflector: Reflector,
  underWay: ListUnderWay,
  item: ObjectSource,
  listVersion: string,
  now: Now,
): void {
  try {
    apply(reflector, underWay, recordOf(reflector, item), item, listVersion, now);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    underWay.hasUnreadable = true;
    if (!markUnreadable(reflector, underWay, item)) underWay.isIncomplete = true;
    countUndecodable(hands, reflector, 'object', error.message);
  }
}

/** Marks what is cached of an object of which the name can be read at least. Returns whether it can. */
function markUnreadable({ resource, target }: Reflector, { marks }: ListUnderWay, item: ObjectSource): boolean {
  try {
    const { namespace, name } = projectMeta(item);
    if (name === '' || (namespace === '' && resource !== 'nodes')) return false;
    const mark = target.markOf(namespace, name);
    if (mark !== undefined) marks?.add(mark);
    return true;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return false;
  }
}

function apply(
  { target }: Reflector,
  { marks, progress }: ListUnderWay,
  record: Versioned,
  source: ObjectSource,
  upTo: string,
  now: Now,
): void {
  const mark = target.upsert(record, source, upTo, now);
  marks?.add(mark);
  progress.objects++;
  progress.isAnswered = true;
}

/** Takes an object of a WatchList. Whether it replaces a newer cached one is known only at the end of the list. */
function applyInitial(
  hands: ReflectorHands,
  reflector: Reflector,
  { list: underWay, aside }: PhaseOf<'initial'>,
  source: ObjectSource,
  now: Now,
): void {
  const record = recordOf(reflector, source);
  const version = record.resourceVersion;
  const over = reflector.target.cachedVersion(record);
  if (compareResourceVersions(version, over) >= 0) {
    apply(reflector, underWay, record, source, version, now);
    // The list may never end, but the object stays in the cache: its version counts as reached.
    noteTold(reflector, version);
    return;
  }
  aside.push({ record, source: copyOf(source), over });
  if (aside.length <= SET_ASIDE_MAX) return;
  const reason = `more than ${SET_ASIDE_MAX} objects are older than their cached ones`;
  giveUpWatchList(hands, reflector, underWay, reason, now);
}

/** A source is a view into the bytes of its chunk, so it is copied. `slice` of a Buffer is a view. */
function copyOf(source: ObjectSource): ObjectSource {
  return source.encoding === 'protobuf' ? { ...source, bytes: new Uint8Array(source.bytes) } : source;
}

/** Takes the end of a WatchList. Only now its version is known. */
function onInitialEnd(
  hands: ReflectorHands,
  reflector: Reflector,
  { request, list: underWay, life, reader, aside }: PhaseOf<'initial'>,
  listVersion: string,
  now: Now,
): void {
  if (noteIfWentBack(hands, reflector, underWay.reachedBefore, listVersion, now)) {
    // History went back, and objects that looked unchanged were not taken: everything is listed again.
    list(hands, reflector, now);
    return;
  }
  for (const { record, source, over } of aside) {
    const cached = reflector.target.cachedVersion(record);
    // What was told since, or written, is newer than what was set aside.
    const upTo = cached === over ? listVersion : record.resourceVersion;
    if (cached !== '') apply(reflector, underWay, record, source, upTo, now);
  }
  reflector.resourceVersion = listVersion;
  enter(reflector, { name: 'watching', request, life, reader });
  watchRuns(hands.outages, reflector, now);
  noteListed(hands, reflector, underWay, now);
}

/**
 * Takes the end of a list. Returns whether its watch follows. It does not where another list has to confirm this one
 * first.
 */
function noteListed(hands: ReflectorHands, reflector: Reflector, underWay: ListUnderWay, now: Now): boolean {
  const { marks, hasUnreadable, isIncomplete } = underWay;
  reflector.inPages = false;
  reflector.failedWatchLists = 0;
  reflector.refused = false;
  if (!reflector.synced) {
    reflector.synced = true;
    hands.firstListEnds(now);
  }
  reflector.hasUnreadable = hasUnreadable;
  reflector.listedAtMs = now.nowMs;
  const removal = marks === null || isIncomplete ? null : { marks, upTo: reflector.resourceVersion };
  return hands.listEnds(reflector, removal, now);
}

function onListRefused(hands: ReflectorHands, reflector: Reflector, event: Response, now: Now): void {
  const status = readStatus(event.contentType, event.status, event.body);
  reflector.refused = isRefusal(event.status);
  if (reflector.refused) hands.listRefused(reflector, now);
  retry(hands, reflector, 'list', describe(status), now, event);
}

function isRefusal(status: number): boolean {
  return status === 403 || status === 404;
}

function onOpened(
  hands: ReflectorHands,
  reflector: Reflector,
  { request, list: underWay, life }: PhaseOf<'opening'>,
  contentType: string,
  now: Now,
): void {
  let reader: WatchReader;
  try {
    reader = createWatchReader(contentType);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    countUndecodable(hands, reflector, 'stream', error.message);
    retry(hands, reflector, underWay === null ? 'watch' : 'list', error.message, now);
    return;
  }
  noteOpened(life, now.nowMs);
  if (underWay === null) {
    enter(reflector, { name: 'watching', request, life, reader });
    watchRuns(hands.outages, reflector, now);
  } else enter(reflector, { name: 'initial', request, list: underWay, life, reader, aside: [] });
  reflector.failure = '';
}

function onRefused(
  hands: ReflectorHands,
  reflector: Reflector,
  { list: underWay }: PhaseOf<'opening'>,
  event: Response,
  now: Now,
): void {
  const status = readStatus(event.contentType, event.status, event.body);
  const later = isTransient(event.status);
  if (underWay === null) {
    retry(hands, reflector, later ? 'watch' : 'list', describe(status), now, event);
    return;
  }
  const isPassing = event.status === 410;
  const isSecond = event.status >= 500 && ++reflector.failedWatchLists > 1;
  if ((!later && !isPassing) || isSecond) {
    // A server without WatchList answers 422. Other layers answer with other statuses, and may answer pages.
    hands.outbox.log('info', 1, 'No WatchList streaming, listing in pages', {
      resource: reflector.resource,
      answer: describe(status),
    });
    reflector.inPages = true;
    list(hands, reflector, now);
    return;
  }
  onListRefused(hands, reflector, event, now);
}

function onChunk(
  hands: ReflectorHands,
  reflector: Reflector,
  { request, reader, life }: PhaseOf<'initial' | 'watching'>,
  bytes: Uint8Array,
  now: Now,
): void {
  try {
    reader.push(bytes);
    for (let frame = reader.next(); frame !== null; frame = reader.next()) {
      onFrame(hands, reflector, frame, now);
      // A frame has ended the stream, for example because it was an error.
      if (!isOn(reflector, request)) return;
      noteFrame(life, now.nowMs);
    }
    notePending(life, reader.pendingBytes(), now.nowMs);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    onDamaged(hands, reflector, error.message, now);
  }
}

/**
 * Takes damage of a stream. What came before in this stream may be damaged too and still look like an object, so
 * everything is listed.
 */
function onDamaged(hands: ReflectorHands, reflector: Reflector, reason: string, now: Now): void {
  countUndecodable(hands, reflector, 'stream', reason);
  // A list in pages leaves out just the object that cannot be read. A WatchList stops at it.
  if (listOf(reflector) !== null || reflector.hasUnreadable) reflector.inPages = true;
  // The server has an object that cannot be read, as the last list has shown. So the stream may be as it should be.
  if (!reflector.hasUnreadable) noteDamaged(reflector);
  if (now.nowMs - reflector.listedAtMs >= SELDOM_DAMAGED_MS) resetPauses(reflector.reconnect);
  retry(hands, reflector, 'list', reason, now);
}

/**
 * A damaged object may have the version of the true one, or one that no other is newer than. So no version that was told
 * counts any more.
 */
function noteDamaged(reflector: Reflector): void {
  reflector.damaged = true;
  reflector.resourceVersion = '';
  reflector.answeredVersion = '';
}

function isOn({ phase }: Reflector, request: number): boolean {
  return 'request' in phase && phase.request === request;
}

/** Takes one frame. The end of a WatchList may be among them: frames after it belong to the watch. */
function onFrame(hands: ReflectorHands, reflector: Reflector, frame: WatchFrame, now: Now): void {
  const { phase } = reflector;
  if (phase.name === 'initial') onInitialFrame(hands, reflector, phase, frame, now);
  else onWatchFrame(hands, reflector, frame, now);
}

/**
 * Takes a frame of a WatchList. Its objects come in any order, so a watch can go on only from the bookmark at the end.
 */
function onInitialFrame(
  hands: ReflectorHands,
  reflector: Reflector,
  phase: PhaseOf<'initial'>,
  frame: WatchFrame,
  now: Now,
): void {
  switch (frame.type) {
    case 'ADDED':
    case 'MODIFIED':
      applyInitial(hands, reflector, phase, frame.object, now);
      return;
    case 'DELETED':
      reflector.target.remove(recordOf(reflector, frame.object), now);
      return;
    case 'BOOKMARK': {
      const meta = projectMeta(frame.object);
      if (meta.initialEventsEnd) {
        onInitialEnd(hands, reflector, phase, versionOf({ kind: reflector.resource, ...meta }), now);
        return;
      }
      // A WatchList has no other bookmark before its end. A server that sends one does not know WatchList.
      const reason = 'a bookmark before the end that does not say that it is the end';
      giveUpWatchList(hands, reflector, phase.list, reason, now);
      return;
    }
    case 'ERROR':
      onErrorFrame(hands, reflector, readStatusSource(frame.object), now);
  }
}

function onWatchFrame(hands: ReflectorHands, reflector: Reflector, frame: WatchFrame, now: Now): void {
  const { target } = reflector;
  switch (frame.type) {
    case 'ADDED':
    case 'MODIFIED': {
      const record = recordOf(reflector, frame.object);
      target.upsert(record, frame.object, record.resourceVersion, now);
      reflector.resourceVersion = record.resourceVersion;
      return;
    }
    case 'DELETED': {
      const record = recordOf(reflector, frame.object);
      target.remove(record, now);
      reflector.resourceVersion = record.resourceVersion;
      return;
    }
    case 'BOOKMARK':
      reflector.resourceVersion = versionOf({ kind: reflector.resource, ...projectMeta(frame.object) });
      return;
    case 'ERROR':
      onErrorFrame(hands, reflector, readStatusSource(frame.object), now);
  }
}

/**
 * Takes an error within a stream. After a 429 the watch goes on from the same version. After 410, 500, 504 and all
 * others everything is listed again (docs/spec/wire.md "Errors of lists and watches"). An API server whose etcd is too
 * old for WatchList says so in the stream, so a list that fails this way is taken in pages. One whose watch cache stays
 * behind etcd says 504 each time, and may answer pages from etcd.
 */
function onErrorFrame(hands: ReflectorHands, reflector: Reflector, status: Status, now: Now): void {
  const underWay = listOf(reflector);
  const isBehind = isResourceVersionTooLarge(status);
  const isSecond = isBehind && underWay !== null && ++reflector.failedWatchLists > 1;
  const isPassing = status.code === 429 || status.code === 410 || (isBehind && !isSecond);
  if (underWay !== null && !isPassing) {
    giveUpWatchList(hands, reflector, underWay, describe(status), now);
    return;
  }
  const next = status.code === 429 && underWay === null ? 'watch' : 'list';
  const retryAfterSeconds = status.details?.retryAfterSeconds ?? -1;
  retry(hands, reflector, next, describe(status), now, { retryAfterSeconds });
}

function onEnded(
  hands: ReflectorHands,
  reflector: Reflector,
  phase: PhaseOf<'initial' | 'watching'>,
  error: string | null,
  now: Now,
): void {
  const { life } = phase;
  if (phase.name === 'initial') {
    if (error === null) {
      // The server has ended it by choice, and would again: its time limit was too short for all objects, or so much
      // changed meanwhile that the changes no longer fitted the server's buffer for this stream.
      endWatchList(hands, reflector, phase, 'the stream ended before its initial events', now);
      return;
    }
    if (phase.list.progress.isAnswered) reflector.failedWatchLists++;
    // A time limit was too short for all objects in one stream, and would be again: a proxy's.
    if (isPastItsTime(life, now.nowMs) || reflector.failedWatchLists > 1) reflector.inPages = true;
    retry(hands, reflector, 'list', error, now);
    return;
  }
  const isWhole = phase.reader.pendingBytes() === 0;
  if (!isWhole && (error === null || now.nowMs - life.pendingSinceMs > FRAME_MS_MAX)) {
    onDamaged(hands, reflector, 'the stream ended within a frame', now);
    return;
  }
  noteWatch(reflector.reconnect, now.nowMs - life.openedAtMs);
  if (error !== null && now.nowMs - life.lastFrameAtMs >= IDLE_MS) {
    const seconds = Math.floor((now.nowMs - life.lastFrameAtMs) / 1000);
    openAnew(hands, reflector, 1, `cut after ${seconds} s without an event: ${error}`, now);
  } else if (error !== null) {
    retry(hands, reflector, 'watch', error, now);
  } else if (life.frames === 0 && now.nowMs - life.openedAtMs < SHORT_WATCH_MS) {
    retry(hands, reflector, 'list', 'very short watch: it ended at once without an event', now);
  } else {
    // An ordinary end: the server's time limit, a reader that was too slow, or a server that shuts down. Where etcd was
    // restored, the next watch may reach another server, which has been restarted since.
    noteRestart(hands, reflector, now);
    resumeWatch(hands, reflector, now);
  }
}

/**
 * Ends a silent stream. Silence is no alarm: a proxy may forget a connection on which nothing happens. A frame that has
 * begun and not come whole is damage.
 */
function endStream(
  hands: ReflectorHands,
  reflector: Reflector,
  phase: PhaseOf<'initial' | 'watching'>,
  now: Now,
): void {
  const reason = describeEnd(phase.life, now.nowMs);
  if (phase.name === 'initial') endWatchList(hands, reflector, phase, reason, now);
  else if (phase.reader.pendingBytes() > 0) onDamaged(hands, reflector, reason, now);
  else openAnew(hands, reflector, 0, reason, now);
}

/** Takes the end of a WatchList that has not come whole. A frame that has begun and not come whole is damage. */
function endWatchList(
  hands: ReflectorHands,
  reflector: Reflector,
  { reader, list: underWay }: PhaseOf<'initial'>,
  reason: string,
  now: Now,
): void {
  if (reader.pendingBytes() > 0) noteDamaged(reflector);
  giveUpWatchList(hands, reflector, underWay, reason, now);
}

/** @param v the verbosity of the log from which on it tells of it */
function openAnew(hands: ReflectorHands, reflector: Reflector, v: number, reason: string, now: Now): void {
  hands.outbox.log('info', v, 'Watch is opened anew', { resource: reflector.resource, reason });
  noteRestart(hands, reflector, now);
  resumeWatch(hands, reflector, now);
}

function countUndecodable(
  { metrics, outbox }: ReflectorHands,
  { resource }: Reflector,
  what: string,
  reason: string,
): void {
  metrics.decodeErrors(resource).inc();
  outbox.log('error', 0, 'What the API server sent cannot be decoded', { resource, what, err: reason });
}

function describe(status: Status): string {
  return `${status.code} ${status.reason ?? ''}: ${status.message ?? ''}`;
}
