import { decodeEnvelope } from './codec.ts';
import { EMPTY_LABELS, labelsFromPairs, labelsGet } from './labels.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from './names.ts';
import {
  createReader,
  DecodeError,
  readLatin1,
  readLength,
  readTag,
  readUtf8,
  skipField,
  type ProtoReader,
} from './protobuf.ts';
import type { ObjectSource } from './source.ts';
import { tagOf } from './tags.ts';
import type { Labels } from './types.ts';

/** The same in every object. */
const OBJECT_METADATA = tagOf('PartialObjectMetadata', 'metadata');
const META_NAME = tagOf('ObjectMeta', 'name');
const META_NAMESPACE = tagOf('ObjectMeta', 'namespace');
const META_UID = tagOf('ObjectMeta', 'uid');
const META_RESOURCE_VERSION = tagOf('ObjectMeta', 'resourceVersion');
const META_LABELS = tagOf('ObjectMeta', 'labels');
const META_ANNOTATIONS = tagOf('ObjectMeta', 'annotations');
const META_OWNERS = tagOf('ObjectMeta', 'ownerReferences');
const META_FINALIZERS = tagOf('ObjectMeta', 'finalizers');
const META_DELETION_TIMESTAMP = tagOf('ObjectMeta', 'deletionTimestamp');
const OWNER_UID = tagOf('OwnerReference', 'uid');
const ENTRY_KEY = tagOf('MapEntry', 'key');
const ENTRY_VALUE = tagOf('MapEntry', 'value');

/** What a bookmark or the reply to a write tells of an object. Empty string = absent. */
export interface MetaRecord {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  labels: Labels;
  annotations: Labels;
  /** The uids of the owners. */
  owners: readonly string[];
  finalizers: readonly string[];
  /** Whether it has a deletionTimestamp. */
  deleting: boolean;
  /** Whether this is the bookmark that ends the initial events of a WatchList. */
  initialEventsEnd: boolean;
}

/**
 * The metadata of an object of any kind but Status.
 * @throws DecodeError
 */
export function projectMeta(source: ObjectSource): MetaRecord {
  // A Status has the metadata of a list.
  if (source.kind === 'Status') throw new DecodeError('expected an object with metadata, got a Status');
  const meta = source.encoding === 'protobuf' ? metaOfMessage(source.bytes) : metaOfJson(source.value);
  meta.initialEventsEnd = labelsGet(meta.annotations, INITIAL_EVENTS_END_ANNOTATION) === 'true';
  return meta;
}

const NONE: readonly string[] = [];

function emptyMeta(): MetaRecord {
  return {
    namespace: '',
    name: '',
    uid: '',
    resourceVersion: '',
    labels: EMPTY_LABELS,
    annotations: EMPTY_LABELS,
    owners: NONE,
    finalizers: NONE,
    deleting: false,
    initialEventsEnd: false,
  };
}

function metaOfMessage(bytes: Uint8Array): MetaRecord {
  const meta = emptyMeta();
  const reader = createReader(bytes);
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return meta;
    if (tag === OBJECT_METADATA) {
      reader.end = readLength(reader);
      readMetaFields(reader, meta);
      reader.end = bytes.length;
    } else skipField(reader, tag);
  }
}

function readMetaFields(reader: ProtoReader, meta: MetaRecord): void {
  const labels: [string, string][] = [];
  const annotations: [string, string][] = [];
  const owners: string[] = [];
  const finalizers: string[] = [];
  for (;;) {
    const tag = readTag(reader);
    switch (tag) {
      case 0: {
        meta.labels = labelsFromPairs(labels);
        meta.annotations = labelsFromPairs(annotations);
        if (owners.length > 0) meta.owners = owners;
        if (finalizers.length > 0) meta.finalizers = finalizers;
        return;
      }
      case META_NAME: {
        meta.name = readLatin1(reader);
        break;
      }
      case META_NAMESPACE: {
        meta.namespace = readLatin1(reader);
        break;
      }
      case META_UID: {
        meta.uid = readLatin1(reader);
        break;
      }
      case META_RESOURCE_VERSION: {
        meta.resourceVersion = readLatin1(reader);
        break;
      }
      case META_LABELS: {
        labels.push(readPair(reader));
        break;
      }
      case META_ANNOTATIONS: {
        annotations.push(readPair(reader));
        break;
      }
      case META_OWNERS: {
        owners.push(readOwnerUid(reader));
        break;
      }
      case META_FINALIZERS: {
        finalizers.push(readUtf8(reader));
        break;
      }
      case META_DELETION_TIMESTAMP: {
        meta.deleting = true;
        skipField(reader, tag);
        break;
      }
      default: {
        skipField(reader, tag);
      }
    }
  }
}

/**
 * Whether the answer to a write has the labels, annotations, owners and finalizers of the body that was sent, byte by
 * byte. False says nothing: equal ones may be encoded in another form.
 * @param answer with metadata alone
 * @param sent with envelope
 * @throws DecodeError
 */
export function hasMetadataAsSent(answer: ObjectSource, sent: Uint8Array): boolean {
  if (answer.encoding !== 'protobuf') return false;
  const { start, end } = decodeEnvelope(sent).raw;
  const before = comparedBytes(createReader(sent, start, end));
  const reader = createReader(answer.bytes);
  const after = comparedBytes(reader);
  // What would come behind the metadata may be metadata again.
  if (before === null || after === null || reader.end < answer.bytes.length) return false;
  return Buffer.compare(before, after) === 0;
}

/**
 * The bytes from the first label to the last finalizer. The four fields follow one another. null = there are none, or the
 * object does not begin with its metadata. The reader is left in the metadata, at their end.
 */
function comparedBytes(reader: ProtoReader): Uint8Array | null {
  if (readTag(reader) !== OBJECT_METADATA) return null;
  reader.end = readLength(reader);
  let start = -1;
  let end = -1;
  for (;;) {
    const at = reader.position;
    const tag = readTag(reader);
    if (tag === 0) return start < 0 ? null : reader.bytes.subarray(start, end);
    skipField(reader, tag);
    if (tag < META_LABELS || tag > META_FINALIZERS) continue;
    if (start < 0) start = at;
    end = reader.position;
  }
}

function readOwnerUid(reader: ProtoReader): string {
  const outer = reader.end;
  reader.end = readLength(reader);
  let uid = '';
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === OWNER_UID) uid = readUtf8(reader);
    else skipField(reader, tag);
  }
  reader.end = outer;
  return uid;
}

function readPair(reader: ProtoReader): [string, string] {
  const outer = reader.end;
  reader.end = readLength(reader);
  let key = '';
  let value = '';
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === ENTRY_KEY) key = readUtf8(reader);
    else if (tag === ENTRY_VALUE) value = readUtf8(reader);
    else skipField(reader, tag);
  }
  reader.end = outer;
  return [key, value];
}

function metaOfJson(value: object): MetaRecord {
  const meta = emptyMeta();
  const { metadata } = value as { metadata?: unknown };
  if (typeof metadata !== 'object' || metadata === null) return meta;
  const { namespace, name, uid, resourceVersion, labels, annotations, ownerReferences, finalizers, deletionTimestamp } =
    metadata as Record<string, unknown>;
  meta.namespace = stringOr(namespace, '');
  meta.name = stringOr(name, '');
  meta.uid = stringOr(uid, '');
  meta.resourceVersion = stringOr(resourceVersion, '');
  meta.labels = pairsOfJson(labels, 'metadata.labels');
  meta.annotations = pairsOfJson(annotations, 'metadata.annotations');
  if (Array.isArray(ownerReferences)) meta.owners = ownerReferences.map(ownerUid);
  if (Array.isArray(finalizers)) meta.finalizers = finalizers.map((text) => stringOr(text, ''));
  meta.deleting = stringOr(deletionTimestamp, '') !== '';
  return meta;
}

function pairsOfJson(value: unknown, field: string): Labels {
  if (value === undefined || value === null) return EMPTY_LABELS;
  const pairs = typeof value === 'object' ? Object.entries(value) : null;
  if (pairs === null || !pairs.every((pair) => typeof pair[1] === 'string')) {
    throw new DecodeError(`${field}: expected a map of strings`);
  }
  return labelsFromPairs(pairs as [string, string][]);
}

function ownerUid(owner: unknown): string {
  return stringOr((owner as { readonly uid?: unknown } | null)?.uid, '');
}

function stringOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}
