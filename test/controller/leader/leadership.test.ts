import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunFlags, type RunOptions } from '../../../src/cli/flags/flags.ts';
import { UsageError } from '../../../src/cli/usage.ts';
import { createLeadership, fencedBy } from '../../../src/controller/leader/leadership.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import { leadershipOf } from '../../support/election-world.ts';

/**
 * The last moment of a write and its query, of a renewal that was sent at 100 s by the one clock and 900 s by the other.
 * @param agesMs how long ago that was, by the two clocks
 */
function fenceWith(leaseDurationMs: number, renewDeadlineMs: number, ...agesMs: readonly [number, number]): unknown[] {
  const leadership = createLeadership({ ...leadershipOf('a'), leaseDurationMs, renewDeadlineMs }, [], createPrng(1));
  const confirmed = { nowMs: 100_000, wallMs: 900_000 };
  leadership.elector.phase = { name: 'leader', since: confirmed, isAfterOther: false, confirmed, renewAtMs: 0 };
  const now = { nowMs: confirmed.nowMs + agesMs[0], wallMs: confirmed.wallMs + agesMs[1] };
  const { notAfter, query } = fencedBy(leadership, now);
  return [notAfter!.nowMs, notAfter!.wallMs, query];
}

test('the last write goes before the deadline, and has the rest of the Lease', () => {
  assert.deepEqual(fenceWith(15_000, 10_000, 9000, 9000), [110_000, 910_000, '?timeout=4s']);
  assert.deepEqual(fenceWith(12_000, 10_000, 9000, 9000), [110_000, 910_000, '?timeout=1s']);
});

test('a write soon after a renewal has more time, and is done as early', () => {
  assert.deepEqual(fenceWith(15_000, 10_000, 0, 0), [101_000, 901_000, '?timeout=13s']);
  assert.deepEqual(fenceWith(15_000, 10_000, 1, 1), [101_100, 901_100, '?timeout=12.9s']);
  assert.deepEqual(fenceWith(15_000, 10_000, 8000, 8000), [109_000, 909_000, '?timeout=5s']);
  assert.deepEqual(fenceWith(15_000, 10_000, 8001, 8001), [109_100, 909_100, '?timeout=4.9s']);
});

test('until a renewal is answered a write has longer than a webhook by default', () => {
  assert.deepEqual(fenceWith(15_000, 10_000, 2000, 2000), [103_000, 903_000, '?timeout=11s']);
  assert.deepEqual(fenceWith(15_000, 10_000, 2900, 2900), [103_900, 903_900, '?timeout=10.1s']);
});

test('the clock that says that more time has passed decides how much a write has', () => {
  assert.deepEqual(fenceWith(15_000, 10_000, 0, 6000), [107_000, 907_000, '?timeout=7s']);
  assert.deepEqual(fenceWith(15_000, 10_000, 6000, 0), [107_000, 907_000, '?timeout=7s']);
});

test('a Lease that lasts long gives no write more time than its sender waits', () => {
  assert.deepEqual(fenceWith(60_000, 15_000, 0, 0), [115_000, 915_000, '?timeout=13s']);
});

test('where Lease and deadline are close, the last write goes before the deadline', () => {
  assert.deepEqual(fenceWith(12_000, 11_500, 10_000, 10_000), [111_000, 911_000, '?timeout=1s']);
});

/** null = the flags are refused. */
function electionOf(leaseMs: number, renewMs: number, retryMs: number): RunOptions['election'] {
  const flags = [`lease-duration=${leaseMs}ms`, `renew-deadline=${renewMs}ms`, `retry-period=${retryMs}ms`];
  try {
    return parseRunFlags(
      flags.map((flag) => `--leader-elect-${flag}`),
      () => undefined,
    ).election;
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

test('with all times that the flags take, writes go on until a renewal is answered', () => {
  const leases = [1000, 2000, 2900, 3000, 4000, 6000, 10_000, 15_000, 60_000];
  const shares = [0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99];
  const elections = leases.flatMap((lease) =>
    shares.flatMap((renew) =>
      shares.flatMap((retry) => electionOf(lease, lease * renew, Math.ceil(lease * renew * retry)) ?? []),
    ),
  );
  assert.ok(elections.length > 100, String(elections.length));
  for (const election of elections) {
    const leadership = createLeadership({ ...election, identity: 'a' }, [], createPrng(1));
    const confirmed = { nowMs: 100_000, wallMs: 900_000 };
    leadership.elector.phase = { name: 'leader', since: confirmed, isAfterOther: false, confirmed, renewAtMs: 0 };
    const answeredMs = election.retryPeriodMs * 1.2;
    const now = { nowMs: confirmed.nowMs + answeredMs, wallMs: confirmed.wallMs + answeredMs };
    assert.ok(fencedBy(leadership, now).notAfter!.nowMs > now.nowMs, JSON.stringify(election));
  }
});
