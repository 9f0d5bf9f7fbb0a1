/**
 * The floor for every controller that answers a pod's event with a write of Endpoints and one of a slice. It has bare
 * sockets, a watch of metadata only, and two ready-made unconditional PUTs: each is the server's object with the pod's
 * version in an annotation. It plans nothing, compares nothing and keeps nothing right.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { encodeObject } from '../../src/kube/codec.ts';
import { JSON_TYPE, PROTOBUF } from '../../src/kube/media-type.ts';
import type { Endpoint, EndpointSubset, KubeObject } from '../../src/kube/types.ts';
import { createApiClient } from '../../src/node/api-client.ts';
import { encodeRequest, isSuccess, onAnswer, openSocket, type LoadTarget } from '../support/http-load.ts';
import { ECHO_ANNOTATION } from './stream.ts';

export interface EchoOrder {
  readonly target: LoadTarget;
  readonly namespaces: readonly string[];
}

const WRITERS = 16;
/** The placeholder of the version in every body. */
const PLACE = '0000000000000000';
const SLICES_ROOT = '/apis/discovery.k8s.io/v1';
const NEWLINE = 10;
const AS_PARTIAL = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const NO_BODY = new Uint8Array(0);

/** A request with its head, and the offset of the version. */
interface ReadyMade {
  readonly bytes: Buffer;
  readonly at: number;
}

process.once('message', (order) => void run(order as EchoOrder));

async function run({ target, namespaces }: EchoOrder): Promise<void> {
  const { byPod, resourceVersion } = await readyMade(target, namespaces);
  const write = await openWriters(target);
  const watch = await openSocket(target);
  watch.on('close', () => process.exit(1));
  const path = `/api/v1/pods?watch=1&resourceVersion=${resourceVersion}`;
  watch.write(
    encodeRequest(target, {
      method: 'GET',
      path,
      accept: `${JSON_TYPE};${AS_PARTIAL}`,
      contentType: '',
      body: NO_BODY,
    }),
  );
  let rest: Buffer = Buffer.alloc(0);
  watch.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const line = rest.length === 0 ? chunk.subarray(from, end) : Buffer.concat([rest, chunk.subarray(from, end)]);
      rest = Buffer.alloc(0);
      from = end + 1;
      // Other lines are the head, and the lengths of chunks.
      if (line[0] === 0x7b) answer(line, byPod, write);
    }
    if (from < chunk.length) rest = Buffer.concat([rest, chunk.subarray(from)]);
  });
  process.send!('ready');
}

function answer(
  line: Buffer,
  byPod: ReadonlyMap<string, readonly ReadyMade[]>,
  write: (request: Buffer) => void,
): void {
  const { object } = JSON.parse(line.toString()) as { object: KubeObject };
  const { namespace, name, resourceVersion } = object.metadata;
  for (const { bytes, at } of byPod.get(`${namespace}/${name}`) ?? []) {
    const request = Buffer.from(bytes);
    request.write(resourceVersion!.padStart(PLACE.length, '0'), at, 'latin1');
    write(request);
  }
}

async function readyMade(
  target: LoadTarget,
  namespaces: readonly string[],
): Promise<{ byPod: Map<string, ReadyMade[]>; resourceVersion: string }> {
  const { url, token, caFile } = target;
  const client = createApiClient(
    {
      url,
      ...(token === undefined ? {} : { token }),
      ...(caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }),
    },
    1,
  );
  const byPod = new Map<string, ReadyMade[]>();
  let resourceVersion = '';
  for (const namespace of namespaces) {
    for (const [root, resource] of [
      ['/api/v1', 'endpoints'],
      [SLICES_ROOT, 'endpointslices'],
    ] as const) {
      const collection = `${root}/namespaces/${namespace}/${resource}`;
      const list = await client.list(collection);
      resourceVersion = list.resourceVersion;
      for (const object of list.items) {
        const made = readyMadeOf(target, collection, object);
        for (const pod of podsIn(object)) {
          const key = `${namespace}/${pod}`;
          const requests = byPod.get(key);
          if (requests === undefined) byPod.set(key, [made]);
          else requests.push(made);
        }
      }
    }
  }
  await client.close();
  return { byPod, resourceVersion };
}

function readyMadeOf(target: LoadTarget, collection: string, object: KubeObject): ReadyMade {
  const { name, namespace, uid, labels, ownerReferences } = object.metadata;
  const annotations = { [ECHO_ANNOTATION]: PLACE };
  const metadata = { name, namespace, uid, labels, annotations, ...(ownerReferences && { ownerReferences }) };
  const slices = collection.startsWith(SLICES_ROOT);
  const kind = slices
    ? { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' }
    : { apiVersion: 'v1', kind: 'Endpoints' };
  const body = encodeObject({ ...object, ...kind, metadata });
  const bytes = encodeRequest(target, {
    method: 'PUT',
    path: `${collection}/${name}`,
    accept: `${PROTOBUF};${AS_PARTIAL}`,
    contentType: PROTOBUF,
    body,
  });
  return { bytes, at: bytes.indexOf(PLACE, 0, 'latin1') };
}

function podsIn(object: KubeObject): string[] {
  const endpoints = (object['endpoints'] ?? []) as readonly Endpoint[];
  const subsets = (object['subsets'] ?? []) as readonly EndpointSubset[];
  const addresses = subsets.flatMap(({ addresses = [], notReadyAddresses = [] }) =>
    addresses.concat(notReadyAddresses),
  );
  return [...endpoints, ...addresses].flatMap(({ targetRef }) =>
    targetRef?.name === undefined ? [] : [targetRef.name],
  );
}

/** Each connection has one request under way. If none is free, requests wait, first come, first served. */
async function openWriters(target: LoadTarget): Promise<(request: Buffer) => void> {
  const sockets = await Promise.all(Array.from({ length: WRITERS }, () => openSocket(target)));
  const free = [...sockets];
  const waiting: Buffer[] = [];
  for (const socket of sockets) {
    onAnswer(socket, (answer) => {
      if (!isSuccess(answer)) throw new Error(answer.toString('latin1').slice(0, 500));
      const next = waiting.shift();
      if (next === undefined) free.push(socket);
      else socket.write(next);
    });
  }
  return (request) => {
    const socket = free.pop();
    if (socket === undefined) waiting.push(request);
    else socket.write(request);
  };
}
