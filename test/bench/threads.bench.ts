import assert from 'node:assert/strict';
import { test } from 'node:test';
import { benchWithData, tableTitles } from './run-bench.ts';

test('the bench of the planners plans the same inline and on threads', async () => {
  const { status, out, data } = await benchWithData('threads');
  assert.equal(status, 0, out);
  const rows = out.split('\n').filter((line) => /^(inline|\d threads?)[ ,]/.test(line));
  const writes = rows.map((row) => row.split(/\s+/).at(-1));
  // Inline, on one and two threads, and on these with bytes that were made before; for services of 5, 25 and 250 pods.
  assert.equal(writes.length, 15, out);
  for (const from of [0, 5, 10]) assert.deepEqual(writes.slice(from, from + 5), new Array(5).fill(writes[from]));
  assert.equal(writes.at(-1), '20');
  assert.match(out, /\nmark: .*, from 1 to 2 threads, >= 1\.6 times as fast: [\d.]+: (?:reached|missed) in one run\n/);
  assert.match(
    out,
    /\nmark: .* at 8 cores >= 4 times inline: [\d.]+, and [\d.]+ where the main thread .*: (?:reached|missed) in one run\n/,
  );
  const titles = tableTitles(data!).map((title) => /^[\w ]+/.exec(title)?.[0]);
  assert.deepEqual(
    titles,
    [0, 1, 2].flatMap(() => ['A batch', 'The limit']),
  );
});
