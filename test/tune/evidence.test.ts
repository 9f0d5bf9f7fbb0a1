import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Evidence, longestAbsence } from '../../src/tune/evidence.ts';

/** Changes of slices at `sinceMs`, each shown by the write at `shownMs`, and further writes. */
function evidence(
  shown: readonly (readonly [sinceMs: number, shownMs: number])[],
  writes: readonly number[] = [],
): Evidence {
  return {
    samples: {
      endpoints: [],
      slices: shown.map(([atMs, shownMs]) => ({ atMs, latencyMs: shownMs - atMs, kind: 'add' })),
    },
    writesAtMs: { endpoints: [...writes], slices: shown.map(([, shownMs]) => shownMs) },
  };
}

const AFTER_A_LEADER: readonly (readonly [number, number])[] = [
  [1000, 20_000],
  [2000, 20_300],
  [6000, 20_500],
];

test('changes that wait without any write show that the controller was away', () => {
  assert.equal(longestAbsence(evidence(AFTER_A_LEADER, [500])), 19_000);
});

test('a controller that writes meanwhile is late and not away', () => {
  assert.equal(longestAbsence(evidence(AFTER_A_LEADER, [7000, 12_000, 15_000])), 0);
});

test('one service that failed for long is no absence of the controller', () => {
  assert.equal(longestAbsence(evidence([[1000, 20_000]])), 0);
});

test('a batch period of some seconds is no absence of the controller', () => {
  assert.equal(longestAbsence(evidence(AFTER_A_LEADER.map(([atMs]) => [atMs, atMs + 6000] as const))), 0);
});
