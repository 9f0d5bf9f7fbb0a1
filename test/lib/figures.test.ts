import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBytes, formatRate } from '../../src/lib/figures.ts';

test('bytes have one decimal at most', () => {
  assert.deepEqual([0, 416.666_666, 1536, 12_897_485].map(formatBytes), ['0 B', '416.7 B', '1.5 KiB', '12.3 MiB']);
});

test('a small rate keeps two digits that count', () => {
  assert.deepEqual([0, 0.0167, 1.25, 9.5, 12.34, 10_934].map(formatRate), [
    '0',
    '0.017',
    '1.25',
    '9.5',
    '12.3',
    '10,934',
  ]);
});
