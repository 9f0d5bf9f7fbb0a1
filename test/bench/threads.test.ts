import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitOf } from '../../bench/threads/limit.ts';

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
