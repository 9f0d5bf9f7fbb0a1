/** Objects of a simulated world: as lists of its server have them, and what others make and change. */
import type { Sim } from './sim.ts';
import type { KubeObject, ObjectMeta } from '../../src/kube/types.ts';

/** Those of the namespace `default`. */
export const SERVICES = '/api/v1/namespaces/default/services';
export const PODS = '/api/v1/namespaces/default/pods';
export const ENDPOINTS = '/api/v1/namespaces/default/endpoints';
export const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

/** Those of all namespaces. */
export const SLICES_PATH = '/apis/discovery.k8s.io/v1/endpointslices';

export function itemsOf(sim: Sim, path: string): KubeObject[] {
  return (sim.request('GET', path) as unknown as { items: KubeObject[] }).items;
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

export interface NodeText {
  readonly name: string;
  readonly zone?: string;
  readonly cpu?: string;
  readonly ready?: boolean;
  readonly labels?: Record<string, string>;
}

export function createNode(sim: Sim, node: NodeText): void {
  sim.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: node.name, labels: nodeLabels(node) },
    status: nodeStatus(node),
  });
}

/** As a kubelet and an operator would, all at once. */
export function changeNode(sim: Sim, node: NodeText): void {
  const path = `/api/v1/nodes/${node.name}`;
  const labelled = edit(sim, path, { labels: nodeLabels(node) });
  sim.request('PUT', `${path}/status`, { ...labelled, status: nodeStatus(node) });
}

function nodeLabels({ zone = '', labels = {} }: NodeText): Record<string, string> {
  return zone === '' ? labels : { ...labels, 'topology.kubernetes.io/zone': zone };
}

function nodeStatus({ cpu = '4', ready = true }: NodeText): object {
  return { allocatable: { cpu }, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] };
}

/** Replaces metadata, and more of the object where `rest` says so. */
export function edit(sim: Sim, path: string, metadata: Partial<ObjectMeta>, rest: object = {}): KubeObject {
  const object = sim.request('GET', path);
  return sim.request('PUT', path, { ...object, metadata: { ...object.metadata, ...metadata }, ...rest });
}

/** Of both families, at once. */
export function setPodIPs(sim: Sim, name: string, ips: readonly string[], namespace = 'default'): void {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const pod = sim.request('GET', path);
  const status = { ...(pod['status'] as object), podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) };
  sim.request('PUT', `${path}/status`, { ...pod, status });
}

/** No service selects the pod any more. A deletion would be two events: the pod terminates before it is gone. */
export function removeLabels(sim: Sim, name: string, namespace = 'default'): void {
  edit(sim, `/api/v1/namespaces/${namespace}/pods/${name}`, { labels: {} });
}

/** Changes fields of the spec of a Service of the namespace `default`. */
export function editService(sim: Sim, name: string, spec: object, metadata: Partial<ObjectMeta> = {}): void {
  const service = sim.request('GET', `${SERVICES}/${name}`);
  edit(sim, `${SERVICES}/${name}`, metadata, { spec: { ...(service['spec'] as object), ...spec } });
}

/** A sync that finds nothing to write: the Service publishes what is not ready, or no longer, and all its pods are ready. */
export function syncInVain(sim: Sim, name: string): void {
  const { publishNotReadyAddresses } = sim.request('GET', `${SERVICES}/${name}`)['spec'] as Record<string, unknown>;
  editService(sim, name, { publishNotReadyAddresses: publishNotReadyAddresses !== true });
}

/** Endpoints that somebody makes by hand. */
export function makeEndpoints(
  sim: Sim,
  name: string,
  subsets: readonly object[],
  metadata: Partial<ObjectMeta> = {},
): void {
  sim.request('POST', ENDPOINTS, { apiVersion: 'v1', kind: 'Endpoints', metadata: { name, ...metadata }, subsets });
}
