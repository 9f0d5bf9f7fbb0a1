/** What the answers to our writes lead to: lost replies, conflicts, refusals, throttling, a stop in the middle. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settledWithOne } from '../support/settled.ts';
import {
  createPod,
  createService,
  createSim,
  endpointsTable,
  setPodStatus,
  writesOf,
  type Sim,
} from '../support/sim.ts';
import { samples } from '../../src/metrics/store.ts';

const ENDPOINTS = '/api/v1/namespaces/default/endpoints';

function eventsOf(sim: Sim): string[] {
  const list = sim.request('GET', '/api/v1/events') as unknown as { items: { reason: string; message: string }[] };
  return list.items.map(({ reason, message }) => `${reason}: ${message}`);
}

function metric(sim: Sim, name: string): number {
  return samples(sim.metrics!, name, sim.nowMs()).reduce((sum, { value }) => sum + value, 0);
}

it('the answer to a write is a line that names the write', () => {
  const line = settledWithOne().logLines.find(({ message }) => message === 'Write answered')!;
  assert.deepEqual(
    { v: line.v, ...line.fields, bytes: 0, ms: 0 },
    {
      v: 4,
      controller: 'endpoints',
      service: 'default/web',
      object: 'web',
      verb: 'create',
      result: 'applied',
      bytes: 0,
      ms: 0,
    },
  );
});

describe('a reply that is lost', () => {
  it('a lost reply to a create leaves one object, and no Event object', () => {
    const sim = createSim({ faults: { loseReply: 1 } });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.faults.loseReply = 0;
    sim.start();
    sim.run(5);
    sim.faults.loseReply = 1;
    sim.run(500);
    sim.faults.loseReply = 0;
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(writesOf(sim), [`POST ${ENDPOINTS} 201`]);
    assert.deepEqual(eventsOf(sim), []);
  });

  it('a lost reply to an update costs one GET, and later changes are written', () => {
    const sim = settledWithOne();
    sim.faults.loseReply = 1;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(500);
    sim.faults.loseReply = 0;
    setPodStatus(sim, { name: 'web-1', ready: true });
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    const gets = sim.exchanges.filter(({ method, path }) => method === 'GET' && path === `${ENDPOINTS}/web`);
    assert.equal(gets.length, 1);
    assert.deepEqual(eventsOf(sim), []);
  });
});

describe('a conflict', () => {
  it('a conflict is no Event object: the object is read, then written', () => {
    const sim = settledWithOne();
    // Somebody else writes in the very moment in which we do.
    const object = sim.request('GET', `${ENDPOINTS}/web`);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2);
    sim.request('PUT', `${ENDPOINTS}/web`, {
      ...object,
      metadata: { ...object.metadata, annotations: { other: 'writer' } },
    });
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/web | 10.0.0.1 : http:8080/TCP']);
    assert.equal(sim.request('GET', `${ENDPOINTS}/web`).metadata.annotations?.['other'], 'writer');
    assert.deepEqual(eventsOf(sim), []);
  });
});

describe('a refusal', () => {
  it('a lasting refusal makes the service stuck, is told once, and delays no other', () => {
    let refuses = true;
    const sim = createSim({
      refuse: ({ path, method }) => (refuses && method === 'POST' && path.includes('/bad/endpoints') ? 422 : 0),
    });
    for (const namespace of ['bad', 'good']) {
      sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      createService(sim, { name: 'web', namespace });
      createPod(sim, { name: 'web-1', namespace, ip: '10.0.0.1' });
    }
    sim.start();
    sim.run(1000);
    assert.deepEqual(endpointsTable(sim), ['good/web 10.0.0.1 : http:8080/TCP']);
    sim.run(600_000);
    const stuck = [...samples(sim.metrics!, 'endpointd_stuck_service', 0)].map(({ labels }) => labels);
    assert.deepEqual(stuck, [{ controller: 'endpoints', namespace: 'bad', service: 'web', class: 'invalid' }]);
    const tries = writesOf(sim).filter((line) => line.includes('/bad/')).length;
    assert.ok(tries <= 8, `${tries} tries in ten minutes`);
    const reasons = eventsOf(sim).map((line) => line.split(':')[0]);
    assert.deepEqual(new Set(reasons), new Set(['EndpointsStuck', 'FailedToCreateEndpoint']));
    assert.equal(reasons.filter((reason) => reason === 'EndpointsStuck').length, 1);
    // Upstream gives up after the sixteenth.
    sim.run(2 * 3600_000);
    assert.ok(writesOf(sim).filter((line) => line.includes('/bad/')).length > 17);
    refuses = false;
    sim.run(300_000);
    assert.deepEqual(endpointsTable(sim), ['bad/web 10.0.0.1 : http:8080/TCP', 'good/web 10.0.0.1 : http:8080/TCP']);
  });

  it('a refused create in a terminating namespace is no failure', () => {
    const sim = createSim();
    sim.request('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'going' } });
    createService(sim, { name: 'web', namespace: 'going' });
    sim.request('DELETE', '/api/v1/namespaces/going');
    sim.start();
    sim.run(600_000);
    const refused = 'POST /api/v1/namespaces/going/endpoints 403';
    assert.deepEqual(writesOf(sim), [refused, refused], 'once more, a minute later');
    assert.deepEqual(eventsOf(sim), []);
    assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
  });
});

describe('the bucket and the lanes', () => {
  it('a change overtakes the services that still wait after a start', () => {
    const sim = createSim({ options: { kubeApiQps: 10, kubeApiBurst: 10 } });
    for (let i = 1; i <= 200; i++) createService(sim, { name: `old-${i}`, spec: { selector: { app: `old-${i}` } } });
    sim.start();
    sim.run(2000);
    assert.ok(endpointsTable(sim).length < 60, 'the start is under way');
    createService(sim, { name: 'new', spec: { selector: { app: 'new' } } });
    sim.run(500);
    assert.ok(endpointsTable(sim).includes('default/new -'), 'the new service does not wait for the old ones');
    sim.run(30_000);
    assert.equal(endpointsTable(sim).length, 201);
  });

  it('chores go on while fresh changes never end', () => {
    const sim = createSim({ options: { kubeApiQps: 20, kubeApiBurst: 20, concurrentEndpointSyncs: 4 } });
    for (let i = 1; i <= 10; i++) {
      createService(sim, { name: `busy-${i}`, spec: { selector: { app: `busy-${i}` } } });
      createPod(sim, { name: `busy-${i}`, ip: `10.1.0.${i}`, labels: { app: `busy-${i}` } });
    }
    for (let i = 1; i <= 100; i++) createService(sim, { name: `idle-${i}`, spec: { selector: { app: `idle-${i}` } } });
    sim.start();
    sim.run(1000);
    for (let round = 0; round < 300; round++) {
      for (let i = 1; i <= 10; i++) setPodStatus(sim, { name: `busy-${i}`, ready: round % 2 === 0 });
      sim.run(100);
    }
    assert.equal(endpointsTable(sim).filter((line) => line.includes('/idle-')).length, 100);
  });

  it('many changes within a batch period take one write', () => {
    const sim = settledWithOne({ options: { endpointUpdatesBatchPeriodMs: 1000 } });
    const before = writesOf(sim).length;
    for (let i = 2; i <= 6; i++) {
      createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
      sim.run(100);
    }
    sim.run(3000);
    assert.equal(writesOf(sim).length, before + 1);
    assert.deepEqual(endpointsTable(sim), [
      'default/web 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 : http:8080/TCP',
    ]);
  });
});

describe('a stop', () => {
  it('a stop drains planned writes, and plans nothing more', () => {
    const sim = settledWithOne();
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(4);
    sim.stop();
    createService(sim, { name: 'late', spec: { selector: { app: 'late' } } });
    sim.run(5000);
    assert.equal(sim.stopped, true);
    assert.ok(!endpointsTable(sim).some((line) => line.includes('late')));
  });

  it('a stop ends in bounded time if the server does not answer', () => {
    const sim = settledWithOne();
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.faults.loseReply = 1;
    sim.run(4);
    sim.stop();
    sim.run(11_000);
    assert.equal(sim.stopped, true);
  });

  it('a stop ends after ten seconds even if writes still wait for tokens', () => {
    const sim = createSim({ options: { kubeApiQps: 1, kubeApiBurst: 1, concurrentEndpointSyncs: 40 } });
    for (let i = 0; i < 40; i++) createService(sim, { name: `web-${i}` });
    sim.start();
    sim.run(2000);
    sim.stop();
    sim.run(9900);
    assert.equal(sim.stopped, false);
    sim.run(200);
    assert.equal(sim.stopped, true);
  });
});
