/** Some cells. `node test/twin/cells.ts` plays 200. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SIZES_ALIKE } from '../support/stories.ts';
import { apart, cells, errorsOf, isWithinLimits, LIMITS, playCell, playExactly } from '../support/twin-cells.ts';

const SEED = 7;

for (const cell of cells(SEED, 4, 1)) {
  test(`the queue model does as the controller itself: ${cell.title}`, () => {
    const errors = errorsOf(playCell(cell));
    assert.ok(isWithinLimits(errors), JSON.stringify(errors));
  });
}

test('an adaptive batch period ends where a pod goes, as in the controller itself', () => {
  const errors = errorsOf(playCell(cells(1, 77, 1)[76]!));
  assert.ok(isWithinLimits(errors), JSON.stringify(errors));
});

test('a slice of IPv4 goes before one of IPv6, as in the controller itself', () => {
  const cell = cells(1, 60, 1)[59]!;
  assert.match(cell.title, /25 pods in two families.*QPS 3/);
  const errors = errorsOf(playCell(cell));
  assert.ok(isWithinLimits(errors), JSON.stringify(errors));
});

test('Services that share pods come by name, as in the controller itself', () => {
  const cell = cells(1, 4, 1)[3]!;
  assert.match(cell.title, /shared pods.*2 syncs/);
  const errors = errorsOf(playCell(cell));
  assert.ok(isWithinLimits(errors), JSON.stringify(errors));
});

test('a large object takes longer to write, as with the controller itself', () => {
  const cell = cells(1, 2, 1)[1]!;
  assert.match(cell.title, /a huge Service.*more by size/);
  const played = playCell(cell);
  assert.ok(isWithinLimits(errorsOf(played)), JSON.stringify(errorsOf(played)));
  const alike = playExactly({ ...cell, calibration: { ...cell.calibration, apiEach: SIZES_ALIKE } });
  assert.ok(apart(alike.played, played.played).p50 > LIMITS.p50);
});

test('Endpoints without room for all pods change as those of the controller itself', () => {
  const cell = cells(1, 57, 1)[56]!;
  assert.match(cell.title, /a huge Service/);
  assert.ok(cell.profile.rolloutsPerMinute > 0);
  const errors = errorsOf(playCell(cell));
  assert.ok(isWithinLimits(errors), JSON.stringify(errors));
});

/** Each has 20 times the usual CPU, so that events come while the main thread works. */
for (const [i, limit] of [
  [84, 0.0001],
  [114, 0.05],
] as const) {
  const cell = cells(1, i + 1, 1)[i]!;
  test(`a busy main thread takes in and plans in the order of the real one: ${cell.title}`, () => {
    const { p50, p99 } = errorsOf(playCell(cell));
    assert.ok(p50 <= limit && p99 <= limit, JSON.stringify({ p50, p99 }));
  });
}
