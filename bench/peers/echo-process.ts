/**
 * The floor for every controller that answers a pod's event with a write of Endpoints and one of a slice. It has bare
 * sockets, a watch of metadata only, and two ready-made unconditional PUTs: each is the server's object with the pod's
 * version in an annotation. It plans nothing, compares nothing and keeps nothing right.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { encodeObject } from '../../src/kube/codec.ts';
import { AS_PARTIAL, PROTOBUF } from '../../src/kube/media-type.ts';
import type { MetaRecord } from '../../src/kube/object-meta.ts';
import type { Endpoint, EndpointSubset, KubeObject } from '../../src/kube/types.ts';
import { createApiClient } from '../../src/node/api-client.ts';
import { encodeRequest, type LoadTarget } from '../support/http-load.ts';
import { watchPods } from './echo-watch.ts';
import { openWriters } from './echo-writers.ts';
import { ECHO_ANNOTATION } from './stream.ts';

export interface EchoOrder {
  readonly target: LoadTarget;
  readonly namespaces: readonly string[];
}

/** Behind a failure the process ends. */
export type EchoReport = { readonly kind: 'watching' } | { readonly kind: 'failed'; readonly why: string };

const WRITERS = 16;
/** The placeholder of the version in every body. */
const PLACE = '0000000000000000';
const SLICES_ROOT = '/apis/discovery.k8s.io/v1';

/** A request with its head, and the offset of the version. */
interface ReadyMade {
  readonly bytes: Buffer;
  readonly at: number;
}

process.once('message', (order) => void run(order as EchoOrder).catch(fail));
process.once('uncaughtException', fail);

async function run({ target, namespaces }: EchoOrder): Promise<void> {
  const { byPod, resourceVersion } = await readyMade(target, namespaces);
  const { write } = await openWriters(target, WRITERS, fail);
  await watchPods(target, resourceVersion, (pod) => answer(pod, byPod, write), fail);
  report({ kind: 'watching' });
}

/** An event that is not answered is a change that nobody sees, and the run would not say why. */
function fail(error: unknown): void {
  report({ kind: 'failed', why: String(error) }, () => process.exit(1));
}

function report(what: EchoReport, sent: () => void = () => undefined): void {
  process.send!(what, sent);
}

function answer(
  { namespace, name, resourceVersion }: MetaRecord,
  byPod: ReadonlyMap<string, readonly ReadyMade[]>,
  write: (request: Buffer) => void,
): void {
  for (const { bytes, at } of byPod.get(`${namespace}/${name}`) ?? []) {
    const request = Buffer.from(bytes);
    request.write(resourceVersion.padStart(PLACE.length, '0'), at, 'latin1');
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
    // The slice is written first, as endpointd does: the floor of a p50 to the slice may not wait for a large Endpoints object.
    for (const [root, resource] of [
      [SLICES_ROOT, 'endpointslices'],
      ['/api/v1', 'endpoints'],
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
