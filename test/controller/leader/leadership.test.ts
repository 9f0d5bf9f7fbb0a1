import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLeadership, fencedBy } from '../../../src/controller/leader/leadership.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import { leadershipOf } from '../../support/election-world.ts';

/** The last moment of a write and its query, of a renewal that was sent at 100 s by the one clock and 900 s by the other. */
function fenceWith(leaseDurationMs: number, renewDeadlineMs: number): readonly unknown[] {
  const leadership = createLeadership({ ...leadershipOf('a'), leaseDurationMs, renewDeadlineMs }, [], createPrng(1));
  const confirmed = { nowMs: 100_000, wallMs: 900_000 };
  leadership.elector.phase = { name: 'leader', since: confirmed, isAfterOther: false, confirmed, renewAtMs: 0 };
  const { notAfter, query } = fencedBy(leadership);
  return [notAfter!.nowMs, notAfter!.wallMs, query];
}

test('a write is sent before the deadline, and has the rest of the Lease but a second', () => {
  assert.deepEqual(fenceWith(15_000, 10_000), [110_000, 910_000, '?timeout=4s']);
  assert.deepEqual(fenceWith(12_000, 10_000), [110_000, 910_000, '?timeout=1s']);
});

test('where Lease and deadline are close, the last write goes before the deadline', () => {
  assert.deepEqual(fenceWith(12_000, 11_500), [111_000, 911_000, '?timeout=1s']);
});
