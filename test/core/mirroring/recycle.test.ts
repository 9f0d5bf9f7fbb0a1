import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recycle } from '../../../src/core/mirroring/recycle.ts';
import { mirrorSlice } from '../../support/mirror-text.ts';
import type { EndpointSlice } from '../../../src/kube/types.ts';

/** `expected`: for each wanted slice the name of the one that becomes it, or `-`. */
function check(name: string, wanted: readonly string[], deletable: readonly string[], expected: string): void {
  test(name, () => {
    const recycled = recycle(
      wanted.map((text) => {
        const { addressType, endpoints } = mirrorSlice(`x ${text} ->`);
        return { addressType, endpoints: endpoints! };
      }),
      deletable.map((text) => mirrorSlice(`${text} ->`)),
    );
    assert.equal(recycled.map((slice) => slice?.metadata.name ?? '-').join(' '), expected);
  });
}

check('nothing', [], [], '');
check('nothing to create', [], ['bar IPv4 10.0.0.1'], '');
check('nothing to delete', ['IPv4 10.0.0.1'], [], '-');
check('one each', ['IPv4 10.1.2.3'], ['bar IPv4 10.2.3.4'], 'bar');
check('two to create, one to delete', ['IPv4 10.1.2.3', 'IPv4 10.3.4.5'], ['bar IPv4 10.2.3.4'], 'bar -');
check('one to create, two to delete', ['IPv4 10.1.2.3'], ['bar1 IPv4 10.2.3.4', 'bar2 IPv4 10.3.4.5'], 'bar1');
check('one of each family', ['IPv4 10.1.2.3', 'IPv6 fd00::1'], ['a IPv6 fd00::2', 'b IPv4 10.0.0.1'], 'b a');
check('the wrong family', ['IPv4 10.1.2.3'], ['bar IPv6 fd00::2'], '-');
check('an ancient address type is never recycled', ['IPv4 10.1.2.3'], ['bar IP 10.1.2.3'], '-');
check('a slice that has the addresses already', ['IPv4 10.0.0.2'], ['a IPv4 10.0.0.1', 'b IPv4 10.0.0.2'], 'b');
check(
  'the one that has most of them',
  ['IPv4 10.0.0.1 10.0.0.2 10.0.0.3'],
  ['a IPv4 10.0.0.1', 'b IPv4 10.0.0.2 10.0.0.3', 'c IPv4 10.0.0.3'],
  'b',
);
check(
  'the first of those that have as many',
  ['IPv4 10.0.0.1 10.0.0.2', 'IPv4 10.0.0.1'],
  ['a IPv4 10.0.0.2', 'b IPv4 10.0.0.1', 'c IPv4 10.0.0.1'],
  'a b',
);

/** Counts how often the endpoints of a stored slice are looked at. */
function looksToRecycle(count: number, ipOf: (i: number) => string): number {
  let looks = 0;
  const endpoints = (i: number): NonNullable<EndpointSlice['endpoints']> => [{ addresses: [ipOf(i)], conditions: {} }];
  const deletable = Array.from({ length: count }, (_, i): EndpointSlice => ({
    ...mirrorSlice(`slice-${i} IPv4 10.0.0.1 ->`),
    get endpoints() {
      looks++;
      return endpoints(i);
    },
  }));
  const wanted = Array.from({ length: count }, (_, i) => ({ addressType: 'IPv4', endpoints: endpoints(count - i) }));
  assert.equal(new Set(recycle(wanted, deletable)).size, count);
  return looks;
}

test('each stored slice is looked at twice at most, however many there are', () => {
  assert.ok(looksToRecycle(1000, (i) => `10.0.${i >> 8}.${i & 255}`) <= 2000);
  assert.ok(looksToRecycle(1000, () => '10.0.0.1') <= 2000);
});
