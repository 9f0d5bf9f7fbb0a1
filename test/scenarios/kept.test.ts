/** What the controllers keep of what is over: nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { itemsOf, keyOf, SLICES_PATH } from '../support/sim-others.ts';
import { createSim, deleteObject, type Sim } from '../support/sim.ts';
import { SERVICE_NAME_LABEL } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';

/** A Service without a selector, and its Endpoints of one family for each address; the path of one slice is returned. */
function mirroredSlice(sim: Sim, ips: readonly string[] = ['198.51.100.1']): string {
  sim.start();
  sim.request('POST', '/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'outside' },
    spec: { ports: [{ port: 80 }] },
  });
  sim.request('POST', ENDPOINTS, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'outside' },
    subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 8080 }] }],
  });
  sim.run(1000);
  const [slice] = slicesOf(sim);
  return `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/${slice!.metadata.name}`;
}

function slicesOf(sim: Sim): KubeObject[] {
  return itemsOf(sim, SLICES_PATH).filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === 'outside');
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

  it('of mirrored slices when it is a GET that finds the Endpoints gone, and the watch has no news any more', () => {
    const sim = createSim({ options: { slices: true, mirroring: true } });
    const slice = mirroredSlice(sim, ['198.51.100.1', '2001:db8::1']);
    assert.equal(slicesOf(sim).length, 2);
    for (let shard = 0; shard < sim.shards!.count; shard++) sim.shards!.kill(shard, 'simulated death');
    sim.lag = ({ path, stream }) => ({ toMs: 0, backMs: stream && path.startsWith('/api/v1/endpoints') ? 5000 : 0 });
    deleteObject(sim, `${ENDPOINTS}/outside`);
    deleteObject(sim, slice);
    sim.run(20_000);
    assert.deepEqual(slicesOf(sim).map(keyOf), []);
    checkNothingKept(sim, 'all is gone');
  });
});
