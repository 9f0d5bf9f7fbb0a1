import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backTest } from '../../src/tune/back-test.ts';
import { type Evidence, evidenceBetween, shownBefore } from '../../src/tune/evidence.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { runModel, type Run } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

const PROFILE = {
  name: 'test',
  what: '',
  namespaces: 2,
  services: [{ count: 10, pods: 10 }],
  minutes: 2,
  flipsPerSecond: 10,
  isStorm: false,
  rolloutsPerMinute: 0,
  podsPerSecond: 5,
};

const TODAY: Run = {
  story: profileStory(PROFILE, 3),
  controller: 'kube-controller-manager',
  settings: { ...DEFAULT_SETTINGS, slicesBatchMs: 100, endpointsBatchMs: 100, qps: 100, burst: 100 },
  calibration: DEFAULT_CALIBRATION,
  seed: 1,
};

/** What a recorder would have measured where the API server is slow and the watch is late. */
function evidence(apiMs: number, watchLagMs: number): Evidence {
  const calibration = { ...DEFAULT_CALIBRATION, apiMs: { median: apiMs, tail: 4 }, watchLagMs };
  const { samples, writes } = runModel({ ...TODAY, calibration, seed: 77 });
  const spread = ({ length }: readonly unknown[]): { readonly atMs: number }[] =>
    Array.from({ length }, (_, i) => ({ atMs: (i / length) * TODAY.story.durationMs }));
  return { samples, writes: { endpoints: spread(writes.endpoints), slices: spread(writes.slices) } };
}

test('two numbers that are fitted on the first half predict the second half', () => {
  const { worst, comparisons } = backTest(TODAY, evidence(40, 15));
  assert.equal(comparisons.length, 8);
  assert.ok(worst! < 0.1, `off by ${(100 * worst!).toFixed(1)} %`);
});

test('a backlog at the middle of the recording is there in the second half too', () => {
  // Ten writes a second are fewer than the changes, and the bucket is empty after three seconds.
  const slow: Run = { ...TODAY, settings: { ...TODAY.settings, qps: 3, burst: 10 } };
  const { samples, writes } = runModel(slow);
  const { worst } = backTest(slow, { samples, writes }, ['API latency', 'CPU', 'watch lag']);
  assert.ok(worst! < 0.01, `off by ${(100 * worst!).toFixed(1)} %`);
});

test('a number that waits for tokens hide is not told, and stays as it was given', () => {
  const throttled: Run = { ...TODAY, settings: { ...TODAY.settings, qps: 3, burst: 10 } };
  const slow = { ...DEFAULT_CALIBRATION, apiMs: { median: 12, tail: 4 }, watchLagMs: 2 };
  const recorded = (of: Run): Evidence => {
    const { samples, writes } = runModel({ ...of, calibration: slow, seed: 9 });
    const { durationMs } = of.story;
    return shownBefore(evidenceBetween({ samples, writes }, 0, durationMs), durationMs);
  };
  const hidden = backTest(throttled, recorded(throttled));
  assert.deepEqual(hidden.untold, ['API latency', 'watch lag']);
  assert.deepEqual(hidden.calibration, DEFAULT_CALIBRATION);
  assert.ok(hidden.worst! < 0.1, `off by ${(100 * hidden.worst!).toFixed(1)} %`);
  const free: Run = { ...TODAY, settings: { ...TODAY.settings, slicesBatchMs: 0, endpointsBatchMs: 0 } };
  const told = backTest(free, recorded(free));
  assert.ok(!told.untold.includes('API latency'));
  const { median } = told.calibration.apiMs;
  assert.ok(median > 9 && median < 16, `${median} ms instead of 12`);
});

test('a watch lag of 0, as a calibration may have it, is not moved', () => {
  const calibration = { ...DEFAULT_CALIBRATION, watchLagMs: 0 };
  const found = backTest({ ...TODAY, calibration }, evidence(40, 0));
  assert.equal(found.calibration.watchLagMs, 0);
  assert.ok(found.worst! < 0.1, `off by ${(100 * found.worst!).toFixed(1)} %`);
});

test('a controller with other flags than given is not believed', () => {
  const { worst } = backTest({ ...TODAY, settings: { ...TODAY.settings, slicesBatchMs: 2000 } }, evidence(5, 1));
  assert.ok(worst! > 0.3, `off by ${(100 * worst!).toFixed(1)} %`);
});

test('latencies that differ by no more than is small are not called off', () => {
  // The API server has become slower for the second half.
  const [before, after] = [evidence(5, 1), evidence(9, 1)];
  const halfMs = TODAY.story.durationMs / 2;
  const both = {
    endpoints: [before, after].flatMap(({ samples }, i) =>
      samples.endpoints.filter(({ atMs }) => atMs >= halfMs === (i === 1)),
    ),
    slices: [before, after].flatMap(({ samples }, i) =>
      samples.slices.filter(({ atMs }) => atMs >= halfMs === (i === 1)),
    ),
  };
  const worst = (smallMs: number): number =>
    backTest(TODAY, { samples: both, writes: before.writes }, undefined, smallMs).worst!;
  assert.ok(worst(0) > 2 * worst(30), `off by ${worst(0)} and ${worst(30)}`);
});

test('latencies that are measured and not predicted at all are no small difference', () => {
  const story = {
    ...TODAY.story,
    changes: TODAY.story.changes.filter(({ atMs }) => atMs < TODAY.story.durationMs / 2),
  };
  assert.equal(backTest({ ...TODAY, story }, evidence(40, 15), undefined, 10).worst, Infinity);
});

test('without writes nothing is compared', () => {
  const none = { endpoints: [], slices: [] };
  assert.equal(backTest(TODAY, { samples: none, writes: none }).worst, null);
});
