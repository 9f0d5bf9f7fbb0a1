/** What the slow oracles find wrong in a simulated world that has come to rest. */
import { itemsOf, SLICES_PATH } from './sim-objects.ts';
import type { Sim } from './sim.ts';
import { wrongObjects, type CheckOptions } from '../../src/judge/cluster-check.ts';
import { HEADLESS_LABEL } from '../../src/kube/names.ts';

/** A line for each; empty = all is right. */
export function wrongOf(sim: Sim, checks: Partial<CheckOptions>): string[] {
  const objects = {
    services: itemsOf(sim, '/api/v1/services'),
    pods: itemsOf(sim, '/api/v1/pods'),
    nodes: itemsOf(sim, '/api/v1/nodes'),
    endpoints: itemsOf(sim, '/api/v1/endpoints'),
    slices: itemsOf(sim, SLICES_PATH),
  };
  return (
    wrongObjects(objects, checks)
      .map(({ kind, name, reason }) => `${kind} ${name}: ${reason}`)
      // Follows with the next write of the slice only (docs/spec/endpointslice.md "Labels", D31).
      .filter((text) => !(text.startsWith('EndpointSlice') && text.includes(`label ${HEADLESS_LABEL} `)))
  );
}
