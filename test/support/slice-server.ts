/** The little of an API server that writers of EndpointSlices meet: names, uids, versions, preconditions. */
import assert from 'node:assert/strict';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import type { EndpointSlice, ObjectMeta } from '../../src/kube/types.ts';

const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export interface SliceServer {
  /** By name, all of one namespace; never changed once they are here. */
  readonly slices: Map<string, EndpointSlice>;
  readonly random: Prng;
  version: number;
}

/** A write as a client sends it. `object` null = delete; an empty `resourceVersion` or `uid` is no precondition. */
export interface SliceRequest {
  readonly verb: 'create' | 'update' | 'delete';
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly object: EndpointSlice | null;
}

export function createSliceServer(slices: Iterable<EndpointSlice> = [], seed = 1): SliceServer {
  const server: SliceServer = { slices: new Map(), random: createPrng(seed), version: 100 };
  for (const slice of slices) putSlice(server, slice);
  return server;
}

/** Another server that is in the same state and goes its own way. */
export function copySliceServer(server: SliceServer): SliceServer {
  return { slices: new Map(server.slices), random: { ...server.random }, version: server.version };
}

/** Puts an object there as somebody else would: uid and version are drawn where it brings none of its own. */
export function putSlice(server: SliceServer, slice: EndpointSlice): EndpointSlice {
  const name = slice.metadata.name!;
  const uid = server.slices.get(name)?.metadata.uid ?? slice.metadata.uid ?? `slice-${++server.version}`;
  return store(server, { ...slice, metadata: { ...slice.metadata, uid } });
}

/** The object after the write; undefined after a delete. Throws where a real server refuses. */
export function serveSliceRequest(server: SliceServer, request: SliceRequest): EndpointSlice | undefined {
  const { verb, object } = request;
  if (verb === 'create') {
    assert(object !== null, 'a create brings an object');
    const { metadata } = object;
    const name = metadata.name ?? drawName(server, metadata.generateName ?? '');
    assert(!server.slices.has(name), `409 AlreadyExists: ${name}`);
    validate(object);
    return store(server, { ...object, metadata: { ...metadata, name, uid: `slice-${++server.version}` } });
  }
  const stored = server.slices.get(request.name);
  assert(stored !== undefined, `404: ${verb} ${request.name}`);
  checkPreconditions(stored.metadata, request);
  if (verb === 'delete') {
    server.slices.delete(request.name);
    return undefined;
  }
  assert(object !== null, 'an update brings an object');
  validate(object);
  const { uid = '', resourceVersion = '', ...metadata } = object.metadata;
  checkPreconditions(stored.metadata, { uid, resourceVersion });
  assert.equal(object.addressType, stored.addressType, `422: addressType of ${request.name} is immutable`);
  const kept: ObjectMeta = { ...metadata, name: request.name, uid: stored.metadata.uid! };
  if (stored.metadata.creationTimestamp !== undefined) kept.creationTimestamp = stored.metadata.creationTimestamp;
  return store(server, { ...object, metadata: kept });
}

function drawName(server: SliceServer, prefix: string): string {
  assert(prefix !== '', '422: neither name nor generateName');
  let name = prefix.slice(0, 58);
  for (let i = 0; i < 5; i++) name += SUFFIX_ALPHABET[nextInt(server.random, SUFFIX_ALPHABET.length)]!;
  return server.slices.has(name) ? drawName(server, prefix) : name;
}

function checkPreconditions(stored: ObjectMeta, wanted: { uid: string; resourceVersion: string }): void {
  if (wanted.uid !== '') assert.equal(wanted.uid, stored.uid, `409: uid of ${stored.name}`);
  if (wanted.resourceVersion !== '') {
    assert.equal(wanted.resourceVersion, stored.resourceVersion, `409: resourceVersion of ${stored.name}`);
  }
}

function validate(slice: EndpointSlice): void {
  assert((slice.endpoints?.length ?? 0) <= 1000, '422: more than 1000 endpoints');
  for (const endpoint of slice.endpoints ?? []) assert(endpoint.addresses.length > 0, '422: no address');
  const names = (slice.ports ?? []).map((port) => port.name ?? '');
  assert.equal(new Set(names).size, names.length, `422: port names of ${slice.metadata.name}`);
}

function store(server: SliceServer, slice: EndpointSlice): EndpointSlice {
  const stored = { ...slice, metadata: { ...slice.metadata, resourceVersion: String(++server.version) } };
  server.slices.set(stored.metadata.name!, stored);
  return stored;
}
