/** EndpointSlices of a simulated world, as readable lines. */
import { createSim, deleteObject, type Sim, type SimConfig } from './sim.ts';
import { createNode, itemsOf, SLICES_PATH } from './sim-objects.ts';
import { sliceSizes } from './slice-content.ts';
import {
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';
import type { EndpointSlice } from '../../src/kube/types.ts';

/** A world with node-1 in zone-a, in which slices are planned but nothing else, unless told otherwise. */
export function createSliceSim(config: SimConfig = {}): Sim {
  const sim = createSim({ ...config, options: { endpoints: false, slices: true, ...config.options } });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  return sim;
}

/** All slices, those of the API server's own Service left out. */
export function slicesOf(sim: Sim): EndpointSlice[] {
  const slices = itemsOf(sim, SLICES_PATH) as unknown as EndpointSlice[];
  return slices.filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] !== 'kubernetes');
}

export function namesOf(sim: Sim): string[] {
  return slicesOf(sim).map(({ metadata }) => metadata.name!);
}

/** Numbers of endpoints, the largest first. */
export function sizesOf(sim: Sim): number[] {
  return sliceSizes(slicesOf(sim));
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

/** What the garbage collector does, late: slices whose owner does not exist any more are deleted. */
export function collectGarbage(sim: Sim): void {
  const owners = ['services', 'endpoints'].flatMap((resource) => itemsOf(sim, `/api/v1/${resource}`));
  const uids = new Set(owners.map(({ metadata }) => metadata.uid));
  for (const { metadata } of slicesOf(sim)) {
    if (metadata.ownerReferences?.every(({ uid }) => !uids.has(uid)) !== true) continue;
    deleteObject(sim, `/apis/discovery.k8s.io/v1/namespaces/${metadata.namespace}/endpointslices/${metadata.name}`);
  }
}
