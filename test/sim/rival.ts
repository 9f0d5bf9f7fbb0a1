/**
 * kube-controller-manager at work on the same objects, as far as the slow ports of its algorithms go: slices and mirrored
 * slices as they plan them, Endpoints as the slow oracle has them. It sees the server as it is and writes at once.
 */
import { create, nameOf, objectsOf, replace } from './hand.ts';
import type { Run } from './run.ts';
import type { SliceRequest } from '../support/slice-server.ts';
import type { Sim } from '../support/sim.ts';
import { upstreamMirror } from '../support/upstream-mirroring.ts';
import { createUpstream, upstreamNodes, upstreamSync, type Upstream } from '../support/upstream-slices.ts';
import { readInputs, type CheckInputs } from '../../src/judge/check-inputs.ts';
import { endpointsText } from '../../src/judge/endpoints-check.ts';
import type { Endpoints, EndpointSlice, KubeObject, ServiceRecord } from '../../src/kube/types.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import { oracleEndpoints } from '../../src/judge/endpoints-oracle.ts';

const EVERY_MS = 1000;

/** It works until `goesOn` is false. */
export function runKubeControllerManager(run: Run, prng: Prng, goesOn: () => boolean): string {
  const { sim } = run;
  const luck = createPrng(nextInt(prng, 1_000_000));
  const upstream = createUpstream(run.flags.maxEndpointsPerSlice ?? 100);
  const round = (): void => {
    if (!goesOn()) return;
    syncAll(run, upstream, luck);
    sim.at(sim.nowMs() + EVERY_MS, round);
  };
  round();
  return `every ${EVERY_MS} ms`;
}

function syncAll(run: Run, upstream: Upstream, luck: Prng): void {
  const { sim } = run;
  const inputs = readInputs(objectsOf(sim, 'services'), objectsOf(sim, 'pods'), objectsOf(sim, 'nodes'));
  upstreamNodes(upstream, [...inputs.nodes.values()]);
  for (const [key, service] of inputs.services) {
    if (service.deleting) continue;
    syncEndpoints(sim, inputs, key, service);
    const pods = inputs.podsFor(service);
    const world = { service, pods, nodes: [...inputs.nodes.values()], slices: slicesIn(sim, service.namespace) };
    send(sim, service.namespace, upstreamSync(upstream, world, key, luck).writes);
    mirror(run, service, luck);
  }
}

function mirror({ sim, flags }: Run, service: ServiceRecord, luck: Prng): void {
  const { namespace, name } = service;
  const endpoints = objectsOf(sim, 'endpoints').find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
  ) as unknown as Endpoints | undefined;
  const world = { service, endpoints, slices: slicesIn(sim, namespace) };
  send(sim, namespace, upstreamMirror(world, name, flags.mirroringMaxEndpointsPerSubset ?? 1000, luck).writes);
}

function slicesIn(sim: Sim, namespace: string): EndpointSlice[] {
  const slices = objectsOf(sim, 'endpointslices').filter(({ metadata }) => metadata.namespace === namespace);
  return slices as unknown as EndpointSlice[];
}

function send(sim: Sim, namespace: string, writes: readonly SliceRequest[]): void {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  for (const { verb, name, uid, resourceVersion, object } of writes) {
    const status =
      verb === 'create'
        ? create(sim, 'endpointslices', named(object, namespace))
        : verb === 'update'
          ? replace(sim, 'endpointslices', named(object, namespace))
          : sim.tryRequest('DELETE', `${path}/${name}`, preconditions(uid, resourceVersion)).status;
    if (status >= 300) return;
  }
}

function named(slice: EndpointSlice | null, namespace: string): KubeObject {
  const object = slice as unknown as KubeObject;
  return { ...object, metadata: { ...object.metadata, namespace } };
}

function preconditions(uid: string, resourceVersion: string): object {
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { ...(uid === '' ? {} : { uid }), ...(resourceVersion === '' ? {} : { resourceVersion }) },
  };
}

function syncEndpoints(sim: Sim, inputs: CheckInputs, key: string, service: ServiceRecord): void {
  const expected = oracleEndpoints({ services: [service], pods: inputs.podsFor(service) }, key);
  if (expected === null) return;
  const { namespace, name } = service;
  const { labels, subsets } = expected;
  const metadata = { namespace, name, labels };
  const wanted: KubeObject = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets };
  const held = objectsOf(sim, 'endpoints').find((object) => nameOf(object) === key);
  if (held === undefined) create(sim, 'endpoints', wanted);
  else if (endpointsText(held) !== endpointsText(wanted)) {
    const { resourceVersion = '' } = held.metadata;
    replace(sim, 'endpoints', { ...wanted, metadata: { ...metadata, resourceVersion } });
  }
}
