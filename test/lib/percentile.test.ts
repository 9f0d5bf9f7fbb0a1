import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentile } from '../../src/lib/percentile.ts';

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
