import assert from 'node:assert/strict';
import { test } from 'node:test';
import { story } from '../support/stories.ts';
import { FITTED } from '../../src/tune/back-test.ts';
import { parseObjective } from '../../src/tune/objective.ts';
import { type Recommendation, recommend, type Unsure } from '../../src/tune/recommend.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

const MINUTES = 10;
/** Four of the twenty half minutes change forty pods each. All others are quiet. */
const BUSY_AT_MS = [0, 150_000, 300_000, 450_000];
const CHANGES = BUSY_AT_MS.flatMap((fromMs, turn) =>
  Array.from({ length: 40 }, (_, pod) => [fromMs + 500 * pod, pod, turn % 2 === 0 ? 'ready' : 'unready'] as const),
);
/** Nothing is unsure but how the changes come. */
const SURE = Object.fromEntries(FITTED.map(({ name }) => [name, 1])) as Unsure;

function recommended(objective: string, unsure = SURE, calibration = DEFAULT_CALIBRATION): Recommendation {
  return recommend({
    run: {
      story: { ...story({ services: 10, changes: CHANGES }), durationMs: MINUTES * 60_000 },
      controller: 'kube-controller-manager',
      settings: DEFAULT_SETTINGS,
      calibration,
      seed: 1,
    },
    objective: parseObjective(objective),
    nodes: 100,
    endpointsWatchers: 1,
    unsure,
  });
}

test('changes that come in few bursts leave the number of writes unsure', () => {
  const [writes] = recommended('writes<=100/s, min p99(add)').best!.checks;
  assert.ok(writes!.bound > 1.2 * writes!.value, `${writes!.value} writes a second, at most ${writes!.bound}`);
});

test('a limit has to hold in the worst case of each number that is unsure', () => {
  const dearer = { ...DEFAULT_CALIBRATION, cpuFactor: 1.25 * DEFAULT_CALIBRATION.cpuFactor };
  const boundOf = (of: Recommendation): number => of.best!.checks[0]!.bound;
  const unsure = boundOf(recommended('cpu<=1000, min p99(add)', { ...SURE, CPU: 1.25 }));
  const worst = boundOf(recommended('cpu<=1000, min p99(add)', SURE, dearer));
  // The resamples of the worst case are drawn by another seed.
  assert.ok(unsure > 0.98 * worst, `${unsure} and ${worst} ms a second`);
});

test('an answer is valid up to the load whose bound meets the limit', () => {
  const wide = recommended('writes<=100/s, min p99(add)');
  const { value, bound } = wide.best!.checks[0]!;
  const limit = 1.01 * bound;
  const tight = recommended(`writes<=${limit.toFixed(4)}/s, min p99(add)`);
  assert.deepEqual(tight.best!.settings, wide.best!.settings);
  // A quarter more would be within the limit, but nine of ten of its resamples would not.
  assert.ok(1.25 * value < limit);
  assert.deepEqual([wide.loadFactor, tight.loadFactor], [10, 1]);
});

test("flags keep today's values where others are hardly better", () => {
  assert.deepEqual(recommended('writes<=100/s, min p99(add)').changes, []);
});
