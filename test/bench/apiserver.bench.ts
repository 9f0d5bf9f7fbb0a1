import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from './run-bench.ts';

test('the bench of the API server leaves the same objects with any number of watchers', async () => {
  const { status, out } = await bench('apiserver', '--embedded-only');
  assert.equal(status, 0, out);
  const rows = out.split('\n').filter((line) => line.startsWith('embedded: '));
  const hashes = rows.map((row) => row.split(/\s+/).at(-1));
  assert.deepEqual(hashes, ['a88c6a8e8baa7d1a', 'a88c6a8e8baa7d1a', '34293ec3ec7bfe0e', '34293ec3ec7bfe0e']);
});

test('the bench of object sizes tells latency and CPU, and what an endpoint adds', async () => {
  const { status, out } = await bench('object-size', '--embedded-only');
  assert.equal(status, 0, out);
  const rows = out.split('\n').filter((line) => /^(endpoints|slices), /.test(line));
  assert.deepEqual(
    rows.map((row) => row.split(/  +/)[0]),
    ['endpoints, 2', 'endpoints, 20', 'slices, 2', 'slices, 20'],
  );
  // CPU is that beyond an idle server's, whose 50 ms may hold a collection of garbage.
  for (const row of rows) assert.match(row, / \d+ +\d+\.\d\d +-?\d+\.\d\d +-?\d+\.\d$/);
  assert.match(out, /^slices: each endpoint adds -?\S+ % of the latency and /m);
});
