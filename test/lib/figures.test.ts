import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBytes, formatDecimalBytes, formatRate } from '../../src/lib/figures.ts';

test('bytes have one decimal at most', () => {
  assert.deepEqual([0, 416.666_666, 1536, 12_897_485, 10e9].map(formatBytes), [
    '0 B',
    '416.7 B',
    '1.5 KiB',
    '12.3 MiB',
    '9.3 GiB',
  ]);
});

test('bytes in decimal units have as many digits as are asked for', () => {
  assert.deepEqual(
    [999, 1000, 2e6, 10e9].map((bytes) => formatDecimalBytes(bytes)),
    ['999 B', '1.0 kB', '2.0 MB', '10.0 GB'],
  );
  assert.equal(formatDecimalBytes(2_020_000, 3), '2.020 MB');
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
