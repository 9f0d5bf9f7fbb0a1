/** Objects of a simulated world, as lists of the server have them. */
import type { Sim } from './sim.ts';
import type { KubeObject } from '../../src/kube/types.ts';

export const SLICES_PATH = '/apis/discovery.k8s.io/v1/endpointslices';

export function itemsOf(sim: Sim, path: string): KubeObject[] {
  return (sim.request('GET', path) as unknown as { items: KubeObject[] }).items;
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
