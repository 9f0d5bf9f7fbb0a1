/** A watch of Endpoints that notices the first write of an endpoints controller. */
import { ACCEPT_METADATA } from '../../kube/media-type.ts';
import { type MetaRecord, projectMeta } from '../../kube/object-meta.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import type { ObjectSource } from '../../kube/source.ts';
import { compareResourceVersions } from '../../kube/resource-version.ts';
import { readStatusSource } from '../../kube/status.ts';
import { createWatchReader, type WatchReader } from '../../kube/watch-framing.ts';
import { formatDuration } from '../../lib/duration.ts';
import type { Asker } from '../../node/asker.ts';
import type { Transport, TransportEvent } from '../../ports/transport.ts';
import { SILENCE_MS } from '../../controller/reflectors/stream-life.ts';
import { CONTROLLER_MANAGERS, lastWriter } from '../../core/last-writer.ts';
import { busyMs, isBusy } from './patience.ts';
import { StartError } from '../usage.ts';
import { failureOf, pages } from './retire-lists.ts';
import { isControllerWrite } from './retire-rules.ts';

/** What the watch has found. Each text is '' until it has something to say. */
export interface WriteWatch {
  /** The first write of a controller, in words. */
  readonly written: () => string;
  /** Why the watch cannot go on. */
  readonly broken: () => string;
  /** Resolves when one of the two texts is there. */
  readonly over: Promise<void>;
  /** Resolves when the watch is open, or over. */
  readonly opened: () => Promise<void>;
  /** Has to be called before the object is deleted. */
  readonly expectDeletion: (uid: string) => void;
  /** Has to be called when the object is not deleted after all. */
  readonly expectNone: (uid: string) => void;
  /** Resolves when the watch has shown the deletion, or is over. */
  readonly shown: (uid: string) => Promise<void>;
  readonly close: () => void;
}

interface Watching {
  readonly path: string;
  readonly ask: Asker;
  readonly transport: Transport;
  /** Of the request that counts. */
  id: number;
  version: string;
  reader: WatchReader | null;
  /** Whether it is answered, and has had the time to bring what happened while it was not. */
  isOpen: boolean;
  /** Whole frames that have come. */
  frames: number;
  /** The uids of the objects whose deletion is to come. One that waits for its finalizers may be here to the end. */
  readonly expected: Set<string>;
  /** Why it was lost last. */
  lost: string;
  written: string;
  broken: string;
  /** What waits for a change of the watch. */
  waiting: (() => void)[];
  readonly timers: Map<Limit, NodeJS.Timeout>;
}

/** step: of what is done next. silent: without a frame. closed: without an answer. missing: without the deletion. */
type Limit = 'step' | 'silent' | 'closed' | 'missing';

const ANSWER_MS_MAX = 60_000;
/** How long it may be closed, or without the deletion that it has to show. */
const MISSING_MS_MAX = 120_000;
/** The wait before a watch is opened again: a proxy may end each watch at once. */
const REOPEN_MS = 1000;
/** What happened while the watch was closed comes right behind the answer. */
const SETTLE_MS = 500;
const WATCH_SECONDS = 300;
const AGAIN = '; start the command again';
/** The server does not know any more what has happened since the version. */
const GONE = 410;

/**
 * A watch may be silent because nothing happens, or because a proxy brings nothing through. So a silent one is opened
 * again, and each deletion has to come back through it.
 * @param ask reads a list where the server has forgotten what the watch goes on from
 * @param path the collection's path
 * @param version the version from which on writes count
 */
export function watchWrites(
  createTransport: (deliver: (events: readonly TransportEvent[]) => void) => Transport,
  ask: Asker,
  path: string,
  version: string,
): WriteWatch {
  const transport = createTransport((events) => {
    for (const event of events) if (event.id === watching.id && !isOver(watching)) onEvent(watching, event);
    wake(watching);
  });
  const watching: Watching = {
    path,
    ask,
    transport,
    id: 0,
    version,
    reader: null,
    isOpen: false,
    frames: 0,
    expected: new Set(),
    lost: 'no answer',
    written: '',
    broken: '',
    waiting: [],
    timers: new Map(),
  };
  limitClosed(watching);
  open(watching);
  return {
    written: () => watching.written,
    broken: () => watching.broken,
    over: until(watching, () => false),
    opened: () => until(watching, () => watching.isOpen),
    expectDeletion: (uid) => watching.expected.add(uid),
    expectNone: (uid) => watching.expected.delete(uid),
    async shown(uid) {
      const fail = (): void => giveUp(watching, `it does not show a deletion of ${formatDuration(MISSING_MS_MAX)} ago`);
      setTimer(watching, 'missing', MISSING_MS_MAX, fail);
      await until(watching, () => !watching.expected.has(uid));
      clearTimeout(watching.timers.get('missing'));
    },
    close: () => clearTimers(watching),
  };
}

function open(watching: Watching): void {
  const { transport, path, version } = watching;
  watching.id += 1;
  const query = new URLSearchParams({
    watch: '1',
    allowWatchBookmarks: '1',
    timeoutSeconds: String(WATCH_SECONDS),
    resourceVersion: version,
  });
  transport.send({
    id: watching.id,
    pool: 'watch',
    method: 'GET',
    path: `${path}?${query.toString()}`,
    accept: ACCEPT_METADATA,
    contentType: '',
    body: null,
    stream: true,
    timeoutMs: ANSWER_MS_MAX,
  });
}

/** A server ends each watch after some time, or is away for a moment. The next watch goes on behind the last event. */
function reopen(watching: Watching, why: string, waitMs: number): void {
  lose(watching, why);
  setTimer(watching, 'step', waitMs, () => open(watching));
}

function lose(watching: Watching, why: string): void {
  watching.lost = why;
  clearTimeout(watching.timers.get('step'));
  clearTimeout(watching.timers.get('silent'));
  if (watching.isOpen) limitClosed(watching);
  watching.isOpen = false;
}

/** An API server that has just started knows nothing of the time before. A list tells what the watch has missed. */
async function goOnBehindList(watching: Watching, why: string): Promise<void> {
  lose(watching, why);
  watching.transport.cancel(watching.id);
  // What was delivered together with the answer is of no use.
  watching.id += 1;
  try {
    watching.version = await listedVersion(watching);
    if (!isOver(watching)) reopen(watching, why, REOPEN_MS);
  } catch (error) {
    if (!(error instanceof StartError || error instanceof DecodeError)) throw error;
    giveUp(watching, error.message);
  }
  wake(watching);
}

/**
 * Takes from a list what has happened since the last event. Returns the version from which the watch goes on: that of
 * the first page, because a list that expires goes on with a newer one, and what is written between the two would be
 * missed.
 * @throws StartError or DecodeError
 */
async function listedVersion(watching: Watching): Promise<string> {
  const { ask, path, version, expected } = watching;
  const unseen = new Set(expected);
  let from = '';
  let isOfOneVersion = true;
  for await (const page of pages(ask, { path, fieldSelector: '', labelSelector: '', form: 'metadata' })) {
    from ||= page.resourceVersion;
    isOfOneVersion &&= page.resourceVersion === from;
    // Somebody may have restored etcd from a backup. Then versions do not tell what is new.
    if (compareResourceVersions(from, version) < 0) throw new StartError(`the server's history went back${AGAIN}`);
    for (const item of page.items) {
      const meta = projectMeta(item);
      unseen.delete(meta.uid);
      if (compareResourceVersions(meta.resourceVersion, version) > 0) takeWrite(watching, item, meta);
    }
    if (isOver(watching)) break;
  }
  // What has gone between two versions the watch tells once more, with what happened to it before.
  if (isOfOneVersion && !isOver(watching)) for (const uid of unseen) expected.delete(uid);
  return from;
}

function limitClosed(watching: Watching): void {
  setTimer(watching, 'closed', MISSING_MS_MAX, () => {
    giveUp(watching, `it was not open for ${formatDuration(MISSING_MS_MAX)}: ${watching.lost}`);
  });
}

function limitSilence(watching: Watching): void {
  setTimer(watching, 'silent', SILENCE_MS, () => {
    watching.transport.cancel(watching.id);
    reopen(watching, `no event for ${formatDuration(SILENCE_MS)}`, REOPEN_MS);
  });
}

function settle(watching: Watching): void {
  setTimer(watching, 'step', SETTLE_MS, () => {
    clearTimeout(watching.timers.get('closed'));
    watching.isOpen = true;
    wake(watching);
  });
}

function giveUp(watching: Watching, why: string): void {
  watching.broken = why;
  wake(watching);
}

function isOver({ written, broken }: Watching): boolean {
  return written !== '' || broken !== '';
}

async function until(watching: Watching, isSo: () => boolean): Promise<void> {
  while (!isSo() && !isOver(watching)) await new Promise<void>((resolve) => watching.waiting.push(resolve));
}

function wake(watching: Watching): void {
  if (isOver(watching)) clearTimers(watching);
  for (const resolve of watching.waiting.splice(0)) resolve();
}

function setTimer({ timers }: Watching, limit: Limit, ms: number, onTime: () => void): void {
  clearTimeout(timers.get(limit));
  timers.set(limit, setTimeout(onTime, ms));
}

function clearTimers({ timers }: Watching): void {
  for (const timer of timers.values()) clearTimeout(timer);
}

function onEvent(watching: Watching, event: TransportEvent): void {
  try {
    if (event.type === 'ended') reopen(watching, event.error ?? 'the server has ended it', REOPEN_MS);
    else if (event.type === 'chunk') {
      const { frames } = watching;
      watching.reader!.push(event.bytes);
      takeFrames(watching);
      if (watching.frames > frames && watching.id === event.id) limitSilence(watching);
    } else if (event.type === 'response' && event.status === 200) {
      watching.reader = createWatchReader(event.contentType);
      limitSilence(watching);
      settle(watching);
    } else if (event.type === 'response' && event.status === GONE) {
      void goOnBehindList(watching, failureOf(event));
    } else if (isBusy(event)) reopen(watching, failureOf(event), busyMs(event));
    else watching.broken = failureOf(event);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    watching.broken = error.message;
  }
}

function takeFrames(watching: Watching): void {
  for (;;) {
    const frame = watching.reader!.next();
    if (frame === null) return;
    watching.frames += 1;
    if (frame.type === 'ERROR') {
      const { code, message = 'the server has ended the watch' } = readStatusSource(frame.object);
      if (code === GONE) void goOnBehindList(watching, message);
      else watching.broken = message + AGAIN;
      return;
    }
    const meta = projectMeta(frame.object);
    watching.version = meta.resourceVersion;
    if (frame.type === 'DELETED') watching.expected.delete(meta.uid);
    if (frame.type === 'ADDED' || frame.type === 'MODIFIED') takeWrite(watching, frame.object, meta);
  }
}

function takeWrite(watching: Watching, source: ObjectSource, meta: MetaRecord): void {
  // An object with finalizers is only marked by its deletion, and later loses them. Neither is a write of a controller.
  if (meta.deleting && watching.expected.has(meta.uid)) return;
  const writer = lastWriter(source);
  if (!isControllerWrite(meta, CONTROLLER_MANAGERS.has(writer))) return;
  watching.written ||= `${writer === '' ? 'somebody' : writer} has written Endpoints ${meta.namespace}/${meta.name}`;
}
