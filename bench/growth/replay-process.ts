/**
 * An API server that stores no cluster. It shows one that is made from numbers when it is asked for, accepts writes of
 * Endpoints and slices, tells watchers of them, and flips pods. It is a process of its own, so that its CPU is not the
 * controller's.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { decodeObject, encodeObject } from '../../src/kube/codec.ts';
import { PROTOBUF, PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import { INITIAL_EVENTS_END_ANNOTATION } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { objectFrame, podFrames } from './frames.ts';
import { createFlipper, type FlipOrder, type FlipResult, type Flipper } from './flipper.ts';
import { endpointsAt, LISTED_VERSION, nodeAt, serviceAt, serviceCount, slicesAt, type Shape } from './shape.ts';

/** Messages from the parent. */
export type Order =
  | { readonly kind: 'serve'; readonly shape: Shape }
  | ({ readonly kind: 'flip' } & FlipOrder)
  | { readonly kind: 'end' };

/** Messages to the parent: the address; that every watcher was shown the whole cluster; the result of flips. */
export type Report =
  | { readonly kind: 'serving'; readonly url: string }
  | { readonly kind: 'shown'; readonly resources: readonly string[] }
  | { readonly kind: 'flipped'; readonly result: FlipResult };

const CHUNK_BYTES = 256 * 1024;
const OUTPUTS: Readonly<Record<string, 'endpoints' | 'slices'>> = { endpoints: 'endpoints', endpointslices: 'slices' };
const KINDS: Readonly<Record<string, readonly [apiVersion: string, kind: string]>> = {
  pods: ['v1', 'Pod'],
  services: ['v1', 'Service'],
  nodes: ['v1', 'Node'],
  endpoints: ['v1', 'Endpoints'],
  endpointslices: ['discovery.k8s.io/v1', 'EndpointSlice'],
};

interface Replay {
  readonly shape: Shape;
  /** By resource: watchers that were shown the whole cluster and wait for events. */
  readonly watchers: Map<string, Set<ServerResponse>>;
  readonly flipper: Flipper;
  /** The versions of written objects. */
  readonly versions: Map<string, string>;
  version: number;
}

process.on('message', (order: Order) => void take(order));

let replay: Replay | null = null;

async function take(order: Order): Promise<void> {
  if (order.kind === 'end') process.exit(0);
  if (order.kind === 'serve') {
    replay = createReplay(order.shape);
    const served = replay;
    const server = createServer((request, response) => void answer(served, request, response));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    report({ kind: 'serving', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    return;
  }
  report({ kind: 'flipped', result: await replay!.flipper.flip(order) });
}

function createReplay(shape: Shape): Replay {
  const created: Replay = {
    shape,
    watchers: new Map(),
    versions: new Map(),
    version: LISTED_VERSION,
    flipper: createFlipper(shape, {
      nextVersion: () => ++created.version,
      send: (frame) => tell(created, 'pods', frame),
    }),
  };
  return created;
}

function report(said: Report): void {
  process.send!(said);
}

function tell({ watchers }: Replay, resource: string, frame: Buffer): void {
  for (const watcher of watchers.get(resource) ?? []) watcher.write(frame);
}

/** The resource is the last part of a path that names a collection, or the part before an object's name. */
const PATH = /^(?:\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/([^/]+))?$/;

async function answer(on: Replay, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url!, 'http://replay');
  const body = await buffer(request);
  const [, resource = '', name] = PATH.exec(pathname) ?? [];
  if (pathname === '/healthz') response.end('ok');
  else if (request.method === 'GET' && name === undefined && KINDS[resource] !== undefined) {
    if (searchParams.has('watch')) await watch(on, resource, searchParams.has('sendInitialEvents'), response);
    else list(on, resource, response);
  } else if (request.method === 'PUT' && name !== undefined && OUTPUTS[resource] !== undefined) {
    write(on, resource, pathname, body, response);
  } else refuse(response, 404, `no replay of ${request.method} ${pathname}`);
}

/** Answers with the version only: the watch shows the objects of a whole list. */
function list({ version }: Replay, resource: string, response: ServerResponse): void {
  const [apiVersion, kind] = KINDS[resource]!;
  send(
    response,
    encodeObject({ apiVersion, kind: `${kind}List`, metadata: { resourceVersion: String(version) }, items: [] }),
  );
}

async function watch(on: Replay, resource: string, initial: boolean, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': PROTOBUF_WATCH });
  response.flushHeaders();
  if (initial) {
    await pipeline(Readable.from(initialChunks(on.shape, resource)), response, { end: false });
    const [apiVersion, kind] = KINDS[resource]!;
    const annotations = { [INITIAL_EVENTS_END_ANNOTATION]: 'true' };
    const metadata = { resourceVersion: String(on.version), annotations };
    response.write(objectFrame('BOOKMARK', { apiVersion, kind, metadata }));
  }
  const watchers = on.watchers.get(resource) ?? new Set();
  on.watchers.set(resource, watchers.add(response));
  response.on('close', () => watchers.delete(response));
  report({ kind: 'shown', resources: [...on.watchers.keys()] });
}

function* initialChunks(shape: Shape, resource: string): Generator<Buffer, void, void> {
  if (resource === 'pods') {
    yield* podChunks(shape);
    return;
  }
  let [waiting, bytes]: [Buffer[], number] = [[], 0];
  for (const object of objectsOf(shape, resource)) {
    const frame = objectFrame('ADDED', object);
    waiting.push(frame);
    bytes += frame.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(waiting);
    [waiting, bytes] = [[], 0];
  }
  yield Buffer.concat(waiting);
}

function* podChunks(shape: Shape): Generator<Buffer, void, void> {
  const { length, put } = podFrames(shape);
  const inChunk = Math.ceil(CHUNK_BYTES / length);
  for (let from = 0; from < shape.pods; from += inChunk) {
    const count = Math.min(inChunk, shape.pods - from);
    // A new buffer, because the one before may still be on its way.
    const chunk = Buffer.allocUnsafeSlow(count * length);
    for (let i = 0; i < count; i++) put(chunk, i * length, from + i);
    yield chunk;
  }
}

function* objectsOf(shape: Shape, resource: string): Generator<KubeObject, void, void> {
  if (resource === 'nodes') {
    for (let i = 0; i < shape.nodes; i++) yield nodeAt(i);
    return;
  }
  for (let i = 0; i < serviceCount(shape); i++) {
    if (resource === 'services') yield serviceAt(i);
    else if (resource === 'endpoints') yield endpointsAt(shape, i);
    else yield* slicesAt(shape, i);
  }
}

function write(on: Replay, resource: string, path: string, body: Buffer, response: ServerResponse): void {
  const atMs = performance.now();
  const object = decodeObject(body);
  const { metadata } = object;
  const before = on.versions.get(path);
  if (before !== undefined && metadata.resourceVersion !== undefined && metadata.resourceVersion !== before) {
    refuse(response, 409, `${path} is at ${before}, not at ${metadata.resourceVersion}`);
    return;
  }
  const resourceVersion = String(++on.version);
  on.versions.set(path, resourceVersion);
  const written = { ...object, metadata: { ...metadata, resourceVersion } };
  send(
    response,
    encodeObject({ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: written.metadata }),
  );
  on.flipper.note(OUTPUTS[resource]!, written, body.length, atMs);
  tell(on, resource, objectFrame('MODIFIED', written));
}

function send(response: ServerResponse, body: Uint8Array): void {
  response.writeHead(200, { 'content-type': PROTOBUF, 'content-length': body.length });
  response.end(body);
}

function refuse(response: ServerResponse, code: number, message: string): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ apiVersion: 'v1', kind: 'Status', status: 'Failure', code, message }));
}

/** The parent is gone. */
process.once('disconnect', () => process.exit(0));
