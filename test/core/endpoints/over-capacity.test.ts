import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { capAddresses } from '../../../src/core/endpoints/over-capacity.ts';
import type { EndpointAddress, EndpointSubset } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { propertyRuns } from '../../support/runs.ts';

/** Subsets of so many ready and not ready addresses. */
function subsetsOf(ready: readonly number[], notReady: readonly number[]): EndpointSubset[] {
  return ready.map((count, i) => ({
    addresses: addresses(`10.${i}`, count),
    notReadyAddresses: addresses(`20.${i}`, notReady[i]!),
    ports: [{ port: i + 1 }],
  }));
}

function addresses(prefix: string, count: number): EndpointAddress[] {
  return Array.from({ length: count }, (_, i) => ({ ip: `${prefix}.0.${i}` }));
}

type Counts = readonly [ready: readonly number[], notReady: readonly number[]];

function check(name: string, [ready, notReady]: Counts, [keptReady, keptNotReady]: Counts): void {
  test(name, () => {
    const capped = capAddresses(deepFreeze(subsetsOf(ready, notReady)));
    assert.deepEqual(
      capped.subsets.map(({ addresses = [], notReadyAddresses = [] }) => [addresses.length, notReadyAddresses.length]),
      keptReady.map((count, i) => [count, keptNotReady[i]]),
    );
    const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
    assert.equal(capped.ready, sum(keptReady));
    assert.equal(capped.notReady, sum(keptNotReady));
    assert.equal(capped.truncated, sum(ready) + sum(notReady) - sum(keptReady) - sum(keptNotReady));
  });
}

check('nothing', [[], []], [[], []]);
check('a few', [[10], [2]], [[10], [2]]);
check(
  'exactly 1,000',
  [
    [500, 300],
    [100, 100],
  ],
  [
    [500, 300],
    [100, 100],
  ],
);
check(
  'ready first: not ready ones share the rest',
  [
    [90, 110, 50, 10, 20],
    [101, 200, 200, 201, 298],
  ],
  [
    [90, 110, 50, 10, 20],
    [73, 144, 144, 145, 214],
  ],
);
check(
  'more than 1,000 ready: not ready ones go',
  [
    [205, 400, 402, 400, 693],
    [100, 200, 300, 400, 500],
  ],
  [
    [98, 191, 192, 191, 328],
    [0, 0, 0, 0, 0],
  ],
);
check('one too many', [[1001], [0]], [[1000], [0]]);
check('1,000 ready leave no room', [[1000], [5]], [[1000], [0]]);
check(
  'a subset of unready addresses only is left out',
  [
    [1000, 0],
    [0, 5],
  ],
  [[1000], [0]],
);
check(
  'a subset of unready addresses only is left out beside too many',
  [
    [1001, 0],
    [0, 20],
  ],
  [[1000], [0]],
);
check(
  'rounding up leaves the last one nothing',
  [
    [600, 600, 1],
    [0, 0, 0],
  ],
  [
    [500, 500],
    [0, 0],
  ],
);

test('over capacity the first addresses in order stay', () => {
  const [subset] = capAddresses(subsetsOf([1500], [0])).subsets;
  assert.equal(subset!.addresses!.at(-1)!.ip, '10.0.0.999');
});

test('subsets within capacity are not copied', () => {
  const subsets = subsetsOf([10, 20], [1, 2]);
  assert.equal(capAddresses(subsets).subsets, subsets);
});

test('there are at most 1,000, no subset is empty, and ready addresses come first', () => {
  const counts = fc.array(fc.tuple(fc.nat(900), fc.nat(900)), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(counts, (pairs) => {
      const ready = pairs.map(([count]) => count);
      const notReady = pairs.map(([, count], i) => (ready[i] === 0 ? Math.max(count, 1) : count));
      const capped = capAddresses(subsetsOf(ready, notReady));
      assert.ok(capped.ready + capped.notReady <= 1000);
      for (const { addresses = [], notReadyAddresses = [] } of capped.subsets) {
        assert.ok(addresses.length + notReadyAddresses.length > 0);
      }
      const readyBefore = ready.reduce((a, b) => a + b, 0);
      assert.equal(capped.ready, Math.min(readyBefore, 1000));
    }),
    propertyRuns(100, 5),
  );
});
