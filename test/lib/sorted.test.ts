import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeAbove, placeFrom, valueOfBoth } from '../../src/lib/sorted.ts';

test('the first value above another one is found by its place', () => {
  const values = [1, 3, 3, 7];
  assert.deepEqual(
    [0, 1, 2, 3, 6, 7, 9].map((value) => placeAbove(values, value)),
    [0, 1, 1, 3, 3, 4, 4],
  );
  assert.equal(placeAbove([], 1), 0);
});

test('the first value that is not below another one is found by its place', () => {
  const values = [1, 3, 3, 7];
  assert.deepEqual(
    [0, 1, 2, 3, 6, 7, 9].map((value) => placeFrom(values, value)),
    [0, 0, 1, 1, 3, 3, 4],
  );
  assert.equal(placeFrom([], 1), 0);
});

test('the values of two lists are found by their place in both together', () => {
  const lists = [[], [2], [1, 3, 3, 7], [3, 4, 5, 9, 9]];
  for (const a of lists) {
    for (const b of lists) {
      const both = [...a, ...b].toSorted((one, other) => one - other);
      assert.deepEqual(
        both.map((_, place) => valueOfBoth(a, b, place)),
        both,
      );
    }
  }
});
