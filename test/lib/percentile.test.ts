import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentile, percentileOfSorted } from '../../src/lib/percentile.ts';

test('a percentile is one of the samples, in whatever order they come', () => {
  const samples = [5, 1, 4, 2, 3];
  assert.deepEqual(
    [0, 0.5, 0.9, 0.99, 1].map((share) => percentile(samples, share)),
    [1, 3, 5, 5, 5],
  );
  assert.deepEqual(samples, [5, 1, 4, 2, 3]);
});

test('without samples there is no percentile', () => {
  assert.equal(percentile([], 0.5), Number.NaN);
});

test('sorted samples give the same, whatever kind of list they are', () => {
  const sorted = Float64Array.of(1, 2, 3, 4, 5);
  assert.deepEqual(
    [0, 0.5, 0.9, 0.99, 1].map((share) => percentileOfSorted(sorted, share)),
    [1, 3, 5, 5, 5],
  );
  assert.equal(percentileOfSorted(new Float64Array(0), 0.5), Number.NaN);
});
