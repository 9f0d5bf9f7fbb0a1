import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPace, noteChange } from '../../../src/controller/queues/batch-pace.ts';

/** The period that each of the changes meets, every one of them the first of its window. */
function periods(atMs: readonly number[], periodMsMax = 1000): number[] {
  const pace = createPace();
  return atMs.map((ms) => noteChange(pace, true, ms, periodMsMax));
}

test('a single change does not wait', () => {
  assert.deepEqual(periods([5000]), [0]);
});

test('changes that keep arriving wait longer and longer, up to the bound', () => {
  assert.deepEqual(periods([0, 100, 300, 600, 1100, 2100, 3100]), [0, 62.5, 125, 250, 500, 1000, 1000]);
});

test('changes further apart than the bound never wait', () => {
  assert.deepEqual(periods([0, 1001, 2002, 3003]), [0, 0, 0, 0]);
});

test('a pause longer than the bound ends a burst', () => {
  assert.deepEqual(periods([0, 100, 200, 1201, 1300]), [0, 62.5, 125, 0, 62.5]);
});

test('a change that joins a window keeps the burst alive, not the window open', () => {
  const pace = createPace();
  const note = (isFirst: boolean, ms: number): number => noteChange(pace, isFirst, ms, 1000);
  assert.deepEqual([note(true, 0), note(true, 500), note(false, 560), note(true, 1540)], [0, 62.5, 62.5, 125]);
});
