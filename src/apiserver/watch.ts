import { encodeObject } from '../kube/codec.ts';
import { JSON_TYPE, PROTOBUF, type Encoding } from '../kube/media-type.ts';
import type { ObjectMeta, Status } from '../kube/types.ts';
import { encodeWatchFrame, type WatchType } from '../kube/watch-framing.ts';
import type { ApiObject } from './object.ts';
import { atRevision, bodyOf, encodeMetadata, encodeWhole, type StoredRecord } from './record.ts';
import type { Resource } from './resource.ts';
import { selects, type Selection } from './selectors.ts';
import type { EventType, StoreEvent } from './store.ts';
import { encodeTable, encodeTableBookmark, type TableView } from './table.ts';

/** One open watch, seen by its transport. */
export interface Watch {
  /** The next whole frames, about `bytesMax` bytes of them; empty when there is nothing now. */
  take(bytesMax?: number): Uint8Array[];
  /** Nothing more will come: everything was taken and the server has ended the stream. */
  readonly ended: boolean;
  /** Called when there is something to take, or the stream has ended. Must not call `apply`. */
  onReady: (() => void) | null;
  /** The client has gone. */
  close(): void;
}

/** The server's side of it. */
export interface Watcher extends Watch {
  readonly resource: Resource;
  /** '' = all. */
  readonly namespace: string;
  readonly selection: Selection | null;
  readonly bookmarks: boolean;
  readonly deadlineMs: number;
  bookmarkAtMs: number;
  /** Appends a change, if this watcher selects it. */
  readonly offer: (event: StoreEvent) => void;
  readonly bookmark: (revision: number) => void;
  /** Ends the stream after what is in it, with a last ERROR frame if a status is given. */
  readonly finish: (status?: Status) => void;
}

export interface WatcherOptions {
  readonly resource: Resource;
  readonly namespace: string;
  readonly selection: Selection | null;
  readonly encoding: Encoding;
  readonly metadataOnly: boolean;
  /** Null = objects are sent, not tables of them. */
  readonly table: TableView | null;
  readonly bookmarks: boolean;
  readonly deadlineMs: number;
  readonly bookmarkAtMs: number;
  /** Changes up to this revision are known to the client. */
  readonly fromRevision: number;
  /** Sent as ADDED before anything else. */
  readonly initial: readonly StoredRecord[];
  /** Revision of the bookmark that ends the initial events; null = none is wanted. */
  readonly initialEnd: number | null;
  /** A watcher that leaves more changes than this lying is closed, as the server does with slow ones. */
  readonly outboxEventsMax: number;
  readonly onClose: (watcher: Watcher) => void;
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
const TAKE_BYTES = 1024 * 1024;

type Entry =
  | { readonly type: EventType; readonly record: StoredRecord; readonly event: StoreEvent | null }
  | Uint8Array;

// oxlint-disable-next-line max-lines-per-function -- one object: its functions share its state, and each of them is short
export function createWatcher(options: WatcherOptions): Watcher {
  const { resource, namespace, selection, encoding, metadataOnly, table } = options;
  const contentType = encoding === 'protobuf' ? PROTOBUF : JSON_TYPE;
  const cacheSlot = (encoding === 'protobuf' ? 0 : 1) + (metadataOnly ? 2 : 0);
  let initial = options.initial;
  let initialAt = 0;
  let initialEnd = options.initialEnd;
  let outbox: Entry[] = [];
  let finished = false;
  let columnsSent = false;

  const frame = (type: WatchType, bytes: Uint8Array): Uint8Array => encodeWatchFrame(contentType, type, bytes);
  const recordFrame = (type: EventType, record: StoredRecord): Uint8Array =>
    frame(type, table === null ? bodyOf(record, encoding, metadataOnly) : tableOf(record, table));
  const tableOf = (record: StoredRecord, view: TableView): Uint8Array => {
    const resourceVersion = record.object.metadata.resourceVersion!;
    const bytes = encodeTable(resource, [record], { resourceVersion }, view, !columnsSent);
    columnsSent = true;
    return bytes;
  };
  const entryFrame = (entry: Entry): Uint8Array => {
    if (entry instanceof Uint8Array) return entry;
    if (entry.event === null || table !== null) return recordFrame(entry.type, entry.record);
    return (entry.event.frames[cacheSlot] ??= recordFrame(entry.type, entry.record));
  };
  const bookmarkFrame = (metadata: ObjectMeta): Uint8Array => {
    if (table !== null) {
      const bytes = encodeTableBookmark(resource, metadata, table, !columnsSent);
      columnsSent = true;
      return frame('BOOKMARK', bytes);
    }
    const object: ApiObject = { metadata };
    return frame('BOOKMARK', metadataOnly ? encodeMetadata(object, encoding) : encodeWhole(resource, object, encoding));
  };
  const ready = (): void => watcher.onReady?.();
  const push = (entry: Entry): void => {
    if (finished) return;
    if (outbox.length >= options.outboxEventsMax) {
      // Closed without a word: the client starts again from what it has seen last.
      outbox = [];
      initial = [];
      initialEnd = null;
      watcher.finish();
      return;
    }
    outbox.push(entry);
    ready();
  };
  const covers = (record: StoredRecord): boolean =>
    (namespace === '' || record.object.metadata.namespace === namespace) && selects(selection, record.object);

  const watcher: Watcher = {
    resource,
    namespace,
    selection,
    bookmarks: options.bookmarks,
    deadlineMs: options.deadlineMs,
    bookmarkAtMs: options.bookmarkAtMs,
    onReady: null,
    get ended() {
      return finished && outbox.length === 0 && initialAt >= initial.length && initialEnd === null;
    },
    take(bytesMax = TAKE_BYTES) {
      const frames: Uint8Array[] = [];
      let room = bytesMax;
      for (; room > 0 && initialAt < initial.length; initialAt++) {
        room -= frames[frames.push(recordFrame('ADDED', initial[initialAt]!)) - 1]!.length;
      }
      if (initialAt < initial.length) return frames;
      initial = [];
      initialAt = 0;
      if (initialEnd !== null) {
        const annotations = { [INITIAL_EVENTS_END]: 'true' };
        frames.push(bookmarkFrame({ resourceVersion: String(initialEnd), annotations }));
        initialEnd = null;
      }
      let taken = 0;
      for (; room > 0 && taken < outbox.length; taken++) {
        room -= frames[frames.push(entryFrame(outbox[taken]!)) - 1]!.length;
      }
      outbox = taken === outbox.length ? [] : outbox.slice(taken);
      return frames;
    },
    close() {
      finished = true;
      outbox = [];
      initial = [];
      initialEnd = null;
      options.onClose(watcher);
    },
    offer(event) {
      if (event.revision <= options.fromRevision) return;
      if (selection === null) {
        if (namespace !== '' && event.record.object.metadata.namespace !== namespace) return;
        push({ type: event.type, record: event.record, event });
        return;
      }
      const { previous } = event;
      const before = previous !== null && covers(previous);
      const after = event.type !== 'DELETED' && covers(event.record);
      if (after) push({ type: before ? 'MODIFIED' : 'ADDED', record: event.record, event: null });
      else if (before) {
        const gone = event.type === 'DELETED' ? event.record : atRevision(previous, event.revision);
        push({ type: 'DELETED', record: gone, event: null });
      }
    },
    bookmark(revision) {
      push(bookmarkFrame({ resourceVersion: String(revision) }));
    },
    finish(status) {
      if (finished) return;
      if (status !== undefined) {
        outbox.push(frame('ERROR', encoding === 'json' ? Buffer.from(JSON.stringify(status)) : encodeObject(status)));
      }
      finished = true;
      options.onClose(watcher);
      ready();
    },
  };
  return watcher;
}
