import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatGoFloat } from '../../src/metrics/go-float.ts';

test('numbers are printed as Go prints them', () => {
  const printed: [number, string][] = [
    [0, '0'],
    [1, '1'],
    [0.25, '0.25'],
    [1e-8, '1e-08'],
    [0.00001, '1e-05'],
    [0.0001, '0.0001'],
    [262144, '262144'],
    [999999, '999999'],
    [1000000, '1e+06'],
    [1048576, '1.048576e+06'],
    [16777216, '1.6777216e+07'],
    [1e100, '1e+100'],
  ];
  for (const [value, text] of printed) assert.equal(formatGoFloat(value), text);
});
