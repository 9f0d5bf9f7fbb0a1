import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const RUN = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));

test('the bench of the API server leaves the same objects with any number of watchers', async () => {
  const env = { ...process.env, BENCH_SIZE: 'tiny' };
  const { stdout } = await promisify(execFile)(process.execPath, [RUN, 'apiserver', '--embedded-only'], { env });
  const rows = stdout.split('\n').filter((line) => line.startsWith('embedded: '));
  const hashes = rows.map((row) => row.split(/\s+/).at(-1));
  assert.deepEqual(hashes, ['a88c6a8e8baa7d1a', 'a88c6a8e8baa7d1a', '34293ec3ec7bfe0e', '34293ec3ec7bfe0e']);
});

test('the bench of object sizes tells latency and CPU, and what an endpoint adds', async () => {
  const env = { ...process.env, BENCH_SIZE: 'tiny' };
  const { stdout } = await promisify(execFile)(process.execPath, [RUN, 'object-size', '--embedded-only'], { env });
  const rows = stdout.split('\n').filter((line) => /^(endpoints|slices), /.test(line));
  assert.deepEqual(
    rows.map((row) => row.split(/  +/)[0]),
    ['endpoints, 2', 'endpoints, 20', 'slices, 2', 'slices, 20'],
  );
  // CPU is that beyond an idle server's, whose 50 ms may hold a collection of garbage.
  for (const row of rows) assert.match(row, / \d+ +\d+\.\d\d +-?\d+\.\d\d +-?\d+\.\d$/);
  assert.match(stdout, /^slices: each endpoint adds -?\S+ % of the latency and /m);
});
