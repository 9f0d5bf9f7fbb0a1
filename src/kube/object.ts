import { decodeEnvelope, parseJsonObject } from './codec.ts';
import { encodingOf } from './media-type.ts';
import type { ObjectSource } from './source.ts';

/**
 * The one object of a reply, cut out but not read.
 * @throws DecodeError when the body is no object in the encoding that it claims
 */
export function objectSourceOf(contentType: string, body: Uint8Array): ObjectSource {
  if (encodingOf(contentType) === 'protobuf') {
    const { apiVersion, kind, raw } = decodeEnvelope(body);
    return { encoding: 'protobuf', apiVersion, kind, bytes: body.subarray(raw.start, raw.end) };
  }
  const value = parseJsonObject(body);
  const text = (field: string): string => (typeof value[field] === 'string' ? value[field] : '');
  return { encoding: 'json', apiVersion: text('apiVersion'), kind: text('kind'), value };
}
