/** A list that would take away most of what is published is believed only when second lists have said the same. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNode, ENDPOINTS, makeEndpoints, PODS, SERVICES, SLICES, SLICES_PATH } from '../support/sim-objects.ts';
import { metric } from '../support/sim-reports.ts';
import { namesOf, sizesOf } from '../support/sim-slices.ts';
import {
  createPod,
  createService,
  createSim,
  deleteObject,
  writesOf,
  type Sim,
  type SimConfig,
} from '../support/sim.ts';

const COUNT = 120;
const TOO_MUCH = 'A list would take away most ready endpoints: second lists are asked for first';
const CONFIRMED = 'Second lists say the same: most ready endpoints are taken away';
const DENIED = 'Second lists do not say the same: the endpoints stay';

/** At rest: `web` with 120 ready pods, `few` with one. */
function settled(config: SimConfig = {}): Sim {
  const sim = createSim(config);
  createService(sim, { name: 'web' });
  createService(sim, { name: 'few', spec: { selector: { app: 'few' } } });
  for (let i = 0; i < COUNT; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.1.${i}` });
  createPod(sim, { name: 'few-1', ip: '10.0.2.1', labels: { app: 'few' } });
  sim.start();
  sim.run(5000);
  assert.equal(addresses(sim), COUNT);
  return sim;
}

/** Of the Endpoints of `web`. */
function addresses(sim: Sim): number {
  const { body } = sim.tryRequest('GET', `${ENDPOINTS}/web`);
  const subsets = (body['subsets'] ?? []) as { addresses?: unknown[] }[];
  return subsets.reduce((sum, subset) => sum + (subset.addresses?.length ?? 0), 0);
}

function said(sim: Sim): string[] {
  return sim.logLines.map(({ message }) => message).filter((one) => [TOO_MUCH, CONFIRMED, DENIED].includes(one));
}

/** The watches are too old to go on, so that everything is listed again. */
function relist(sim: Sim, act: () => void): void {
  sim.down();
  act();
  sim.compact();
  sim.run(1000);
  sim.up();
}

function deletePods(sim: Sim): void {
  for (let i = 0; i < COUNT; i++) deleteObject(sim, `${PODS}/web-${i}`);
}

/** A proxy answers the first so many lists of the path with an empty one. */
function answerEmpty(sim: Sim, path: string, times: number): void {
  let left = times;
  const empty = Buffer.from(
    JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1000000' }, items: [] }),
  );
  const whole = sim.tamper;
  sim.tamper = (bytes, request) =>
    request.pool === 'list' && request.path.startsWith(`${path}?limit=500`) && left-- > 0
      ? empty
      : whole(bytes, request);
}

describe('a list that lacks most ready endpoints', () => {
  for (const watchList of [true, false]) {
    it(`if all pods were deleted, second lists confirm it, ${watchList ? 'streamed' : 'in pages'}`, () => {
      const sim = settled({ options: { watchList } });
      relist(sim, () => deletePods(sim));
      sim.run(30_000);
      assert.equal(addresses(sim), 0);
      assert.deepEqual(said(sim), [TOO_MUCH, CONFIRMED]);
      assert.equal(metric(sim, 'endpointd_mass_removals_total'), 1);
    });
  }

  it('pods that are not ready do not count', () => {
    const sim = settled();
    for (let i = 0; i < COUNT; i++) createPod(sim, { name: `idle-${i}`, ip: `10.0.3.${i}`, ready: false });
    sim.run(5000);
    relist(sim, () => {
      for (let i = 0; i < COUNT - 1; i++) deleteObject(sim, `${PODS}/web-${i}`);
    });
    sim.run(30_000);
    assert.equal(addresses(sim), 1);
    assert.deepEqual(said(sim), [TOO_MUCH, CONFIRMED]);
  });

  it('pods without a place in any object do not count, even if all are published', () => {
    const sim = settled();
    createService(sim, { name: 'jobs', spec: { selector: { app: 'job' }, publishNotReadyAddresses: true } });
    const jobs = Array.from({ length: 2 * COUNT }, (_, i) => `job-${i}`);
    for (const name of jobs) createPod(sim, { name, labels: { app: 'job' }, ip: '' });
    sim.run(5000);
    relist(sim, () => {
      for (const name of jobs) deleteObject(sim, `${PODS}/${name}`);
    });
    sim.run(30_000);
    assert.deepEqual(said(sim), []);
    assert.equal(metric(sim, 'endpointd_mass_removals_total'), 0);
  });

  it('nothing is removed before both second lists are there', () => {
    const sim = settled();
    let refused = false;
    sim.refuse = ({ path }) => (refused && path.startsWith('/api/v1/services') ? 500 : 0);
    relist(sim, () => deletePods(sim));
    for (let waited = 0; said(sim).length === 0 && waited < 60_000; waited += 10) sim.run(10);
    refused = true;
    sim.run(60_000);
    assert.equal(addresses(sim), COUNT);
    assert.deepEqual(said(sim), [TOO_MUCH]);
    refused = false;
    sim.run(120_000);
    assert.equal(addresses(sim), 0);
    assert.deepEqual(said(sim), [TOO_MUCH, CONFIRMED]);
  });

  it('one empty answer removes nothing', () => {
    const sim = settled({ options: { watchList: false }, answersInJson: true });
    answerEmpty(sim, '/api/v1/pods', 1);
    relist(sim, () => undefined);
    sim.run(60_000);
    assert.deepEqual(said(sim), [TOO_MUCH, DENIED]);
    assert.equal(addresses(sim), COUNT);
    assert.equal(metric(sim, 'endpointd_mass_removals_total'), 0);
  });

  for (const [age, pods] of [
    ['newer', 2000],
    ['older', 1],
  ] as const) {
    it(`an address that leads to another, ${age} cluster removes nothing`, () => {
      const sim = settled();
      const ours = sim.backup();
      const other = createSim();
      for (let i = 0; i < pods; i++) other.request('POST', PODS, pod(`other-${i}`));
      sim.restore(other.backup());
      for (let waited = 0; said(sim).length === 0 && waited < 60_000; waited += 10) sim.run(10);
      assert.deepEqual(said(sim), [TOO_MUCH]);
      assert.equal(metric(sim, 'endpointd_history_resets_total') > 0, age === 'older');
      sim.restore(ours);
      sim.run(60_000);
      assert.deepEqual(said(sim), [TOO_MUCH, DENIED]);
      assert.equal(addresses(sim), COUNT);
    });
  }

  it('as many pods of a similar cluster do not make up for the missing ones', () => {
    const sim = settled();
    const ours = sim.backup();
    const other = createSim();
    createService(other, { name: 'web' });
    for (let i = 0; i < 2 * COUNT; i++) createPod(other, { name: `alike-${i}`, ip: `10.9.0.${i}` });
    for (let i = 0; i < 1000; i++) other.request('POST', PODS, pod(`other-${i}`));
    sim.restore(other.backup());
    for (let waited = 0; said(sim).length === 0 && waited < 60_000; waited += 10) sim.run(10);
    assert.deepEqual(said(sim), [TOO_MUCH]);
    let fewest = Infinity;
    sim.restore(ours);
    for (let waited = 0; waited < 60_000; waited += 100) {
      sim.run(100);
      fewest = Math.min(fewest, addresses(sim));
    }
    assert.equal(fewest, COUNT);
    assert.equal(addresses(sim), COUNT);
  });

  it('a restore of etcd to before the pods goes on after second lists', () => {
    const sim = createSim();
    createService(sim, { name: 'web' });
    sim.start();
    sim.run(5000);
    const backup = sim.backup();
    for (let i = 0; i < COUNT; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.1.${i}` });
    sim.run(5000);
    assert.equal(addresses(sim), COUNT);
    sim.restore(backup);
    sim.run(60_000);
    assert.equal(metric(sim, 'endpointd_history_resets_total', { resource: 'pods' }), 1);
    assert.deepEqual(said(sim), [TOO_MUCH, CONFIRMED]);
    assert.equal(metric(sim, 'endpointd_mass_removals_total'), 1);
  });

  it('a list that lacks Services needs second lists too', () => {
    const sim = settled();
    relist(sim, () => deleteObject(sim, `${SERVICES}/web`));
    sim.run(30_000);
    assert.deepEqual(said(sim), [TOO_MUCH, CONFIRMED]);
    assert.equal(sim.tryRequest('GET', `${ENDPOINTS}/web`).status, 404);
  });

  it('--confirm-mass-removal=false believes the list at once', () => {
    const sim = settled({ options: { confirmMassRemoval: false } });
    relist(sim, () => deletePods(sim));
    sim.run(30_000);
    assert.equal(addresses(sim), 0);
    assert.deepEqual(said(sim), []);
  });
});

describe('a list of what pods are on, or of what is written, that lacks most of it', () => {
  /** Slices of pods on a node, and slices that mirror Endpoints made by hand; lists in pages, in JSON. */
  function withSlices(): Sim {
    const sim = createSim({
      options: { slices: true, endpoints: false, mirror: true, watchList: false },
      answersInJson: true,
    });
    createNode(sim, { name: 'node-1', zone: 'zone-a' });
    createService(sim, { name: 'web' });
    createService(sim, { name: 'hand', spec: { selector: null } });
    makeEndpoints(sim, 'hand', [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ port: 80 }] }]);
    for (let i = 0; i < COUNT; i++) createPod(sim, { name: `web-${i}`, ip: `10.0.1.${i}` });
    sim.start();
    sim.run(5000);
    assert.equal(published(sim), COUNT + 1);
    return sim;
  }

  /** How many addresses all slices have. */
  function published(sim: Sim): number {
    return sizesOf(sim).reduce((sum, size) => sum + size, 0);
  }

  for (const [what, path] of [
    ['nodes', '/api/v1/nodes'],
    ['slices', SLICES_PATH],
    ['Endpoints', '/api/v1/endpoints'],
  ] as const) {
    it(`an empty answer for ${what} writes nothing`, () => {
      const sim = withSlices();
      const before = writesOf(sim);
      answerEmpty(sim, path, 1);
      relist(sim, () => undefined);
      sim.run(600_000);
      assert.deepEqual(writesOf(sim).slice(before.length), []);
      assert.equal(published(sim), COUNT + 1);
    });
  }

  it('slices that an empty answer lacked are followed on', () => {
    const sim = withSlices();
    answerEmpty(sim, SLICES_PATH, 1);
    relist(sim, () => undefined);
    sim.run(60_000);
    deleteObject(sim, `${PODS}/web-0`);
    sim.run(5000);
    assert.equal(published(sim), COUNT);
  });

  it('what really went while the watch was down is followed', () => {
    const sim = withSlices();
    relist(sim, () => {
      deleteObject(sim, `${ENDPOINTS}/hand`);
      for (const name of namesOf(sim)) deleteObject(sim, `${SLICES}/${name}`);
    });
    sim.run(60_000);
    assert.equal(published(sim), COUNT);
    relist(sim, () => deleteObject(sim, '/api/v1/nodes/node-1'));
    sim.run(120_000);
    assert.deepEqual(said(sim), [TOO_MUCH, CONFIRMED]);
    assert.equal(published(sim), 0);
  });
});

describe('a list that lacks less', () => {
  it('a list that lacks half of them, or at most 100, is believed at once', () => {
    const sim = settled();
    relist(sim, () => {
      for (let i = 0; i < 100; i++) deleteObject(sim, `${PODS}/web-${i}`);
    });
    sim.run(30_000);
    assert.equal(addresses(sim), COUNT - 100);
    assert.deepEqual(said(sim), []);
  });
});

describe('deletions that a watch tells', () => {
  it('deletions that a watch tells are not held back', () => {
    const sim = settled();
    deletePods(sim);
    sim.run(5000);
    assert.equal(addresses(sim), 0);
    assert.deepEqual(said(sim), []);
  });
});

function pod(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image: 'main:1' }] },
  };
}
