import assert from 'node:assert/strict';
import { test } from 'node:test';
import { benchWithData, tableTitles } from './run-bench.ts';

test("the bench of a start shows Node's part, and compares the start with the marks", async () => {
  const { status, out, data } = await benchWithData('startup');
  assert.equal(status, 0, out);
  // The bench waits for both: the first list and the request for the Lease.
  assert.match(out, /\nas deployed: TLS, its Lease, its secure port, no compile cache +\d/);
  const figures = (title: string): number[] =>
    (out.split('\n').find((line) => line.startsWith(title)) ?? '').match(/[\d.]+/g)!.map(Number);
  const [node, deployed] = [figures('Node alone'), figures('as deployed')];
  // CPU ms, of it the main thread's, resident MB.
  for (const [i, least] of node.entries()) assert.ok(deployed[i]! > least && least > 0, out);
  assert.match(out, /\nmark: CPU of a start .*, <= 250 ms: \d+ ms, Node alone \d+ ms: (?:reached|missed) in one run\n/);
  assert.deepEqual(tableTitles(data!), ['A start, until the first list request']);
});

test('the account has a start, a flip and a restart, by thread and part', async () => {
  const { status, out, data } = await benchWithData('account');
  assert.equal(status, 0, out);
  for (const title of ['first time in the process', 'second time in the process']) assert.ok(out.includes(title), out);
  const all = out.split('\n').filter((line) => line.startsWith('all '));
  // What a second time needs no more: modules, and code that is compiled already.
  const [first, second] = all.map((line) => Number(line.split(/\s+/).at(-2)));
  assert.ok(second! < first!, out);
  assert.match(out, /\nsrc\/controller +\d+/);
  for (const title of ['after the start', 'warm']) assert.match(out, new RegExp(`\\n${title} +\\d+\\.\\d+`), out);
  assert.match(out, /\nsrc\/controller +\d+\.\d{3} +\d+\.\d{3}/);
  const restart = out.slice(out.indexOf(', all right already\n'));
  for (const line of [/\nuntil it rests +\d/, /\nA pod: \d+\.\d us\. /, /\nsrc\/kube +\d+/])
    assert.match(restart, line);
  // Of a start and a restart twice by thread and once by part, and of a flip in small and in large services once each.
  const titles = tableTitles(data!);
  assert.equal(titles.length, 2 * 3 + 2 * 2);
  for (const pods of [5, 25]) assert.ok(titles.includes(`A flip, services of ${pods} pods: CPU ms`), titles.join('; '));
});
