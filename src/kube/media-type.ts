import { DecodeError } from './protobuf.ts';

export const JSON_TYPE = 'application/json';
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
/** The Content-Type of a watch in protobuf. */
export const PROTOBUF_WATCH = 'application/vnd.kubernetes.protobuf;stream=watch';

/** Accept of lists, watches and single reads. */
export const ACCEPT = `${PROTOBUF},${JSON_TYPE}`;

/** Behind a media type: the answer is metadata only. */
export const AS_PARTIAL = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** Accept where the metadata of one object is enough. */
export const ACCEPT_METADATA = `${PROTOBUF};${AS_PARTIAL},${JSON_TYPE};${AS_PARTIAL},${JSON_TYPE}`;

const AS_PARTIAL_LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Accept of lists of which only the metadata of each object is read. */
export const ACCEPT_METADATA_LIST = `${PROTOBUF};${AS_PARTIAL_LIST},${JSON_TYPE};${AS_PARTIAL_LIST},${ACCEPT}`;

export type Encoding = 'protobuf' | 'json';

/**
 * How a body with this Content-Type is encoded; parameters do not matter.
 * @throws DecodeError for any other media type.
 */
export function encodingOf(contentType: string): Encoding {
  const encoding = encodingOrNull(contentType);
  if (encoding === null) throw new DecodeError(`unexpected Content-Type ${JSON.stringify(contentType.slice(0, 100))}`);
  return encoding;
}

/** As `encodingOf`; null = another media type. */
export function encodingOrNull(contentType: string): Encoding | null {
  const end = contentType.indexOf(';');
  const mediaType = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  if (mediaType === PROTOBUF) return 'protobuf';
  return mediaType === JSON_TYPE ? 'json' : null;
}
