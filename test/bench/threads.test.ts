import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitOf } from '../../bench/threads/limit.ts';
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

const RUN = {
  inline: { mainUs: 2800 },
  one: { mainUs: 600, plannersUs: 3200, helpersUs: 0 },
  oneReady: { mainUs: 300, plannersUs: 2800, helpersUs: 0 },
};

test('threads can help as far as the main thread and the planners let them', () => {
  const limits = [4, 8].map((cores) => {
    const { encodedBefore, encodedOnMain } = limitOf([RUN], cores);
    return [encodedBefore.toFixed(1), encodedOnMain.toFixed(1)];
  });
  // 2,800 by 2,800 / 3 and by 2,800 / 7, and where the main thread encodes by 3,200 / 3 and by 600.
  assert.deepEqual(limits, [
    ['3.0', '2.6'],
    ['7.0', '4.7'],
  ]);
});

test("V8's helpers need the cores too, so all CPU over the cores is a limit", () => {
  const helpersUs = 2100;
  const run = { ...RUN, one: { ...RUN.one, helpersUs }, oneReady: { ...RUN.oneReady, helpersUs } };
  assert.deepEqual(limitOf([run], 8), { cores: 8, encodedBefore: 2800 / (5200 / 8), encodedOnMain: 2800 / (5900 / 8) });
  assert.equal(limitOf([run], 2).encodedOnMain, 2800 / 3200);
  // The median of what the runs allow.
  assert.equal(limitOf([RUN, run, run], 8).encodedBefore, 2800 / (5200 / 8));
});
