import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SIZES_ALIKE, story } from '../support/stories.ts';
import { type Ledger, type Output, OUTPUTS } from '../../src/twin/ledger.ts';
import { type Run, runModel } from '../../src/twin/run.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';
import { type Noticed, NOTHING, type Story, storyBetween, type StoryChange } from '../../src/twin/story.ts';
import { valueOf } from '../../src/tune/objective.ts';
import { fewestTokens } from '../../src/twin/write-tokens.ts';

const FREE = { intake: 0, echo: 0, match: 0, sync: 0, scan: 0, endpoint: 0, write: 0, writtenByte: 0, reply: 0 };
/** A write takes 10 ms, an event arrives after 1 ms, and nothing costs CPU. */
const EXACT = {
  ...DEFAULT_CALIBRATION,
  apiMs: { median: 10, tail: 1 },
  apiEach: SIZES_ALIKE,
  watchLagMs: 1,
  costs: { endpointd: FREE, 'kube-controller-manager': FREE },
};
const UPSTREAM = 'kube-controller-manager';

function run(played: Story, controller: Program, settings: Partial<Settings> = {}, kubeMinor = 36): Ledger {
  return runModel({
    story: played,
    controller,
    settings: { ...DEFAULT_SETTINGS, qps: 1000, burst: 1000, ...settings },
    calibration: EXACT,
    seed: 1,
    kubeMinor,
  });
}

const NOTHING_DONE = { endpoints: [], slices: [] };

/** Of slices, in the order in which they were shown. */
function latencies({ samples }: Ledger): number[] {
  return samples.slices.map(({ latencyMs }) => Math.round(latencyMs));
}

/** When objects were written. */
function writtenAtMs({ writes }: Ledger, output: Output): number[] {
  return writes[output].map(({ atMs }) => Math.round(atMs));
}

test('a change shows after the watch and the write', () => {
  const one = story({ services: 1, changes: [[1000, 0, 'ready']] });
  for (const controller of ['endpointd', UPSTREAM] as const) assert.deepEqual(latencies(run(one, controller)), [11]);
});

test('the write of an object with more endpoints takes longer', () => {
  const one = story({ services: 1, pods: 50, changes: [[1000, 0, 'ready']] });
  const calibration = { ...EXACT, apiEach: { endpoints: 0.01, slices: 0.02 } };
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const { samples } = runModel({ story: one, controller, settings: DEFAULT_SETTINGS, calibration, seed: 1 });
    const shown = (output: Output): number[] => samples[output].map(({ latencyMs }) => Math.round(latencyMs));
    // The event comes after 1 ms. A write of 50 endpoints takes 1.5 and 2 times 10 ms.
    assert.deepEqual([shown('endpoints'), shown('slices')], [[16], [21]], controller);
  }
});

test('changes that nothing shows have waited until ten minutes after the last one', () => {
  const three = story({
    services: 3,
    changes: [
      [1000, 0, 'ready'],
      [1000, 10, 'ready'],
      [1000, 20, 'ready'],
    ],
  });
  for (const controller of ['endpointd', UPSTREAM] as const) {
    // The buckets hold one token for each controller that runs, and the next one comes after a day.
    const { samples, unshown, open } = run(three, controller, { qps: 0.00001, burst: 1, controllers: 2 });
    const shown = samples.endpoints.length + samples.slices.length;
    assert.equal(shown, 2, controller);
    assert.equal(unshown.endpoints.length + unshown.slices.length, 4, controller);
    assert.equal(open.endpoints + open.slices, 4, controller);
    for (const { latencyMs, kind } of [...unshown.endpoints, ...unshown.slices])
      assert.deepEqual([Math.round(latencyMs), kind], [601_000, 'add']);
  }
});

test('a batch period collects changes from the first one on', () => {
  const three = story({
    services: 1,
    changes: [
      [1000, 0, 'ready'],
      [1400, 1, 'ready'],
      [1600, 2, 'ready'],
    ],
  });
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const ledger = run(three, controller, { slicesBatchMs: 500 });
    assert.deepEqual(latencies(ledger), [511, 111, 511]);
    assert.equal(ledger.writes.slices.length, 2);
  }
});

test('a pod that goes ends the adaptive wait, whatever an output shows of it', () => {
  const coming = story({
    services: 1,
    changes: [
      [1000, 0, 'ready'],
      [1100, 1, 'ready'],
      [1120, 2, 'terminating'],
      [1200, 3, 'ready'],
      [1220, 2, 'gone'],
    ],
  });
  const ledger = run(coming, 'endpointd', { adaptiveBatchMs: 1000 });
  for (const output of OUTPUTS) assert.deepEqual(writtenAtMs(ledger, output), [1011, 1131, 1231], output);
});

test('a change that is taken back within the period is not written', () => {
  const there = story({
    services: 1,
    changes: [
      [1000, 0, 'ready'],
      [1100, 0, 'unready'],
    ],
  });
  const { writes, overtaken } = run(there, 'endpointd', { slicesBatchMs: 500, endpointsBatchMs: 500 });
  assert.deepEqual([writes.slices.length, overtaken.slices], [0, 2]);
});

test('a change that is taken back under its write is shown, and what took it back', () => {
  const there = story({
    services: 1,
    changes: [
      [1000, 0, 'ready'],
      [2000, 0, 'unready'],
      [2005, 0, 'ready'],
    ],
  });
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const { samples, overtaken } = run(there, controller);
    const flips = samples.slices.filter(({ atMs }) => atMs >= 2000);
    assert.deepEqual(
      flips.map(({ atMs, kind, latencyMs }) => [atMs, kind, Math.round(latencyMs)]),
      [
        [2000, 'remove', 11],
        [2005, 'add', 16],
      ],
      controller,
    );
    assert.equal(overtaken.slices, 0);
  }
});

/**
 * A pod of each of 90 services becomes ready, and 11 ms later another one: about when the first write is answered. There are
 * fewer than the 100 retries that may come at once.
 */
const TWICE_MS = [1000, 1011] as const;
const twice = story({
  services: 90,
  changes: TWICE_MS.flatMap((atMs, pod) =>
    Array.from({ length: 90 }, (_, service) => [atMs, service * 10 + pod, 'ready'] as const),
  ),
});

function runTwice(controller: Program, played: Story = twice): Ledger {
  const settings = { ...DEFAULT_SETTINGS, endpointSyncs: 200, serviceEndpointSyncs: 200, qps: 0 };
  return runModel({ story: played, controller, settings, calibration: { ...EXACT, watchLagMs: 5 }, seed: 1 });
}

test('kube-controller-manager waits until it sees its own write, endpointd does not', () => {
  const [theirs, ours] = [runTwice(UPSTREAM), runTwice('endpointd')];
  assert.ok(theirs.staleSyncs > 20, `${theirs.staleSyncs} syncs met a stale cache`);
  assert.equal(ours.staleSyncs, 0);
  // A sync of slices that met one is tried again after a second, a sync of Endpoints after 5 ms.
  const slowest = ({ samples }: Ledger, output: Output): number =>
    Math.max(...samples[output].map(({ latencyMs }) => latencyMs));
  assert.ok(slowest(theirs, 'slices') > 1000);
  assert.ok(slowest(theirs, 'endpoints') > 20 && slowest(theirs, 'endpoints') < 200);
  assert.ok(slowest(ours, 'slices') < 100);
});

test('a write whose event comes before its answer has its slices synced once more', () => {
  const once = { ...twice, changes: twice.changes.slice(0, 90) };
  const { staleSyncs, syncs, writes } = runTwice(UPSTREAM, once);
  assert.deepEqual([writes.endpoints.length, writes.slices.length, staleSyncs], [90, 90, 0]);
  const more = syncs - 180;
  assert.ok(more > 30 && more < 60, `${more} of 90`);
});

test('a cache that catches up while a sync lists the pods does not fail it', () => {
  const stale = (listMs: number): number => {
    const costs = { ...EXACT.costs, [UPSTREAM]: { ...FREE, sync: listMs } };
    const settings = { ...DEFAULT_SETTINGS, endpointSyncs: 200, serviceEndpointSyncs: 200, qps: 0 };
    const calibration = { ...EXACT, cores: 500, watchLagMs: 5, costs };
    return runModel({ story: twice, controller: UPSTREAM, settings, calibration, seed: 1 }).staleSyncs;
  };
  const [quick, slow] = [stale(1), stale(30)];
  assert.ok(
    slow * 10 < quick,
    `${quick} syncs that list for a millisecond met a stale cache, ${slow} that list for 30`,
  );
});

test('a sync with a stale cache comes again after 5 ms or a second, then twice that', () => {
  const two = story({
    services: 1,
    changes: [
      [1000, 0, 'ready'],
      [1100, 1, 'ready'],
    ],
  });
  // The answer to the first write comes after 0.05 s, and its event after 3.96 s. The second change comes between.
  const { samples, staleSyncs } = runLate(two, 1000, 173);
  const shown = (output: Output): number[] => samples[output].map(({ latencyMs }) => Math.round(latencyMs));
  assert.deepEqual(shown('endpoints'), [1010, 1010 + 5 * (2 ** 10 - 1)]);
  assert.deepEqual(shown('slices'), [1010, 1010 + 1000 * (2 ** 3 - 1)]);
  assert.equal(staleSyncs, 10 + 3);
});

test('a Service that is dropped after fifteen retries goes on with its next event', () => {
  const changes = [
    [1000, 0, 'ready'],
    [11_000, 1, 'ready'],
    [400_000, 2, 'ready'],
  ] as const;
  const three: Story = { ...story({ services: 1, changes }), outputs: ['endpoints'] };
  // The answer to the first write comes after 7 s, and its event after 182 s. Fifteen retries of Endpoints take 164 s.
  const of = (played: Story): Ledger => runLate(played, 60_000, 111);
  const { samples, staleSyncs, dropped, writes } = of(three);
  assert.deepEqual([staleSyncs, dropped, writes.endpoints.length], [16, 1, 2]);
  assert.deepEqual(
    samples.endpoints.map(({ latencyMs }) => Math.round(latencyMs)),
    [60_010, 449_010, 60_010],
  );
  const { open } = of({ ...three, changes: three.changes.slice(0, 2) });
  assert.equal(open.endpoints, 1);
});

/** Events and answers come late, by `lagMs` in the mean. The seed decides when. */
function runLate(played: Story, lagMs: number, seed: number): Ledger {
  const calibration = { ...EXACT, watchLagMs: lagMs };
  return runModel({ story: played, controller: UPSTREAM, settings: DEFAULT_SETTINGS, calibration, seed });
}

test('kube-controller-manager reads events and its caches without tokens', () => {
  const changes = [
    [1000, 0, 'ready'],
    [1100, 0, 'unready'],
    [3000, 1, 'ready'],
  ] as const;
  const played = story({ services: 1, changes });
  const batched = { endpointsBatchMs: 500, slicesBatchMs: 500 };
  const { samples, syncs, throttledMs } = run(played, UPSTREAM, { qps: 0.001, burst: 1, ...batched });
  // The first sync of each controller has nothing to write, and leaves its one token to the second.
  assert.deepEqual([syncs, throttledMs], [4, 0]);
  for (const output of OUTPUTS) {
    assert.deepEqual(
      samples[output].map(({ latencyMs }) => Math.round(latencyMs)),
      [511],
    );
  }
});

test('a worker of kube-controller-manager that waits for a token does nothing else', () => {
  const four = story({ services: 4, changes: [0, 1, 2, 3].map((service) => [1000, service * 10, 'ready'] as const) });
  const ledger = run(four, UPSTREAM, { qps: 10, burst: 1, serviceEndpointSyncs: 1 });
  assert.deepEqual(latencies(ledger), [11, 111, 211, 311]);
});

test('endpointd sums the tokens of its three controllers', () => {
  const four = story({ services: 4, changes: [0, 1, 2, 3].map((service) => [1000, service * 10, 'ready'] as const) });
  const ledger = run(four, 'endpointd', { qps: 10, burst: 1 });
  const all = [...ledger.samples.slices, ...ledger.samples.endpoints].map(({ latencyMs }) => Math.round(latencyMs));
  assert.deepEqual(
    all.toSorted((a, b) => a - b),
    [11, 11, 11, 44, 78, 111, 144, 178],
  );
});

const AT_WORK = { settings: { ...DEFAULT_SETTINGS, qps: 0.5, burst: 2, controllers: 2 }, calibration: EXACT, seed: 1 };

/** When objects of either kind were written. */
function allWrittenAtMs(ledger: Ledger): number[] {
  return OUTPUTS.flatMap((output) => writtenAtMs(ledger, output)).toSorted((a, b) => a - b);
}

test('a controller that was at work begins with what its story leaves', () => {
  const three = story({ services: 3, changes: [0, 1, 2].map((service) => [100, service * 10, 'ready'] as const) });
  const fresh = (controller: Program): Run => ({ ...AT_WORK, story: three, controller });
  const atWork = (controller: Program): Run => ({ ...fresh(controller), tokensAtStart: 'as left' });
  // The story ends at 1,100 ms. endpointd has 4 tokens that come back in 4 s, and lacks 3.001 of them then.
  assert.deepEqual(allWrittenAtMs(runModel(fresh('endpointd'))), [111, 111, 111, 111, 1111, 2111]);
  // So a token is there at 1 ms. A write of each kind waits, and those of the story wait for them.
  const endpointd = runModel(atWork('endpointd'));
  assert.deepEqual(allWrittenAtMs(endpointd), [11, 1011]);
  assert.deepEqual(latencies(endpointd), [1911, 3911, 5911]);
  // Of each controller's two tokens none is left, and the third write has the next, of which half is there.
  assert.deepEqual(allWrittenAtMs(runModel(fresh(UPSTREAM))), [111, 111, 111, 111, 2111, 2111]);
  const upstream = runModel(atWork(UPSTREAM));
  assert.deepEqual(allWrittenAtMs(upstream), [1011, 1011]);
  assert.deepEqual(latencies(upstream), [2911, 4911, 6911]);
});

test('a saturated controller that was at work writes no more than its tokens allow', () => {
  const changes = Array.from({ length: 8 * 300 }, (_, i) => [i * 125, i, 'ready'] as const);
  const five = { ...story({ services: changes.length, pods: 1, changes }), durationMs: 300_000 };
  const settings = { ...DEFAULT_SETTINGS, qps: 5, burst: 10, controllers: 2 };
  const scope = { durationMs: five.durationMs, nodes: 1, endpointsWatchers: 1 };
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const ledger = runModel({
      story: five,
      controller,
      settings,
      calibration: EXACT,
      seed: 1,
      tokensAtStart: 'as left',
    });
    const figure = (isWorst: boolean): number => valueOf({ of: 'writes', outputs: OUTPUTS, isWorst }, ledger, scope);
    assert.ok(Math.abs(figure(false) - 10) < 0.05, `${controller}: ${figure(false)} writes a second`);
    assert.equal(figure(true), figure(false), controller);
    assert.equal(ledger.cpu.filter(({ atMs }) => atMs >= five.durationMs).length, 0);
    // The changes of a second wait for those of the five minutes before.
    const firstMs = ledger.samples.slices.filter(({ atMs }) => atMs < 1000).map(({ latencyMs }) => latencyMs);
    assert.ok(Math.min(...firstMs) > 150_000, `${controller}: ${Math.min(...firstMs)} ms`);
    assert.equal(ledger.samples.slices.length, changes.length);
  }
});

test('what a batch period or a worker holds back at the end waits at the start', () => {
  const ten = Array.from({ length: 10 }, (_, i) => [9000 + 100 * i, i, 'ready'] as const);
  const played = { ...story({ services: 10, pods: 1, changes: ten }), durationMs: 10_000 };
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const settings = {
      ...DEFAULT_SETTINGS,
      qps: 1,
      burst: 1,
      controllers: 1,
      slicesBatchMs: 500,
      endpointsBatchMs: 500,
    };
    const only: Story = { ...played, outputs: ['slices'] };
    const ledger = runModel({
      story: only,
      controller,
      settings,
      calibration: EXACT,
      seed: 1,
      tokensAtStart: 'as left',
    });
    // The story leaves nine writes. Those that were made before its own changes show nothing of it.
    assert.equal(writtenAtMs(ledger, 'slices').length, 10, controller);
    assert.ok(
      latencies(ledger).every((ms) => ms > 500),
      controller,
    );
  }
});

test('a controller that was at work and never waits for a token plays as a fresh one', () => {
  const one = story({ services: 1, changes: [[1000, 0, 'ready']] });
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const fresh = { ...AT_WORK, story: one, controller };
    assert.deepEqual(runModel({ ...fresh, tokensAtStart: 'as left' }), runModel(fresh), controller);
  }
});

test('a story that lives on its first burst begins with what is left of it', () => {
  // 24 more than come in a minute, so of 30 tokens 6 are left.
  const changes = Array.from({ length: 60 * 20.4 }, (_, i) => [i * (1000 / 20.4), i, 'ready'] as const);
  const minute = { ...story({ services: changes.length, pods: 1, changes }), durationMs: 60_000 };
  const p99 = (tokensAtStart?: 'as left'): number => {
    const settings = { ...DEFAULT_SETTINGS, qps: 20, burst: 30 };
    const run: Run = { story: minute, controller: UPSTREAM, settings, calibration: EXACT, seed: 1 };
    const shown = latencies(runModel(tokensAtStart === undefined ? run : { ...run, tokensAtStart }));
    return shown.toSorted((a, b) => a - b)[Math.floor(0.99 * shown.length)]!;
  };
  assert.equal(p99(), 11);
  const leftMs = p99('as left');
  assert.ok(leftMs > 300 && leftMs < 1000, `${leftMs} ms`);
});

test('a controller that was at work begins with the fewest tokens for its writes', () => {
  const three = story({ services: 3, changes: [0, 1, 2].map((service) => [100, service * 10, 'ready'] as const) });
  const shownMs = (controller: Program, atMs: readonly number[]): number[] => {
    const writes = atMs.map((each) => ({ atMs: each }));
    const run: Run = { ...AT_WORK, story: three, controller };
    const tokensAtStart = fewestTokens(run, { endpoints: writes, slices: writes });
    return allWrittenAtMs(runModel({ ...run, tokensAtStart }));
  };
  // A token comes each 2 s. One has come for a write at 2,000 ms, and 0.05 of it were there for one at 1,900 ms.
  assert.deepEqual(shownMs(UPSTREAM, [2000]), [2010, 2010, 4010, 4010, 6010, 6010]);
  // With 0.011 for the 22 ms that it was seen late: the rest comes in 1,878 ms.
  assert.deepEqual(shownMs(UPSTREAM, [1900]), [1888, 1888, 3888, 3888, 5888, 5888]);
  // As many as were taken at once, and no more than the burst.
  assert.deepEqual(shownMs(UPSTREAM, [0, 0, 0]), [111, 111, 111, 111, 2111, 2111]);
  // One bucket for both outputs, whose tokens come each second: two were taken at once, of four.
  assert.deepEqual(shownMs('endpointd', [0]), [111, 111, 988, 1988, 2988, 3988]);
});

test('writes that were seen after they were sent tell of as many tokens as they took', () => {
  const twenty = story({
    services: 20,
    pods: 1,
    changes: Array.from({ length: 20 }, (_, i) => [100, i, 'ready'] as const),
  });
  const calibration = { ...EXACT, apiMs: { median: 20, tail: 1 } };
  const fresh: Run = { story: twenty, controller: UPSTREAM, settings: DEFAULT_SETTINGS, calibration, seed: 1 };
  const { samples, writes } = runModel(fresh);
  assert.deepEqual(runModel({ ...fresh, tokensAtStart: fewestTokens(fresh, writes) }).samples, samples);
});

test("before 1.35 the watch waits while a pod's services are looked for", () => {
  const two = story({
    services: 2,
    changes: [
      [1000, 0, 'ready'],
      [1000, 10, 'ready'],
    ],
  });
  const costs = { ...EXACT.costs, [UPSTREAM]: { ...FREE, match: 5 } };
  const calibration = { ...EXACT, cores: 8, costs };
  const settings = { ...DEFAULT_SETTINGS, qps: 1000, burst: 1000 };
  const of = (kubeMinor: number): Ledger =>
    runModel({ story: two, controller: UPSTREAM, settings, calibration, seed: 1, kubeMinor });
  assert.deepEqual(latencies(of(34)), [21, 31]);
  assert.deepEqual(latencies(of(35)), [21, 21]);
});

test('the same run has the same figures', () => {
  const many = story({ services: 3, changes: Array.from({ length: 30 }, (_, i) => [i * 7, i, 'ready'] as const) });
  assert.deepEqual(run(many, UPSTREAM), run(many, UPSTREAM));
});

test('Endpoints have a thousand addresses, slices have all', () => {
  const last = story({ services: 1, pods: 1002, changes: [[1000, 1001, 'gone']] });
  const { writes } = run(last, 'endpointd');
  assert.deepEqual([writes.slices.length, writes.endpoints.length], [1, 0]);
});

test('where Endpoints have too little room, pods that are ready come first', () => {
  const changes = [
    [1000, 1001, 'ready'],
    [2000, 1001, 'unready'],
  ] as const;
  const played = story({ services: 1, pods: 1002, changes });
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const { samples, writes } = run({ ...played, outputs: ['endpoints'] }, controller);
    assert.deepEqual(
      samples.endpoints.map(({ kind, latencyMs }) => [kind, Math.round(latencyMs)]),
      [
        ['add', 11],
        ['remove', 11],
      ],
    );
    assert.deepEqual(
      writes.endpoints.map(({ endpoints }) => endpoints),
      [1000, 1000],
    );
  }
});

test('a pod that waits for room is shown when another one goes', () => {
  const changes = [
    [1000, 1000, 'unready'],
    [2000, 1000, 'ready'],
    [5000, 0, 'gone'],
  ] as const;
  const played = allReady(story({ services: 1, pods: 1001, changes }));
  const { samples, open } = run(played, 'endpointd');
  assert.deepEqual(
    samples.endpoints.map(({ kind, latencyMs }) => [kind, Math.round(latencyMs)]),
    [
      ['add', 3011],
      ['remove', 11],
    ],
  );
  assert.equal(open.endpoints, 0);
  const never = run({ ...played, changes: played.changes.slice(0, 2) }, 'endpointd');
  assert.deepEqual([never.samples.endpoints.length, never.unshown.endpoints.length, never.open.endpoints], [0, 0, 0]);
});

test('Endpoints are written when the annotation comes or goes that they have not all', () => {
  const changes = [
    [1000, 1001, 'gone'],
    [2000, 1000, 'gone'],
    [3000, 1000, 'unready'],
  ] as const;
  const played = story({ services: 1, pods: 1002, changes });
  assert.deepEqual(writtenAtMs(run(played, 'endpointd'), 'endpoints'), [2011, 3011]);
});

/** All are ready at the start. */
function allReady(played: Story): Story {
  const start = { endpoints: 1, slices: 1, isReady: true };
  return { ...played, places: played.places.map(({ service }) => ({ service, start })) };
}

test('Endpoints over capacity are written at each sync, and count if they differ', () => {
  const changes = [
    [1000, 1000, 'unready'],
    [1100, 1001, 'unready'],
    [2500, 1000, 'ready'],
    [2600, 1000, 'unready'],
  ] as const;
  const last: Story = { ...allReady(story({ services: 1, pods: 1002, changes })), outputs: ['endpoints'] };
  // The trigger time has whole seconds: of the second pod it is the same. A pod that turns twice in a second has none.
  assert.deepEqual(writtenAtMs(run(last, UPSTREAM), 'endpoints'), [1011, 2511, 2611]);
  const three = { ...last, changes: last.changes.slice(0, 3) };
  const { writes, throttledMs } = run(three, UPSTREAM, { qps: 0.1, burst: 1 });
  // The equal one takes a token too.
  assert.deepEqual([writes.endpoints.length, Math.round(throttledMs / 1000)], [2, 20]);
});

test('a write of full Endpoints that has failed is not taken for an equal one', () => {
  const foreign: StoryChange = {
    atMs: 1005,
    namespace: 0,
    kind: 'foreign',
    output: 'endpoints',
    places: [],
    service: 0,
  };
  const one = story({ services: 1, pods: 1003, changes: [[1000, 0, 'ready']] });
  const full: Story = { ...one, outputs: ['endpoints'], durationMs: 9000, changes: [...one.changes, foreign] };
  const { conflicts, open, samples, writes } = run(full, UPSTREAM);
  assert.deepEqual([conflicts, samples.endpoints.length, writes.endpoints.length, open.endpoints], [1, 1, 1, 0]);
  // A Service is synced for another reason, and what others have changed is put right.
  const synced: StoryChange = { atMs: 2000, namespace: 0, kind: 'service', places: [], service: 0 };
  const spoilt = { ...full, changes: [{ ...foreign, atMs: 1000 }, synced] };
  assert.deepEqual(writtenAtMs(run(spoilt, UPSTREAM), 'endpoints'), [2011]);
});

test('a change that is undone before its failed write is tried again is not shown', () => {
  const foreign: StoryChange = { atMs: 1005, namespace: 0, kind: 'foreign', output: 'slices', places: [], service: 0 };
  const two = story({
    services: 1,
    changes: [
      [1000, 0, 'ready'],
      [1500, 0, 'unready'],
    ],
  });
  const [ready, unready] = two.changes;
  const played: Story = { ...two, outputs: ['slices'], durationMs: 9000, changes: [ready!, foreign, unready!] };
  const { unshown, samples } = run(played, UPSTREAM);
  assert.deepEqual([samples.slices.length, unshown.slices.length], [0, 1]);
});

test('the pods that full Endpoints leave out cost kube-controller-manager time', () => {
  const costs = { ...EXACT.costs, [UPSTREAM]: { ...FREE, endpoint: 0.01 } };
  const shown = (pods: number): number[] => {
    const last = { ...story({ services: 1, pods, changes: [[1000, 0, 'ready']] }), outputs: ['endpoints'] as const };
    const { samples } = runModel({
      story: last,
      controller: UPSTREAM,
      settings: DEFAULT_SETTINGS,
      calibration: { ...EXACT, costs },
      seed: 1,
    });
    return samples.endpoints.map(({ latencyMs }) => Math.round(latencyMs));
  };
  assert.deepEqual([shown(1000), shown(3000)], [[21], [41]]);
});

test('a change that comes while kube-controller-manager syncs is for the next sync', () => {
  const costs = { ...EXACT.costs, [UPSTREAM]: { ...FREE, sync: 20 } };
  const changes = [
    [1000, 0, 'ready'],
    [1010, 1, 'ready'],
  ] as const;
  const two: Story = { ...story({ services: 1, changes }), outputs: ['slices'] };
  const ledger = runModel({
    story: two,
    controller: UPSTREAM,
    settings: DEFAULT_SETTINGS,
    calibration: { ...EXACT, costs },
    seed: 3,
  });
  const [first, second] = latencies(ledger);
  assert.equal(first, 31);
  assert.ok(second! >= 51, `${second} ms`);
});

test('a Service that is created gets objects, with pods or without', () => {
  const services = [{ namespace: 0, families: 2, isNew: true }];
  const created: StoryChange = { atMs: 1000, namespace: 0, kind: 'service', places: [], service: 0 };
  const empty = { ...story({ services: 1, pods: 0, changes: [] }), services, durationMs: 3000, changes: [created] };
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const { writes } = run(empty, controller);
    assert.deepEqual([writes.slices.length, writes.endpoints.length], [2, 1]);
    const again = { ...empty, changes: [created, { ...created, atMs: 2000 }] };
    assert.deepEqual(run(again, controller).writes, writes);
  }
});

test('kube-controller-manager creates Endpoints again that it does not see yet', () => {
  const count = 90;
  const services = Array.from({ length: count }, () => ({ namespace: 0, families: 1, isNew: true }));
  const created = services.map((_, service): StoryChange => {
    return { atMs: 1000, namespace: 0, kind: 'service', places: [], service };
  });
  // About when the creates are answered, each service gets a pod.
  const base = story({ services: count, pods: 1, changes: services.map((_, pod) => [1011, pod, 'ready'] as const) });
  const places = base.places.map((place) => ({ ...place, start: NOTHING }));
  const played: Story = { ...base, places, services, outputs: ['endpoints'], changes: [...created, ...base.changes] };
  const { conflicts, dropped, samples, staleSyncs, writes } = runTwice(UPSTREAM, played);
  assert.ok(conflicts > 20, `${conflicts} creates of what is there`);
  assert.deepEqual([staleSyncs, dropped, samples.endpoints.length, writes.endpoints.length], [0, 0, count, 2 * count]);
  // Each has a ready pod when it comes, and a second one when its create is answered.
  const two = story({ services: count, pods: 2, changes: services.map((_, i) => [1011, 2 * i + 1, 'ready'] as const) });
  const withPods: Story = {
    ...played,
    places: two.places.map((place) => ({ ...place, start: NOTHING })),
    changes: [
      ...services.map((_, service): StoryChange => {
        const wanted = { endpoints: 1, slices: 1, isReady: true };
        const places = [{ place: 2 * service, wanted, change: 'adds' as const }];
        return { atMs: 1000, namespace: 0, kind: 'service', places, service };
      }),
      ...two.changes,
    ],
  };
  const again = runTwice(UPSTREAM, withPods);
  assert.ok(again.conflicts > 20, `${again.conflicts} creates of what is there, with pods`);
  assert.deepEqual([again.staleSyncs, again.dropped], [0, 0]);
});

test('a change is shown by the family that the Service names first', () => {
  const flips = Array.from({ length: 40 }, (_, i) => [5000 * (i + 1), 0, i % 2 === 0 ? 'ready' : 'unready'] as const);
  const shown = (controller: Program, primary: number): ReadonlySet<string> => {
    const services = [{ namespace: 0, families: 2, primary }];
    const dual: Story = { ...story({ services: 1, changes: flips }), services, outputs: ['slices'] };
    // The event comes after 1 ms. Of two writes of 10 ms each the second goes when the first is answered.
    return new Set(latencies(run(dual, controller, { inFlight: 1 })).map((ms) => (ms === 11 ? 'first' : 'second')));
  };
  assert.deepEqual([shown('endpointd', 0), shown('endpointd', 1)], [new Set(['first']), new Set(['second'])]);
  for (const primary of [0, 1]) assert.equal(shown(UPSTREAM, primary).size, 2);
});

/** docs/spec/endpointslice.md "Address types" */
test('a conflict of one address family puts off none of the other', () => {
  const services = [{ namespace: 0, families: 2 }];
  const foreign: StoryChange = { atMs: 1005, namespace: 0, kind: 'foreign', output: 'slices', places: [], service: 0 };
  const one = story({ services: 1, changes: [[1000, 0, 'ready']] });
  const dual: Story = { ...one, services, outputs: ['slices'], durationMs: 9000, changes: [...one.changes, foreign] };
  const found = [0, 1].map((primary) => {
    const { conflicts, samples, writes } = run({ ...dual, services: [{ ...services[0]!, primary }] }, UPSTREAM);
    assert.deepEqual([conflicts, samples.slices.length], [1, 1]);
    return {
      shownMs: Math.round(samples.slices[0]!.latencyMs),
      writtenMs: writes.slices.map(({ atMs }) => Math.floor(atMs)),
    };
  });
  // The other family is written at once, the one with the conflict when the sync is tried again.
  const [first, second] = found[0]!.writtenMs as [number, number];
  assert.ok(first < 1030 && second > 2000, `${first} and ${second}`);
  for (const { writtenMs } of found) assert.deepEqual(writtenMs, [first, second]);
  assert.deepEqual(new Set(found.map(({ shownMs }) => shownMs > 1000)), new Set([false, true]));
});

test('the Endpoints of a Service that is gone cost kube-controller-manager tokens', () => {
  const gone = [0, 1, 2].map((service): StoryChange => {
    return { atMs: 1000, namespace: 0, kind: 'deleted', places: [], service };
  });
  const one = story({ services: 4, changes: [[1100, 30, 'ready']] });
  const played = { ...one, changes: [...gone, ...one.changes] };
  const shown = (controller: Program): unknown => {
    const { samples, writes } = run(played, controller, { qps: 1, burst: 1 });
    return {
      shownAfter: OUTPUTS.map((output) => samples[output].map(({ latencyMs }) => Math.round(latencyMs / 1000))),
      writes: OUTPUTS.map((output) => writes[output].length),
    };
  };
  // At a token a second: three deletes, and the first Service's second one, come before the write of the fourth.
  assert.deepEqual(shown(UPSTREAM), { shownAfter: [[4], [0]], writes: [1, 1] });
  assert.deepEqual(shown('endpointd'), { shownAfter: [[0], [0]], writes: [1, 1] });
});

test('what a Service that is deleted does not show yet, nothing shows', () => {
  const deleted: StoryChange = { atMs: 1100, namespace: 0, kind: 'deleted', places: [], service: 0 };
  const node: StoryChange = { atMs: 2000, namespace: 0, kind: 'node', places: [], service: -1 };
  const services = [{ namespace: 0, families: 1, hasHints: true }];
  const one = story({ services: 1, changes: [[1000, 0, 'ready']] });
  const played = { ...one, services, durationMs: 9000, changes: [...one.changes, deleted, node] };
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const ledger = run(played, controller, { endpointsBatchMs: 500, slicesBatchMs: 500 });
    assert.deepEqual([ledger.writes, ledger.samples], [NOTHING_DONE, NOTHING_DONE], controller);
    assert.deepEqual(
      OUTPUTS.map((output) => ledger.unshown[output].map(({ latencyMs }) => Math.round(latencyMs))),
      [[101], [101]],
    );
  }
});

test('a part of a story has nothing of the Services that were deleted before', () => {
  const deleted: StoryChange = { atMs: 1000, namespace: 0, kind: 'deleted', places: [], service: 0 };
  const services = [0, 1].map(() => ({ namespace: 0, families: 1, hasHints: true }));
  const whole = { ...story({ services: 2, pods: 1, changes: [] }), services, durationMs: 4000, changes: [deleted] };
  const part = storyBetween(whole, 2000, 4000);
  assert.deepEqual(
    [part.services.map(({ hasHints }) => hasHints), part.places.map(({ start }) => start.slices > 0)],
    [
      [false, true],
      [false, true],
    ],
  );
});

test('a node that changes makes no objects of a Service that is created later', () => {
  const services = [{ namespace: 0, families: 1, hasHints: true, isNew: true }];
  const node: StoryChange = { atMs: 1000, namespace: 0, kind: 'node', places: [], service: -1 };
  const later: StoryChange = { atMs: 3000, namespace: 0, kind: 'service', places: [], service: 0 };
  const played = { ...story({ services: 1, pods: 0, changes: [] }), services, durationMs: 5000 };
  assert.deepEqual(writtenAtMs(run({ ...played, changes: [node, later] }, UPSTREAM), 'slices'), [3011]);
});

test('a part of a story begins with the Services that were created before', () => {
  const services = [0, 1].map(() => ({ namespace: 0, families: 1, isNew: true }));
  const created = [1000, 3000].map((atMs, service) => {
    return { atMs, namespace: 0, kind: 'service' as const, places: [], service };
  });
  const whole = { ...story({ services: 2, pods: 0, changes: [] }), services, durationMs: 4000, changes: created };
  const news = (part: Story): unknown[] => part.services.map(({ isNew }) => isNew);
  assert.deepEqual(news(storyBetween(whole, 0, 2000)), [true, true]);
  assert.deepEqual(news(storyBetween(whole, 2000, 4000)), [false, true]);
});

test('kube-controller-manager looks for the services of pods that none selects', () => {
  const costs = { ...EXACT.costs, [UPSTREAM]: { ...FREE, match: 1 } };
  const others: StoryChange[] = Array.from({ length: 50 }, () => {
    return { atMs: 1000, namespace: 0, kind: 'pod', places: [], service: -1 };
  });
  const one = story({ services: 10, changes: [[1000, 0, 'ready']] });
  const shown = (changes: readonly StoryChange[]): number => {
    const settings = { ...DEFAULT_SETTINGS, qps: 1000, burst: 1000, endpointSyncs: 1, serviceEndpointSyncs: 1 };
    const calibration = { ...EXACT, cores: 8, costs };
    const { samples } = runModel({ story: { ...one, changes }, controller: UPSTREAM, settings, calibration, seed: 1 });
    return Math.round(samples.slices[0]!.latencyMs);
  };
  // Each of them takes 10 ms: 1 ms for each service of the namespace.
  assert.deepEqual([shown(one.changes), shown([...others, ...one.changes])], [21, 521]);
});

test('as many workers look for the services of pods as sync services', () => {
  const costs = { ...EXACT.costs, [UPSTREAM]: { ...FREE, match: 1 } };
  const others: StoryChange[] = Array.from({ length: 6 }, () => {
    return { atMs: 1000, namespace: 0, kind: 'pod', places: [], service: -1 };
  });
  const one = story({ services: 10, changes: [[1000, 0, 'ready']] });
  const played: Story = { ...one, changes: [...others, ...one.changes] };
  const settings = { ...DEFAULT_SETTINGS, endpointSyncs: 2, serviceEndpointSyncs: 3 };
  const calibration = { ...EXACT, cores: 8, costs };
  const { samples } = runModel({ story: played, controller: UPSTREAM, settings, calibration, seed: 1 });
  const shown = (output: Output): number[] => samples[output].map(({ latencyMs }) => Math.round(latencyMs));
  // Each pod takes 10 ms. Six of them take two workers 30 ms, and three workers 20 ms.
  assert.deepEqual([shown('endpoints'), shown('slices')], [[51], [41]]);
});

test('an event in which a controller finds nothing changed opens no batch window', () => {
  const one = story({
    services: 1,
    changes: [
      [1000, 0, 'unready'],
      [1900, 0, 'ready'],
    ],
  });
  const [bound, isReady] = one.changes as [StoryChange, StoryChange];
  const noticed = { endpointd: 'pod', [UPSTREAM]: 'nothing' } as const;
  const places = bound.places.map((placed) => ({ ...placed, stays: true }));
  const played = { ...one, changes: [{ ...bound, noticed, places }, isReady] };
  const shown = (controller: Program): number[] => latencies(run(played, controller, { slicesBatchMs: 1000 }));
  assert.deepEqual([shown('endpointd'), shown(UPSTREAM)], [[111], [1011]]);
});

test('other labels of a pod lead to the services alone that it leaves or enters', () => {
  const two = story({ services: 2, changes: [[1000, 0, 'unready']] });
  const [change] = two.changes as [StoryChange];
  const entered = { place: 10, wanted: change.places[0]!.wanted };
  const places = [{ ...change.places[0]!, stays: true }, entered];
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const syncs = (of: Noticed): number => {
      const noticed = { endpointd: of, [UPSTREAM]: of } as const;
      return run({ ...two, changes: [{ ...change, noticed, places }] }, controller).syncs;
    };
    assert.deepEqual([syncs('labels'), syncs('pod')], [2, 4]);
  }
});

test('a pod that goes makes room in Endpoints for the next one', () => {
  const rolled = story({
    services: 1,
    pods: 1001,
    changes: [
      [1000, 0, 'gone'],
      [2000, 1000, 'ready'],
      [3000, 0, 'ready'],
      [4000, 0, 'gone'],
    ],
  });
  for (const controller of ['endpointd', UPSTREAM] as const) {
    const ledger = run(rolled, controller);
    // A pod that is ready takes the room of one that is not.
    assert.deepEqual(writtenAtMs(ledger, 'endpoints'), [1011, 2011, 3011, 4011]);
    assert.deepEqual([ledger.samples.endpoints.length, ledger.writes.slices.length], [3, 4]);
  }
});

test('a smaller limit of slices splits none of those that are there', () => {
  const flip = story({ services: 1, pods: 100, changes: [[1000, 0, 'ready']] });
  const settings = { ...DEFAULT_SETTINGS, endpointsPerSlice: 50 };
  const sizes = (endpointsPerSliceAtStart: number): number[] =>
    runModel({
      story: flip,
      controller: UPSTREAM,
      settings,
      calibration: EXACT,
      seed: 1,
      endpointsPerSliceAtStart,
    }).writes.slices.map(({ endpoints }) => endpoints);
  assert.deepEqual([sizes(100), sizes(50)], [[100], [50]]);
});

test('a controller that does not run writes nothing, and has no tokens in endpointd', () => {
  const four = story({
    services: 4,
    changes: [0, 1, 2, 3].map((service) => [1000, 10 * service, 'ready'] as const),
  });
  const retired = { ...four, outputs: ['slices'] as const };
  for (const controller of ['endpointd', UPSTREAM] as const) {
    assert.deepEqual(writtenAtMs(run(retired, controller), 'endpoints'), []);
    assert.equal(run(retired, controller).writes.slices.length, 4);
  }
  const slow = { qps: 1, burst: 1, controllers: 1 };
  // One token is there at the start, and one comes each second.
  assert.deepEqual(writtenAtMs(run(retired, 'endpointd', slow), 'slices'), [1011, 2011, 3011, 4011]);
});

test('endpointd has no more writes under way than --max-writes-in-flight', () => {
  const two = story({
    services: 2,
    changes: [
      [1000, 0, 'ready'],
      [1000, 10, 'ready'],
    ],
  });
  const written = (inFlight: number): number[] =>
    writtenAtMs(run({ ...two, outputs: ['slices'] }, 'endpointd', { inFlight }), 'slices');
  // The services are of one namespace, which never has the last place of several.
  assert.deepEqual(
    [written(1), written(2)],
    [
      [1011, 1021],
      [1011, 1021],
    ],
  );
  assert.deepEqual(written(3), [1011, 1011]);
});

/** Somebody else writes an object of the first service. */
function withForeign(played: Story, output: Output, atMs: number): Story {
  const change: StoryChange = { atMs, namespace: 0, kind: 'foreign', output, places: [], service: 0 };
  return { ...played, changes: [...played.changes, change].toSorted((a, b) => a.atMs - b.atMs) };
}

const ready = story({ services: 1, changes: [[1000, 0, 'ready']] });

test('kube-controller-manager puts slices right a second after others wrote them', () => {
  const after = (slicesBatchMs: number): number[] =>
    writtenAtMs(run(withForeign(ready, 'slices', 1500), UPSTREAM, { slicesBatchMs }), 'slices');
  assert.deepEqual(after(0), [1011, 2511]);
  assert.deepEqual(after(200), [1211, 2511]);
  assert.deepEqual(after(3000), [4011]);
});

test('Endpoints are put right at the next sync of the service, by endpointd at once', () => {
  const two = story({
    services: 1,
    changes: [
      [1000, 0, 'ready'],
      [1900, 1, 'ready'],
    ],
  });
  const writes = (controller: Program): number[] =>
    writtenAtMs(run(withForeign(two, 'endpoints', 1500), controller), 'endpoints');
  assert.deepEqual(writes(UPSTREAM), [1011, 1911]);
  assert.deepEqual(writes('endpointd'), [1011, 1511, 1911]);
});

test('the Event object of a conflict takes a token, and the sync begins anew', () => {
  // One token a second: the write's, the Event object's at the next second, the retry's at the one after.
  const ledger = run(withForeign(ready, 'slices', 1005), UPSTREAM, { qps: 1, burst: 1 });
  assert.deepEqual(latencies(ledger), [2011]);
  assert.deepEqual([ledger.conflicts, ledger.writes.slices.length], [1, 1]);
});

test('one Event object at a time waits for a token', () => {
  const three = story({ services: 3, changes: [0, 1, 2].map((service) => [1000, 10 * service, 'ready'] as const) });
  const foreign = [0, 1, 2].map((service): StoryChange => {
    return { atMs: 1000.5, namespace: 0, kind: 'foreign', output: 'endpoints', places: [], service };
  });
  const played: Story = { ...three, outputs: ['endpoints'], changes: [...three.changes, ...foreign] };
  const ledger = run(played, UPSTREAM, { qps: 1, burst: 1 });
  // Second 1 to 3: the writes that meet the conflicts. 4: the Event object of the first one. 5 to 7: the writes once more.
  assert.deepEqual([ledger.conflicts, writtenAtMs(ledger, 'endpoints')], [3, [5011, 6011, 7011]]);
});

/** docs/spec/endpointslice.md "Writing": the first error ends the writes. "Address types": those of its own type. */
test('a conflict puts off the writes behind it, and each slice is written once more', () => {
  const two = story({
    services: 1,
    pods: 150,
    changes: [
      [1000, 0, 'ready'],
      [1000, 120, 'ready'],
    ],
  });
  const writes = (foreignMs: number): [number, number[]] => {
    const ledger = run(withForeign(two, 'slices', foreignMs), UPSTREAM, { slicesBatchMs: 100 });
    return [ledger.conflicts, writtenAtMs(ledger, 'slices')];
  };
  // The slices are written one after the other from 1101 on, and looked at again a second after the event.
  assert.deepEqual(writes(1105), [1, [2116, 2126]]);
  assert.deepEqual(writes(1115), [1, [1111, 2126]]);
});

test('after a change of nodes kube-controller-manager syncs services with hints', () => {
  const two = story({ services: 2, changes: [[1000, 0, 'ready']] });
  const node: StoryChange = { atMs: 1500, namespace: 0, kind: 'node', places: [], service: -1 };
  const services = two.services.map((service, i) => ({ ...service, hasHints: i === 1 }));
  const syncs = (played: Story): number => run(played, UPSTREAM).syncs;
  assert.equal(syncs({ ...two, services, changes: [...two.changes, node] }) - syncs(two), 1);
});

test('nodes that change while hints are looked at lead to one more look', () => {
  const costs = { ...EXACT.costs, [UPSTREAM]: { ...FREE, match: 10 } };
  const nodes = [1500, 1501, 1502, 1503].map((atMs): StoryChange => {
    return { atMs, namespace: 0, kind: 'node', places: [], service: -1 };
  });
  const quiet = story({ services: 2, changes: [] });
  const services = quiet.services.map((service, i) => ({ ...service, hasHints: i === 1 }));
  const played: Story = { ...quiet, services, durationMs: 3000, changes: nodes };
  const calibration = { ...EXACT, costs };
  const { syncs, cpu } = runModel({
    story: played,
    controller: UPSTREAM,
    settings: DEFAULT_SETTINGS,
    calibration,
    seed: 1,
  });
  // A look takes 20 ms, and then the one Service with hints is synced.
  assert.deepEqual([syncs, cpu.reduce((sum, { ms }) => sum + ms, 0)], [2, 40]);
});
