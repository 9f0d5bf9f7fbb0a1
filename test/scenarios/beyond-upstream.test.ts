/** What upstream does not do, and is done here only where a flag asks for it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import {
  createPod,
  createService,
  deleteObject,
  endpointsTable,
  setPodStatus,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import {
  changeNode,
  createNode,
  edit,
  editService,
  ENDPOINTS,
  makeEndpoints,
  PODS,
  removeLabels,
  SERVICES,
  SLICES,
} from '../support/sim-objects.ts';
import { asked } from '../support/sim-reports.ts';
import { createSliceSim, sizesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import {
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
} from '../../src/kube/names.ts';

const ALL = { endpoints: true, slices: true, mirror: true } as const;
const HTTP = [{ name: 'http', port: 8080 }];

/** One service of one pod, planned by all three controllers. */
function settled(options: SimConfig['options'], config: Omit<SimConfig, 'options'> = {}): Sim {
  const sim = createSliceSim({ ...config, options: { ...ALL, ...options } });
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(5000);
  assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
  assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  return sim;
}

function becomeExternalName(sim: Sim): void {
  const { clusterIPs: _, ...spec } = sim.request('GET', `${SERVICES}/web`)['spec'] as Record<string, unknown>;
  const external = { type: 'ExternalName', externalName: 'example.com', clusterIP: '' };
  edit(sim, `${SERVICES}/web`, {}, { spec: { ...spec, ...external } });
}

describe('--clean-up-unselected', () => {
  const CLEAN_UP = { cleanUpUnselected: true };
  const unselect = (sim: Sim): void => editService(sim, 'web', { selector: null });

  for (const [how, change] of [
    ['loses its selector', unselect],
    ['becomes an ExternalName', becomeExternalName],
  ] as const) {
    it(`a Service that ${how} loses its objects`, () => {
      const sim = settled(CLEAN_UP);
      const from = sim.exchanges.length;
      change(sim);
      sim.run(60_000);
      assert.deepEqual(asked(sim, from).sort(), ['DELETE endpoints 200', 'DELETE endpointslices 200']);
      assert.deepEqual([slicesTable(sim), endpointsTable(sim)], [[], []]);
    });
  }

  it('with the selector all objects come back', () => {
    const sim = settled(CLEAN_UP);
    unselect(sim);
    sim.run(5000);
    editService(sim, 'web', { selector: { app: 'web' } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('objects left behind while nobody ran, or the flag was off, go at the start', () => {
    const sim = settled({});
    unselect(sim);
    sim.run(5000);
    const left = ['default/web (mirror) IPv4 10.0.0.1 : http:8080/TCP', 'default/web IPv4 10.0.0.1 : http:8080/TCP'];
    assert.deepEqual(slicesTable(sim), left);
    sim.kill();
    sim.start(CLEAN_UP);
    sim.run(10_000);
    assert.deepEqual([slicesTable(sim), endpointsTable(sim)], [[], []]);
  });

  it('Endpoints made by hand stay, and are mirrored', () => {
    const sim = settled(CLEAN_UP);
    unselect(sim);
    sim.run(5000);
    makeEndpoints(sim, 'web', [{ addresses: [{ ip: '192.0.2.1' }], ports: HTTP }]);
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web (mirror) IPv4 192.0.2.1 : http:8080/TCP']);
    assert.deepEqual(endpointsTable(sim), ['default/web 192.0.2.1 : http:8080/TCP']);
    const from = sim.exchanges.length;
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), []);
  });

  it('Endpoints with our label go, also if a read tells of it before the watch', () => {
    const sim = settled(CLEAN_UP);
    createService(sim, { name: 'hand', spec: { selector: null } });
    makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.1' }], ports: HTTP }]);
    sim.run(5000);
    sim.lag = ({ path }) => ({ toMs: 0, backMs: path.startsWith('/api/v1/endpoints?watch') ? 8000 : 0 });
    edit(sim, `${ENDPOINTS}/hand`, { labels: { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } });
    // Planned anew after the loss of its planner, mirroring reads the Endpoints.
    for (const shard of [0, 1]) sim.shards!.kill(shard, 'heap limit');
    const slice = slicesOf(sim).find(({ metadata }) => metadata.labels![SERVICE_NAME_LABEL] === 'hand');
    deleteObject(sim, `${SLICES}/${slice!.metadata.name}`);
    const from = sim.exchanges.length;
    sim.run(20_000);
    assert.ok(asked(sim, from).includes('GET endpoints 200'));
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('Endpoints with our label are not mirrored if another program controls them', () => {
    const sim = settled(CLEAN_UP);
    sim.kill();
    unselect(sim);
    sim.start({ endpoints: false });
    sim.run(10_000);
    assert.deepEqual(slicesTable(sim), []);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    // By then they are somebody's own.
    edit(sim, `${ENDPOINTS}/web`, { labels: {} });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web (mirror) IPv4 10.0.0.1 : http:8080/TCP']);
  });

  it('slices of other managers stay', () => {
    const sim = settled(CLEAN_UP);
    const labels = { [SERVICE_NAME_LABEL]: 'web', [SLICE_MANAGED_BY_LABEL]: 'somebody' };
    const [{ metadata: _, ...content }] = slicesOf(sim) as [ReturnType<typeof slicesOf>[0]];
    sim.request('POST', SLICES, { ...content, metadata: { name: 'theirs', labels } });
    unselect(sim);
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web (somebody) IPv4 10.0.0.1 : http:8080/TCP']);
  });

  it('a slice that somebody makes in our name afterwards goes after a second', () => {
    const sim = settled(CLEAN_UP);
    const [{ metadata: _, ...content }] = slicesOf(sim) as [ReturnType<typeof slicesOf>[0]];
    unselect(sim);
    sim.run(5000);
    const labels = { [SERVICE_NAME_LABEL]: 'web', [SLICE_MANAGED_BY_LABEL]: SLICE_MANAGED_BY_VALUE };
    sim.request('POST', SLICES, { ...content, metadata: { name: 'again', labels } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), []);
  });

  it('a waiting delete is not sent once the selector is back', () => {
    const sim = settled({ ...CLEAN_UP, kubeApiQps: 0.1, kubeApiBurst: 1 });
    // The token is spent.
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(200);
    unselect(sim);
    sim.run(200);
    editService(sim, 'web', { selector: { app: 'web' } });
    sim.run(120_000);
    assert.ok(sim.exchanges.every(({ method }) => method !== 'DELETE'));
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });

  it('nothing is kept of a Service that loses its selector and then goes', () => {
    const sim = settled(CLEAN_UP);
    unselect(sim);
    sim.run(5000);
    deleteObject(sim, `${SERVICES}/web`);
    sim.run(20_000);
    checkNothingKept(sim, 'the service and all of it is gone');
  });
});

describe('--opt-out-label', () => {
  const KEY = 'example.com/endpoints-by';
  const OPT_OUT = { optOutLabel: KEY };
  const label = (sim: Sim, name: string): void => editService(sim, name, {}, { labels: { [KEY]: 'them' } });

  it('a write that waits is not sent once its Service has the label', () => {
    const sim = settled({ ...OPT_OUT, kubeApiQps: 0.1, kubeApiBurst: 1 });
    // The first write spends the token.
    for (const i of [2, 3]) {
      createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
      sim.run(200);
    }
    label(sim, 'web');
    const from = sim.exchanges.length;
    sim.run(120_000);
    assert.deepEqual(
      sim.exchanges.slice(from).filter(({ method }) => method !== 'GET'),
      [],
    );
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });

  it('a Service with the label keeps its objects, whatever its pods do', () => {
    const sim = settled(OPT_OUT);
    label(sim, 'web');
    const from = sim.exchanges.length;
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    edit(sim, `${ENDPOINTS}/web`, { labels: {} }, { subsets: [] });
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), []);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(endpointsTable(sim), ['default/web -']);
  });

  it('pods of a Service with the label cost no syncs', () => {
    const sim = settled(OPT_OUT);
    label(sim, 'web');
    sim.run(5000);
    const adds = (): number[] => sim.loop!.state.controllers.map(({ queue }) => queue.addsTotal);
    const before = adds();
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(5000);
    assert.deepEqual(adds(), before);
  });

  it('a Service that loses the label is brought up to date', () => {
    const sim = settled(OPT_OUT);
    label(sim, 'web');
    sim.run(1000);
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(5000);
    editService(sim, 'web', {}, { labels: {} });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 10.0.0.2 : http:8080/TCP']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 10.0.0.2 : http:8080/TCP']);
  });

  it('a Service with the label at the start is left alone, all others are not', () => {
    const sim = createSliceSim({ options: { ...ALL, ...OPT_OUT } });
    createService(sim, { name: 'theirs', labels: { [KEY]: '' } });
    createService(sim, { name: 'ours' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/ours IPv4 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(endpointsTable(sim), ['default/ours 10.0.0.1 : http:8080/TCP']);
  });

  it('hand-made Endpoints with the label are not mirrored, and their slices stay', () => {
    const sim = createSliceSim({ options: { ...ALL, ...OPT_OUT } });
    createService(sim, { name: 'hand', spec: { selector: null } });
    makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.1' }], ports: HTTP }]);
    sim.start();
    sim.run(5000);
    label(sim, 'hand');
    sim.run(1000);
    const from = sim.exchanges.length;
    edit(sim, `${ENDPOINTS}/hand`, {}, { subsets: [{ addresses: [{ ip: '192.0.2.2' }], ports: HTTP }] });
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), []);
    assert.deepEqual(slicesTable(sim), ['default/hand (mirror) IPv4 192.0.2.1 : http:8080/TCP']);
    editService(sim, 'hand', {}, { labels: {} });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/hand (mirror) IPv4 192.0.2.2 : http:8080/TCP']);
  });

  it('--clean-up-unselected leaves a Service with the label alone, always', () => {
    const sim = settled({ ...OPT_OUT, cleanUpUnselected: true });
    label(sim, 'web');
    editService(sim, 'web', { selector: null });
    sim.run(5000);
    sim.kill();
    sim.start();
    sim.run(20_000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('--clean-up-unselected cleans up when the label goes', () => {
    const sim = settled({ ...OPT_OUT, cleanUpUnselected: true });
    label(sim, 'web');
    editService(sim, 'web', { selector: null });
    sim.kill();
    sim.start();
    sim.run(5000);
    editService(sim, 'web', {}, { labels: {} });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), []);
    assert.deepEqual(endpointsTable(sim), []);
  });

  it('nothing is kept of a Service with the label that then goes', () => {
    const sim = settled(OPT_OUT);
    label(sim, 'web');
    sim.run(5000);
    checkNothingKept(sim, 'it is there');
    deleteObject(sim, `${SERVICES}/web`);
    sim.run(20_000);
    checkNothingKept(sim, 'it is gone');
  });
});

describe('--mirroring-zones', () => {
  const ALONE = { endpoints: false, slices: false, mirror: true, mirroringZones: true } as const;

  /** A Service without selector whose addresses are on the nodes. */
  function onNodes(nodes: readonly string[], config: SimConfig = {}): Sim {
    const sim = createSliceSim({ ...config, options: { ...ALONE, ...config.options } });
    createService(sim, { name: 'hand', spec: { selector: null } });
    const addresses = nodes.map((nodeName, i) => ({ ip: `192.0.2.${i + 1}`, nodeName }));
    makeEndpoints(sim, 'hand', [{ addresses, ports: HTTP }]);
    sim.start();
    sim.run(2000);
    return sim;
  }
  const zonesOf = (sim: Sim): (string | undefined)[] =>
    slicesOf(sim).flatMap(({ endpoints }) => endpoints!.map(({ zone }) => zone));

  it("mirrored endpoints have their node's zone with the flag only", () => {
    const sim = onNodes(['node-1', 'node-2']);
    assert.deepEqual(zonesOf(sim), ['zone-a', undefined]);
    assert.deepEqual(asked(sim), ['POST endpointslices 201']);
    sim.kill();
    sim.start({ mirroringZones: false });
    sim.run(5000);
    assert.deepEqual(zonesOf(sim), [undefined, undefined]);
  });

  it('without the flag no planner is told of a node', () => {
    for (const mirroringZones of [true, false]) {
      const sim = onNodes(['node-1'], { options: { slices: true, mirroringZones } });
      createNode(sim, { name: 'node-9', zone: 'zone-b' });
      sim.run(1000);
      const told = sim.loop!.state.shards.map(({ view }) => view.nodesToTell.has('node-9'));
      assert.deepEqual(new Set(told), new Set([mirroringZones]));
    }
  });

  it('mirrored zones follow a node, and no other service is planned for it', () => {
    const sim = onNodes(['node-1', 'node-2']);
    createService(sim, { name: 'other', spec: { selector: null } });
    makeEndpoints(sim, 'other', [{ addresses: [{ ip: '192.0.2.9', nodeName: 'node-1' }], ports: HTTP }]);
    sim.run(2000);
    const { addsTotal } = sim.loop!.state.controllers[0]!.queue;
    createNode(sim, { name: 'node-2', zone: 'zone-b' });
    sim.run(1000);
    assert.deepEqual(zonesOf(sim), ['zone-a', 'zone-b', 'zone-a']);
    changeNode(sim, { name: 'node-2', zone: 'zone-c' });
    sim.run(1000);
    assert.deepEqual(zonesOf(sim), ['zone-a', 'zone-c', 'zone-a']);
    deleteObject(sim, '/api/v1/nodes/node-2');
    sim.run(1000);
    assert.deepEqual(zonesOf(sim), ['zone-a', undefined, 'zone-a']);
    assert.equal(sim.loop!.state.controllers[0]!.queue.addsTotal - addsTotal, 3);
  });

  it('a node that comes during the first plan is not missed', () => {
    for (const afterMs of [0, 50, 100, 150, 200, 250, 300]) {
      const sim = createSliceSim({ options: ALONE, shards: 1, batchMs: () => 200 });
      sim.start();
      sim.run(2000);
      createService(sim, { name: 'hand', spec: { selector: null } });
      makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.1', nodeName: 'node-2' }], ports: HTTP }]);
      sim.run(afterMs);
      createNode(sim, { name: 'node-2', zone: 'zone-b' });
      // Another service takes the news to the planner before the first one is answered.
      createService(sim, { name: 'more', spec: { selector: null } });
      makeEndpoints(sim, 'more', [{ addresses: [{ ip: '192.0.2.2' }], ports: HTTP }]);
      sim.run(5000);
      assert.deepEqual(zonesOf(sim), ['zone-b', undefined], `${afterMs} ms`);
    }
  });

  it('a planner that replaces a dead one is told all zones again', () => {
    const sim = onNodes(['node-1']);
    for (let shard = 0; shard < sim.shards!.count; shard++) sim.shards!.kill(shard, 'simulated death');
    sim.run(1000);
    edit(sim, `${ENDPOINTS}/hand`, {}, { subsets: [{ addresses: [{ ip: '192.0.2.7', nodeName: 'node-1' }] }] });
    sim.run(5000);
    assert.deepEqual(zonesOf(sim), ['zone-a']);
  });

  it('of two Endpoints on a node, the one that stays follows it', () => {
    const sim = onNodes(['node-1']);
    createService(sim, { name: 'other', spec: { selector: null } });
    makeEndpoints(sim, 'other', [{ addresses: [{ ip: '192.0.2.9', nodeName: 'node-1' }], ports: HTTP }]);
    sim.run(2000);
    deleteObject(sim, `${ENDPOINTS}/other`);
    sim.run(2000);
    changeNode(sim, { name: 'node-1', zone: 'zone-c' });
    sim.run(2000);
    assert.deepEqual(zonesOf(sim), ['zone-c']);
  });

  it('nothing is kept of mirrored Endpoints that go', () => {
    const sim = onNodes(['node-1', 'node-2']);
    assert.deepEqual([...sim.loop!.state.replan.mirrorsByNode.keys()], ['node-1', 'node-2']);
    deleteObject(sim, `${ENDPOINTS}/hand`);
    sim.run(5000);
    assert.equal(sim.loop!.state.replan.mirrorsByNode.size, 0);
  });
});

describe('--adaptive-batch-period-max', () => {
  const POD_COUNT = 40;
  const EVERY_MS = 100;
  const FAST = { kubeApiQps: 1000, kubeApiBurst: 1000 };

  /** 40 pods become ready, ten a second. */
  function rollOut(adaptiveBatchPeriodMaxMs: number): Sim {
    const sim = createSliceSim({ options: { ...ALL, ...FAST, adaptiveBatchPeriodMaxMs } });
    createService(sim, { name: 'web' });
    for (let i = 1; i <= POD_COUNT; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}`, ready: false });
    sim.start();
    sim.run(5000);
    sim.exchanges.length = 0;
    for (let i = 1; i <= POD_COUNT; i++) {
      setPodStatus(sim, { name: `web-${i}`, ready: true });
      sim.run(EVERY_MS);
    }
    return sim;
  }
  const writesTo = (sim: Sim, resource: string): number =>
    asked(sim).filter((line) => line === `PUT ${resource} 200`).length;

  it('a roll-out costs a write a second for each object, not one for each pod', () => {
    const adaptive = rollOut(1000);
    const fixed = rollOut(0);
    // At 0, 100, 200, ... ms each, once 62, 125, 250, 500 and then 1000 ms have passed since a change.
    for (const resource of ['endpoints', 'endpointslices']) {
      assert.equal(writesTo(fixed, resource), POD_COUNT);
      assert.ok(writesTo(adaptive, resource) <= 8, `${resource}: ${writesTo(adaptive, resource)}`);
      assert.ok(writesTo(adaptive, resource) >= 5, `${resource}: ${writesTo(adaptive, resource)}`);
    }
    adaptive.run(1100);
    assert.deepEqual(endpointsTable(adaptive), endpointsTable(fixed));
    assert.deepEqual(slicesTable(adaptive), slicesTable(fixed));
  });

  it('the last change is written within the period', () => {
    const sim = rollOut(1000);
    sim.run(1000 - EVERY_MS + 50);
    assert.equal(slicesTable(sim).join().includes('|'), false);
    const from = sim.exchanges.length;
    sim.run(60_000);
    assert.deepEqual(asked(sim, from), []);
  });

  const TAKE_AWAY: Readonly<Record<string, (sim: Sim) => void>> = {
    'is not ready any more': (sim) => setPodStatus(sim, { name: 'web-2', ready: false }),
    'is deleted': (sim) => deleteObject(sim, `${PODS}/web-2`),
    'is not selected any more': (sim) => edit(sim, `${PODS}/web-2`, { labels: { app: 'other' } }),
  };
  for (const [what, takeAway] of Object.entries(TAKE_AWAY)) {
    it(`a pod that ${what} is written at once, with the collected ones`, () => {
      const sim = rollOut(1000);
      assert.match(slicesTable(sim).join(), /\| .*10\.0\.0\.40/);
      const from = sim.exchanges.length;
      takeAway(sim);
      sim.run(50);
      // Of a pod that is deleted the slice first tells that it terminates.
      const puts = [...new Set(asked(sim, from).filter((line) => line.startsWith('PUT')))].sort();
      assert.deepEqual(puts, ['PUT endpoints 200', 'PUT endpointslices 200']);
      const [ready, notReady = ''] = slicesTable(sim).join().split('|');
      assert.ok(ready!.includes('10.0.0.40') && !notReady.includes('10.0.0.40'));
      assert.ok(!ready!.split(' ').includes('10.0.0.2'));
    });
  }

  it('pods that come and go in turn are written at once, each way', () => {
    const sim = rollOut(1000);
    sim.run(5000);
    for (const ready of [false, true]) {
      const from = sim.exchanges.length;
      setPodStatus(sim, { name: 'web-1', ready });
      sim.run(50);
      assert.deepEqual(asked(sim, from).sort(), ['PUT endpoints 200', 'PUT endpointslices 200']);
    }
  });

  it('a change after a pause is written at once', () => {
    const sim = rollOut(1000);
    sim.run(5000);
    const from = sim.exchanges.length;
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(50);
    assert.deepEqual(asked(sim, from).sort(), ['PUT endpoints 200', 'PUT endpointslices 200']);
  });

  it('other services are not slowed', () => {
    const sim = rollOut(1000);
    createService(sim, { name: 'calm', spec: { selector: { app: 'calm' } } });
    createPod(sim, { name: 'calm-1', ip: '10.0.1.1', labels: { app: 'calm' }, ready: false });
    sim.run(5000);
    for (let i = 1; i <= 5; i++) {
      setPodStatus(sim, { name: `web-${i}`, ready: false });
      sim.run(100);
    }
    setPodStatus(sim, { name: 'calm-1', ready: true });
    sim.run(50);
    assert.ok(slicesTable(sim).includes('default/calm IPv4 10.0.1.1 : http:8080/TCP'));
  });
});

describe('--kubelet-shutdown-is-termination', () => {
  /** What a kubelet does first when its node shuts down: the pod runs on, and is ready for a while. */
  function shutDown(sim: Sim, name: string): void {
    const pod = sim.request('GET', `${PODS}/${name}`);
    const status = pod['status'] as { conditions: object[] };
    const end = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
    sim.request('PUT', `${PODS}/${name}/status`, {
      ...pod,
      status: { ...status, conditions: [...status.conditions, end] },
    });
    sim.run(1000);
  }

  it('a pod that its kubelet terminates is terminating in slices, and still serving', () => {
    const sim = settled({ kubeletShutdownIsTermination: true });
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(1000);
    shutDown(sim, 'web-1');
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.2 | 10.0.0.1~ : http:8080/TCP']);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.2 : http:8080/TCP']);
    const ending = slicesOf(sim)[0]!.endpoints!.find(({ addresses }) => addresses[0] === '10.0.0.1');
    assert.deepEqual(ending!.conditions, { ready: false, serving: true, terminating: true });
  });

  it('the deletion of the pod changes nothing until it is gone', () => {
    const sim = settled({ kubeletShutdownIsTermination: true });
    shutDown(sim, 'web-1');
    const from = sim.exchanges.length;
    sim.request('DELETE', `${PODS}/web-1`);
    sim.run(1000);
    assert.deepEqual(asked(sim, from), []);
  });

  it('without the flag the pod stays ready, by its condition Ready', () => {
    const sim = settled({});
    const from = sim.exchanges.length;
    shutDown(sim, 'web-1');
    assert.deepEqual(asked(sim, from), []);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.1 : http:8080/TCP']);
  });
});

describe('--compact-slices', () => {
  const COMPACT = { endpoints: false, mirror: false, compactSlices: true, maxEndpointsPerSlice: 4 } as const;

  /** 24 pods in six slices, of which eight stay, unevenly. */
  function shrunk(options: SimConfig['options']): Sim {
    const sim = createSliceSim({ options: { ...COMPACT, ...options, kubeApiQps: 1000, kubeApiBurst: 1000 } });
    createService(sim, { name: 'web' });
    for (let i = 1; i <= 24; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
    sim.start();
    sim.run(5000);
    assert.deepEqual(sizesOf(sim), [4, 4, 4, 4, 4, 4]);
    const bySlice = slicesOf(sim).map(({ endpoints }) => endpoints!.map(({ targetRef }) => targetRef!.name!));
    bySlice.forEach((names, i) => {
      for (const name of names.slice(i < 2 ? 2 : 1)) removeLabels(sim, name);
    });
    sim.run(5000);
    assert.deepEqual(sizesOf(sim), [2, 2, 1, 1, 1, 1]);
    return sim;
  }
  const ALL_EIGHT = 8;

  it('after ten quiet seconds the slices of a shrunk service are merged in steps', () => {
    const sim = shrunk({});
    const from = sim.exchanges.length;
    sim.run(10_000);
    assert.deepEqual(asked(sim, from), [
      'PUT endpointslices 200',
      'DELETE endpointslices 200',
      'DELETE endpointslices 200',
    ]);
    assert.deepEqual(sizesOf(sim), [4, 2, 1, 1]);
    sim.run(10_000);
    assert.deepEqual(sizesOf(sim), [4, 4]);
    const later = sim.exchanges.length;
    sim.run(120_000);
    assert.deepEqual(asked(sim, later), []);
    assert.equal(
      new Set(slicesOf(sim).flatMap(({ endpoints }) => endpoints!.map((one) => one.addresses[0]))).size,
      ALL_EIGHT,
    );
  });

  it('slices are not merged while pods change', () => {
    const sim = shrunk({});
    const from = sim.exchanges.length;
    const name = slicesOf(sim)[0]!.endpoints![0]!.targetRef!.name!;
    for (let i = 0; i < 8; i++) {
      setPodStatus(sim, { name, ready: i % 2 === 1 });
      sim.run(5000);
    }
    assert.deepEqual(
      asked(sim, from),
      Array.from({ length: 8 }, () => 'PUT endpointslices 200'),
    );
    sim.run(30_000);
    assert.deepEqual(sizesOf(sim), [4, 4]);
  });

  it('failed deletes leave endpoints in two slices, never in none', () => {
    const sim = shrunk({});
    sim.refuse = ({ method }) => (method === 'DELETE' ? 500 : 0);
    sim.run(20_000);
    const listed = (): Set<string> =>
      new Set(slicesOf(sim).flatMap(({ endpoints }) => endpoints!.map(({ addresses }) => addresses[0]!)));
    assert.equal(listed().size, ALL_EIGHT);
    sim.refuse = () => 0;
    sim.run(400_000);
    assert.deepEqual(sizesOf(sim), [4, 4]);
    assert.equal(listed().size, ALL_EIGHT);
  });

  it('a merge that admission undoes deletes no slice', () => {
    const sim = shrunk({});
    const before = new Map(slicesOf(sim).map((slice) => [slice.metadata.name, slice.endpoints]));
    sim.admission = (object) => {
      if (before.has(object.metadata.name)) object['endpoints'] = before.get(object.metadata.name);
    };
    const from = sim.exchanges.length;
    sim.run(60_000);
    assert.deepEqual(new Set(asked(sim, from)), new Set(['PUT endpointslices 200']));
    assert.deepEqual(sizesOf(sim), [2, 2, 1, 1, 1, 1]);
    sim.admission = null;
    sim.run(600_000);
    assert.deepEqual(sizesOf(sim), [4, 4]);
  });

  it('without the flag the slices stay', () => {
    const sim = shrunk({ compactSlices: false });
    const from = sim.exchanges.length;
    sim.run(120_000);
    assert.deepEqual(asked(sim, from), []);
  });
});
