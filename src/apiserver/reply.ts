import { encodeObject } from '../kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../kube/media-type.ts';
import type { Status } from '../kube/types.ts';
import { notAcceptable } from './api-error.ts';
import { PLAIN_JSON, YAML, type Negotiated } from './negotiate.ts';
import { bodyOf, encodeList, type StoredRecord } from './record.ts';
import type { Page } from './read.ts';
import type { ApiReply } from './request.ts';
import type { Resource } from './resource.ts';
import type { YamlFormat } from './state.ts';
import { encodeTable, type TableView } from './table.ts';

/** The form of the answer to one request. */
export interface Output {
  readonly negotiated: Negotiated;
  /** null = no tables are asked for. */
  readonly table: TableView | null;
  /** null = no YAML is asked for. */
  readonly yaml: YamlFormat | null;
}

export const PLAIN_OUTPUT: Output = { negotiated: PLAIN_JSON, table: null, yaml: null };

/** One object. @throws ApiError 406 */
export function recordReply(
  status: number,
  record: StoredRecord,
  output: Output,
  warnings: readonly string[] = [],
): ApiReply {
  const { resource } = record;
  const { negotiated, table } = output;
  if (negotiated.as === 'metadataList') {
    const type = goType(resource);
    throw notAcceptable(`you requested PartialObjectMetadataList, but the requested object is not a list (${type})`);
  }
  const body =
    table === null
      ? bodyOf(record, negotiated.encoding, negotiated.as === 'metadata')
      : encodeTable(resource, [record], { resourceVersion: record.object.metadata.resourceVersion ?? '' }, table);
  return finish(status, headersOf(resource, warnings), body, output);
}

export function listReply(resource: Resource, { records, metadata }: Page, output: Output): ApiReply {
  const { negotiated, table } = output;
  const body =
    table === null
      ? encodeList(resource, records, metadata, negotiated.encoding, negotiated.as !== 'object')
      : encodeTable(resource, records, metadata, table);
  return finish(200, headersOf(resource), body, output);
}

export function statusReply(
  status: Status,
  output: Output,
  headers: Record<string, string>,
  code: number = status.code,
): ApiReply {
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  const protobuf = output.negotiated.encoding === 'protobuf';
  return finish(code, headers, protobuf ? encodeObject(status) : Buffer.from(JSON.stringify(status)), output);
}

function finish(status: number, headers: Record<string, string>, body: Uint8Array, output: Output): ApiReply {
  const { negotiated, yaml } = output;
  if (yaml === null) {
    headers['content-type'] = negotiated.encoding === 'protobuf' ? PROTOBUF : JSON_TYPE;
    return { status, headers, body };
  }
  headers['content-type'] = YAML;
  const value = JSON.parse(new TextDecoder().decode(body)) as unknown;
  return { status, headers, body: Buffer.from(yaml.format(value)) };
}

/** Headers of every answer about a resource. `warnings` are those of this answer alone. */
export function headersOf(resource: Resource | null, warnings: readonly string[] = []): Record<string, string> {
  const headers: Record<string, string> = { 'cache-control': 'no-cache, private' };
  const texts = resource === null || resource.warning === '' ? warnings : [resource.warning, ...warnings];
  if (texts.length > 0) headers['warning'] = warningHeader(texts);
  return headers;
}

/** The bounds of the real server (endpoints/filters/warning.go), in characters. */
const WARNINGS_MAX = 4096;
const WARNING_CUT = 256;

/**
 * Each text once, as UTF-8 in the bytes of a header; one with control characters is left out. If all together are too
 * long, each is cut, and none is told once the bound is reached.
 */
function warningHeader(texts: readonly string[]): string {
  const printable = [...new Set(texts)].filter((text) => !/\p{Cc}/u.test(text)).map((text) => Array.from(text));
  const isTooLong = printable.reduce((sum, { length }) => sum + length, 0) > WARNINGS_MAX;
  const told: string[] = [];
  let written = 0;
  for (const text of printable) {
    if (written >= WARNINGS_MAX) break;
    const part = isTooLong ? text.slice(0, WARNING_CUT) : text;
    written += part.length;
    told.push(part.join(''));
  }
  return told
    .map((text) => `299 - "${Buffer.from(text.replaceAll(/["\\]/g, String.raw`\$&`)).toString('latin1')}"`)
    .join(', ');
}

/** The name of the resource's type in the server's messages. */
export function goType({ group, kind }: Resource): string {
  return `*${group === '' ? 'core' : group.slice(0, group.indexOf('.'))}.${kind}`;
}
