import { decodeEnvelope, parseJsonObject } from './codec.ts';
import { encodingOf } from './media-type.ts';
import { createReader, DecodeError, readLatin1, readLength, readTag, skipField, type ProtoReader } from './protobuf.ts';
import type { ObjectSource } from './source.ts';
import { tagOf } from './tags.ts';

/** The same in every list. */
const LIST_METADATA = tagOf('PodList', 'metadata');
const LIST_ITEMS = tagOf('PodList', 'items');
const META_RESOURCE_VERSION = tagOf('ListMeta', 'resourceVersion');
const META_CONTINUE = tagOf('ListMeta', 'continue');

/** One page of a list, its items cut out but not read. */
export interface ListPage {
  /** The kind of the list, such as PodList. */
  readonly kind: string;
  readonly resourceVersion: string;
  /** Empty = the last page. */
  readonly continueToken: string;
  /** Views into the body. */
  readonly items: readonly ObjectSource[];
}

/** @throws DecodeError when the body is no list in the encoding that it claims */
export function readList(contentType: string, body: Uint8Array): ListPage {
  return encodingOf(contentType) === 'protobuf' ? readProtobufList(body) : readJsonList(body);
}

function readProtobufList(body: Uint8Array): ListPage {
  const { apiVersion, kind, raw } = decodeEnvelope(body);
  const itemKind = itemKindOf(kind);
  const reader = createReader(body, raw.start, raw.end);
  const meta = { resourceVersion: '', continueToken: '' };
  const items: ObjectSource[] = [];
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === LIST_METADATA) {
      reader.end = readLength(reader);
      readListMeta(reader, meta);
      reader.end = raw.end;
    } else if (tag === LIST_ITEMS) {
      const stop = readLength(reader);
      items.push({ encoding: 'protobuf', kind: itemKind, apiVersion, bytes: body.subarray(reader.position, stop) });
      reader.position = stop;
    } else skipField(reader, tag);
  }
  return { kind, ...meta, items };
}

function readListMeta(reader: ProtoReader, meta: { resourceVersion: string; continueToken: string }): void {
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) return;
    if (tag === META_RESOURCE_VERSION) meta.resourceVersion = readLatin1(reader);
    else if (tag === META_CONTINUE) meta.continueToken = readLatin1(reader);
    else skipField(reader, tag);
  }
}

function readJsonList(body: Uint8Array): ListPage {
  const list = parseJsonObject(body);
  const kind = typeof list['kind'] === 'string' ? list['kind'] : '';
  const apiVersion = typeof list['apiVersion'] === 'string' ? list['apiVersion'] : '';
  const itemKind = itemKindOf(kind);
  const metadata = (list['metadata'] ?? {}) as Record<string, unknown>;
  const values = list['items'] ?? [];
  if (!Array.isArray(values)) throw new DecodeError(`${kind}.items: expected a list`);
  const items = values.map((value: unknown, i): ObjectSource => {
    if (typeof value !== 'object' || value === null) throw new DecodeError(`${kind}.items[${i}]: expected an object`);
    return { encoding: 'json', kind: itemKind, apiVersion, value };
  });
  const { resourceVersion, continue: token } = metadata;
  return {
    kind,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    continueToken: typeof token === 'string' ? token : '',
    items,
  };
}

/**
 * The kind of a list's items follows from the list's. Items do not name their kind in protobuf, and need not in JSON.
 */
function itemKindOf(kind: string): string {
  if (!kind.endsWith('List')) throw new DecodeError(`expected a list, got kind ${JSON.stringify(kind.slice(0, 100))}`);
  return kind.slice(0, -'List'.length);
}
