import { decodeEnvelope, encodeEnvelope, encodeMessage, encodeObject } from '../kube/codec.ts';
import type { Encoding } from '../kube/media-type.ts';
import { messageOf, type Message } from '../kube/schema.ts';
import { tagOf } from '../kube/tags.ts';
import { keepBody, type Bodies, type BodyCache } from './body-cache.ts';
import type { ApiObject } from './object.ts';
import type { Resource } from './resource.ts';

/** The field number, which is the same in every list. */
const LIST_ITEMS = tagOf('PodList', 'items');

/**
 * One version of one object. A record in the store never changes, so lists, history and watches share it. Its bytes are
 * made when somebody first needs them.
 */
export interface StoredRecord {
  readonly resource: Resource;
  /** `namespace/name`, or `name`. */
  readonly key: string;
  readonly revision: number;
  readonly object: ApiObject;
  /** The memory that it takes, roughly, for the bound of the history. */
  readonly sizeBytes: number;
  readonly cache: BodyCache;
  /** null = nothing is encoded yet. */
  bodies: Bodies | null;
}

export function createRecord(
  cache: BodyCache,
  resource: Resource,
  key: string,
  revision: number,
  object: ApiObject,
  sizeBytes: number,
): StoredRecord {
  return { resource, key, revision, object, sizeBytes, cache, bodies: null };
}

/** The same content at another version: a DELETED event shows it. */
export function atRevision(record: StoredRecord, revision: number): StoredRecord {
  const metadata = { ...record.object.metadata, resourceVersion: String(revision) };
  const object = { ...record.object, metadata };
  return createRecord(record.cache, record.resource, record.key, revision, object, record.sizeBytes);
}

const METADATA_API_VERSION = 'meta.k8s.io/v1';
const METADATA_KIND = 'PartialObjectMetadata';

/** The whole body of a reply with this object. The body is cached. */
export function bodyOf(record: StoredRecord, encoding: Encoding, metadataOnly: boolean): Uint8Array {
  const field = metadataOnly ? (encoding === 'protobuf' ? 'metadataProtobuf' : 'metadataJson') : encoding;
  const bodies = (record.bodies ??= { protobuf: null, json: null, metadataProtobuf: null, metadataJson: null });
  const kept = bodies[field];
  if (kept !== null) return kept;
  const { object, resource, cache } = record;
  const body = metadataOnly ? encodeMetadata(object, encoding) : encodeWhole(resource, object, encoding);
  keepBody(cache, bodies, field, body);
  return body;
}

/** Whether the object has fields that the tables lack, and that protobuf loses: a pod's probes, volumes and others. */
export function isPartialInProtobuf({ resource, object }: StoredRecord): boolean {
  return hasSkipped(messageOf(resource.apiVersion, resource.kind)!, object);
}

function hasSkipped(message: Message, object: object): boolean {
  return message.fields.some((field) => {
    const value = (object as Record<string, unknown>)[field.name];
    if (typeof value !== 'object' || value === null) return false;
    if (field.type === 'skip') return Object.keys(value).length > 0;
    if (field.type !== 'message' || field.shape === 'map') return false;
    if (field.shape === 'one') return hasSkipped(field.message!, value);
    return (value as object[]).some((item) => hasSkipped(field.message!, item));
  });
}

/** The whole body of a reply with an object that is in no store. */
export function encodeWhole(resource: Resource, object: ApiObject, encoding: Encoding): Uint8Array {
  const { kind, apiVersion } = resource;
  if (encoding === 'json') return Buffer.from(JSON.stringify({ kind, apiVersion, ...object }));
  return encodeObject({ ...object, kind, apiVersion });
}

export function encodeMetadata(object: ApiObject, encoding: Encoding): Uint8Array {
  const partial = { kind: METADATA_KIND, apiVersion: METADATA_API_VERSION, metadata: object.metadata };
  return encoding === 'json' ? Buffer.from(JSON.stringify(partial)) : encodeObject(partial);
}

/** The fields of a page beside its items. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** The body of a list. In protobuf the items are copied from their cached bodies. */
export function encodeList(
  resource: Resource,
  records: readonly StoredRecord[],
  metadata: ListMeta,
  encoding: Encoding,
  metadataOnly: boolean,
): Uint8Array {
  const kind = `${metadataOnly ? METADATA_KIND : resource.kind}List`;
  const apiVersion = metadataOnly ? METADATA_API_VERSION : resource.apiVersion;
  if (encoding === 'json') return encodeJsonList(kind, apiVersion, records, metadata, metadataOnly);
  const parts: Uint8Array[] = [encodeMessage(messageOf(apiVersion, kind)!, { metadata })];
  for (const record of records) {
    const body = bodyOf(record, encoding, metadataOnly);
    const { raw } = decodeEnvelope(body);
    parts.push(itemHead(raw.end - raw.start), body.subarray(raw.start, raw.end));
  }
  return encodeEnvelope(apiVersion, kind, Buffer.concat(parts));
}

/** The bytes before an item that is `length` bytes long. */
function itemHead(length: number): Uint8Array {
  const bytes = [LIST_ITEMS];
  let rest = length;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** Items of a typed list have no kind, items of a metadata list have one. */
function encodeJsonList(
  kind: string,
  apiVersion: string,
  records: readonly StoredRecord[],
  metadata: ListMeta,
  metadataOnly: boolean,
): Uint8Array {
  const head = JSON.stringify({ kind, apiVersion, metadata });
  const parts: Uint8Array[] = [Buffer.from(`${head.slice(0, -1)},"items":[`)];
  const comma = Buffer.from(',');
  for (const [at, record] of records.entries()) {
    if (at > 0) parts.push(comma);
    if (metadataOnly) parts.push(bodyOf(record, 'json', true));
    else {
      const body = bodyOf(record, 'json', false);
      // Every body begins with kind and apiVersion, which are the same for all objects of the resource.
      const skip = `{"kind":"${record.resource.kind}","apiVersion":"${apiVersion}",`.length;
      parts.push(OPEN, body.subarray(skip));
    }
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}

const OPEN = Buffer.from('{');
