/** What the controllers keep of what is over: nothing. */
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { itemsOf, SLICES_PATH } from '../support/sim-others.ts';
import { createSim, deleteObject, type Sim } from '../support/sim.ts';
import { SERVICE_NAME_LABEL } from '../../src/kube/names.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';

/** A Service without a selector, and its Endpoints in one mirrored slice, whose path is returned. */
function mirroredSlice(sim: Sim): string {
  sim.start();
  sim.request('POST', '/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'outside' },
    spec: { ports: [{ port: 80 }] },
  });
  createEndpoints(sim);
  sim.run(1000);
  const slice = itemsOf(sim, SLICES_PATH).find(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === 'outside');
  return `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/${slice!.metadata.name}`;
}

function createEndpoints(sim: Sim): void {
  sim.request('POST', ENDPOINTS, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'outside' },
    subsets: [{ addresses: [{ ip: '198.51.100.1' }], ports: [{ port: 8080 }] }],
  });
}

describe('nothing is kept', () => {
  it('of a mirrored slice that goes a moment before what it mirrors', () => {
    const sim = createSim({ options: { slices: true, mirroring: true } });
    deleteObject(sim, mirroredSlice(sim));
    // It would be made again after a second.
    sim.run(500);
    deleteObject(sim, `${ENDPOINTS}/outside`);
    sim.run(10_000);
    checkNothingKept(sim, 'the slice and the Endpoints are gone');
  });
});
