/**
 * What upstream's tests of the endpoints controller ask for and what only a running controller shows, each under the name of the upstream test. The rules of planning itself are in `test/core`. Those of
 * slices and mirroring are found by `test/upstream-inventory.test.ts`.
 */
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
  type Sim,
  type SimConfig,
} from '../support/sim.ts';
import { removeLabels } from '../support/sim-objects.ts';
import { createSliceSim } from '../support/sim-slices.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { samples } from '../../src/metrics/store.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const MANAGED_BY = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
const HEADLESS = { 'service.kubernetes.io/headless': '' };
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';

function settled(config: SimConfig = {}): Sim {
  const sim = createSim(config);
  createService(sim, { name: 'web' });
  createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
  sim.start();
  sim.run(5000);
  assert.equal(writesOf(sim).length, 1);
  return sim;
}

function edit(sim: Sim, path: string, change: (object: KubeObject & { spec: Record<string, unknown> }) => void): void {
  const object = sim.request('GET', `${NAMESPACE}/${path}`) as KubeObject & { spec: Record<string, unknown> };
  change(object);
  sim.request('PUT', `${NAMESPACE}/${path}`, object);
}

function syncsOf(sim: Sim): number {
  return samples(sim.metrics!, 'endpointd_syncs_total', sim.nowMs()).reduce((sum, { value }) => sum + value, 0);
}

/** Writes and syncs that `act` leads to within two seconds. */
function costOf(sim: Sim, act: () => void): { writes: number; syncs: number } {
  const writes = writesOf(sim).length;
  const syncs = syncsOf(sim);
  act();
  sim.run(2000);
  return { writes: writesOf(sim).length - writes, syncs: syncsOf(sim) - syncs };
}

function labelsOf(sim: Sim, name: string): object {
  return sim.request('GET', `${NAMESPACE}/endpoints/${name}`).metadata.labels ?? {};
}

describe('batching of pod events', () => {
  const GAP_MS = 200;
  /** Three pod events, one each 200 ms: requests that they cost. */
  const cases: readonly [text: string, batchMs: number, requests: number][] = [
    ['three events, no batching: three requests', 0, 3],
    ['three events in one batch: one request', 1000, 1],
    ['three events in two batches: two requests', 300, 2],
  ];
  const acts: readonly [name: string, act: (sim: Sim, i: number) => void][] = [
    ['TestPodUpdatesBatching', (sim, i) => setPodStatus(sim, { name: `pod-${i}`, ready: false })],
    ['TestPodAddsBatching', (sim, i) => createPod(sim, { name: `new-${i}`, ip: `10.0.1.${i}` })],
    // Not by a deletion, which is two events that slices tell apart: the pod terminates before it is gone.
    ['TestPodDeleteBatching', (sim, i) => removeLabels(sim, `pod-${i}`)],
  ];
  for (const [name, act] of acts) {
    for (const [text, batchMs, requests] of cases) {
      // A pod is added in two steps, its creation and its first status; they fall into one sync.
      const check = (sim: Sim): void => {
        createService(sim, { name: 'web' });
        for (let i = 1; i <= 3; i++) createPod(sim, { name: `pod-${i}`, ip: `10.0.0.${i}` });
        sim.start();
        sim.run(10_000);
        const before = writesOf(sim).length;
        for (let i = 1; i <= 3; i++) {
          act(sim, i);
          sim.run(GAP_MS);
        }
        sim.run(5000);
        assert.equal(writesOf(sim).length - before, requests);
      };
      it(`${name}: ${text}`, () => check(createSim({ options: { endpointUpdatesBatchPeriodMs: batchMs } })));
      it(`${name}, of slices: ${text}`, () => {
        check(createSliceSim({ options: { endpointsliceUpdatesBatchPeriodMs: batchMs } }));
      });
    }
  }
});

describe('TestWaitsForAllInformersToBeSynced2', () => {
  for (const late of ['endpoints', 'services', 'pods']) {
    it(`nothing is written before the ${late} are listed`, () => {
      const sim = createSim({ refuse: ({ path }) => (path.startsWith(`/api/v1/${late}?`) ? 503 : 0) });
      createService(sim, { name: 'web' });
      createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
      sim.start();
      sim.run(60_000);
      assert.deepEqual(writesOf(sim), []);
      sim.refuse = () => 0;
      sim.run(60_000);
      assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
    });
  }
});

describe('objects and Services that come and go', () => {
  it('TestSyncEndpointsServiceNotFound, TestCheckLeftoverEndpoints: one DELETE', () => {
    const sim = createSim();
    sim.request('POST', `${NAMESPACE}/endpoints`, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'left', labels: MANAGED_BY },
    });
    sim.start();
    sim.run(10_000);
    assert.deepEqual(writesOf(sim), [`DELETE ${NAMESPACE}/endpoints/left 200`]);
  });

  it('TestEndpointsDeletionEvents: a deleted object queues its Service', () => {
    const sim = settled();
    const cost = costOf(sim, () => deleteObject(sim, `${NAMESPACE}/endpoints/web`));
    assert.deepEqual(cost, { writes: 1, syncs: 1 });
    assert.equal(writesOf(sim).at(-1), `POST ${NAMESPACE}/endpoints 201`);
  });

  it('TestMultipleServiceChanges: deleted and made again unseen, it comes back', () => {
    const sim = settled();
    sim.lag = ({ stream }) => ({ toMs: 0, backMs: stream ? 500 : 0 });
    deleteObject(sim, `${NAMESPACE}/services/web`);
    createService(sim, { name: 'web' });
    sim.run(20_000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('TestMultiplePodChanges: an unseen own write does not lead to another', () => {
    const sim = settled();
    // Endpoints are seen late, pods at once.
    sim.lag = ({ path, stream }) => ({ toMs: 0, backMs: stream && path.startsWith('/api/v1/endpoints') ? 5000 : 0 });
    const before = writesOf(sim).length;
    for (const ready of [false, true, false]) {
      setPodStatus(sim, { name: 'web-1', ready });
      sim.run(1000);
      assert.equal(endpointsTable(sim)[0], `default/web ${ready ? '' : '| '}10.0.0.1 : http:8080/TCP`);
    }
    sim.run(30_000);
    assert.deepEqual(
      writesOf(sim).slice(before),
      Array.from({ length: 3 }, () => `PUT ${NAMESPACE}/endpoints/web 200`),
      'three changes, three writes, no conflict',
    );
  });

  it('TestExternalNameToClusterIPTransition: the object comes with the selector', () => {
    const sim = createSim();
    createService(sim, {
      name: 'web',
      spec: {
        type: 'ExternalName',
        externalName: 'example.com',
        ports: [{ name: 'http', port: 80, targetPort: 'http' }],
      },
    });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(2000);
    assert.deepEqual(endpointsTable(sim), []);
    edit(sim, 'services/web', ({ spec }) => {
      spec['type'] = 'ClusterIP';
      delete spec['externalName'];
    });
    sim.run(2000);
    assert.deepEqual(endpointsTable(sim), ['default/web 10.0.0.1 : http:8080/TCP']);
  });

  it('TestEndpointWithMultiplePodUpdates: ten services whose pods flip fast end right', () => {
    const sim = createSim({ options: { concurrentEndpointSyncs: 10, kubeApiQps: 1000, kubeApiBurst: 1000 } });
    for (let i = 0; i < 10; i++) {
      createService(sim, { name: `web-${i}`, spec: { selector: { app: `web-${i}` } } });
      createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}`, labels: { app: `web-${i}` } });
    }
    sim.start();
    for (let round = 0; round < 101; round++) {
      for (let i = 0; i < 10; i++) setPodStatus(sim, { name: `web-${i}`, ready: round % 2 === 0 });
      sim.run(3);
    }
    sim.run(5000);
    assert.deepEqual(
      endpointsTable(sim),
      Array.from({ length: 10 }, (_, i) => `default/web-${i} 10.0.0.${i} : http:8080/TCP`),
    );
  });

  it('TestEndpointWithTerminatingPod: leaves its Service as soon as it is deleted', () => {
    const sim = settled();
    sim.request('DELETE', `${NAMESPACE}/pods/web-1`, {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 30,
    });
    sim.run(1000);
    assert.notEqual(sim.request('GET', `${NAMESPACE}/pods/web-1`).metadata.deletionTimestamp, undefined);
    assert.deepEqual(endpointsTable(sim), ['default/web -']);
  });
});

describe('Test_podChanged: what of a pod leads to a sync', () => {
  const rows: readonly [
    text: string,
    change: (pod: KubeObject) => void,
    expected: { writes: number; syncs: number },
  ][] = [
    ['an annotation: none', ({ metadata }) => (metadata.annotations = { a: 'b' }), { writes: 0, syncs: 0 }],
    [
      'a label that no Service selects by: none',
      ({ metadata }) => (metadata.labels = { ...metadata.labels, other: 'x' }),
      { writes: 0, syncs: 0 },
    ],
    [
      'a label that takes it out of the Service: one',
      ({ metadata }) => (metadata.labels = { app: 'other' }),
      { writes: 1, syncs: 1 },
    ],
  ];
  for (const [text, change, expected] of rows) {
    it(text, () => {
      const sim = settled();
      const cost = costOf(sim, () => edit(sim, 'pods/web-1', change));
      assert.deepEqual(cost, expected);
    });
  }

  const statusRows: readonly [text: string, status: object, expected: { writes: number; syncs: number }][] = [
    ['its first address: one', { podIP: '10.0.0.9', podIPs: [{ ip: '10.0.0.9' }] }, { writes: 1, syncs: 1 }],
    [
      'a second address of another family: one, which finds nothing to write',
      { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] },
      { writes: 0, syncs: 1 },
    ],
    ['a message in its status: none', { message: 'all is well' }, { writes: 0, syncs: 0 }],
    [
      'a condition other than Ready: none',
      { conditions: [{ type: 'Other', status: 'True' }], keepConditions: true },
      { writes: 0, syncs: 0 },
    ],
    ['its end: one', { phase: 'Failed' }, { writes: 1, syncs: 1 }],
  ];
  for (const [text, change, expected] of statusRows) {
    it(text, () => {
      const sim = settled();
      const cost = costOf(sim, () => {
        const path = `${NAMESPACE}/pods/web-1`;
        const pod = sim.request('GET', path) as KubeObject & { status: { conditions: object[] } };
        const { keepConditions, conditions, ...rest } = change as { keepConditions?: boolean; conditions?: object[] };
        const all = keepConditions === true ? [...pod.status.conditions, ...conditions!] : pod.status.conditions;
        sim.request('PUT', `${path}/status`, { ...pod, status: { ...pod.status, ...rest, conditions: all } });
      });
      assert.deepEqual(cost, expected);
    });
  }

  it('a changed readiness leads to one sync', () => {
    const sim = settled();
    assert.deepEqual(
      costOf(sim, () => setPodStatus(sim, { name: 'web-1', ready: false })),
      { writes: 1, syncs: 1 },
    );
  });
});

describe('TestDetermineNeededServiceUpdates: which Services a pod change leads to', () => {
  /** Services a and b select by `in`; the pod moves from one set of labels to another, perhaps changed otherwise too. */
  const rows: readonly [text: string, before: object, after: object, ready: boolean, synced: string[]][] = [
    ['the same Services, nothing else changed: none', { a: '1', b: '1' }, { a: '1', b: '1', c: '2' }, true, []],
    ['one is left, nothing else changed: that one', { a: '1', b: '1' }, { a: '1' }, true, ['b']],
    ['one is entered, nothing else changed: that one', { a: '1' }, { a: '1', b: '1' }, true, ['b']],
    ['from one to another: both', { a: '1' }, { b: '1' }, true, ['a', 'b']],
    ['the same Services, readiness changed: all', { a: '1', b: '1' }, { a: '1', b: '1' }, false, ['a', 'b']],
    ['one is left, readiness changed: all', { a: '1', b: '1' }, { a: '1' }, false, ['a', 'b']],
  ];
  for (const [text, before, after, ready, expected] of rows) {
    it(text, () => {
      // The batch period makes one of two requests: labels and status can't change in one.
      const sim = createSim({ options: { endpointUpdatesBatchPeriodMs: 100 } });
      for (const name of ['a', 'b']) createService(sim, { name, spec: { selector: { [name]: '1' } } });
      createPod(sim, { name: 'pod', ip: '10.0.0.1', labels: before as Record<string, string> });
      sim.start();
      sim.run(5000);
      const from = sim.exchanges.length;
      edit(sim, 'pods/pod', ({ metadata }) => (metadata.labels = after as Record<string, string>));
      if (!ready) setPodStatus(sim, { name: 'pod', ready });
      sim.run(2000);
      const written = sim.exchanges
        .slice(from)
        .filter(({ method }) => method === 'PUT')
        .map(({ path }) => path.split('/').at(-1)!);
      assert.deepEqual(written.toSorted(), expected);
    });
  }
});

describe('TestEndpointUpdates: what of a Service leads to a write', () => {
  it('a changed annotation leads to no write', () => {
    const sim = settled();
    const cost = costOf(sim, () =>
      edit(sim, 'services/web', ({ metadata }) => (metadata.annotations = { 'example.com/a': 'b' })),
    );
    assert.deepEqual(cost, { writes: 0, syncs: 0 });
  });

  it('TestSyncEndpointsItemsPreexistingLabelsChange: a changed label leads to a write', () => {
    const sim = settled();
    const cost = costOf(sim, () => edit(sim, 'services/web', ({ metadata }) => (metadata.labels = { foo: 'bar' })));
    assert.deepEqual(cost, { writes: 1, syncs: 1 });
  });

  it('TestSyncEndpointsAddDeletePorts: added and removed ports lead to a write', () => {
    const sim = createSim();
    const http = { name: 'http', port: 80, targetPort: 'http' };
    const metrics = { name: 'metrics', port: 81, targetPort: 'metrics' };
    createService(sim, { name: 'web', spec: { ports: [http] } });
    const ports = [
      { name: 'http', containerPort: 8080 },
      { name: 'metrics', containerPort: 9090 },
    ];
    createPod(sim, { name: 'web-1', ip: '10.0.0.1', ports });
    sim.start();
    sim.run(2000);
    const tables = [[http, metrics], [metrics], [http]].map((wanted) => {
      edit(sim, 'services/web', ({ spec }) => (spec['ports'] = wanted));
      sim.run(2000);
      return endpointsTable(sim)[0];
    });
    assert.deepEqual(tables, [
      'default/web 10.0.0.1 : http:8080/TCP metrics:9090/TCP',
      'default/web 10.0.0.1 : metrics:9090/TCP',
      'default/web 10.0.0.1 : http:8080/TCP',
    ]);
  });
});

describe('labels', () => {
  it('TestEndpointsControllersLabelSemantics: labels follow those of the Service', () => {
    const sim = settled();
    assert.deepEqual(labelsOf(sim, 'web'), MANAGED_BY);
    const steps: readonly Record<string, string>[] = [{ foo: 'bar' }, { foo: 'baz', more: 'x' }, {}];
    for (const labels of steps) {
      edit(sim, 'services/web', ({ metadata }) => (metadata.labels = labels));
      sim.run(2000);
      assert.deepEqual(labelsOf(sim, 'web'), { ...MANAGED_BY, ...labels });
    }
  });

  const rows: readonly [text: string, headless: boolean, label: boolean, expected: object][] = [
    ['headless', true, false, { ...MANAGED_BY, ...HEADLESS }],
    ['headless, and the user has set the label', true, true, { ...MANAGED_BY, ...HEADLESS }],
    ['not headless', false, false, MANAGED_BY],
    ['not headless, although the user has set the label', false, true, MANAGED_BY],
  ];
  for (const [text, headless, label, expected] of rows) {
    it(`TestEndpointsHeadlessLabel: ${text}`, () => {
      const sim = createSim();
      createService(sim, {
        name: 'web',
        labels: label ? HEADLESS : {},
        spec: headless ? { clusterIP: 'None' } : {},
      });
      sim.start();
      sim.run(2000);
      assert.deepEqual(labelsOf(sim, 'web'), expected);
      const writes = writesOf(sim).length;
      sim.kill();
      sim.start();
      sim.run(10_000);
      assert.equal(writesOf(sim).length, writes, 'and is left alone after a restart');
    });
  }
});

describe('TestEndpointTruncate', () => {
  it('1,001 pods give 1,000 addresses and the annotation; with 500 it is gone', () => {
    const sim = createSim();
    const name = (i: number): string => `web-${String(i).padStart(4, '0')}`;
    createService(sim, { name: 'web' });
    for (let i = 0; i < 1001; i++) createPod(sim, { name: name(i), ip: `10.0.${i >> 8}.${i & 255}` });
    sim.start();
    sim.run(10_000);
    /** Ready and not ready addresses, and the annotation. */
    const look = (): readonly [number, number, string | undefined] => {
      const { metadata, subsets } = sim.request('GET', `${NAMESPACE}/endpoints/web`) as KubeObject & {
        subsets: { addresses?: object[]; notReadyAddresses?: object[] }[];
      };
      const { addresses = [], notReadyAddresses = [] } = subsets[0]!;
      return [addresses.length, notReadyAddresses.length, metadata.annotations?.[OVER_CAPACITY]];
    };
    assert.deepEqual(look(), [1000, 0, 'truncated']);
    setPodStatus(sim, { name: name(0), ready: false });
    sim.run(2000);
    assert.deepEqual(look(), [1000, 0, 'truncated'], 'the ready ones fill it');
    setPodStatus(sim, { name: name(1), ready: false });
    sim.run(2000);
    assert.deepEqual(look(), [999, 1, 'truncated'], 'ready ones first');
    for (let i = 500; i < 1001; i++) deleteObject(sim, `${NAMESPACE}/pods/${name(i)}`);
    sim.run(10_000);
    assert.deepEqual(look(), [498, 2, undefined]);
  });
});

describe('selectors', () => {
  it('TestSyncEndpointsItemsPreserveNoSelector, and for ExternalName: no request', () => {
    const sim = createSim();
    createService(sim, { name: 'none', spec: { selector: undefined } });
    const external = { type: 'ExternalName', externalName: 'example.com' };
    createService(sim, { name: 'external-1', spec: external });
    createService(sim, { name: 'external-2', spec: { ...external, selector: undefined } });
    createService(sim, { name: 'external-3', spec: { ...external, ports: undefined } });
    createService(sim, { name: 'external-4', spec: { ...external, selector: undefined, ports: undefined } });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    sim.start();
    sim.run(10_000);
    assert.deepEqual(
      sim.exchanges.filter(({ path }) => path.startsWith('/api/v1/namespaces/')),
      [],
    );
  });
});
