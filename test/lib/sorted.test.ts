import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeAbove } from '../../src/lib/sorted.ts';

test('the first value above another one is found by its place', () => {
  const values = [1, 3, 3, 7];
  assert.deepEqual(
    [0, 1, 2, 3, 6, 7, 9].map((value) => placeAbove(values, value)),
    [0, 1, 1, 3, 3, 4, 4],
  );
  assert.equal(placeAbove([], 1), 0);
});
