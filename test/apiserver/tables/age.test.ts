import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, shortDuration } from '../../../src/apiserver/tables/age.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

function check(seconds: number, expected: string): void {
  assert.equal(shortDuration(seconds), expected);
}

test('ages below two minutes are in seconds', () => {
  check(0, '0s');
  check(0.9, '0s');
  check(119, '119s');
});

test('a time shortly in the future has an age of 0 s', () => {
  check(-1, '0s');
  check(-1.9, '0s');
  check(-2, '<invalid>');
});

test('ages from two minutes on are in minutes, with seconds below ten minutes', () => {
  check(2 * MINUTE, '2m');
  check(9 * MINUTE + 59, '9m59s');
  check(10 * MINUTE + 59, '10m');
  check(3 * HOUR - 1, '179m');
});

test('ages from three hours on are in hours, with minutes below eight hours', () => {
  check(3 * HOUR, '3h');
  check(7 * HOUR + 59 * MINUTE, '7h59m');
  check(8 * HOUR + 59 * MINUTE, '8h');
  check(2 * DAY - 1, '47h');
});

test('ages from two days on are in days, with hours below eight days', () => {
  check(2 * DAY, '2d');
  check(7 * DAY + 23 * HOUR, '7d23h');
  check(8 * DAY + 23 * HOUR, '8d');
  check(2 * 365 * DAY - 1, '729d');
});

test('ages from two years on are in years, with days below eight years', () => {
  check(2 * 365 * DAY, '2y');
  check((7 * 365 + 364) * DAY, '7y364d');
  check(8 * 365 * DAY, '8y');
});

test('both kinds of timestamps have an age, and an absent one has none', () => {
  const nowMs = Date.UTC(2026, 0, 1, 0, 0, 5);
  assert.equal(age('2026-01-01T00:00:00Z', nowMs), '5s');
  assert.equal(age('2025-12-31T23:59:58.500000Z', nowMs), '6s');
  assert.equal(age(undefined, nowMs), '<unknown>');
  assert.equal(age(null, nowMs), '<unknown>');
});
