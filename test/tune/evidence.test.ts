import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absenceDoubt, compare, errorBeyondChance, type Evidence, longestAbsence } from '../../src/tune/evidence.ts';
import { DEFAULT_SETTINGS } from '../../src/twin/settings.ts';

/** Changes of slices at `sinceMs`, each shown by the write at `shownMs`, and further writes. */
function evidence(
  shown: readonly (readonly [sinceMs: number, shownMs: number])[],
  writes: readonly number[] = [],
): Evidence {
  const written = (atMs: number): Evidence['writes']['slices'][number] => ({ atMs, endpoints: 1 });
  return {
    samples: {
      endpoints: [],
      slices: shown.map(([atMs, shownMs]) => ({ atMs, latencyMs: shownMs - atMs, kind: 'add' })),
    },
    writes: { endpoints: writes.map(written), slices: shown.map(([, atMs]) => written(atMs)) },
  };
}

const AFTER_A_LEADER: readonly (readonly [number, number])[] = [
  [1000, 20_000],
  [2000, 20_300],
  [6000, 20_500],
];

const NO_BATCH = { endpoints: 0, slices: 0 };

test('changes that wait without any write show that the controller was away', () => {
  assert.equal(longestAbsence(evidence(AFTER_A_LEADER, [500]), NO_BATCH), 19_000);
});

test('a controller that writes meanwhile is late and not away', () => {
  assert.equal(longestAbsence(evidence(AFTER_A_LEADER, [7000, 12_000, 15_000]), NO_BATCH), 0);
});

test('one service that failed for long is no absence of the controller', () => {
  assert.equal(longestAbsence(evidence([[1000, 20_000]]), NO_BATCH), 0);
});

test('a batch period of some seconds is no absence of the controller', () => {
  assert.equal(longestAbsence(evidence(AFTER_A_LEADER.map(([atMs]) => [atMs, atMs + 6000] as const)), NO_BATCH), 0);
});

test('a batch period of any length is no absence of the controller', () => {
  assert.equal(longestAbsence(evidence(AFTER_A_LEADER, [500]), { endpoints: 0, slices: 12_000 }), 0);
  assert.equal(absenceDoubt(evidence(AFTER_A_LEADER, [500]), { ...DEFAULT_SETTINGS, slicesBatchMs: 12_000 }), null);
});

test('the doubt says how long the controller was away', () => {
  assert.equal(
    absenceDoubt(evidence(AFTER_A_LEADER, [500]), DEFAULT_SETTINGS),
    'the controller wrote nothing for 19 s while changes waited: it was started anew, or another leader took over',
  );
});

test('a latency below a millisecond is told as it is, and counts as one in an error', () => {
  const [p50] = compare(evidence([[1000, 1000.3]]), evidence([[1000, 1000.5]]));
  assert.deepEqual([p50!.predicted.toFixed(1), p50!.measured.toFixed(1), p50!.error], ['0.3', '0.5', 0]);
});

/** So many changes, of which some are shown a second late. */
function lateOnes(changes: number, late: number): Evidence {
  return evidence(Array.from({ length: changes }, (_, i) => [1000 * i, 1000 * i + (i < late ? 1000 : 10)] as const));
}

function p99Error(predicted: Evidence, measured: Evidence): number {
  return errorBeyondChance(compare(predicted, measured)[2]!);
}

test('where one change of a hundred is late, the p99 of a few hundred is chance', () => {
  for (const [predicted, measured] of [
    [5, 2],
    [2, 5],
  ] as const) {
    const [, , p99] = compare(lateOnes(300, predicted), lateOnes(300, measured));
    assert.deepEqual([p99!.chance.least, p99!.chance.most], [10, 1000]);
    assert.ok(p99!.error > 0.9);
    assert.equal(errorBeyondChance(p99!), 0);
  }
});

test('the more changes there are, the fewer late ones are chance', () => {
  assert.ok(p99Error(lateOnes(300, 0), lateOnes(300, 30)) > 0.9);
  assert.equal(p99Error(lateOnes(300, 30), lateOnes(300, 0)), 99);
  assert.equal(p99Error(lateOnes(300, 6), lateOnes(300, 2)), 0);
  assert.equal(p99Error(lateOnes(30_000, 600), lateOnes(30_000, 200)), 99);
});
