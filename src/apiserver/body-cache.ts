/**
 * Encoded bytes of records, made when somebody first wants them and kept while there is room, so that watchers, replies
 * and lists share them. Two generations: when the younger one is half of the room, the older one is dropped as a whole.
 */
export interface BodyCache {
  readonly bytesMax: number;
  young: Bodies[];
  youngBytes: number;
  old: Bodies[];
}

/** Of one record: whole, with envelope in protobuf, with kind and apiVersion in JSON; and as PartialObjectMetadata. */
export interface Bodies {
  protobuf: Uint8Array | null;
  json: Uint8Array | null;
  metadataProtobuf: Uint8Array | null;
  metadataJson: Uint8Array | null;
}

export function createBodyCache(bytesMax: number): BodyCache {
  return { bytesMax, young: [], youngBytes: 0, old: [] };
}

/** Puts bytes where the cache may drop them. A record that is superseded loses nothing but the chance to be sent again. */
export function keepBody(cache: BodyCache, bodies: Bodies, field: keyof Bodies, bytes: Uint8Array): void {
  bodies[field] = bytes;
  cache.young.push(bodies);
  cache.youngBytes += bytes.length;
  if (cache.youngBytes * 2 < cache.bytesMax) return;
  for (const dropped of cache.old) {
    dropped.protobuf = null;
    dropped.json = null;
    dropped.metadataProtobuf = null;
    dropped.metadataJson = null;
  }
  cache.old = cache.young;
  cache.young = [];
  cache.youngBytes = 0;
}
