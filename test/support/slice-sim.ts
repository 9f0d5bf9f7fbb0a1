/** EndpointSlices in the simulated world: nodes, pods of two families, and what there is as readable lines. */
import { createSim, deleteObject, type Sim, type SimConfig } from './sim.ts';
import {
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';
import type { EndpointSlice, KubeObject, ObjectMeta } from '../../src/kube/types.ts';
import { samples } from '../../src/metrics/store.ts';

export const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
export const ENDPOINTS = '/api/v1/namespaces/default/endpoints';
export const PODS = '/api/v1/namespaces/default/pods';
export const SERVICES = '/api/v1/namespaces/default/services';

/** A world with node-1 in zone-a, in which slices are planned but nothing else, unless told otherwise. */
export function createSliceSim(config: SimConfig = {}): Sim {
  const sim = createSim({ ...config, options: { endpoints: false, slices: true, ...config.options } });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  return sim;
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

/** A sync that finds nothing to write: the Service has another port in front of the same target port. */
export function syncInVain(sim: Sim, name: string, port: number): void {
  editService(sim, name, { ports: [{ name: 'http', port, targetPort: 'http' }] });
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

/** All slices, those of the API server's own Service left out. */
export function slicesOf(sim: Sim): EndpointSlice[] {
  const { items } = sim.request('GET', '/apis/discovery.k8s.io/v1/endpointslices') as unknown as {
    items: EndpointSlice[];
  };
  return items.filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] !== 'kubernetes');
}

export function namesOf(sim: Sim): string[] {
  return slicesOf(sim).map(({ metadata }) => metadata.name!);
}

/** Pods or addresses in each slice, the largest first. */
export function sizesOf(sim: Sim): number[] {
  return slicesOf(sim)
    .map(({ endpoints }) => endpoints?.length ?? 0)
    .sort((a, b) => b - a);
}

/**
 * Every slice as a line, sorted: `namespace/service family ready | not ready : ports`. A terminating endpoint ends in
 * `~`, one with hints in `>zone`. Behind a service's name stands who manages the slice if it is not the EndpointSlice
 * controller: `(mirror)`, `(name)`, or `()` for nobody.
 */
export function slicesTable(sim: Sim): string[] {
  return slicesOf(sim).map(sliceLine).sort();
}

function sliceLine({ metadata, addressType, endpoints, ports }: EndpointSlice): string {
  const labels = metadata.labels ?? {};
  const all = endpoints ?? [];
  const text = (ready: boolean): string =>
    all
      .filter(({ conditions }) => (conditions?.ready ?? false) === ready)
      .map(({ addresses, conditions, hints }) => {
        const zones = hints?.forZones?.map(({ name }) => name).join() ?? '';
        const nodes = hints?.forNodes?.map(({ name }) => name).join() ?? '';
        const targets = [zones, nodes].filter((target) => target !== '').map((target) => `>${target}`);
        return `${addresses.join()}${conditions?.terminating === true ? '~' : ''}${targets.join('')}`;
      })
      .join(' ');
  const notReady = text(false);
  const portText = (ports ?? []).map(({ name, port, protocol }) => `${name ?? ''}:${port}/${protocol}`).join(' ');
  return [
    `${metadata.namespace}/${labels[SERVICE_NAME_LABEL] ?? '?'}${managerOf(labels[SLICE_MANAGED_BY_LABEL])}`,
    addressType,
    all.length === 0 ? '-' : text(true),
    notReady === '' ? '' : `| ${notReady}`,
    portText === '' ? '' : `: ${portText}`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function managerOf(managedBy: string | undefined): string {
  if (managedBy === SLICE_MANAGED_BY_VALUE) return '';
  return managedBy === MIRROR_MANAGED_BY_VALUE ? ' (mirror)' : ` (${managedBy ?? ''})`;
}

/** Requests of the controller for slices and Endpoints since `from`, but lists and watches of all, as `PUT endpoints 200`. */
export function asked(sim: Sim, from = 0): string[] {
  return sim.exchanges
    .slice(from)
    .filter(({ path }) => path.includes('/namespaces/') && !path.includes('/events'))
    .map(({ method, path, status }) => `${method} ${/\/namespaces\/[^/]+\/(\w+)/.exec(path)![1]} ${status}`);
}

export function eventsOf(sim: Sim): string[] {
  const { items } = sim.request('GET', '/api/v1/events') as unknown as {
    items: { reason: string; message: string; involvedObject: { kind: string; name: string } }[];
  };
  return items.map(({ reason, message, involvedObject: { kind, name } }) => `${kind} ${name}: ${reason}: ${message}`);
}

/** The sum over all series of the metric that have these labels. */
export function metric(sim: Sim, name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples(sim.metrics!, name, sim.nowMs())
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

/** What the garbage collector does, late: slices whose owner does not exist any more are deleted. */
export function collectGarbage(sim: Sim): void {
  const owners = ['services', 'endpoints'].flatMap(
    (resource) => (sim.request('GET', `/api/v1/${resource}`) as unknown as { items: KubeObject[] }).items,
  );
  const uids = new Set(owners.map(({ metadata }) => metadata.uid));
  for (const { metadata } of slicesOf(sim)) {
    if (metadata.ownerReferences?.every(({ uid }) => !uids.has(uid)) !== true) continue;
    deleteObject(sim, `/apis/discovery.k8s.io/v1/namespaces/${metadata.namespace}/endpointslices/${metadata.name}`);
  }
}
