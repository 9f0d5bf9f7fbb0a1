/** A machine that plans and writes nothing: what it says it would write, and that it follows what others write. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, createSim, setPodStatus, writesOf, type Sim } from '../support/sim.ts';
import { createNode, edit, ENDPOINTS, makeEndpoints, SLICES } from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { namesOf } from '../support/sim-slices.ts';
import type { ShadowPlan } from '../../src/controller/writes/shadow-plan.ts';

const ALL = { endpoints: true, slices: true, mirror: true };

/** A Service with pods, one with endpoints made by hand, one whose pod the API server would refuse, and an orphan. */
function world(): Sim {
  const sim = createSim({ options: ALL });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createService(sim, { name: 'bad', spec: { selector: { app: 'bad' } } });
  createPod(sim, { name: 'bad-1', labels: { app: 'bad' }, ip: '127.0.0.1' });
  createService(sim, { name: 'hand', spec: { selector: null } });
  makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }]);
  makeEndpoints(sim, 'orphan', [], { labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } });
  return sim;
}

/** What the shadow says of each service last, as readable lines; a service that is right is left out. */
function follow(sim: Sim): () => string[] {
  const last = new Map<string, ShadowPlan>();
  sim.onShadowPlan = (plan) => last.set(`${plan.service} ${plan.controller}`, plan);
  sim.start();
  return () =>
    [...last]
      .filter(([, { writes, failure }]) => writes.length > 0 || failure !== null)
      .map(([key, { writes, failure }]) => `${key}: ${failure ?? writes.map(({ verb }) => verb).join()}`)
      .sort();
}

function leader(sim: Sim): void {
  sim.kill();
  sim.onShadowPlan = null;
  sim.start();
}

describe('a shadow', () => {
  it('a shadow only sends reads, and says what it would write', () => {
    const sim = world();
    const plans = follow(sim);
    sim.run(5000);
    assert.deepEqual(plans(), [
      'bad endpoints: create',
      'bad endpointslice: create',
      'hand endpointslice-mirroring: create',
      'orphan endpoints: delete',
      'web endpoints: create',
      'web endpointslice: create',
    ]);
    assert.deepEqual([...new Set(sim.exchanges.map(({ method }) => method))], ['GET']);
  });

  it('a shadow tells its writes again with each plan, because none is done', () => {
    const sim = world();
    const plans = follow(sim);
    sim.run(5000);
    const before = plans();
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.deepEqual(plans(), before);
  });

  it('a shadow plans what a controller with the same flags then writes', () => {
    const sim = world();
    const plans = follow(sim);
    sim.run(5000);
    const planned = plans().length;
    leader(sim);
    sim.run(20_000);
    assert.equal(writesOf(sim).length, planned);
  });

  it("a shadow takes others' writes as stored at once, and never as a fight", () => {
    const sim = world();
    leader(sim);
    sim.run(20_000);
    sim.kill();
    const plans = follow(sim);
    sim.run(5000);
    assert.deepEqual(plans(), []);
    const name = namesOf(sim).find((one) => one.startsWith('web'));
    const objects = [`${ENDPOINTS}/web`, `${SLICES}/${name}`].map((path) => ({
      path,
      right: sim.request('GET', path),
    }));
    for (let round = 0; round < 5; round++) {
      for (const { path } of objects) edit(sim, path, {}, { subsets: [], endpoints: [] });
      sim.run(100);
      assert.deepEqual(plans(), ['web endpoints: update', 'web endpointslice: update'], `round ${round}`);
      for (const { path, right } of objects) {
        const { resourceVersion } = sim.request('GET', path).metadata;
        sim.request('PUT', path, { ...right, metadata: { ...right.metadata, resourceVersion } });
      }
      sim.run(100);
      assert.deepEqual(plans(), [], `round ${round}`);
    }
    assert.equal(metric(sim, 'endpointd_foreign_edits_total'), 0);
  });
});
