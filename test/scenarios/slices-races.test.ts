/**
 * Whatever happens in the middle of a sync of all three controllers: it ends right, nothing is kept, and then all is
 * silent.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNothingKept } from '../support/nothing-kept.ts';
import { createPod, createService, deleteObject, endpointsTable, setPodStatus, type Sim } from '../support/sim.ts';
import { createNode, edit, ENDPOINTS, makeEndpoints, removeLabels, SERVICES, SLICES } from '../support/sim-objects.ts';
import { asked } from '../support/sim-reports.ts';
import { collectGarbage, createSliceSim, namesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import { SERVICE_NAME_LABEL } from '../../src/kube/names.ts';

const PORTS = [{ name: 'http', port: 8080 }];
const CHANGED = [{ addresses: [{ ip: '10.9.0.2' }, { ip: 'fd00::2' }], ports: PORTS }];

/** `web` with four pods in slices of two, and Endpoints `hand` made by hand: all at rest. */
function settled(): Sim {
  const sim = createSliceSim({
    shards: 1,
    options: {
      endpoints: true,
      slices: true,
      mirror: true,
      maxEndpointsPerSlice: 2,
      kubeApiQps: 1000,
      // The last acks travel with an entry that nothing but a resync asks for.
      minResyncPeriodMs: 100_000,
    },
  });
  createService(sim, { name: 'web' });
  for (let i = 1; i <= 4; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.0.${i}` });
  createPod(sim, { name: 'web-5', ip: '10.0.0.5', labels: {} });
  createService(sim, { name: 'hand', spec: { selector: null } });
  makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '10.9.0.1' }, { ip: 'fd00::1' }], ports: PORTS }]);
  sim.start();
  sim.run(3000);
  return sim;
}

/** A pod flips, one leaves, one comes; what is mirrored changes in both families. */
function change(sim: Sim): void {
  setPodStatus(sim, { name: 'web-1', ready: false });
  removeLabels(sim, 'web-3');
  edit(sim, '/api/v1/namespaces/default/pods/web-5', { labels: { app: 'web' } });
  edit(sim, `${ENDPOINTS}/hand`, {}, { subsets: CHANGED });
}

function expectRight(sim: Sim, told: string): void {
  const lines = slicesTable(sim);
  assert.deepEqual(
    lines.filter((line) => line.startsWith('default/hand')),
    ['default/hand (mirror) IPv4 10.9.0.2 : http:8080/TCP', 'default/hand (mirror) IPv6 fd00::2 : http:8080/TCP'],
    told,
  );
  const endpoints = slicesOf(sim)
    .filter(({ metadata }) => metadata.labels![SERVICE_NAME_LABEL] === 'web')
    .flatMap((slice) => slice.endpoints ?? [])
    .map(({ addresses, conditions }) => `${conditions!.ready === true ? '' : '!'}${addresses[0]}`);
  assert.deepEqual(endpoints.toSorted(), ['!10.0.0.1', '10.0.0.2', '10.0.0.4', '10.0.0.5'], told);
  // Two full ones, or one more; and one that somebody has emptied, which may stay (docs/spec/endpointslice.md "Packing:
  // golden vectors", P24).
  assert.ok(lines.length <= 6, `${lines.length} slices ${told}`);
  assert.deepEqual(
    endpointsTable(sim).filter((line) => line.startsWith('default/web')),
    ['default/web 10.0.0.2 10.0.0.4 10.0.0.5 | 10.0.0.1 : http:8080/TCP'],
    told,
  );
}

function anySliceOf(sim: Sim, service: string): string {
  return `${SLICES}/${namesOf(sim).find((name) => name.startsWith(`${service}-`))}`;
}

function remake(sim: Sim, path: string, make: () => void): void {
  deleteObject(sim, path);
  collectGarbage(sim);
  make();
}

const INCIDENTS: readonly [text: string, happen: (sim: Sim) => void][] = [
  ['its shard may die', (sim) => sim.shards!.kill(0, 'exit code 1')],
  ['its shard may hang', (sim) => sim.shards!.hang(0)],
  ['the watches may end', (sim) => sim.cutWatches()],
  ['the watches may end and be too old to go on', (sim) => sim.compact()],
  ['slices may be deleted', (sim) => namesOf(sim).forEach((name) => deleteObject(sim, `${SLICES}/${name}`))],
  ['the Endpoints that are planned may be deleted', (sim) => void sim.tryRequest('DELETE', `${ENDPOINTS}/web`)],
  ['the Service may be made anew', (sim) => remake(sim, `${SERVICES}/web`, () => createService(sim, { name: 'web' }))],
  [
    'a Service without selector may be made anew',
    (sim) =>
      remake(sim, `${SERVICES}/hand`, () => {
        createService(sim, { name: 'hand', spec: { selector: null } });
        // The API server deletes them with the Service.
        makeEndpoints(sim, 'hand', CHANGED);
      }),
  ],
  [
    'the Endpoints that are mirrored may be made anew',
    (sim) => remake(sim, `${ENDPOINTS}/hand`, () => makeEndpoints(sim, 'hand', CHANGED)),
  ],
  [
    'the controller may be killed',
    (sim) => {
      sim.kill();
      sim.start();
    },
  ],
  [
    'another writer may empty slices',
    (sim) => {
      for (const service of ['web', 'hand']) edit(sim, anySliceOf(sim, service), {}, { endpoints: [] });
    },
  ],
  [
    'another writer may take slices away by their labels',
    (sim) => {
      for (const service of ['web', 'hand']) edit(sim, anySliceOf(sim, service), { labels: {} });
    },
  ],
  [
    'another writer may take a slice away, and give it back',
    (sim) => {
      const path = anySliceOf(sim, 'web');
      const { labels = {} } = sim.request('GET', path).metadata;
      edit(sim, path, { labels: {} });
      sim.run(1.5);
      edit(sim, path, { labels });
    },
  ],
  [
    'the node may go and come back',
    (sim) => {
      deleteObject(sim, '/api/v1/nodes/node-1');
      sim.run(1.5);
      createNode(sim, { name: 'node-1', zone: 'zone-b' });
    },
  ],
];

describe('at every moment of a sync', () => {
  for (const [text, happen] of INCIDENTS) {
    it(text, () => {
      // A sync is over after about 10 ms: seen, planned, written in one or two rounds, its echoes seen.
      for (let atMs = 0; atMs < 14; atMs += 1.9) {
        const sim = settled();
        change(sim);
        sim.run(atMs);
        happen(sim);
        sim.run(60_000);
        for (const { metadata } of slicesOf(sim)) {
          if (metadata.labels?.[SERVICE_NAME_LABEL] === undefined) deleteObject(sim, `${SLICES}/${metadata.name}`);
        }
        sim.run(60_000);
        const told = `at ${atMs} ms`;
        expectRight(sim, told);
        const from = sim.exchanges.length;
        sim.run(300_000);
        const writes = asked(sim, from).filter((line) => !line.startsWith('GET'));
        assert.deepEqual(writes, [], told);
        checkNothingKept(sim, told);
      }
    });
  }
});

describe('a watch that lags', () => {
  it('a lagging watch tells nothing new of a slice that was written and deleted', () => {
    const sim = settled();
    sim.lag = ({ stream, path }) => ({ toMs: 0, backMs: stream && path.includes('endpointslices') ? 5000 : 0 });
    const web = namesOf(sim).filter((name) => name.startsWith('web-'));
    setPodStatus(sim, { name: 'web-1', ready: false });
    setPodStatus(sim, { name: 'web-3', ready: false });
    sim.run(500);
    removeLabels(sim, 'web-1');
    removeLabels(sim, 'web-2');
    sim.run(500);
    const left = namesOf(sim).filter((name) => name.startsWith('web-'));
    assert.equal(left.length, web.length - 1, 'both writes came before their echoes');

    const before = sim.exchanges.length;
    const lines = sim.logLines.length;
    sim.run(20_000);

    assert.deepEqual(
      sim.exchanges.slice(before).filter(({ path }) => !path.includes('watch=')),
      [],
    );
    assert.deepEqual(sim.logLines.slice(lines), []);
    assert.deepEqual(
      namesOf(sim).filter((name) => name.startsWith('web-')),
      left,
    );
    // Past the next resync.
    sim.run(300_000);
    checkNothingKept(sim, 'once all echoes have come');
  });

  it('a lagging watch may tell of an own delete during a list: nothing is kept', () => {
    const sim = settled();
    sim.lag = ({ stream, path }) => ({ toMs: 0, backMs: !path.includes('endpointslices?') ? 0 : stream ? 5000 : 8000 });
    removeLabels(sim, 'web-1');
    removeLabels(sim, 'web-2');
    // The delete is acked, and the planner lost, before the watch tells of it; the list comes later.
    sim.at(sim.nowMs() + 1000, () => {
      sim.shards!.kill(0, 'exit code 1');
      setPodStatus(sim, { name: 'web-4', ready: false });
    });
    sim.run(300_000);
    checkNothingKept(sim, 'once all echoes have come');
  });
});
