import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, benchWithData, tableTitles } from './run-bench.ts';

test('the cluster bench ends with the same objects for planners inline and on threads', async () => {
  const { status, out, data } = await benchWithData('cluster');
  assert.equal(status, 0, out);
  const rows = out.split('\n').filter((line) => /^(inline|\d threads?) /.test(line));
  const hashes = rows.map((row) => row.split(/\s+/).at(-1));
  // Of all Endpoints, those made by hand too, and all slices.
  assert.deepEqual(hashes, new Array(3).fill('0ea8b79e90cdb416'));
  assert.match(tableTitles(data!).join('\n'), /^\d+ services, \d+ pods, \d+ services with Endpoints made by hand$/);
});

test('a bench without a help of its own is told by its line of the menu', async () => {
  const { status, out } = await bench('account', '--help');
  assert.equal(status, 0);
  assert.match(out, /^npm run bench -- account \[flags\]\nthe CPU of a start .*--server=kube/);
  assert.match((await bench('--help')).out, /^npm run bench -- NAME \[flags\]\n {2}micro +one operation each/);
});

test('an unknown bench is answered with the menu', async () => {
  const { status, out } = await bench('speed');
  assert.equal(status, 2);
  assert.match(out, /^unknown bench "speed"; there are\n {2}micro +one operation each/);
});
