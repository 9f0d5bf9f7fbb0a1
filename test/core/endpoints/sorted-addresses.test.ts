import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addAddress,
  createSortedAddresses,
  removeAddress,
  sortedAddresses,
} from '../../../src/core/endpoints/sorted-addresses.ts';
import type { EndpointAddress } from '../../../src/kube/types.ts';

const addresses = Array.from({ length: 60 }, (_, i): EndpointAddress => ({ ip: `10.0.0.${i}` }));

test('sorted by the text of the IP', () => {
  const list = createSortedAddresses();
  for (const i of [9, 10, 1]) addAddress(list, addresses[i]!);
  assert.deepEqual(
    sortedAddresses(list).map(({ ip }) => ip),
    ['10.0.0.1', '10.0.0.10', '10.0.0.9'],
  );
});

test('a list once given stays as it was', () => {
  const list = createSortedAddresses();
  addAddress(list, addresses[1]!);
  const before = sortedAddresses(list);
  addAddress(list, addresses[2]!);
  removeAddress(list, addresses[1]!);
  assert.deepEqual(sortedAddresses(list), [addresses[2]]);
  assert.deepEqual(before, [addresses[1]]);
});

test('changes that were taken back leave the same list', () => {
  const list = createSortedAddresses();
  addAddress(list, addresses[1]!);
  const before = sortedAddresses(list);
  removeAddress(list, addresses[1]!);
  addAddress(list, addresses[2]!);
  removeAddress(list, addresses[2]!);
  addAddress(list, addresses[1]!);
  assert.equal(sortedAddresses(list), before);
});

test('removing what is not in the list is a bug of the caller', () => {
  const list = createSortedAddresses();
  removeAddress(list, addresses[1]!);
  assert.throws(() => sortedAddresses(list), /assertion failed/);
});

test('few or many changes at a time, always the sorted set', () => {
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
    { seed: 9, numRuns: 300 },
  );
});
