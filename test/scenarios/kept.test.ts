/** What the controllers keep of what is over: nothing. And what is there they do not forget. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { createPod, createService, deleteObject, type Sim } from '../support/sim.ts';
import { edit, ENDPOINTS, makeEndpoints, SLICES } from '../support/sim-objects.ts';
import { createSliceSim, namesOf, slicesTable } from '../support/sim-slices.ts';
import { makeStatus } from '../../src/kube/status.ts';
import { SERVICE_NAME_LABEL, SKIP_MIRROR_LABEL } from '../../src/kube/names.ts';

/** A Service without a selector, and its Endpoints, mirrored in a slice for each family. */
function mirroredWorld(ips: readonly string[]): Sim {
  const sim = createSliceSim({ options: { mirror: true } });
  createService(sim, { name: 'outside', spec: { selector: undefined } });
  makeEndpoints(sim, 'outside', [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 8080 }] }]);
  sim.start();
  sim.run(1000);
  return sim;
}

describe('nothing is kept', () => {
  it('nothing is kept of a mirrored slice that goes just before its Endpoints', () => {
    const sim = mirroredWorld(['198.51.100.1']);
    deleteObject(sim, `${SLICES}/${namesOf(sim)[0]}`);
    // It would be made again after a second.
    sim.run(500);
    deleteObject(sim, `${ENDPOINTS}/outside`);
    sim.run(10_000);
    checkNothingKept(sim, 'the slice and the Endpoints are gone');
  });

  it('nothing is kept of mirrored slices if a GET finds the Endpoints gone', () => {
    const sim = mirroredWorld(['198.51.100.1', '2001:db8::1']);
    assert.equal(namesOf(sim).length, 2);
    for (let shard = 0; shard < sim.shards!.count; shard++) sim.shards!.kill(shard, 'simulated death');
    sim.lag = ({ path, stream }) => ({ toMs: 0, backMs: stream && path.startsWith('/api/v1/endpoints') ? 5000 : 0 });
    deleteObject(sim, `${ENDPOINTS}/outside`);
    deleteObject(sim, `${SLICES}/${namesOf(sim)[0]}`);
    sim.run(20_000);
    assert.deepEqual(slicesTable(sim), []);
    checkNothingKept(sim, 'all is gone');
  });

  it('nothing is kept of a Service whose last slice went while no watch was open', () => {
    const sim = mirroredWorld(['198.51.100.1']);
    sim.refuse = ({ method, path }) => (method === 'GET' && path.includes('/endpointslices') ? 500 : 0);
    sim.cutWatches();
    sim.run(100);
    // The server deletes its Endpoints with it.
    deleteObject(sim, '/api/v1/namespaces/default/services/outside');
    sim.run(10_000);
    assert.deepEqual(namesOf(sim), []);
    // So the slices alone are listed again, and nothing else tells that the slice is gone.
    sim.refuse = ({ stream, path }) => {
      if (!stream || !path.includes('/endpointslices')) return 0;
      sim.refuse = () => 0;
      return makeStatus(410, 'Expired', 'too old resource version');
    };
    sim.run(60_000);
    checkNothingKept(sim, 'the Service and all of it is gone');
  });

  it('nothing is kept of unplanned Endpoints, told while slices wait for nodes', () => {
    const sim = createSliceSim({ options: { endpoints: true, slices: true, mirror: true } });
    createService(sim, { name: 'outside', spec: { selector: undefined } });
    const subsets = [{ addresses: [{ ip: '198.51.100.1' }], ports: [{ port: 8080 }] }];
    makeEndpoints(sim, 'outside', subsets, { labels: { [SKIP_MIRROR_LABEL]: 'true' } });
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/nodes') ? 500 : 0);
    sim.start();
    sim.run(3000);
    edit(sim, `${ENDPOINTS}/outside`, { annotations: { a: 'b' } });
    sim.run(3000);
    sim.refuse = () => 0;
    sim.run(30_000);
    checkNothingKept(sim, 'all controllers run');
  });
});

/** Nodes may not be read, so the controller of slices never starts. */
function withoutNodes(): Sim {
  const sim = createSliceSim({ options: { endpoints: true, slices: true } });
  sim.refuse = ({ path }) => (path.startsWith('/api/v1/nodes') ? 403 : 0);
  sim.start();
  sim.run(3000);
  return sim;
}

describe('nothing is kept where a controller never starts', () => {
  it('nothing is kept of a Service whose last slice goes long after it', () => {
    const sim = withoutNodes();
    const before = sim.loop!.state.serviceCount;
    createService(sim, { name: 'web' });
    sim.request('POST', SLICES, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: 'web-x',
        labels: {
          [SERVICE_NAME_LABEL]: 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
      },
      addressType: 'IPv4',
      endpoints: [],
    });
    sim.run(3000);
    deleteObject(sim, '/api/v1/namespaces/default/services/web');
    sim.run(10_000);
    deleteObject(sim, `${SLICES}/web-x`);
    sim.run(10_000);
    assert.equal(sim.loop!.state.serviceCount, before);
  });

  it('nothing is kept of pods on unknown nodes that are gone', () => {
    const sim = withoutNodes();
    createService(sim, { name: 'web' });
    for (let i = 0; i < 5; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i + 1}`, node: 'nowhere' });
    sim.run(3000);
    for (let i = 0; i < 5; i++) deleteObject(sim, `/api/v1/namespaces/default/pods/web-${i}`);
    sim.run(3000);
    const shards = Array.from({ length: sim.shards!.count }, (_, shard) => sim.planner(shard));
    const kept = shards.flatMap(({ services }) =>
      [...services.values()].flatMap(({ outputs }) => Array.from(outputs.slices?.slices.untold ?? [])),
    );
    assert.deepEqual(kept, []);
  });
});

describe('nothing is forgotten', () => {
  it('nothing is forgotten of a slice that another Service gets during its plan', () => {
    const sim = createSliceSim({ options: { minResyncPeriodMs: 20_000 }, batchMs: () => 200 });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(5000);
    const path = `${SLICES}/${namesOf(sim)[0]}`;
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    // Its first change, without an address, was planned before.
    sim.run(300);
    const { labels } = sim.request('GET', path).metadata;
    edit(sim, path, { labels: { ...labels, [SERVICE_NAME_LABEL]: 'nowhere' } });
    sim.run(60_000);
    const statuses = sim.exchanges.filter((exchange) => exchange.path === path).map(({ status }) => status);
    assert.deepEqual(statuses, [409]);
    assert.deepEqual(slicesTable(sim), [
      'default/nowhere IPv4 10.0.0.1 : http:8080/TCP',
      'default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP',
    ]);
    checkNothingKept(sim, 'the slice belongs to nobody');
  });
});
