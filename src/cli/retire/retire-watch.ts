/** A watch of Endpoints that notices the first write of an endpoints controller. */
import { ACCEPT_METADATA } from '../../kube/media-type.ts';
import { type MetaRecord, projectMeta } from '../../kube/object-meta.ts';
import { DecodeError } from '../../kube/protobuf.ts';
import type { ObjectSource } from '../../kube/source.ts';
import { readStatusSource } from '../../kube/status.ts';
import { createWatchReader, type WatchReader } from '../../kube/watch-framing.ts';
import type { Transport, TransportEvent } from '../../ports/transport.ts';
import { CONTROLLER_MANAGERS, lastWriter } from '../../core/last-writer.ts';
import { failureOf } from './retire-lists.ts';
import { isControllerWrite } from './retire-rules.ts';

/** What the watch has found. Each text is '' until it has something to say. */
export interface WriteWatch {
  /** The first write of a controller, in words. */
  readonly written: () => string;
  /** Why the watch cannot go on. */
  readonly broken: () => string;
  /** Resolves when one of the two texts is there. */
  readonly over: Promise<void>;
}

interface Watching {
  readonly path: string;
  version: string;
  reader: WatchReader | null;
  written: string;
  broken: string;
}

const OPEN_MS_MAX = 60_000;
/** The wait before a watch is opened again: a proxy may end each watch at once. */
const REOPEN_MS = 1000;

/**
 * @param path the collection's path
 * @param version the version from which on writes count
 */
export function watchWrites(
  createTransport: (deliver: (events: readonly TransportEvent[]) => void) => Transport,
  path: string,
  version: string,
): WriteWatch {
  const watching: Watching = { path, version, reader: null, written: '', broken: '' };
  let onOver = (): void => undefined;
  const over = new Promise<void>((resolve) => (onOver = resolve));
  let id = 0;
  const transport = createTransport((events) => {
    for (const event of events) {
      if (event.id !== id || watching.written !== '' || watching.broken !== '') continue;
      take(watching, event);
      // A server ends each watch after some time. The next watch goes on behind the last event.
      if (event.type === 'ended') setTimeout(open, REOPEN_MS).unref();
    }
    if (watching.written !== '' || watching.broken !== '') onOver();
  });

  function open(): void {
    id += 1;
    const query = new URLSearchParams({ watch: '1', allowWatchBookmarks: '1', resourceVersion: watching.version });
    transport.send({
      id,
      lane: 'watch',
      method: 'GET',
      path: `${path}?${query.toString()}`,
      accept: ACCEPT_METADATA,
      contentType: '',
      body: null,
      stream: true,
      timeoutMs: OPEN_MS_MAX,
    });
  }

  open();
  return { written: () => watching.written, broken: () => watching.broken, over };
}

function take(watching: Watching, event: TransportEvent): void {
  try {
    if (event.type === 'failure') watching.broken = failureOf(event);
    else if (event.type === 'response') {
      if (event.status === 200) watching.reader = createWatchReader(event.contentType);
      else watching.broken = failureOf(event);
    } else if (event.type === 'chunk') {
      watching.reader!.push(event.bytes);
      takeFrames(watching);
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    watching.broken = error.message;
  }
}

function takeFrames(watching: Watching): void {
  for (;;) {
    const frame = watching.reader!.next();
    if (frame === null) return;
    if (frame.type === 'ERROR') {
      watching.broken = readStatusSource(frame.object).message ?? 'the server has ended the watch';
      return;
    }
    const meta = projectMeta(frame.object);
    watching.version = meta.resourceVersion;
    if (frame.type !== 'ADDED' && frame.type !== 'MODIFIED') continue;
    const said = writeOf(frame.object, meta);
    if (said !== '') watching.written ||= said;
  }
}

function writeOf(source: ObjectSource, meta: MetaRecord): string {
  const writer = lastWriter(source);
  if (!isControllerWrite(meta, CONTROLLER_MANAGERS.has(writer))) return '';
  return `${writer === '' ? 'somebody' : writer} has written Endpoints ${meta.namespace}/${meta.name}`;
}
