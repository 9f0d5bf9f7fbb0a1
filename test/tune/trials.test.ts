import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Question, Unsure } from '../../src/tune/bounds.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { createTrials } from '../../src/tune/trials.ts';
import { writesOf } from '../../src/twin/figures.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import { runModel } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';

function questionOf(controller: Question['run']['controller'], flipsPerSecond: number): Question {
  const profile = {
    name: 'small',
    what: '',
    namespaces: 2,
    services: [
      { count: 4, pods: 8 },
      { count: 1, pods: 60 },
    ],
    minutes: 0.1,
    flipsPerSecond,
    isStorm: false,
    rolloutsPerMinute: 20,
    podsPerSecond: 5,
  };
  return {
    run: {
      story: profileStory(profile, 1),
      controller,
      settings: DEFAULT_SETTINGS,
      calibration: DEFAULT_CALIBRATION,
      seed: 1,
      endpointsPerSliceAtStart: 100,
    },
    objective: parseObjective('p99(add)<=1s, min bytes'),
    nodes: 100,
    endpointsWatchers: 1,
    unsure: {} as Unsure,
    alternatives: [],
    raises: [],
  };
}

const VALUES: Readonly<Partial<Record<keyof Settings, readonly number[]>>> = {
  endpointSyncs: [1, 2, 5, 10, 50],
  serviceEndpointSyncs: [1, 2, 5, 10, 50],
  qps: [0, 5, 20, 100, 1000],
  burst: [1, 10, 30, 100, 1000],
  endpointsPerSlice: [20, 50, 100, 200, 1000],
};

test('a larger limit that a run would not reach has the figures of its own run', () => {
  let known = 0;
  let played = 0;
  for (const controller of ['endpointd', 'kube-controller-manager'] as const) {
    for (const [flipsPerSecond, batchMs] of [
      [1, 0],
      [5, 500],
      [40, 0],
      [40, 1000],
    ] as const) {
      const question = questionOf(controller, flipsPerSecond);
      const trials = createTrials(question, () => undefined);
      const today = { ...DEFAULT_SETTINGS, endpointsBatchMs: batchMs, slicesBatchMs: batchMs };
      for (const begin of [today, { ...today, qps: 500, burst: 500 }, { ...today, qps: 1, endpointSyncs: 1 }]) {
        for (const [name, values] of Object.entries(VALUES)) {
          for (const value of values) {
            const settings = { ...begin, [name]: value };
            const before = new Set(trials.all().map(({ waitedMs }) => waitedMs));
            const { writesPerSecond, waitedMs } = trials.of(settings);
            const ledger = runModel({ ...question.run, settings });
            const samples = [...ledger.samples.endpoints, ...ledger.samples.slices];
            assert.deepEqual(
              [writesPerSecond * 6, waitedMs],
              [writesOf(ledger), samples.reduce((sum, { latencyMs }) => sum + latencyMs, 0)],
              `${controller}, ${flipsPerSecond} flips a second: ${JSON.stringify(settings)}`,
            );
            if (before.has(waitedMs)) known++;
            else played++;
          }
        }
      }
    }
  }
  assert.ok(known > 200 && played > 50, `${known} as before, ${played} others`);
});

test('limits that a run would not reach cost no run', () => {
  const asked = questionOf('endpointd', 1);
  let plays = 0;
  const run = {
    ...asked.run,
    get calibration() {
      plays++;
      return DEFAULT_CALIBRATION;
    },
  };
  const trials = createTrials({ ...asked, run }, () => undefined);
  const plenty = { ...DEFAULT_SETTINGS, qps: 1000, burst: 1000, endpointSyncs: 50, serviceEndpointSyncs: 50 };
  for (const qps of [100, 200, 500, 1000]) trials.of({ ...plenty, qps });
  for (const endpointSyncs of [20, 50]) trials.of({ ...plenty, endpointSyncs });
  // QPS of 100, and 20 syncs.
  assert.equal(plays, 2);
  assert.equal(trials.all().length, 5);
});
