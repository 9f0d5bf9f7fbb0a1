import { encodeObject } from '../kube/codec.ts';
import { JSON_TYPE, PROTOBUF, PROTOBUF_WATCH, type Encoding } from '../kube/media-type.ts';
import type { ObjectMeta, Status } from '../kube/types.ts';
import { encodeWatchFrame, type WatchType } from '../kube/watch-framing.ts';
import type { ApiObject } from './object.ts';
import { bodyOf, encodeMetadata, encodeWhole, type StoredRecord } from './record.ts';
import type { Resource } from './resource.ts';
import type { EventType, StoreEvent } from './store.ts';
import { encodeTable, encodeTableBookmark, type TableView } from './table.ts';

/** The form in which a client wants to see what it watches. */
export interface WatchForm {
  readonly resource: Resource;
  readonly encoding: Encoding;
  readonly metadataOnly: boolean;
  /** null = the client gets objects, not tables. */
  readonly table: TableView | null;
}

/** A change that waits for its client. */
export interface WatchEntry {
  readonly type: EventType;
  readonly record: StoredRecord;
  /** null = the client sees a change of its own, so its bytes are not shared. */
  readonly event: StoreEvent | null;
}

/** Makes the frames of one stream. Only the first frame of a table has its columns. */
export interface WatchFrames {
  readonly added: (record: StoredRecord) => Uint8Array;
  /** Clients that watch in the same form share the bytes of a change. */
  readonly changed: (entry: WatchEntry) => Uint8Array;
  readonly bookmark: (metadata: ObjectMeta) => Uint8Array;
  readonly error: (status: Status) => Uint8Array;
}

export function createWatchFrames({ resource, encoding, metadataOnly, table }: WatchForm): WatchFrames {
  const contentType = encoding === 'protobuf' ? PROTOBUF : JSON_TYPE;
  const cacheSlot = (encoding === 'protobuf' ? 0 : 1) + (metadataOnly ? 2 : 0);
  let columnsSent = false;

  const frame = (type: WatchType, bytes: Uint8Array): Uint8Array => encodeWatchFrame(contentType, type, bytes);
  const tableOf = (record: StoredRecord, view: TableView): Uint8Array => {
    const resourceVersion = record.object.metadata.resourceVersion!;
    const bytes = encodeTable(resource, [record], { resourceVersion }, view, !columnsSent);
    columnsSent = true;
    return bytes;
  };
  const recordFrame = (type: EventType, record: StoredRecord): Uint8Array =>
    frame(type, table === null ? bodyOf(record, encoding, metadataOnly) : tableOf(record, table));

  return {
    added: (record) => recordFrame('ADDED', record),
    changed: ({ type, record, event }) => {
      if (event === null || table !== null) return recordFrame(type, record);
      return (event.frames[cacheSlot] ??= recordFrame(type, record));
    },
    bookmark: (metadata) => {
      if (table !== null) {
        const bytes = encodeTableBookmark(resource, metadata, table, !columnsSent);
        columnsSent = true;
        return frame('BOOKMARK', bytes);
      }
      const object: ApiObject = { metadata };
      const bytes = metadataOnly ? encodeMetadata(object, encoding) : encodeWhole(resource, object, encoding);
      return frame('BOOKMARK', bytes);
    },
    error: (status) => errorFrame(encoding, status),
  };
}

/** The last frame of a watch that ends with an error. */
export function errorFrame(encoding: Encoding, status: Status): Uint8Array {
  return encoding === 'protobuf'
    ? encodeWatchFrame(PROTOBUF, 'ERROR', encodeObject(status))
    : encodeWatchFrame(JSON_TYPE, 'ERROR', Buffer.from(JSON.stringify(status)));
}

/** The Content-Type of a watch. */
export function watchType(encoding: Encoding): string {
  return encoding === 'protobuf' ? PROTOBUF_WATCH : JSON_TYPE;
}
