import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClock } from '../../src/node/clock.ts';
import { createRandom } from '../../src/node/random.ts';

test('the clock wakes at or after the time, never before', async () => {
  const clock = createClock();
  for (const delayMs of [0, 0.4, 1, 1.6, 5]) {
    const atMs = clock.nowMs() + delayMs;
    await new Promise<void>((wake) => clock.wakeAt(atMs, wake));
    assert.ok(clock.nowMs() >= atMs);
  }
});

test('a past time wakes soon, but not within wakeAt', async () => {
  const clock = createClock();
  let inside = true;
  const woken = new Promise<boolean>((resolve) => clock.wakeAt(-1, () => resolve(inside)));
  inside = false;
  assert.equal(await woken, false);
});

test('a new request replaces the one before', async () => {
  const clock = createClock();
  const woken: string[] = [];
  clock.wakeAt(clock.nowMs() + 1, () => woken.push('first'));
  await new Promise<void>((resolve) => {
    clock.wakeAt(clock.nowMs() + 3, () => {
      woken.push('second');
      resolve();
    });
  });
  assert.deepEqual(woken, ['second']);
});

test('a time beyond the range of timers does not wake now', async () => {
  const clock = createClock();
  let woken = false;
  clock.wakeAt(clock.nowMs() + 2 ** 33, () => (woken = true));
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(woken, false);
  clock.close();
});

test('draws are integers in [0, 2^32), not all alike', () => {
  const draws = Array.from({ length: 50 }, () => createRandom().uint32());
  assert.ok(draws.every((draw) => Number.isInteger(draw) && draw >= 0 && draw < 2 ** 32));
  assert.ok(new Set(draws).size > 40);
});

test('a time that is asked for again arms no new timer', async (t) => {
  const clock = createClock();
  const armed = t.mock.method(globalThis, 'setTimeout');
  const atMs = clock.nowMs() + 2.5;
  for (let i = 0; i < 50; i++) clock.wakeAt(atMs, () => assert.fail('replaced'));
  const woken = new Promise<void>((resolve) => clock.wakeAt(atMs, resolve));
  // Counted before the timer can fire: one that fires early arms another.
  assert.equal(armed.mock.callCount(), 1);
  await woken;
});

test('a time that moves on arms no new timer, and wakes when it has come', async (t) => {
  const clock = createClock();
  const armed = t.mock.method(globalThis, 'setTimeout');
  const woken: string[] = [];
  const fromMs = clock.nowMs();
  for (let i = 0; i < 50; i++) clock.wakeAt(fromMs + 5 + i / 10, () => woken.push(`early ${i}`));
  assert.equal(armed.mock.callCount(), 1);
  await new Promise<void>((resolve) => {
    clock.wakeAt(fromMs + 10, () => {
      woken.push('last');
      resolve();
    });
  });
  assert.ok(clock.nowMs() >= fromMs + 10);
  assert.deepEqual(woken, ['last']);
  clock.wakeAt(clock.nowMs() + 60_000, () => woken.push('far'));
  await new Promise<void>((resolve) => clock.wakeAt(clock.nowMs() + 1, resolve));
  clock.close();
});
