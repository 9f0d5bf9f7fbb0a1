import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHistogram, exponentialBounds, observe } from '../../src/lib/histogram.ts';

test('a value counts in the first bucket whose bound it does not exceed', () => {
  const histogram = createHistogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 6]) observe(histogram, value);
  assert.deepEqual([...histogram.counts], [2, 2, 1, 1]);
  assert.deepEqual([histogram.sum, histogram.count], [15.5, 6]);
});

// What Prometheus' client for Go makes of the same arguments.
test('exponential bounds are multiplied step by step, errors included', () => {
  const [a, b] = [9.999999999999999e-6, 9.999999999999999e-5];
  assert.deepEqual(exponentialBounds(1e-8, 10, 10), [1e-8, 1e-7, 1e-6, a, b, 0.001, 0.01, 0.1, 1, 10]);
  assert.deepEqual(exponentialBounds(0.001, 2, 4), [0.001, 0.002, 0.004, 0.008]);
});
