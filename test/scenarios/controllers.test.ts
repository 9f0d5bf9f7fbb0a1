/**
 * The controllers side by side: any subset runs, each by its own caches, queue, batch period, back-off and trigger
 * time.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPod, createService, deleteObject, endpointsTable, setPodStatus, type Sim } from '../support/sim.ts';
import { edit, ENDPOINTS, makeEndpoints, SERVICES, SLICES } from '../support/sim-objects.ts';
import { asked, metric } from '../support/sim-reports.ts';
import { createSliceSim, namesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';

const ALL = { endpoints: true, slices: true, mirror: true } as const;
const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

/** One service with a selector and a pod, one with Endpoints made by hand. */
function world(options: Partial<ControllerOptions>): Sim {
  const sim = createSliceSim({ options });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  createService(sim, { name: 'hand', spec: { selector: null } });
  makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '10.9.0.1' }], ports: [{ name: 'http', port: 80 }] }]);
  return sim;
}

function settled(options: Partial<ControllerOptions> = ALL): Sim {
  const sim = world(options);
  sim.start();
  sim.run(2000);
  return sim;
}

function triggerTime(sim: Sim, path: string): string | undefined {
  return sim.request('GET', path).metadata.annotations?.[TRIGGER_TIME];
}

describe('any subset of the controllers', () => {
  const READS = {
    endpoints: ['endpoints', 'services', 'pods'],
    slices: ['endpointslices', 'services', 'nodes', 'pods'],
    mirror: ['endpointslices', 'endpoints', 'services'],
  } as const;
  const NAMES = ['endpoints', 'slices', 'mirror'] as const;

  for (let bits = 1; bits < 8; bits++) {
    const enabled = NAMES.filter((_, i) => (bits & (1 << i)) !== 0);
    const options = { endpoints: (bits & 1) !== 0, slices: (bits & 2) !== 0, mirror: (bits & 4) !== 0 };

    it(`${enabled.join(', ')} alone writes its own objects, and watches what it needs`, () => {
      const sim = settled(options);
      setPodStatus(sim, { name: 'web-1', ready: false });
      edit(
        sim,
        `${ENDPOINTS}/hand`,
        {},
        { subsets: [{ addresses: [{ ip: '10.9.0.2' }], ports: [{ name: 'http', port: 80 }] }] },
      );
      sim.run(2000);
      assert.deepEqual(slicesTable(sim), [
        ...(options.mirror ? ['default/hand (mirror) IPv4 10.9.0.2 : http:80/TCP'] : []),
        ...(options.slices ? ['default/web IPv4 | 10.0.0.1 : http:8080/TCP'] : []),
      ]);
      assert.equal(endpointsTable(sim).includes('default/web | 10.0.0.1 : http:8080/TCP'), options.endpoints);
      const resources = new Set(
        sim.exchanges.filter(({ path }) => path.includes('watch=true')).map(({ path }) => /\/(\w+)\?/.exec(path)![1]),
      );
      assert.deepEqual(resources, new Set(enabled.flatMap((name) => READS[name])));
    });

    it(`${enabled.join(', ')} alone writes nothing after a restart`, () => {
      const sim = settled(options);
      sim.kill();
      const from = sim.exchanges.length;
      sim.start();
      sim.run(30_000);
      assert.deepEqual(asked(sim, from), []);
    });
  }

  it('Endpoints that no controller here reads are kept by no planner', () => {
    const sim = createSliceSim({ shards: 1, options: { ...ALL, endpoints: false } });
    createService(sim, { name: 'web' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    createService(sim, { name: 'hand', spec: { selector: null } });
    for (const name of ['web', 'hand']) makeEndpoints(sim, name, [{ addresses: [{ ip: '10.9.0.1' }] }]);
    sim.start();
    sim.run(2000);
    edit(sim, `${ENDPOINTS}/web`, { labels: { a: 'b' } });
    sim.run(1000);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    const { services } = sim.planner(0);
    assert.equal(services.get('default/web')!.endpoints.object, null);
    assert.notEqual(services.get('default/hand')!.endpoints.object, null);
  });

  it('a controller that is switched on later finds what the others have left', () => {
    const sim = settled({ endpoints: true, slices: false });
    sim.kill();
    const from = sim.exchanges.length;
    sim.start(ALL);
    sim.run(5000);
    assert.deepEqual(asked(sim, from).sort(), ['POST endpointslices 201', 'POST endpointslices 201']);
    sim.kill();
    const before = namesOf(sim);
    sim.start({ endpoints: false, slices: false });
    sim.run(5000);
    deleteObject(sim, `${SLICES}/${namesOf(sim).find((name) => name.startsWith('web-'))!}`);
    sim.run(60_000);
    assert.deepEqual(
      namesOf(sim),
      before.filter((name) => name.startsWith('hand-')),
      'what is not its own it neither makes nor repairs',
    );
  });
});

describe('a cache that does not fill', () => {
  for (const [resource, idle] of [
    ['nodes', ['endpointslice']],
    ['pods', ['endpoints', 'endpointslice']],
  ] as const) {
    it(`an unfilled cache of ${resource} delays only the controllers that read it`, () => {
      const sim = world(ALL);
      sim.refuse = ({ path }) => (path.startsWith(`/api/v1/${resource}?`) ? 503 : 0);
      sim.start();
      sim.run(20_000);
      const { controllers } = sim.loop!.state;
      assert.deepEqual(
        controllers.filter(({ running }) => !running).map(({ name }) => name),
        idle,
      );
      assert.ok(slicesTable(sim).includes('default/hand (mirror) IPv4 10.9.0.1 : http:80/TCP'));
      sim.refuse = () => 0;
      sim.run(60_000);
      assert.equal(slicesTable(sim).length, 2);
      assert.equal(endpointsTable(sim).length, 2);
    });
  }

  for (const [resource, status, watchList, working] of [
    ['endpointslices', 403, true, ['endpoints']],
    ['endpointslices', 403, false, ['endpoints']],
    ['endpointslices', 404, true, ['endpoints']],
    ['endpoints', 403, true, ['endpointslice']],
  ] as const) {
    it(`${status} to ${resource} (${watchList ? 'WatchList' : 'page'}) only delays who needs the cache`, () => {
      const sim = world(ALL);
      sim.refuse = ({ path }) => (path.includes(`/${resource}?`) ? status : 0);
      sim.start({ watchList });
      sim.run(5000);
      const running = (): string[] =>
        sim.loop!.state.controllers.filter((controller) => controller.running).map(({ name }) => name);
      assert.deepEqual(running(), working);
      const isWritten = (): boolean => endpointsTable(sim).includes('default/web 10.0.0.1 : http:8080/TCP');
      assert.equal(isWritten(), resource !== 'endpoints');
      sim.refuse = () => 0;
      sim.run(120_000);
      assert.deepEqual(running(), ['endpoints', 'endpointslice', 'endpointslice-mirroring']);
      assert.equal(slicesTable(sim).length, 2);
      assert.ok(isWritten());
    });
  }

  it('an output whose list fails for a minute only delays who needs it', () => {
    const sim = world(ALL);
    sim.refuse = ({ path }) => (path.startsWith('/api/v1/endpoints?') ? 500 : 0);
    sim.start();
    const running = (): string[] =>
      sim.loop!.state.controllers.filter((controller) => controller.running).map(({ name }) => name);
    sim.run(59_000);
    assert.deepEqual(running(), []);
    sim.run(30_000);
    assert.deepEqual(running(), ['endpointslice']);
    assert.ok(slicesTable(sim).includes('default/web IPv4 10.0.0.1 : http:8080/TCP'), slicesTable(sim).join('\n'));
    sim.refuse = () => 0;
    sim.run(60_000);
    assert.deepEqual(running(), ['endpoints', 'endpointslice', 'endpointslice-mirroring']);
  });

  it('a cache that stays refused keeps no other controller from its resync', () => {
    const sim = world({ ...ALL, minResyncPeriodMs: 60_000 });
    sim.refuse = ({ path }) => (path.includes('/endpointslices?') ? 403 : 0);
    sim.start();
    sim.run(5000);
    const before = metric(sim, 'workqueue_adds_total', { name: 'endpoint' });
    sim.run(120_000);
    assert.ok(metric(sim, 'workqueue_adds_total', { name: 'endpoint' }) > before);
  });

  it('with both outputs refused the inputs are not read', () => {
    const sim = world(ALL);
    sim.refuse = ({ path }) => (/\/endpoint(s|slices)\?/.test(path) ? 403 : 0);
    sim.start();
    sim.run(60_000);
    const reads = sim.exchanges.map(({ path }) => /\/(\w+)\?/.exec(path)?.[1] ?? '');
    assert.deepEqual(new Set(reads), new Set(['endpoints', 'endpointslices']));
  });
});

describe('the queues', () => {
  it("batch periods are each queue's own: one does not delay the other", () => {
    for (const [slow, first, last] of [
      [{ endpointUpdatesBatchPeriodMs: 5000 }, 'PUT endpointslices 200', 'PUT endpoints 200'],
      [{ endpointsliceUpdatesBatchPeriodMs: 5000 }, 'PUT endpoints 200', 'PUT endpointslices 200'],
    ] as const) {
      const sim = settled({ ...ALL, ...slow });
      sim.run(10_000);
      const from = sim.exchanges.length;
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(100);
      assert.deepEqual(asked(sim, from), [first]);
      sim.run(4500);
      assert.deepEqual(asked(sim, from), [first]);
      sim.run(1000);
      assert.deepEqual(asked(sim, from), [first, last]);
    }
  });

  it('repairs of slices wait for their batch period, those of mirroring do not', () => {
    const sim = settled({
      ...ALL,
      endpointsliceUpdatesBatchPeriodMs: 4000,
      mirroringEndpointsliceUpdatesBatchPeriodMs: 7000,
    });
    sim.run(10_000);
    const from = sim.exchanges.length;
    for (const name of namesOf(sim)) edit(sim, `${SLICES}/${name}`, {}, { endpoints: [] });
    sim.run(3900);
    assert.deepEqual(asked(sim, from), []);
    sim.run(2900);
    assert.deepEqual(asked(sim, from), ['PUT endpointslices 200']);
    assert.ok(slicesTable(sim).includes('default/web IPv4 10.0.0.1 : http:8080/TCP'));
    edit(sim, `${ENDPOINTS}/hand`, { labels: { a: 'b' } });
    sim.run(100);
    assert.deepEqual(asked(sim, from), ['PUT endpointslices 200', 'PUT endpointslices 200']);
    assert.ok(slicesTable(sim).includes('default/hand (mirror) IPv4 10.9.0.1 : http:80/TCP'));
  });

  it('both controllers follow changes during a wait, with one write each', () => {
    const sim = settled({ ...ALL, endpointUpdatesBatchPeriodMs: 5000 });
    sim.run(10_000);
    const from = sim.exchanges.length;
    for (const ready of [false, true, false]) {
      setPodStatus(sim, { name: 'web-1', ready });
      sim.run(1000);
    }
    sim.run(5000);
    assert.deepEqual(asked(sim, from), [...Array<string>(3).fill('PUT endpointslices 200'), 'PUT endpoints 200']);
    assert.ok(endpointsTable(sim).includes('default/web | 10.0.0.1 : http:8080/TCP'));
  });

  it("back-offs are each queue's own: a failing one does not delay the other", () => {
    for (const [failing, path, other] of [
      ['endpoints', ENDPOINTS, 'endpointslice'],
      ['endpointslice', SLICES, 'endpoints'],
    ] as const) {
      const sim = settled();
      sim.refuse = (request) => (request.method === 'PUT' && request.path.startsWith(path) ? 500 : 0);
      // With a second pod that is never written, the first cannot flip back to what is stored.
      createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
      sim.run(1000);
      const updates = { controller: other, verb: 'update', result: 'applied' };
      const before = metric(sim, 'endpointd_writes_total', updates);
      for (let i = 0; i < 20; i++) {
        setPodStatus(sim, { name: 'web-1', ready: i % 2 === 1 });
        sim.run(1000);
      }
      assert.equal(metric(sim, 'endpointd_stuck_service', { controller: failing }), 1);
      assert.equal(metric(sim, 'endpointd_stuck_service', { controller: other }), 0);
      assert.equal(metric(sim, 'endpointd_writes_total', updates) - before, 20);
      sim.refuse = () => 0;
      sim.run(120_000);
      assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
      assert.ok(slicesTable(sim).includes('default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP'));
      assert.ok(endpointsTable(sim).includes('default/web 10.0.0.1 10.0.0.2 : http:8080/TCP'));
    }
  });

  /** Ten services that come at once, all of which have to be written. */
  function ten(options: Partial<ControllerOptions>, lagMs: (path: string) => number): Sim {
    const sim = createSliceSim({ options: { ...ALL, kubeApiQps: 1000, ...options } });
    sim.lag = ({ method, path }) => ({ toMs: method === 'POST' ? lagMs(path) : 0, backMs: 0 });
    sim.start();
    sim.run(2000);
    for (let i = 1; i <= 10; i++) createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
    sim.run(500);
    return sim;
  }

  const syncing = (sim: Sim): number[] => sim.loop!.state.controllers.map(({ queue }) => queue.processing.length);

  it("slots are each queue's own: long writes of one do not take the other's", () => {
    const sim = ten({ concurrentServiceEndpointSyncs: 2 }, (path) => (path === SLICES ? 5000 : 0));
    assert.equal(endpointsTable(sim).length, 10);
    // One namespace never has the last slot.
    assert.deepEqual(syncing(sim), [0, 1, 0]);
    sim.run(60_000);
    assert.equal(slicesTable(sim).length, 10);
  });

  it('each controller syncs its own number of services at a time', () => {
    const slow = (): number => 1000;
    assert.deepEqual(syncing(ten({ concurrentEndpointSyncs: 3 }, slow)), [2, 4, 0]);
    assert.deepEqual(syncing(ten({ concurrentServiceEndpointSyncs: 3 }, slow)), [4, 2, 0]);
  });
});

describe('the trigger time', () => {
  /** Virtual time starts on the first of January 2026. */
  const second = (s: number): string => new Date(Date.UTC(2026, 0, 1) + s * 1000).toISOString().replace('.000', '');

  it('the trigger time of one controller does not depend on writes of the other', () => {
    const sim = settled();
    const slice = `${SLICES}/${slicesOf(sim).find(({ metadata }) => metadata.generateName === 'web-')!.metadata.name}`;
    sim.run(8000);
    sim.refuse = ({ method, path }) => (method === 'PUT' && path.startsWith(SLICES) ? 500 : 0);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(5000);
    assert.equal(triggerTime(sim, `${ENDPOINTS}/web`), second(10));
    assert.equal(triggerTime(sim, slice), second(0));
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(100);
    sim.refuse = () => 0;
    sim.run(60_000);
    assert.equal(triggerTime(sim, `${ENDPOINTS}/web`), second(15));
    // The earliest of what it has not told yet.
    assert.equal(triggerTime(sim, slice), second(10));
  });
});

describe('the bucket', () => {
  it('the bucket holds the tokens of all controllers, and they share it', () => {
    for (const [options, controllers] of [
      [{ endpoints: false }, 1],
      [{ endpoints: true }, 2],
      [ALL, 3],
    ] as const) {
      const sim = createSliceSim({ options: { ...options, kubeApiQps: 5, kubeApiBurst: 10 } });
      for (let i = 1; i <= 200; i++) createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
      sim.start();
      sim.run(1000);
      const before = asked(sim).length;
      sim.run(4000);
      const rate = (asked(sim).length - before) / 4;
      assert.ok(Math.abs(rate - 5 * controllers) <= 1, `${rate} writes a second of ${controllers} controllers`);
      assert.ok(before >= 10 * controllers, `${before} at once`);
    }
  });
});

describe('what changes in both outputs', () => {
  it('a change in both outputs goes to the planner once: one batch for a flip', () => {
    const sim = settled();
    sim.run(2000);
    const before = metric(sim, 'endpointd_shard_batches_total');
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(2000);
    assert.equal(metric(sim, 'endpointd_shard_batches_total'), before + 1);
  });

  it('both outputs end alike, however late answers and watches come (D37)', () => {
    for (let seed = 1; seed <= 6; seed++) {
      const sim = createSliceSim({ seed, options: { ...ALL, kubeApiQps: 100 } });
      createService(sim, { name: 'web' });
      for (let i = 1; i <= 6; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
      sim.start();
      sim.faults.lag = 0.3;
      let ready: string[] = [];
      for (let round = 0; round < 60; round++) {
        ready = [];
        for (let i = 1; i <= 6; i++) {
          const isReady = (round * 7 + i * seed) % 3 !== 0;
          setPodStatus(sim, { name: `web-${i}`, ready: isReady });
          if (isReady) ready.push(`10.0.0.${i}`);
        }
        sim.run(50);
      }
      sim.faults.lag = 0;
      sim.run(120_000);
      const readyIn = (lines: readonly string[]): string[] =>
        /(?: IPv4)?((?: [\d.]+)*)/.exec(lines[0]!.replace('default/web', ''))![1]!.trim().split(' ');
      assert.deepEqual(readyIn(slicesTable(sim)).sort(), ready, `seed ${seed}`);
      assert.deepEqual(readyIn(endpointsTable(sim)).sort(), ready, `seed ${seed}`);
    }
  });

  it('a Service that goes and comes leaves nothing behind in any queue', () => {
    const sim = settled();
    for (let i = 0; i < 5; i++) {
      createService(sim, { name: `more-${i}` });
      sim.run(i);
      deleteObject(sim, `${SERVICES}/more-${i}`);
      for (const { metadata } of slicesOf(sim)) {
        if (metadata.name!.startsWith('more-')) deleteObject(sim, `${SLICES}/${metadata.name}`);
      }
    }
    sim.run(60_000);
    for (const { metadata } of slicesOf(sim)) {
      if (metadata.name!.startsWith('more-')) deleteObject(sim, `${SLICES}/${metadata.name}`);
    }
    sim.run(60_000);
    const { state } = sim.loop!;
    assert.equal(state.serviceCount, 3, 'web, hand and the one of the API server itself');
    for (const { queue, stuck, name } of state.controllers) {
      assert.deepEqual([queue.processing.length, stuck.size], [0, 0], name);
    }
  });
});
