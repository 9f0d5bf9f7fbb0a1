import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busierBy } from '../../src/tune/another-time.ts';
import type { Story } from '../../src/twin/story.ts';
import { story } from '../support/stories.ts';

/** Ten minutes, in each other half minute of which 60 pods change. */
const BURSTS = story({
  services: 1,
  changes: Array.from(
    { length: 600 },
    (_, i) => [60_000 * Math.floor(i / 60) + 100 * (i % 60), i % 10, 'ready'] as const,
  ),
});

/** With an event each tenth of a second of a pod that no Service selects. */
function withOthers(one: Story): Story {
  const others = Array.from({ length: 6000 }, (_, i) => ({ ...one.changes[0]!, atMs: 100 * i, places: [] }));
  return { ...one, changes: [...one.changes, ...others].toSorted((a, b) => a.atMs - b.atMs) };
}

test('another time has more changes where they come in bursts, at most a quarter', () => {
  assert.equal(busierBy(BURSTS, 'kube-controller-manager'), 1.25);
  const steady = story({
    services: 1,
    changes: Array.from({ length: 600 }, (_, i) => [1000 * i, i % 10, 'ready'] as const),
  });
  const factor = busierBy(steady, 'kube-controller-manager');
  assert.ok(factor >= 1 && factor < 1.03, String(factor));
});

test('events of pods without a Service make no time busier, nor steadier', () => {
  for (const controller of ['endpointd', 'kube-controller-manager'] as const)
    assert.equal(busierBy(withOthers(BURSTS), controller), busierBy(BURSTS, controller));
});
