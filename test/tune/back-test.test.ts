import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BackTest, backTest } from '../../src/tune/back-test.ts';
import { backlogOf } from '../../src/tune/backlog.ts';
import { type Evidence, evidenceBetween, shownBefore } from '../../src/tune/evidence.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { runModel, type Run } from '../../src/twin/run.ts';
import { type Output, OUTPUTS, perOutput, type Write } from '../../src/twin/ledger.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';
import { storyBetween } from '../../src/twin/story.ts';
import { fewestTokens } from '../../src/twin/write-tokens.ts';
import { story } from '../support/stories.ts';

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
function evidence(apiMs: number, watchLagMs: number, today = TODAY): Evidence {
  const calibration = { ...DEFAULT_CALIBRATION, apiMs: { median: apiMs, tail: 4 }, watchLagMs };
  const { samples, writes } = runModel({ ...today, calibration, seed: 77 });
  const spread = (all: readonly Write[]): Write[] =>
    all.map(({ endpoints }, i) => ({ atMs: (i / all.length) * TODAY.story.durationMs, endpoints }));
  return { samples, writes: { endpoints: spread(writes.endpoints), slices: spread(writes.slices) } };
}

let slowAndLate: { readonly found: BackTest; readonly plays: number } | undefined;

/** Where the API server is slow and the watch is late. A fit plays hundreds of runs, so two tests look at this one. */
function testedSlowAndLate(): { readonly found: BackTest; readonly plays: number } {
  if (slowAndLate !== undefined) return slowAndLate;
  const measured = evidence(40, 15);
  let reads = 0;
  // A copy of the run has these very settings, so each play reads them.
  const settings = {
    ...TODAY.settings,
    get burst() {
      reads++;
      return TODAY.settings.burst;
    },
  };
  const counted = { ...TODAY, settings };
  runModel(counted);
  const readsOfOne = reads;
  reads = 0;
  const found = backTest(counted, measured);
  return (slowAndLate = { found, plays: reads / readsOfOne });
}

test('numbers that are fitted on the first half predict the second half', () => {
  const { worst, comparisons } = testedSlowAndLate().found;
  // Of each output three latencies, the writes, and the endpoints of a write.
  assert.equal(comparisons.length, 10);
  assert.ok(worst! < 0.1, `off by ${(100 * worst!).toFixed(1)} %`);
});

test('the fit plays no calibration again to which its steps lead back', () => {
  const { plays } = testedSlowAndLate();
  assert.ok(plays > 100 && plays < 400, `${plays} runs, and 457 with those again`);
});

const SURE = { down: 1, up: 1 };
/** Nothing is fitted. */
const ALL_SURE = { 'API latency': SURE, 'API tail': SURE, 'watch lag': SURE };

test('a backlog at the middle of the recording is there in the second half too', () => {
  // Ten writes a second are fewer than the changes, and the bucket is empty after three seconds.
  const slow: Run = { ...TODAY, settings: { ...TODAY.settings, qps: 3, burst: 10 } };
  const { samples, writes } = runModel(slow);
  const { worst } = backTest(slow, { samples, writes }, ALL_SURE);
  assert.ok(worst! < 0.01, `off by ${(100 * worst!).toFixed(1)} %`);
});

interface Later {
  readonly run: Run;
  readonly evidence: Evidence;
}

/** The second of two minutes, as one that is recorded from its beginning on. */
function secondMinute(today: Run): Later {
  const { samples, writes } = runModel(today);
  const minuteMs = 60_000;
  const later = <T extends { readonly atMs: number }>(
    of: Readonly<Record<Output, readonly T[]>>,
  ): Record<Output, T[]> =>
    perOutput((output) =>
      of[output]
        .filter(({ atMs }) => atMs >= minuteMs)
        .map((one) => Object.assign({}, one, { atMs: one.atMs - minuteMs })),
    );
  const serviceAt = new Map(
    today.story.changes.flatMap(({ atMs, places }) =>
      places.map(({ place }) => [atMs, today.story.places[place]!.service] as const),
    ),
  );
  // The Services of the changes that are shown later.
  const behind = perOutput((output) => {
    const late = samples[output].filter(({ atMs, latencyMs }) => atMs < minuteMs && atMs + latencyMs >= minuteMs);
    return new Set(late.map(({ atMs }) => serviceAt.get(atMs)!));
  });
  return {
    run: { ...today, story: storyBetween(today.story, minuteMs, 2 * minuteMs) },
    evidence: { samples: later(samples), writes: later(writes), behind },
  };
}

test('a backlog at the beginning of the recording is there before its changes', () => {
  const settings = { ...TODAY.settings, qps: 3, burst: 10 };
  const { run, evidence: recorded } = secondMinute({ ...TODAY, settings });
  const { worst } = backTest(run, recorded, ALL_SURE);
  assert.ok(worst! < 0.01, `off by ${(100 * worst!).toFixed(1)} %`);
});

test('a backlog is written in its order, and at the times of its tokens', () => {
  // More changes a second than can be written leave some 20 of 200 Services after a minute.
  const many = profileStory({ ...PROFILE, services: [{ count: 100, pods: 4 }], flipsPerSecond: 4 }, 3);
  const settings = { ...TODAY.settings, qps: 3, burst: 10 };
  const { run, evidence: recorded } = secondMinute({ ...TODAY, story: many, settings });
  const waitingAtStart = backlogOf(run, recorded);
  assert.ok(waitingAtStart.slices.length > 20);
  const played = runModel({ ...run, tokensAtStart: fewestTokens(run, recorded.writes), waitingAtStart });
  for (const output of OUTPUTS) {
    const [first, theirs] = [played, recorded].map(({ writes }) => writes[output].slice(0, 20));
    assert.deepEqual(
      first!.map(({ service }) => service),
      theirs!.map(({ service }) => service),
    );
    for (const [i, { atMs }] of first!.entries()) assert.ok(Math.abs(atMs - theirs![i]!.atMs) < 30, `${output} ${i}`);
  }
});

for (const controller of ['endpointd', 'kube-controller-manager'] as const) {
  test(`the fit finds a slow API server where ${controller} waits for tokens`, () => {
    const rollouts: Run = {
      ...TODAY,
      story: profileStory({ ...PROFILE, minutes: 4, rolloutsPerMinute: 20, flipsPerSecond: 0 }, 5),
      controller,
      settings: { ...DEFAULT_SETTINGS, qps: controller === 'endpointd' ? 20 : 60 },
    };
    const slow = { ...DEFAULT_CALIBRATION, apiMs: { median: 8, tail: 4 } };
    const { samples, writes } = runModel({ ...rollouts, calibration: slow, seed: 9 });
    const { worst, calibration, unsure, alternatives } = backTest(rollouts, { samples, writes });
    assert.ok(worst! < 0.3, `off by ${(100 * worst!).toFixed(1)} %`);
    const { median } = calibration.apiMs;
    const { down, up } = unsure.get('API latency')!;
    const plausible = [median / down, median * up, ...alternatives.map(({ apiMs }) => apiMs.median)];
    assert.ok(Math.min(...plausible) < 8 && Math.max(...plausible) > 8, `${plausible.join(', ')} ms`);
  });
}

test('a number that half of itself explains as well is told to be as unsure', () => {
  const rollouts: Run = {
    ...TODAY,
    story: profileStory({ ...PROFILE, minutes: 4, rolloutsPerMinute: 20, flipsPerSecond: 0 }, 5),
    settings: { ...DEFAULT_SETTINGS, qps: 60 },
  };
  // Beside writes of 8 ms that wait for tokens a watch lag of a millisecond is a small part.
  const { unsure } = backTest(rollouts, evidence(8, 1, rollouts));
  const { down, up } = unsure.get('watch lag')!;
  assert.ok(down >= 2, `${down} times less`);
  // Twice as much would show.
  assert.ok(up < 2, `${up} times more`);
});

test('a batch period does not hide what a write takes', () => {
  const collected: Run = {
    ...TODAY,
    settings: { ...DEFAULT_SETTINGS, slicesBatchMs: 500, endpointsBatchMs: 500, qps: 0 },
  };
  const slow = { ...DEFAULT_CALIBRATION, apiMs: { median: 9, tail: 7 } };
  const { samples, writes } = runModel({ ...collected, calibration: slow, seed: 9 });
  const { calibration, untold } = backTest(collected, { samples, writes });
  // The watch lag of a millisecond is a small part of it.
  assert.deepEqual(untold, ['watch lag']);
  const { median, tail } = calibration.apiMs;
  assert.ok(
    median > 7 && median < 11 && tail > 5 && tail < 9,
    `${median} ms instead of 9, a tail of ${tail} instead of 7`,
  );
});

test('a tail of the API latency is found that is longer than the usual one', () => {
  const long = { ...DEFAULT_CALIBRATION, apiMs: { median: 3, tail: 12 } };
  const free: Run = { ...TODAY, settings: { ...DEFAULT_SETTINGS, qps: 0 } };
  const { samples, writes } = runModel({ ...free, calibration: long, seed: 9 });
  const { calibration } = backTest(free, { samples, writes });
  assert.ok(calibration.apiMs.tail > 8, `a tail of ${calibration.apiMs.tail}`);
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
  assert.deepEqual(hidden.untold, ['API latency', 'watch lag', 'API tail']);
  assert.deepEqual(hidden.calibration, DEFAULT_CALIBRATION);
  assert.ok(hidden.worst! < 0.1, `off by ${(100 * hidden.worst!).toFixed(1)} %`);
  const free: Run = { ...TODAY, settings: { ...TODAY.settings, slicesBatchMs: 0, endpointsBatchMs: 0 } };
  const told = backTest(free, recorded(free));
  assert.ok(!told.untold.includes('API latency'));
  const { median } = told.calibration.apiMs;
  assert.ok(median > 9 && median < 16, `${median} ms instead of 12`);
});

test('a recording that begins without tokens is not explained by slow writes', () => {
  const services = 20;
  const each = (atMs: (service: number) => number, pod: number): (readonly [number, number, 'ready'])[] =>
    Array.from({ length: services }, (_, service) => [atMs(service), service * 10 + pod, 'ready']);
  // All Services change at once, for which two tokens come each second, and much later one after the other.
  const played = story({
    services,
    changes: [...each(() => 1000, 0), ...each((service) => 30_000 + 3000 * service, 1)],
  });
  const today: Run = { ...TODAY, story: played, settings: { ...DEFAULT_SETTINGS, qps: 2 } };
  const { samples, writes } = runModel({ ...today, seed: 9, tokensAtStart: { endpoints: 0, slices: 0 } });
  assert.ok(samples.slices.some(({ latencyMs }) => latencyMs > 9000));
  const { calibration } = backTest(today, { samples, writes });
  const { median } = calibration.apiMs;
  assert.ok(median > 2 && median < 4.5, `${median} ms instead of 3`);
});

test('a number that was measured too coarsely is fitted within what was measured', () => {
  const prompt: Run = { ...TODAY, settings: { ...TODAY.settings, slicesBatchMs: 0, endpointsBatchMs: 0 } };
  const given = { ...DEFAULT_CALIBRATION, apiMs: { median: 5, tail: 4 } };
  const within = (truthMs: number, factor: number): BackTest =>
    backTest({ ...prompt, calibration: given }, evidence(truthMs, 1, prompt), {
      'API latency': { down: factor, up: factor },
    });
  const near = within(6, 1.5);
  const { median } = near.calibration.apiMs;
  assert.ok(Math.abs(median - 6) < 0.4, `${median} ms instead of 6`);
  const spread = near.unsure.get('API latency')!;
  assert.ok(median * spread.up < 7.51 && median / spread.down > 3.33, JSON.stringify(spread));
  // The truth is further away than the measurement leaves open.
  assert.ok(within(40, 1.5).calibration.apiMs.median < 7.51);
  assert.equal(within(40, 1.2).calibration.apiMs.median, 5);
});

test('what the recording does not tell is as sure as it was measured', () => {
  const throttled: Run = { ...TODAY, settings: { ...TODAY.settings, qps: 3, burst: 10 } };
  const { untold, calibration } = backTest(throttled, runModel({ ...throttled, seed: 9 }), {
    'API latency': { down: 1.5, up: 1.5 },
  });
  assert.ok(untold.includes('API latency'));
  assert.equal(calibration.apiMs.median, throttled.calibration.apiMs.median);
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
  // The API server has become slower for the second half. What it was in the first one is known.
  const calibration = { ...DEFAULT_CALIBRATION, apiMs: { median: 5, tail: 4 }, watchLagMs: 1 };
  const settings = { ...TODAY.settings, slicesBatchMs: 0, endpointsBatchMs: 0 };
  const prompt = { ...TODAY, settings, calibration };
  const [before, after] = [evidence(5, 1, prompt), evidence(6.5, 1, prompt)];
  const halfMs = TODAY.story.durationMs / 2;
  const both = {
    endpoints: [before, after].flatMap(({ samples }, i) =>
      samples.endpoints.filter(({ atMs }) => atMs >= halfMs === (i === 1)),
    ),
    slices: [before, after].flatMap(({ samples }, i) =>
      samples.slices.filter(({ atMs }) => atMs >= halfMs === (i === 1)),
    ),
  };
  const worst = (objective: string): number =>
    backTest(prompt, { samples: both, writes: before.writes }, ALL_SURE, parseObjective(objective)).worst!;
  // A tenth of the limit, at most 10 ms, is small.
  const [strict, lenient] = [worst('p99<=10ms, min writes'), worst('p99<=300ms, min writes')];
  assert.ok(strict > 2 * lenient, `off by ${strict} and ${lenient}`);
});

test('latencies that are measured and not predicted at all are no small difference', () => {
  const story = {
    ...TODAY.story,
    changes: TODAY.story.changes.filter(({ atMs }) => atMs < TODAY.story.durationMs / 2),
  };
  assert.equal(
    backTest({ ...TODAY, story }, evidence(40, 15), ALL_SURE, parseObjective('p99<=1s, min writes')).worst,
    Infinity,
  );
});

test('slices that were less full than those that are played correct bytes', () => {
  const one = profileStory({ ...PROFILE, namespaces: 1, services: [{ count: 1, pods: 300 }] }, 3);
  const today: Run = { ...TODAY, story: one };
  const recorded = runModel({ ...today, seed: 77 });
  // Ten slices of 30, as the Service may be left with where it had 1,000 pods.
  const slices = recorded.writes.slices.map(({ atMs }) => ({ atMs, endpoints: 30 }));
  const { samples, writes } = recorded;
  const { comparisons, endpointsRatio, worst } = backTest(
    today,
    { samples, writes: { endpoints: writes.endpoints, slices } },
    ALL_SURE,
  );
  assert.deepEqual(
    comparisons.filter(({ unit }) => unit === 'endpoints').map((of) => [of.output, of.measured, of.predicted]),
    [
      ['endpoints', 300, 300],
      ['slices', 30, 100],
    ],
  );
  // They keep no recommendation away.
  assert.ok(worst! < 0.1, `off by ${(100 * worst!).toFixed(1)} %`);
  assert.deepEqual(endpointsRatio, { endpoints: 1, slices: 0.3 });
  const [played, corrected] = [runModel(today), runModel({ ...today, endpointsRatio })];
  assert.deepEqual([corrected.samples, corrected.writes.endpoints], [played.samples, played.writes.endpoints]);
  assert.deepEqual(
    corrected.writes.slices.map(({ endpoints }) => endpoints / 0.3),
    played.writes.slices.map(({ endpoints }) => endpoints),
  );
});

test('of few writes nobody tells how full slices are', () => {
  const flips = [1000, 40_000].flatMap((fromMs) =>
    Array.from({ length: 5 }, (_, i) => [fromMs + 1000 * i, i, fromMs === 1000 ? 'ready' : 'unready'] as const),
  );
  const few: Run = { ...TODAY, story: story({ services: 1, changes: flips }) };
  const { samples, writes } = runModel(few);
  const slices = writes.slices.map(({ atMs }) => ({ atMs, endpoints: 1 }));
  assert.deepEqual(backTest(few, { samples, writes: { ...writes, slices } }, ALL_SURE).endpointsRatio, {
    endpoints: 1,
    slices: 1,
  });
});

test('without writes nothing is compared', () => {
  const none = { endpoints: [], slices: [] };
  assert.equal(backTest(TODAY, { samples: none, writes: none }).worst, null);
});
