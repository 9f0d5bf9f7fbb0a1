import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createTokenBucket, nextTokenMs, tokensAt, tokenUse, tryTakeToken } from '../../src/lib/token-bucket.ts';
import { propertyRuns } from '../support/runs.ts';

test('a bucket gives a burst at once, then one token every 1 / qps seconds', () => {
  const bucket = createTokenBucket(20, 3);
  assert.deepEqual(
    [0, 0, 0, 0].map((nowMs) => tryTakeToken(bucket, nowMs)),
    [true, true, true, false],
  );
  assert.equal(nextTokenMs(bucket), 50);
  assert.equal(tryTakeToken(bucket, 49), false);
  assert.equal(tryTakeToken(bucket, 50), true);
  assert.equal(tryTakeToken(bucket, 50), false);
});

test('a bucket fills up to the burst and no further', () => {
  const bucket = createTokenBucket(10, 2);
  tryTakeToken(bucket, 0);
  tryTakeToken(bucket, 0);
  assert.equal(tokensAt(bucket, 0), 0);
  assert.equal(tokensAt(bucket, 150), 1.5);
  assert.equal(tokensAt(bucket, 10_000), 2);
});

test('the use of a bucket goes from 0 (full) to 1 (empty)', () => {
  const bucket = createTokenBucket(1, 4);
  assert.equal(tokenUse(bucket, 0), 0);
  for (let n = 0; n < 4; n++) tryTakeToken(bucket, 0);
  assert.equal(tokenUse(bucket, 0), 1);
  assert.equal(tokenUse(bucket, 1000), 0.75);
});

test('a rate of 0 or less means no limit', () => {
  const bucket = createTokenBucket(-1, 1);
  for (let n = 0; n < 1000; n++) assert.equal(tryTakeToken(bucket, 0), true);
  assert.equal(tokenUse(bucket, 0), 0);
});

test('property: a request at the named time passes, never above burst and rate', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.01, max: 5000, noNaN: true }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.double({ min: 0, max: 200, noNaN: true }), { maxLength: 100, size: 'max' }),
      (qps, burst, pauses) => {
        const bucket = createTokenBucket(qps, burst);
        let nowMs = 1_000_000.123;
        const startMs = nowMs;
        let taken = 0;
        for (const pauseMs of pauses) {
          if (pauseMs < 100) nowMs += pauseMs;
          else nowMs = Math.max(nowMs, nextTokenMs(bucket));
          const due = nowMs >= nextTokenMs(bucket);
          assert.equal(tryTakeToken(bucket, nowMs), due);
          if (due) taken++;
          assert.ok(taken <= burst + ((nowMs - startMs) / 1000) * qps + 1e-6);
          assert.ok(tokensAt(bucket, nowMs) >= -1e-6);
        }
      },
    ),
    propertyRuns(100),
  );
});
