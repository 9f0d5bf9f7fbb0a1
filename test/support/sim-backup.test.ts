import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createServers } from './sim-servers.ts';
import { createPod, createService, createSim, deleteObject, type Sim } from './sim.ts';

const BUMP = 1_000_000;

function names(sim: Sim, resource: string): string[] {
  const { items } = sim.request('GET', `/api/v1/${resource}`) as unknown as {
    items: { metadata: { name: string; resourceVersion: string } }[];
  };
  return items.map(({ metadata }) => metadata.name);
}

function listVersion(sim: Sim): number {
  return Number(sim.request('GET', '/api/v1/pods').metadata.resourceVersion);
}

describe('a restore of the simulated server', () => {
  it('a restore brings back deleted objects, and removes those made since', () => {
    const sim = createSim();
    createPod(sim, { name: 'a' });
    const backup = sim.backup();
    deleteObject(sim, '/api/v1/namespaces/default/pods/a');
    createPod(sim, { name: 'b' });
    sim.restore(backup);
    assert.deepEqual(names(sim, 'pods'), ['a']);
  });

  it('a restore goes on with the revision of the backup', () => {
    const sim = createSim();
    createPod(sim, { name: 'a' });
    const before = listVersion(sim);
    const backup = sim.backup();
    createPod(sim, { name: 'b' });
    sim.restore(backup);
    assert.equal(listVersion(sim), before);
  });

  it('a restore with a bump raises the version of lists, not that of objects', () => {
    const sim = createSim();
    createPod(sim, { name: 'a' });
    const pod = sim.request('GET', '/api/v1/namespaces/default/pods/a');
    const before = listVersion(sim);
    sim.restore(sim.backup(), { bump: BUMP });
    assert.equal(listVersion(sim), before + BUMP);
    assert.deepEqual(sim.request('GET', '/api/v1/namespaces/default/pods/a'), pod);
  });

  it('a restore frees addresses of Services that are gone, and takes returned ones', () => {
    const sim = createSim();
    const backup = sim.backup();
    createService(sim, { name: 'web', spec: { clusterIP: '10.96.0.77' } });
    const later = sim.backup();
    sim.restore(backup);
    createService(sim, { name: 'other', spec: { clusterIP: '10.96.0.77' } });
    sim.restore(later);
    assert.throws(() => createService(sim, { name: 'third', spec: { clusterIP: '10.96.0.77' } }), /already allocated/);
  });
});

describe('servers that lag', () => {
  it('lagging servers show a change after a lag of their own', () => {
    const servers = createServers({ count: 3, lagMsMax: 30_000 }, 5);
    for (let atMs = 0; atMs <= 100_000; atMs += 1000) servers.note(atMs, atMs / 1000 + 1);
    const behind = [0, 1, 2].map((server) => 101 - servers.reached(server, 100_000));
    const lags = [0, 1, 2].map((server) => servers.lagMs(server, 100_000));
    assert.deepEqual(
      behind,
      lags.map((lagMs) => Math.ceil(lagMs / 1000)),
    );
    assert.ok(new Set(behind).size > 1, `all lag alike: ${behind.join()}`);
  });
});
