import { decodeEnvelope, isEnvelope } from './codec.ts';
import { createReader, readLength, readTag, skipField } from './protobuf.ts';
import { tagOf } from './tags.ts';

/** The tag of metadata: the same in every object, and the first of its fields. */
const OBJECT_METADATA = tagOf('PartialObjectMetadata', 'metadata');

/**
 * Whether two protobuf encodings of an object are equal except for metadata. They are compared byte by byte, so both
 * encoders must use the same form: Go's, with fields ascending and zero values written. Either both have an envelope or
 * neither.
 * @throws DecodeError
 */
export function sameBeyondMetadata(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(beyondMetadata(a), beyondMetadata(b)) === 0;
}

function beyondMetadata(bytes: Uint8Array): Uint8Array {
  const { start, end } = isEnvelope(bytes) ? decodeEnvelope(bytes).raw : { start: 0, end: bytes.length };
  const reader = createReader(bytes, start, end);
  const tag = readTag(reader);
  if (tag === OBJECT_METADATA) {
    reader.position = readLength(reader);
    return bytes.subarray(reader.position, end);
  }
  if (tag !== 0) skipField(reader, tag);
  return bytes.subarray(start, end);
}
