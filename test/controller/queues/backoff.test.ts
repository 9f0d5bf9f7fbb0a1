import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BACKOFFS, nextDelayMs, retryAfterMs, type FailureClass } from '../../../src/controller/queues/backoff.ts';
import { createPrng, nextFloat } from '../../../src/lib/prng.ts';

const CLASSES = Object.keys(BACKOFFS) as FailureClass[];

/** The waits after so many failures in a row, in milliseconds, jitter included. */
function waits(failure: FailureClass, count: number, seed = 1): number[] {
  const prng = createPrng(seed);
  return Array.from({ length: count }, (_, failures) => nextDelayMs(failure, failures, prng));
}

test('each wait is longer than the doubled one before, within the jitter', () => {
  const expectedMs = [250, 500, 1000, 2000, 4000];
  for (const [index, waitMs] of waits('server', 5).entries()) {
    assert.ok(waitMs >= expectedMs[index]! && waitMs < expectedMs[index]! * 1.5, `wait ${index}: ${waitMs}`);
  }
});

test('no class of errors waits longer than five minutes, however often it fails', () => {
  for (const failure of CLASSES) {
    const last = waits(failure, 2000).at(-1)!;
    assert.ok(last <= 300_000 && last <= BACKOFFS[failure].capMs, `${failure}: ${last}`);
    assert.ok(last > BACKOFFS[failure].capMs / 2, `${failure}: ${last}`);
  }
});

test('an error that will last is not retried soon, a conflict is', () => {
  const first = (failure: FailureClass): number => waits(failure, 1)[0]!;
  assert.ok(first('conflict') < 50);
  assert.ok(first('invalid') >= 30_000);
  assert.ok(first('forbidden') >= 5000);
});

test('each class has a shortest and a longest wait', () => {
  const shares = createPrng(1);
  const share = nextFloat(shares);
  const least = (failure: FailureClass): number =>
    nextDelayMs(failure, 0, createPrng(1)) / (1 + BACKOFFS[failure].jitter * share);
  const table = CLASSES.map((failure) => `${failure}: ${least(failure).toFixed(3)} to ${BACKOFFS[failure].capMs} ms`);
  assert.deepEqual(table, [
    'conflict: 20.000 to 10000 ms',
    'throttled: 1000.000 to 30000 ms',
    'unreachable: 250.000 to 5000 ms',
    'server: 250.000 to 60000 ms',
    'invalid: 30000.000 to 300000 ms',
    'forbidden: 5000.000 to 300000 ms',
    'poison: 10000.000 to 300000 ms',
  ]);
});

test('an unreachable API server is tried again within 5 s, however long it was away', () => {
  assert.ok(waits('unreachable', 1000).every((waitMs) => waitMs <= 5000));
});

test('a Retry-After of the server is respected, up to half a minute', () => {
  const wait = (leastMs: number): number => nextDelayMs('throttled', 0, createPrng(7), leastMs);
  assert.ok(wait(10_000) >= 10_000 && wait(10_000) < 15_000);
  assert.equal(wait(86_400_000), 30_000);
});

test('a refusal with 429 never makes an object wait longer than half a minute', () => {
  for (let failures = 0; failures < 100; failures++) {
    assert.ok(nextDelayMs('throttled', failures, createPrng(failures), 86_400_000) <= 30_000);
  }
});

test('a Retry-After of any length delays nothing for more than half a minute', () => {
  assert.equal(retryAfterMs(1), 1000);
  assert.equal(retryAfterMs(999_999_999), 30_000);
  assert.equal(retryAfterMs(-1), -1);
});

test('each failure before makes the wait longer', () => {
  const prng = createPrng(1);
  assert.ok(nextDelayMs('conflict', 2, prng) >= 80);
  assert.ok(nextDelayMs('conflict', 0, prng) <= 30);
});

test('services that failed together do not come back together', () => {
  const firsts = new Set(Array.from({ length: 50 }, (_, seed) => waits('server', 1, seed)[0]));
  assert.equal(firsts.size, 50);
});
