/** Threads that die of a service, with more than one controller at work on it (docs/protocols.md "Poison"). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, endpointsTable, setPodStatus, type Sim } from '../support/sim.ts';
import { makeEndpoints } from '../support/sim-objects.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { createSliceSim, namesOf, slicesTable } from '../support/sim-slices.ts';
import { allSlices } from '../../src/controller/caches/services.ts';
import { samples } from '../../src/metrics/store.ts';
import { OUTPUTS } from '../../src/shard/outputs.ts';

const ALL = { endpoints: true, slices: true, mirror: true } as const;

/** Three services, one of them a mirrored one; every batch that names `bad` ends the thread while `isBad`. */
function world(isBad: () => boolean): Sim {
  const sim = createSliceSim({
    shards: 1,
    options: ALL,
    poison: ({ entries }) => {
      if (isBad() && entries.some(({ service }) => service === 'default/bad')) throw new Error('heap limit');
    },
  });
  for (const name of ['bad', 'web']) createService(sim, { name });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createService(sim, { name: 'hand', spec: { selector: null } });
  makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '10.9.0.1' }], ports: [{ port: 80 }] }]);
  sim.start();
  return sim;
}

const stuck = (sim: Sim): string[] =>
  samples(sim.metrics!, 'endpointd_stuck_service', 0).map(
    ({ labels }) => `${labels['controller']} ${labels['service']} ${labels['class']}`,
  );

describe('a service that ends every thread on which it is planned', () => {
  const OTHERS = ['default/hand (mirror) IPv4 10.9.0.1 : :80/TCP', 'default/web IPv4 10.0.0.1 : http:8080/TCP'];

  it('a service that ends threads is set aside by all controllers, the others go on', () => {
    const sim = world(() => true);
    sim.run(10_000);
    assert.deepEqual(slicesTable(sim), OTHERS);
    assert.ok(endpointsTable(sim).includes('default/web 10.0.0.1 : http:8080/TCP'));
    assert.deepEqual(stuck(sim), ['endpoints bad poison', 'endpointslice bad poison']);
    assert.deepEqual(
      eventsOf(sim).map((line) => line.split(': ').slice(0, 2).join(': ')),
      ['Service bad: EndpointsStuck', 'Service bad: EndpointSlicesStuck'],
    );
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(3000);
    assert.ok(slicesTable(sim).includes('default/web IPv4 | 10.0.0.1 : http:8080/TCP'));
  });

  it('a service that ends threads costs few, however often its pods change', () => {
    const sim = world(() => true);
    sim.run(10_000);
    const before = metric(sim, 'endpointd_shard_restarts_total');
    for (let i = 0; i < 300; i++) {
      setPodStatus(sim, { name: 'web-1', ready: i % 2 === 0 });
      sim.run(1000);
    }
    const deaths = metric(sim, 'endpointd_shard_restarts_total') - before;
    assert.ok(deaths <= 61, `${deaths} deaths in five minutes`);
  });

  it('a service set aside is planned by all controllers once it is mended', () => {
    let bad = true;
    const sim = world(() => bad);
    sim.run(10_000);
    bad = false;
    sim.run(600_000);
    assert.deepEqual(slicesTable(sim), ['default/bad IPv4 10.0.0.1 : http:8080/TCP', ...OTHERS]);
    assert.ok(endpointsTable(sim).includes('default/bad 10.0.0.1 : http:8080/TCP'));
    assert.deepEqual(stuck(sim), []);
  });
});

describe('a service whose planning throws', () => {
  it('if planning throws during another plan, that output reads first: no duplicate', () => {
    let batchMs = 1;
    const options = { ...ALL, endpointsliceUpdatesBatchPeriodMs: 50 };
    const sim = createSliceSim({ shards: 1, options, batchMs: () => batchMs });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(5000);
    // The Endpoints are planned first, and the slices are asked for before the answer is there.
    batchMs = 100;
    sim.planner(0).services.get('default/web')!.endpoints.uncertain = true;
    const from = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 | 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(asked(sim, from), ['GET endpointslices 200', 'PUT endpointslices 200']);
    sim.run(60_000);
    assert.ok(endpointsTable(sim).includes('default/web | 10.0.0.1 : http:8080/TCP'));
  });

  it('if planning throws before another plan, that output begins with a read', () => {
    let batchMs = 1;
    const options = { ...ALL, endpointsliceUpdatesBatchPeriodMs: 50 };
    const sim = createSliceSim({ shards: 1, options, batchMs: () => batchMs });
    for (const [name, ip] of [
      ['web', '10.0.0.1'],
      ['other', '10.0.0.2'],
    ] as const) {
      createService(sim, { name, spec: { selector: { app: name } } });
      createPod(sim, { name: `${name}-1`, ip, labels: { app: name } });
    }
    sim.start();
    sim.run(5000);
    batchMs = 100;
    sim.planner(0).services.get('default/web')!.endpoints.uncertain = true;
    const from = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(20);
    // With it two batches are under way, which is all that a shard takes.
    setPodStatus(sim, { name: 'other-1', ready: false });
    sim.run(5000);
    const ofWeb = sim.exchanges
      .slice(from)
      .filter(({ path }) => path.includes('endpointslices') && path.includes('web'))
      .map(({ method }) => method);
    assert.deepEqual(ofWeb, ['GET', 'PUT']);
    assert.equal(namesOf(sim).length, 2);
  });
});

describe('an output that is wrongly declared', () => {
  const thrown = (): never => {
    throw new Error('wrongly declared');
  };

  for (const part of ['create', 'plan'] as const) {
    it(`an output that throws in ${part} is stuck alone`, ({ mock }) => {
      mock.method(OUTPUTS.slices, part, thrown);
      const sim = createSliceSim({ shards: 1, options: ALL });
      createService(sim, { name: 'web' });
      createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
      sim.start();
      sim.run(5000);
      assert.ok(endpointsTable(sim).includes('default/web 10.0.0.1 : http:8080/TCP'));
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(1000);
      assert.ok(endpointsTable(sim).includes('default/web | 10.0.0.1 : http:8080/TCP'));
      assert.deepEqual(stuck(sim), ['endpointslice web invalid']);
      mock.restoreAll();
      sim.run(600_000);
      assert.deepEqual(slicesTable(sim), ['default/web IPv4 | 10.0.0.1 : http:8080/TCP']);
      assert.deepEqual(stuck(sim), []);
    });
  }
});

describe('a suspect that has to wait for a write', () => {
  it('a suspect that waits for a write does not hold up its shard', () => {
    const options = { ...ALL, endpointUpdatesBatchPeriodMs: 500 };
    const sim = createSliceSim({ shards: 1, options, batchMs: () => 20 });
    for (const name of ['web', 'other']) {
      createService(sim, { name, spec: { selector: { app: name } } });
      createPod(sim, { name: `${name}-1`, ip: name === 'web' ? '10.0.0.1' : '10.0.0.2', labels: { app: name } });
    }
    sim.start();
    sim.run(10_000);
    // The slice of web is being written for a long time, and its Endpoints are being planned when the thread ends.
    sim.lag = ({ method, path }) => ({
      toMs: method === 'PUT' && path.includes('endpointslices/web-') ? 8000 : 0,
      backMs: 0,
    });
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(510);
    sim.shards!.kill(0, 'heap limit');
    sim.run(100);
    setPodStatus(sim, { name: 'other-1', ready: false });
    sim.run(2000);
    assert.ok(slicesTable(sim).includes('default/other IPv4 | 10.0.0.2 : http:8080/TCP'));
    assert.ok(endpointsTable(sim).includes('default/web 10.0.0.1 : http:8080/TCP'), 'it waits');
    sim.run(20_000);
    assert.ok(endpointsTable(sim).includes('default/web | 10.0.0.1 : http:8080/TCP'));
  });
});

describe('a thread that hangs', () => {
  it("a hanging thread is ended, and all controllers go on from the server's objects", () => {
    const sim = world(() => false);
    sim.run(5000);
    sim.shards!.hang(0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(29_000);
    assert.equal(metric(sim, 'endpointd_shard_restarts_total'), 0);
    sim.run(5000);
    assert.equal(metric(sim, 'endpointd_shard_restarts_total'), 1);
    assert.ok(slicesTable(sim).includes('default/web IPv4 | 10.0.0.1 : http:8080/TCP'));
    assert.ok(endpointsTable(sim).includes('default/web | 10.0.0.1 : http:8080/TCP'));
    assert.deepEqual(stuck(sim), []);
  });
});

it('a body that awaits its echo does not keep the whole reply of its thread', () => {
  // Bytes are handed over with odd seeds.
  const sim = createSliceSim({ seed: 1, shards: 1, options: ALL });
  for (let i = 1; i <= 5; i++) createService(sim, { name: `web-${i}` });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(3000);
  sim.lag = ({ stream, path }) => ({ toMs: 0, backMs: stream && path.includes('/endpointslices') ? 5000 : 0 });
  setPodStatus(sim, { name: 'web-1', ready: false });
  sim.run(2000);
  const kept = [...allSlices(sim.loop!.state)].flatMap(({ expected }) => expected?.body ?? []);
  assert.deepEqual(
    kept.map(({ byteLength, buffer }) => byteLength === buffer.byteLength),
    [true, true, true, true, true],
  );
});
