/**
 * Whose slice is it, and whose change: edits, deletions, labels and owners by somebody else (docs/spec/endpointslice.md
 * "The slice tracker", "Known defects").
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settledWithOne } from '../support/settled.ts';
import { createPod, createService, deleteObject, setPodStatus, type Sim, type SimConfig } from '../support/sim.ts';
import { edit, SERVICES, SLICES } from '../support/sim-objects.ts';
import { asked, eventsOf, metric } from '../support/sim-reports.ts';
import { collectGarbage, createSliceSim, namesOf, slicesOf, slicesTable } from '../support/sim-slices.ts';
import { MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_VALUE } from '../../src/kube/names.ts';

const RIGHT = ['default/web IPv4 10.0.0.1 : http:8080/TCP'];
const LABELS = {
  'kubernetes.io/service-name': 'web',
  'endpointslice.kubernetes.io/managed-by': SLICE_MANAGED_BY_VALUE,
};

const settled = (config: SimConfig = {}): Sim => settledWithOne(config, createSliceSim);

/** Path of the only slice there is. */
function onlySlice(sim: Sim): string {
  const names = namesOf(sim);
  assert.equal(names.length, 1);
  return `${SLICES}/${names[0]}`;
}

function makeSlice(sim: Sim, name: string, metadata: object, address = '10.9.9.9'): void {
  sim.request('POST', SLICES, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, ...metadata },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  });
}

function ownerOf(sim: Sim, name: string): object {
  const { uid } = sim.request('GET', `${SERVICES}/${name}`).metadata;
  return { apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true };
}

function editEndpoints(sim: Sim): void {
  edit(sim, onlySlice(sim), {}, { endpoints: [{ addresses: ['9.9.9.9'], conditions: { ready: true } }] });
}

describe('a slice that somebody else', () => {
  it('an edited slice is right within a second, but not at once (D39)', () => {
    const sim = settled();
    editEndpoints(sim);
    sim.run(800);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 9.9.9.9 : http:8080/TCP']);
    sim.run(200);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.deepEqual(eventsOf(sim), []);
  });

  it('repeated edits wait ever longer, and pods are followed at once', () => {
    const sim = settled();
    for (let i = 0; i < 100; i++) {
      sim.run(1000);
      if (slicesTable(sim)[0] === RIGHT[0]) editEndpoints(sim);
    }
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(100);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 | 10.0.0.1 : http:8080/TCP']);
  });

  it('a deleted slice is made again (D39), also one not written since the start (D5)', () => {
    const sim = settled();
    deleteObject(sim, onlySlice(sim));
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    sim.kill();
    sim.start();
    sim.run(10_000);
    deleteObject(sim, onlySlice(sim));
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });

  it('a slice with another managed-by label is not ours, another one is made (D4)', () => {
    const sim = settled();
    const taken = onlySlice(sim);
    edit(sim, taken, { labels: { ...LABELS, 'endpointslice.kubernetes.io/managed-by': 'somebody' } });
    sim.run(3000);
    assert.deepEqual(slicesTable(sim), ['default/web (somebody) IPv4 10.0.0.1 : http:8080/TCP', RIGHT[0]]);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), [
      'default/web (somebody) IPv4 10.0.0.1 : http:8080/TCP',
      'default/web IPv4 | 10.0.0.1 : http:8080/TCP',
    ]);
  });

  it('a slice moved to another service is removed there, and made again here (D4)', () => {
    const sim = settled();
    createService(sim, { name: 'other', spec: { selector: { app: 'other' } } });
    sim.run(1000);
    const slice = slicesOf(sim).find(({ metadata }) => metadata.labels!['kubernetes.io/service-name'] === 'web');
    edit(sim, `${SLICES}/${slice!.metadata.name}`, { labels: { ...LABELS, 'kubernetes.io/service-name': 'other' } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/other IPv4 -', RIGHT[0]]);
  });

  it('a slice without its service-name label is nobody’s: the service gets another', () => {
    const sim = settled();
    edit(sim, onlySlice(sim), { labels: { 'endpointslice.kubernetes.io/managed-by': SLICE_MANAGED_BY_VALUE } });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), ['default/? IPv4 10.0.0.1 : http:8080/TCP', RIGHT[0]]);
  });

  it('a slice with another owner is replaced', () => {
    const sim = settled();
    const path = onlySlice(sim);
    const [owner] = sim.request('GET', path).metadata.ownerReferences!;
    edit(sim, path, { ownerReferences: [{ ...owner!, uid: 'another' }] });
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), RIGHT);
    assert.notEqual(onlySlice(sim), path);
  });

  it('annotations and finalizers of others stay through every write (D10)', () => {
    const sim = settled();
    const path = onlySlice(sim);
    const { annotations } = sim.request('GET', path).metadata;
    edit(sim, path, { annotations: { ...annotations, mine: 'stays' }, finalizers: ['example.com/f'] });
    sim.run(5000);
    deleteObject(sim, '/api/v1/namespaces/default/pods/web-1');
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 -']);
    createPod(sim, { name: 'web-2', ip: '10.0.0.2' });
    sim.run(1000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 10.0.0.2 : http:8080/TCP']);
    const { metadata } = sim.request('GET', path);
    assert.equal(metadata.annotations!['mine'], 'stays');
    assert.deepEqual(metadata.finalizers, ['example.com/f']);
  });

  it('a deleted slice that a finalizer holds counts as gone (D11)', () => {
    const sim = settled();
    const held = onlySlice(sim);
    edit(sim, held, { finalizers: ['example.com/f'] });
    sim.run(5000);
    deleteObject(sim, held);
    sim.run(5000);
    assert.equal(slicesTable(sim).length, 2);
    setPodStatus(sim, { name: 'web-1', ready: false });
    sim.run(1000);
    assert.ok(slicesTable(sim).includes('default/web IPv4 | 10.0.0.1 : http:8080/TCP'));
    const from = sim.exchanges.length;
    edit(sim, held, { finalizers: [] });
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), ['default/web IPv4 | 10.0.0.1 : http:8080/TCP']);
    assert.deepEqual(asked(sim, from), []);
  });
});

describe('slices of somebody else', () => {
  const FOREIGN: readonly [string, object][] = [
    ['another manager', { labels: { ...LABELS, 'endpointslice.kubernetes.io/managed-by': 'somebody' } }],
    ['no manager', { labels: { 'kubernetes.io/service-name': 'web' } }],
    ['no labels at all', {}],
    [
      'the mirroring controller',
      { labels: { ...LABELS, 'endpointslice.kubernetes.io/managed-by': MIRROR_MANAGED_BY_VALUE } },
    ],
    ['our label but no service', { labels: { 'endpointslice.kubernetes.io/managed-by': SLICE_MANAGED_BY_VALUE } }],
  ];
  for (const [title, metadata] of FOREIGN) {
    it(`${title}: never touched, before, during and after the service’s life`, () => {
      const sim = createSliceSim();
      makeSlice(sim, 'foreign', metadata);
      const before = sim.request('GET', `${SLICES}/foreign`);
      sim.start();
      sim.run(2000);
      createService(sim, { name: 'web' });
      createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
      sim.run(2000);
      assert.equal(slicesTable(sim).filter((line) => line === RIGHT[0]).length, 1);
      deleteObject(sim, `${SERVICES}/web`);
      sim.run(60_000);
      assert.deepEqual(sim.request('GET', `${SLICES}/foreign`), before);
    });
  }

  it('a slice in our name that the service did not make is a duplicate, and removed', () => {
    const sim = settled();
    makeSlice(sim, 'web-copy', { labels: LABELS, ownerReferences: [ownerOf(sim, 'web')] }, '10.0.0.1');
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), RIGHT);
  });

  it('a slice in our name for no Service with a selector is left alone', () => {
    const sim = createSliceSim();
    createService(sim, { name: 'web', spec: { selector: null } });
    makeSlice(sim, 'web-hand', { labels: LABELS });
    makeSlice(sim, 'none-hand', { labels: { ...LABELS, 'kubernetes.io/service-name': 'none' } });
    sim.start();
    sim.run(60_000);
    assert.equal(slicesTable(sim).length, 2);
    assert.deepEqual(asked(sim), []);
  });

  it('a slice that cannot be read is named and left alone, and another one is made', () => {
    const sim = createSliceSim();
    createService(sim, { name: 'web' });
    createService(sim, { name: 'other' });
    createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    makeSlice(sim, 'web-bad', { labels: LABELS, ownerReferences: [ownerOf(sim, 'web')] });
    sim.tamper = (bytes) => {
      const at = Buffer.from(bytes).indexOf('\n\b10.9.9.9');
      if (at < 0) return bytes;
      // The address claims to be longer than the endpoint that it is in.
      const spoilt = bytes.slice();
      spoilt[at + 1] = 0x7f;
      return spoilt;
    };
    sim.start();
    sim.run(5000);
    assert.deepEqual(slicesTable(sim), [
      'default/other IPv4 10.0.0.1 : http:8080/TCP',
      RIGHT[0],
      'default/web IPv4 10.9.9.9 : http:8080/TCP',
    ]);
    assert.ok(sim.logLines.some(({ fields }) => String(fields['object']).includes('web-bad')));
    assert.equal(metric(sim, 'endpointd_problems_total', { kind: 'undecodable-object' }), 1);
    assert.equal(metric(sim, 'endpointd_stuck_service'), 0);
  });
});

describe('a Service that is deleted and made again at once', () => {
  it('a Service made anew gets slices of its own, and the old ones go (D1, D2, D3)', () => {
    // From at once to after all has settled.
    for (const collectedAfterMs of [0, 3, 6, 9, 12, 100, 5000]) {
      for (const pods of [0, 1]) {
        const sim = settled();
        if (pods === 0) deleteObject(sim, '/api/v1/namespaces/default/pods/web-1');
        sim.run(1000);
        deleteObject(sim, `${SERVICES}/web`);
        createService(sim, { name: 'web' });
        const { uid } = sim.request('GET', `${SERVICES}/web`).metadata;
        sim.run(collectedAfterMs);
        collectGarbage(sim);
        sim.run(60_000);
        const told = `${pods} pods, collected after ${collectedAfterMs} ms`;
        assert.deepEqual(slicesTable(sim), pods === 0 ? ['default/web IPv4 -'] : RIGHT, told);
        assert.equal(slicesOf(sim)[0]!.metadata.ownerReferences![0]!.uid, uid, told);
        const from = sim.exchanges.length;
        setPodStatus(sim, createdPod(sim, pods));
        sim.run(2000);
        assert.deepEqual(slicesTable(sim), ['default/web IPv4 | 10.0.0.1 : http:8080/TCP'], told);
        assert.deepEqual(asked(sim, from).at(-1), 'PUT endpointslices 200', told);
        assert.deepEqual(eventsOf(sim), [], told);
        assert.equal(metric(sim, 'endpointd_stuck_service'), 0, told);
      }
    }
  });

  /** web-1, which is about to become unready; made if it does not exist. */
  function createdPod(sim: Sim, pods: number): { name: string; ready: boolean } {
    if (pods === 0) createPod(sim, { name: 'web-1', ip: '10.0.0.1' });
    return { name: 'web-1', ready: false };
  }

  it('a Service may be made anew while a write to its old slice is under way', () => {
    for (let gapMs = 0; gapMs < 14; gapMs += 1) {
      const sim = settled();
      setPodStatus(sim, { name: 'web-1', ready: false });
      sim.run(gapMs);
      deleteObject(sim, `${SERVICES}/web`);
      collectGarbage(sim);
      createService(sim, { name: 'web' });
      sim.run(60_000);
      collectGarbage(sim);
      sim.run(60_000);
      assert.deepEqual(slicesTable(sim), ['default/web IPv4 | 10.0.0.1 : http:8080/TCP'], `gap ${gapMs} ms`);
      assert.deepEqual(eventsOf(sim), [], `gap ${gapMs} ms`);
    }
  });
});

describe('a Service that is deleted', () => {
  it('a deleted Service leaves its slices to the collector, and nothing is kept', () => {
    const sim = settled();
    const from = sim.exchanges.length;
    deleteObject(sim, `${SERVICES}/web`);
    sim.run(60_000);
    assert.equal(slicesTable(sim).length, 1);
    collectGarbage(sim);
    sim.run(1000);
    assert.deepEqual(asked(sim, from), []);
    const { state } = sim.loop!;
    assert.deepEqual([state.serviceCount, state.slices.size, state.outbox.requests.size], [1, 0, 4]);
  });

  it('a Service deleted in the foreground gets no new slices, so it can go (D38)', () => {
    const sim = settled();
    edit(sim, `${SERVICES}/web`, { finalizers: ['foregroundDeletion'] });
    deleteObject(sim, `${SERVICES}/web`);
    sim.run(1000);
    // What the garbage collector does next.
    deleteObject(sim, onlySlice(sim));
    sim.run(60_000);
    assert.deepEqual(slicesTable(sim), []);
  });
});

it('slices are asked for by the labels of running controllers only', () => {
  const asked = new Set<string>();
  const sim = createSliceSim({
    options: { endpoints: true, mirror: true },
    refuse: ({ path }) => {
      const selector = /endpointslices\?.*labelSelector=([^&]*)/.exec(path)?.[1];
      if (selector !== undefined) asked.add(decodeURIComponent(selector));
      return 0;
    },
  });
  sim.start();
  sim.run(2000);
  const label = 'endpointslice.kubernetes.io/managed-by';
  assert.deepEqual([...asked], [`${label} in (${SLICE_MANAGED_BY_VALUE},${MIRROR_MANAGED_BY_VALUE})`]);
});

describe('a slice that bears our label', () => {
  function namelessLines(sim: Sim): Sim['logLines'] {
    return sim.logLines.filter(({ message }) => message.includes('without the name of a Service'));
  }

  it('a slice with our label and no Service is left alone, and reported', () => {
    const sim = settled();
    makeSlice(sim, 'nameless', {
      labels: { 'endpointslice.kubernetes.io/managed-by': SLICE_MANAGED_BY_VALUE },
    });
    sim.run(5000);
    assert.equal(namesOf(sim).includes('nameless'), true);
    assert.deepEqual(
      namelessLines(sim).map(({ fields }) => fields),
      [{ namespace: 'default', slice: 'nameless' }],
    );
  });

  const NAMELESS = { labels: { 'endpointslice.kubernetes.io/managed-by': SLICE_MANAGED_BY_VALUE } };

  it('a slice with our label and no Service is told once, until it has one', () => {
    const sim = settled();
    makeSlice(sim, 'nameless', NAMELESS);
    for (let i = 0; i < 5; i++) edit(sim, `${SLICES}/nameless`, { annotations: { change: String(i) } });
    sim.run(5000);
    assert.equal(namelessLines(sim).length, 1);
    edit(sim, `${SLICES}/nameless`, { labels: { ...LABELS, 'kubernetes.io/service-name': 'none' } });
    sim.run(100);
    edit(sim, `${SLICES}/nameless`, NAMELESS);
    sim.run(5000);
    assert.equal(namelessLines(sim).length, 2);
  });

  it('a hundred slices with our label and no Service are told, and no more', () => {
    const sim = settled();
    for (let i = 0; i < 110; i++) makeSlice(sim, `nameless-${i}`, NAMELESS);
    sim.run(5000);
    assert.equal(namelessLines(sim).length, 100);
    deleteObject(sim, `${SLICES}/nameless-0`);
    makeSlice(sim, 'nameless-0', NAMELESS);
    sim.run(5000);
    assert.equal(namelessLines(sim).length, 101, 'one that is gone makes room');
  });

  it('slices without a Service that went while no watch was open keep no room', () => {
    const sim = settled();
    for (let i = 0; i < 100; i++) makeSlice(sim, `nameless-${i}`, NAMELESS);
    sim.run(5000);
    sim.refuse = ({ method, path }) => (method === 'GET' && path.includes('/endpointslices') ? 500 : 0);
    sim.cutWatches();
    sim.run(100);
    for (let i = 0; i < 100; i++) deleteObject(sim, `${SLICES}/nameless-${i}`);
    sim.compact();
    sim.refuse = () => 0;
    sim.run(60_000);
    makeSlice(sim, 'late', NAMELESS);
    sim.run(5000);
    assert.equal(namelessLines(sim).length, 101);
  });
});
