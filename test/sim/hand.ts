/** How happenings lay hands on the objects of a world: at once, without faults, and never with an exception. */
import type { Sim } from '../support/sim.ts';
import type { ResourceName, KubeObject } from '../../src/kube/types.ts';
import { nextInt, type Prng } from '../../src/lib/prng.ts';

const KINDS: Readonly<Partial<Record<ResourceName, string>>> = {
  namespaces: 'Namespace',
  nodes: 'Node',
  pods: 'Pod',
  services: 'Service',
  endpoints: 'Endpoints',
  endpointslices: 'EndpointSlice',
};

/** As the server has them, in the order of their names; not to be changed. The API server's own are left out. */
export function objectsOf(sim: Sim, resource: ResourceName): KubeObject[] {
  const records = [...sim.server.stores.get(resource)!.records.values()];
  return records
    .filter(({ key }) => !key.startsWith('default/kubernetes'))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ object }) => object as unknown as KubeObject);
}

/** @param name as `nameOf` gives it */
export function objectAt(sim: Sim, resource: ResourceName, name: string): KubeObject | undefined {
  return sim.server.stores.get(resource)!.records.get(name)?.object as unknown as KubeObject | undefined;
}

export function pick<T>(prng: Prng, items: readonly T[]): T | undefined {
  return items[nextInt(prng, items.length)];
}

export function nameOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name! : `${metadata.namespace}/${metadata.name}`;
}

export function collectionOf(resource: ResourceName, namespace: string | undefined): string {
  const root = resource === 'endpointslices' ? '/apis/discovery.k8s.io/v1' : '/api/v1';
  return namespace === undefined ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`;
}

export function pathOf(resource: ResourceName, { metadata }: KubeObject): string {
  return `${collectionOf(resource, metadata.namespace)}/${metadata.name}`;
}

/** @returns the status of the answer */
export function create(sim: Sim, resource: ResourceName, object: KubeObject): number {
  return sim.tryRequest('POST', collectionOf(resource, object.metadata.namespace), whole(resource, object)).status;
}

/** @returns the status of the answer */
export function replace(sim: Sim, resource: ResourceName, object: KubeObject, subresource = ''): number {
  return sim.tryRequest('PUT', `${pathOf(resource, object)}${subresource}`, whole(resource, object)).status;
}

/** As a client sends it: what the store holds does not say what it is. */
function whole(resource: ResourceName, object: KubeObject): KubeObject {
  const apiVersion = resource === 'endpointslices' ? 'discovery.k8s.io/v1' : 'v1';
  return { ...object, apiVersion, kind: KINDS[resource]! };
}

/** Puts a changed copy. @returns one line on what came of it; '' = there is no such object */
export function edit(
  sim: Sim,
  resource: ResourceName,
  object: KubeObject | undefined,
  change: (copy: KubeObject) => void,
  subresource = '',
): string {
  if (object === undefined) return '';
  const copy = structuredClone(object);
  change(copy);
  return told(resource, object, replace(sim, resource, copy, subresource));
}

/** @param graceSeconds of a pod: it terminates first when this is not 0. @returns as `edit` */
export function remove(sim: Sim, resource: ResourceName, object: KubeObject | undefined, graceSeconds = 0): string {
  if (object === undefined) return '';
  const { uid } = object.metadata;
  const { status } = sim.tryRequest('DELETE', pathOf(resource, object), {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: graceSeconds,
    ...(uid === undefined ? {} : { preconditions: { uid } }),
  });
  return told(resource, object, status);
}

/** @returns as `edit` */
export function make(sim: Sim, resource: ResourceName, object: KubeObject): string {
  return told(resource, object, create(sim, resource, object));
}

function told(resource: ResourceName, object: KubeObject, status: number): string {
  return `${resource} ${nameOf(object)}${status < 300 ? '' : ` (${status})`}`;
}
