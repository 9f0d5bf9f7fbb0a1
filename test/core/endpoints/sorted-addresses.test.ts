import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareAddresses } from '../../../src/core/endpoints/identity.ts';
import {
  addAddress,
  createSortedAddresses,
  mergeAddresses,
  removeAddress,
  sortedAddresses,
} from '../../../src/core/endpoints/sorted-addresses.ts';
import type { EndpointAddress } from '../../../src/kube/types.ts';
import { propertyRuns } from '../../support/runs.ts';

const addresses = Array.from({ length: 60 }, (_, i): EndpointAddress => ({ ip: `10.0.0.${i}` }));

test('addresses are sorted by the text of the IP', () => {
  const list = createSortedAddresses();
  for (const i of [9, 10, 1]) addAddress(list, addresses[i]!);
  assert.deepEqual(
    sortedAddresses(list).map(({ ip }) => ip),
    ['10.0.0.1', '10.0.0.10', '10.0.0.9'],
  );
});

/** As pods on the network of one node have them. */
const onOneNode = Array.from({ length: 60 }, (_, i): EndpointAddress => ({
  ip: '10.0.0.1',
  targetRef: { kind: 'Pod', uid: `uid-${String(i).padStart(2, '0')}` },
}));

test('equal IPs are sorted by their uids, a missing one first', () => {
  const without: EndpointAddress = { ip: '10.0.0.1' };
  const [a, b] = onOneNode as [EndpointAddress, EndpointAddress];
  assert.deepEqual([compareAddresses(a, b), compareAddresses(b, a), compareAddresses(a, { ...a })], [-1, 1, 0]);
  assert.deepEqual([compareAddresses(without, a), compareAddresses(a, without)], [-1, 1]);
  assert.equal(compareAddresses(onOneNode[59]!, { ip: '10.0.0.2' }), -1, 'IPs count first');
});

test('equal IPs are sorted by their uids, after few changes or many', () => {
  const uids = (list: readonly EndpointAddress[]): string[] => list.map(({ targetRef }) => targetRef!.uid!);
  const sorted = uids(onOneNode);
  for (const perLook of [1, 15, 16, 30]) {
    const list = createSortedAddresses();
    // Every seventh of 60 comes to each once: 7 and 60 have no factor in common.
    for (let i = 0; i < onOneNode.length; i++) {
      addAddress(list, onOneNode[(i * 7) % onOneNode.length]!);
      if (i % perLook === perLook - 1) sortedAddresses(list);
    }
    assert.deepEqual(uids(sortedAddresses(list)), sorted, `${perLook} at a time`);
    for (const address of onOneNode.slice(10, 10 + perLook)) removeAddress(list, address);
    assert.deepEqual(uids(sortedAddresses(list)), [...sorted.slice(0, 10), ...sorted.slice(10 + perLook)]);
  }
  const [even, odd] = [0, 1].map((rest) => onOneNode.filter((_, i) => i % 2 === rest)) as [
    EndpointAddress[],
    EndpointAddress[],
  ];
  assert.deepEqual(uids(mergeAddresses([even, odd])), sorted);
});

test('many lists are merged in halves, the earlier first where addresses are equal', () => {
  const one = (ip: string): EndpointAddress => ({ ip });
  for (const count of [0, 1, 2, 3, 7]) {
    const lists = Array.from({ length: count }, (_, i) => [one('10.0.0.1'), one(`10.0.1.${9 - i}`)]);
    const expected = lists.flat().toSorted(compareAddresses);
    const merged = mergeAddresses(lists);
    assert.equal(merged.length, expected.length);
    for (const [i, address] of merged.entries()) assert.equal(address, expected[i], `${i} of ${count} lists`);
  }
});

/** Counts how often an IP is read, which a comparison and nothing else does. */
function readsToMerge(count: number): number {
  let reads = 0;
  const lists = Array.from({ length: count }, (_, i): EndpointAddress[] => [
    {
      get ip(): string {
        reads++;
        return `10.0.${i >> 8}.${i & 255}`;
      },
    },
  ]);
  mergeAddresses(lists);
  return reads;
}

test('twice the lists cost a little more than twice the comparisons', () => {
  assert.ok(readsToMerge(2048) < 2.5 * readsToMerge(1024), `${readsToMerge(1024)}, ${readsToMerge(2048)}`);
});

test('a list once given does not change', () => {
  const list = createSortedAddresses();
  addAddress(list, addresses[1]!);
  const before = sortedAddresses(list);
  addAddress(list, addresses[2]!);
  removeAddress(list, addresses[1]!);
  assert.deepEqual(sortedAddresses(list), [addresses[2]]);
  assert.deepEqual(before, [addresses[1]]);
});

test('changes that are taken back leave the same list', () => {
  const list = createSortedAddresses();
  addAddress(list, addresses[1]!);
  const before = sortedAddresses(list);
  removeAddress(list, addresses[1]!);
  addAddress(list, addresses[2]!);
  removeAddress(list, addresses[2]!);
  addAddress(list, addresses[1]!);
  assert.equal(sortedAddresses(list), before);
});

test('removing an address that is not in the list is a bug', () => {
  const list = createSortedAddresses();
  removeAddress(list, addresses[1]!);
  assert.throws(() => sortedAddresses(list), /assertion failed/);
});

test('after few or many changes at a time the set is sorted', () => {
  const batches = fc.array(fc.uniqueArray(fc.nat(59), { maxLength: 40 }), { maxLength: 8 });
  fc.assert(
    fc.property(batches, (toggles) => {
      const list = createSortedAddresses();
      const expected = new Set<EndpointAddress>();
      for (const batch of toggles) {
        for (const i of batch) {
          const address = addresses[i]!;
          if (expected.delete(address)) removeAddress(list, address);
          else {
            expected.add(address);
            addAddress(list, address);
          }
        }
        assert.deepEqual(
          sortedAddresses(list),
          [...expected].sort((a, b) => (a.ip < b.ip ? -1 : 1)),
        );
      }
    }),
    propertyRuns(300, 9),
  );
});
