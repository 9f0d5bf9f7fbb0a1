/**
 * Encoded bytes of records, which watchers, replies and lists share. They are made when somebody first needs them, and
 * kept while there is room. The cache has two generations: when the younger one fills half of the room, the older one
 * is dropped.
 */
export interface BodyCache {
  readonly bytesMax: number;
  young: Bodies[];
  youngBytes: number;
  old: Bodies[];
}

/**
 * Bytes of one record: the whole object with its envelope in protobuf, the whole object with kind and apiVersion in
 * JSON, and PartialObjectMetadata.
 */
export interface Bodies {
  protobuf: Uint8Array | null;
  json: Uint8Array | null;
  metadataProtobuf: Uint8Array | null;
  metadataJson: Uint8Array | null;
}

export function createBodyCache(bytesMax: number): BodyCache {
  return { bytesMax, young: [], youngBytes: 0, old: [] };
}

/** Keeps bytes until the cache drops them. Dropped bytes are made again if somebody needs them. */
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
