import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench } from './run-bench.ts';

test('the bench of the planners plans the same inline and on threads', async () => {
  const { status, out } = await bench('threads');
  assert.equal(status, 0, out);
  const rows = out.split('\n').filter((line) => /^(inline|\d threads?) /.test(line));
  assert.deepEqual(
    rows.map((row) => row.split(/\s+/).at(-1)),
    new Array(3).fill('20'),
  );
});
