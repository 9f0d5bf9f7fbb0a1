import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  createSim,
  deleteObject,
  endpointsTable,
  setPodStatus,
  writesOf,
} from '../support/sim.ts';

describe('a pod change becomes a written object', () => {
  it('a new service gets its Endpoints', () => {
    const sim = createSim();
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    createService(sim, { name: 'web' });
    sim.start();
    sim.run(1000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(writesOf(sim), ['POST /api/v1/namespaces/default/endpoints 201']);
  });

  it('Endpoints follow a pod that becomes ready, unready and goes away', () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    sim.start();
    sim.run(1000);
    assert.deepEqual(endpointsTable(sim), ['default/web -']);

    createPod(sim, { name: 'web-1', ip: '10.0.0.1', ready: false });
    sim.run(100);
    assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP']);

    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(100);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);

    deleteObject(sim, '/api/v1/namespaces/default/pods/web-1');
    sim.run(100);
    assert.deepEqual(endpointsTable(sim), ['default/web -']);
  });

  it('a start on right objects writes nothing', () => {
    const sim = createSim();
    for (let i = 1; i <= 20; i++) {
      createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
      createPod(sim, { name: `web-${i}-a`, ip: `10.0.${i}.1`, labels: { app: `web-${i}` } });
    }
    sim.start();
    sim.run(10_000);
    sim.kill();
    const before = writesOf(sim).length;
    assert.equal(before, 20);
    sim.start();
    sim.run(60_000);
    assert.equal(writesOf(sim).length, before);
  });
});
