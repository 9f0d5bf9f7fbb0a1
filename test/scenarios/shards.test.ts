/** Threads that die or hang, and the service that kills them (docs/protocols.md "Poison"). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createPod,
  createService,
  createSim,
  endpointsTable,
  setPodStatus,
  writesOf,
  type Sim,
} from '../support/sim.ts';
import { edit, ENDPOINTS, makeEndpoints, SLICES } from '../support/sim-objects.ts';
import { createSliceSim, namesOf, slicesTable } from '../support/sim-slices.ts';
import { SimHang } from '../support/sim-shards.ts';
import { samples } from '../../src/metrics/store.ts';

function settled(services: number, shards = 1, batchMs = (): number => 1): Sim {
  const sim = createSim({ shards, batchMs });
  for (let i = 1; i <= services; i++) {
    createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
    createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}`, labels: { app: `web-${i}` } });
  }
  sim.start();
  sim.run(5000);
  assert.equal(endpointsTable(sim).length, services);
  return sim;
}

function metric(sim: Sim, name: string): number {
  return samples(sim.metrics!, name, sim.nowMs()).reduce((sum, { value }) => sum + value, 0);
}

describe('a thread that dies', () => {
  it('a thread that dies at rest costs one GET once a service changes', () => {
    const sim = settled(3);
    sim.shards!.kill(0, 'out of memory');
    sim.run(60_000);
    const before = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-2', ready: false });
    sim.run(1000);
    const after = sim.exchanges.slice(before).map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(after, [
      'GET /api/v1/namespaces/default/endpoints/web-2',
      'PUT /api/v1/namespaces/default/endpoints/web-2',
    ]);
    assert.equal(endpointsTable(sim)[1], 'default/web-2 | 10.0.0.2 : http:8080/TCP');
    assert.equal(metric(sim, 'endpointd_shard_restarts_total'), 1);
  });

  it('a thread that dies costs the services of other threads nothing', () => {
    const sim = settled(8, 2);
    const { services } = sim.loop!.state;
    const others = [...services.get('default')!.values()].filter(({ shard }) => shard === 1).map(({ name }) => name);
    sim.shards!.kill(0, 'out of memory');
    sim.run(5000);
    sim.exchanges.length = 0;
    const flipped = others.filter((name) => name.startsWith('web-'));
    assert.ok(flipped.length > 0);
    for (const name of flipped) setPodStatus(sim, { name, ready: false });
    sim.run(2000);
    assert.deepEqual(
      sim.exchanges.map(({ method, path }) => `${method} ${path}`).sort(),
      flipped.map((name) => `PUT /api/v1/namespaces/default/endpoints/${name}`).sort(),
    );
  });

  it('a thread that dies at rest hides no change by another writer', () => {
    const sim = createSliceSim({ shards: 1, options: { endpoints: true, slices: true, mirror: true } });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    createService(sim, { name: 'hand', spec: { selector: null } });
    makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '10.9.0.1' }], ports: [{ name: 'http', port: 80 }] }]);
    sim.start();
    sim.run(5000);
    const [objects, slices] = [endpointsTable(sim), slicesTable(sim)];
    sim.shards!.kill(0, 'out of memory');
    sim.run(5000);
    edit(sim, `${ENDPOINTS}/web`, {}, { subsets: [] });
    for (const name of namesOf(sim)) edit(sim, `${SLICES}/${name}`, {}, { endpoints: [] });
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), objects);
    assert.deepEqual(slicesTable(sim), slices);
  });

  it('a thread that dies during its work loses nothing', () => {
    const sim = settled(5);
    for (let i = 1; i <= 5; i++) setPodStatus(sim, { name: `web-${i}`, ready: false });
    sim.run(3);
    sim.shards!.kill(0, 'exit code 1');
    sim.run(5000);
    for (let i = 1; i <= 5; i++) {
      assert.equal(endpointsTable(sim)[i - 1], `default/web-${i} | 10.0.0.${i} : http:8080/TCP`);
    }
  });

  it('a thread that dies during its writes does not make a second write of them', () => {
    const sim = settled(1);
    const before = writesOf(sim).length;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(6);
    sim.shards!.kill(0, 'exit code 1');
    sim.run(60_000);
    assert.equal(writesOf(sim).length, before + 1);
    assert.deepEqual(endpointsTable(sim), ['default/web-1 | 10.0.0.1 : http:8080/TCP']);
  });
});

describe('a thread that hangs', () => {
  it('a thread that hangs is ended at the deadline, and the next does its work', () => {
    const sim = settled(2);
    sim.shards!.hang(0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(29_000);
    assert.equal(metric(sim, 'endpointd_shard_restarts_total'), 0);
    sim.run(5000);
    assert.equal(metric(sim, 'endpointd_shard_restarts_total'), 1);
    assert.equal(endpointsTable(sim)[0], 'default/web-1 | 10.0.0.1 : http:8080/TCP');
  });

  it('a thread that stood still with the whole process is not ended', () => {
    let batchMs = 1;
    const sim = settled(2, 1, () => batchMs);
    // Its answer comes just after the deadline: the process was stopped meanwhile.
    batchMs = 30_001;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    sim.freeze();
    sim.run(60_000);
    sim.thaw();
    sim.run(1000);
    assert.equal(metric(sim, 'endpointd_shard_restarts_total'), 0);
    assert.equal(endpointsTable(sim)[0], 'default/web-1 | 10.0.0.1 : http:8080/TCP');
  });

  it('a thread that hangs is ended soon after the process has stood still', () => {
    const sim = settled(2);
    sim.shards!.hang(0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    sim.freeze();
    sim.run(60_000);
    sim.thaw();
    sim.run(5000);
    assert.equal(metric(sim, 'endpointd_shard_restarts_total'), 1);
    assert.equal(endpointsTable(sim)[0], 'default/web-1 | 10.0.0.1 : http:8080/TCP');
  });
});

it('a thread that has hung for a second takes no further slot', () => {
  const sim = settled(30, 2);
  const { services } = sim.loop!.state;
  const namesOn = (index: number): string[] =>
    [...services.get('default')!.values()].filter(({ shard }) => shard === index).map(({ name }) => name);
  const [hanging, others] = [namesOn(0), namesOn(1)].map((names) => names.filter((name) => name.startsWith('web-')));
  assert.ok(hanging!.length > 5 && others!.length > 1);
  sim.shards!.hang(0);
  setPodStatus(sim, { name: hanging![0]!, ready: false });
  sim.run(1500);
  for (const name of hanging!) setPodStatus(sim, { name, ready: false });
  sim.run(1500);
  sim.exchanges.length = 0;
  setPodStatus(sim, { name: others![0]!, ready: false });
  sim.run(100);
  assert.deepEqual(writesOf(sim), [`PUT /api/v1/namespaces/default/endpoints/${others![0]!} 200`]);
  sim.run(60_000);
  assert.equal(endpointsTable(sim).filter((line) => line.includes('|')).length, hanging!.length + 1);
});

describe('a service that kills every thread it is planned on', () => {
  const poisoned = (kill: () => never): Sim => {
    const sim = createSim({
      shards: 1,
      poison: ({ entries }) => {
        if (entries.some(({ service }) => service === 'default/web-3')) kill();
      },
    });
    for (let i = 1; i <= 5; i++) {
      createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
      createPod(sim, { name: `pod-${i}`, ip: `10.0.0.${i}`, labels: { app: `web-${i}` } });
    }
    sim.start();
    return sim;
  };

  it('a service that kills threads is set aside and named, and the others go on', () => {
    const sim = poisoned(() => {
      throw new Error('heap limit');
    });
    sim.run(3000);
    const names = endpointsTable(sim).map((line) => line.split(' ')[0]);
    assert.deepEqual(names, ['default/web-1', 'default/web-2', 'default/web-4', 'default/web-5']);
    const stuck = samples(sim.metrics!, 'endpointd_stuck_service', 0).map(({ labels }) => labels);
    assert.deepEqual(stuck, [{ controller: 'endpoints', namespace: 'default', service: 'web-3', class: 'poison' }]);
    assert.ok(metric(sim, 'endpointd_quarantines_total') >= 1);
  });

  it('a service that kills threads costs few of them, however often it changes', () => {
    const sim = poisoned(() => {
      throw new Error('heap limit');
    });
    sim.run(3000);
    const before = metric(sim, 'endpointd_shard_restarts_total');
    for (let i = 0; i < 600; i++) {
      setPodStatus(sim, { name: 'pod-3', ready: i % 2 === 0 });
      setPodStatus(sim, { name: 'pod-1', ready: i % 2 === 0 });
      sim.run(1000);
    }
    const deaths = metric(sim, 'endpointd_shard_restarts_total') - before;
    assert.ok(deaths <= 61, `${deaths} deaths in ten minutes`);
    assert.equal(endpointsTable(sim)[0], 'default/web-1 | 10.0.0.1 : http:8080/TCP');
  });

  it('a service that hangs its thread is found too', () => {
    const sim = poisoned(() => {
      throw new SimHang('endless loop');
    });
    const names = (): string[] => endpointsTable(sim).map((line) => line.split(' ')[0]!);
    sim.run(55_000);
    assert.deepEqual(names(), ['default/web-1', 'default/web-2']);
    // Twice the deadline.
    sim.run(8000);
    assert.deepEqual(names(), ['default/web-1', 'default/web-2', 'default/web-4', 'default/web-5']);
  });

  it('a service that was set aside is planned again once it is mended', () => {
    let mended = false;
    const sim = createSim({
      shards: 1,
      poison: ({ entries }) => {
        if (!mended && entries.some(({ service }) => service === 'default/web-3')) throw new Error('heap limit');
      },
    });
    createService(sim, { name: 'web-3' });
    sim.start();
    sim.run(60_000);
    assert.deepEqual(endpointsTable(sim), []);
    mended = true;
    sim.run(600_000);
    assert.deepEqual(endpointsTable(sim), ['default/web-3 -']);
    assert.equal(samples(sim.metrics!, 'endpointd_stuck_service', 0).length, 0);
  });
});

describe('a snapshot too big for a batch', () => {
  it('a snapshot too big for a batch is not sent, and its service alone is stuck', () => {
    const sim = createSim({ options: { maxBatchBytes: 5000 } });
    createService(sim, { name: 'big' });
    createService(sim, { name: 'small', spec: { selector: { app: 'small' } } });
    for (let i = 1; i <= 100; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
    sim.start();
    sim.run(5000);
    assert.deepEqual(endpointsTable(sim), ['default/small -']);
    const stuck = samples(sim.metrics!, 'endpointd_stuck_service', 0).map(({ labels }) => labels);
    assert.deepEqual(stuck, [{ controller: 'endpoints', namespace: 'default', service: 'big', class: 'invalid' }]);
    const line = sim.logLines.find(({ message }) => message.startsWith('Service is stuck'));
    assert.match(String(line?.fields['err']), /--max-batch-bytes=5000/);
  });
});
