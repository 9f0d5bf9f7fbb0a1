import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { subsetsEqual } from '../../../src/core/endpoints/equality.ts';
import { repackStored, repackSubsets } from '../../../src/core/endpoints/repack.ts';
import type { EndpointSubset } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { parseSubset, subsetText } from '../../support/subset-text.ts';
import { subsetsByBits } from '../../support/subsets-by-bits.ts';
import { propertyRuns } from '../../support/runs.ts';

/** Order of the subsets aside, which a case of its own looks at. */
function check(name: string, input: readonly string[], expected: readonly string[]): void {
  test(`repacking: ${name}`, () => {
    const subsets = deepFreeze(input.map(parseSubset));
    assert.deepEqual(repackSubsets(subsets).map(subsetText).sort(), [...expected].sort());
  });
}

check('nothing at all', [], []);
check('a subset without anything', ['->'], []);
check('ports without addresses vanish', ['-> 111/TCP'], []);
check('addresses without ports stay', ['1.2.3.4 ->'], ['1.2.3.4 ->']);
check('addresses without ports stay, not ready', ['!1.2.3.4 ->'], ['!1.2.3.4 ->']);
check('one address, one port', ['1.2.3.4 -> 111/TCP'], ['1.2.3.4 -> 111/TCP']);
check('one IPv6 address, one port', ['beef::1:2:3:4 -> 111/TCP'], ['beef::1:2:3:4 -> 111/TCP']);
check('one address that is not ready, one port', ['!1.2.3.4 -> 111/TCP'], ['!1.2.3.4 -> 111/TCP']);
check('an address with a uid', ['1.2.3.4@u1 -> 111/TCP'], ['1.2.3.4@u1 -> 111/TCP']);
check('an address with an empty uid', ['1.2.3.4@ -> 111/TCP'], ['1.2.3.4@ -> 111/TCP']);
check('not ready with an empty uid', ['!1.2.3.4@ -> 111/TCP'], ['!1.2.3.4@ -> 111/TCP']);
check('two addresses', ['1.2.3.4 5.6.7.8 -> 111/TCP'], ['1.2.3.4 5.6.7.8 -> 111/TCP']);
check('two addresses, one of them not ready', ['1.2.3.4 !5.6.7.8 -> 111/TCP'], ['1.2.3.4 !5.6.7.8 -> 111/TCP']);
check('ready and not ready at once is not ready', ['1.2.3.4 !1.2.3.4 -> 111/TCP'], ['!1.2.3.4 -> 111/TCP']);
check('one address, two ports', ['1.2.3.4 -> 222/TCP 111/TCP'], ['1.2.3.4 -> 222/TCP 111/TCP']);
check('the same address twice', ['1.2.3.4 1.2.3.4 -> 111/TCP'], ['1.2.3.4 -> 111/TCP']);
check('the same IPv6 address twice', ['beef::1 beef::1 -> 111/TCP'], ['beef::1 -> 111/TCP']);
check('the first of two contents counts', ['1.2.3.4#a@u 1.2.3.4#b@u -> 111/TCP'], ['1.2.3.4#a@u -> 111/TCP']);
check('the first content counts, not ready wins', ['1.2.3.4#a@u !1.2.3.4#b@u -> 1/TCP'], ['!1.2.3.4#a@u -> 1/TCP']);
check('the same port twice', ['1.2.3.4 -> 111/TCP 111/TCP'], ['1.2.3.4 -> 111/TCP']);
check('the same subset twice', ['1.2.3.4 -> 111/TCP', '1.2.3.4 -> 111/TCP'], ['1.2.3.4 -> 111/TCP']);
check('two subsets, ready in one only', ['1.2.3.4 -> 111/TCP', '!1.2.3.4 -> 111/TCP'], ['!1.2.3.4 -> 111/TCP']);
check('two ports of one address merge', ['1.2.3.4 -> 222/TCP', '1.2.3.4 -> 111/TCP'], ['1.2.3.4 -> 222/TCP 111/TCP']);
check(
  'uids and ports twice',
  ['1.2.3.4@u1 -> 111/TCP', '1.2.3.4@u1 -> 222/TCP', '1.2.3.4@u3 -> 111/TCP'],
  ['1.2.3.4@u1 1.2.3.4@u3 -> 111/TCP', '1.2.3.4@u1 -> 222/TCP'],
);
check(
  'an address ready for one port only makes two subsets',
  ['1.2.3.4 -> 111/TCP', '!1.2.3.4 -> 222/TCP'],
  ['1.2.3.4 -> 111/TCP', '!1.2.3.4 -> 222/TCP'],
);
check('two addresses of one port merge', ['1.2.3.4 -> 111/TCP', '5.6.7.8 -> 111/TCP'], ['1.2.3.4 5.6.7.8 -> 111/TCP']);
check(
  'two addresses of one port merge, not ready',
  ['!1.2.3.4 -> 111/TCP', '!5.6.7.8 -> 111/TCP'],
  ['!1.2.3.4 !5.6.7.8 -> 111/TCP'],
);
check('one IP, two uids', ['1.2.3.4@u1 1.2.3.4@u2 -> 111/TCP'], ['1.2.3.4@u1 1.2.3.4@u2 -> 111/TCP']);
check('one IP with and without a uid', ['1.2.3.4@u1 1.2.3.4 -> 111/TCP'], ['1.2.3.4 1.2.3.4@u1 -> 111/TCP']);
check('no reference and one without uid are the same', ['1.2.3.4 1.2.3.4@ -> 111/TCP'], ['1.2.3.4 -> 111/TCP']);
check(
  'addresses are sorted by IP, then uid',
  ['5.6.7.8@u2 5.6.7.8@u1 1.2.3.4@u2 1.2.3.4@u1 1.2.3.4 -> 111/TCP'],
  ['1.2.3.4 1.2.3.4@u1 1.2.3.4@u2 5.6.7.8@u1 5.6.7.8@u2 -> 111/TCP'],
);
check(
  'each list is sorted by itself',
  ['!5.6.7.8 5.6.7.7 !1.2.3.4 1.2.3.3 -> 111/TCP'],
  ['1.2.3.3 5.6.7.7 !1.2.3.4 !5.6.7.8 -> 111/TCP'],
);
check(
  'two addresses with a port each',
  ['1.2.3.4 -> 111/TCP', '5.6.7.8 -> 222/TCP'],
  ['1.2.3.4 -> 111/TCP', '5.6.7.8 -> 222/TCP'],
);
check(
  'four subsets, three addresses, three ports',
  ['1.2.3.4 -> 111/TCP', '1.2.3.5 -> 222/TCP', '1.2.3.6 -> 111/TCP', '1.2.3.5 -> 333/TCP'],
  ['1.2.3.4 1.2.3.6 -> 111/TCP', '1.2.3.5 -> 333/TCP 222/TCP'],
);
check(
  'four subsets, three addresses, three ports, some not ready',
  ['1.2.3.4 -> 111/TCP', '!1.2.3.5 -> 222/TCP', '!1.2.3.6 -> 111/TCP', '!1.2.3.5 -> 333/TCP'],
  ['1.2.3.4 !1.2.3.6 -> 111/TCP', '!1.2.3.5 -> 333/TCP 222/TCP'],
);
check('port 0 is no port, its address stays', ['1.2.3.4 -> a:0/TCP'], ['1.2.3.4 ->']);
check('port 0 next to a real one', ['1.2.3.4 -> a:0/TCP b:80/TCP'], ['1.2.3.4 -> b:80/TCP']);

// What the Go code gives (docs/spec/endpoints.md "Repacking: golden vectors").
function checkOrder(name: string, input: readonly string[], expected: readonly string[]): void {
  test(`the order after repacking: ${name}`, () =>
    assert.deepEqual(repackSubsets(input.map(parseSubset)).map(subsetText), expected));
}

checkOrder(
  'ports stand by their hashes',
  ['10.0.0.1@a 10.0.0.2@b -> http:8080/TCP https:8443/TCP metrics:9090/TCP'],
  ['10.0.0.1@a 10.0.0.2@b -> http:8080/TCP metrics:9090/TCP https:8443/TCP'],
);
checkOrder('UDP before TCP', ['10.0.0.1@a -> 8080/TCP 8080/UDP'], ['10.0.0.1@a -> 8080/UDP 8080/TCP']);
checkOrder(
  'IPs are compared as text',
  ['10.0.0.9@a 10.0.0.10@b -> dns:53/UDP dns-tcp:53/TCP'],
  ['10.0.0.10@b 10.0.0.9@a -> dns-tcp:53/TCP dns:53/UDP'],
);

/** The pods of the golden vectors. */
function pods(numbers: readonly number[]): EndpointSubset['addresses'] {
  return numbers.map((n) => ({
    ip: `10.0.0.${n}`,
    nodeName: `node-${n}`,
    targetRef: { kind: 'Pod', namespace: 'ns', name: `p${n}`, uid: `u-${n}` },
  }));
}

test('subsets are sorted by their hashes: a named port that moved', () => {
  const packed = repackSubsets([
    { addresses: pods([1]), notReadyAddresses: pods([10]), ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] },
    { addresses: pods([2]), ports: [{ name: 'http', port: 9090, protocol: 'TCP' }] },
  ]);
  assert.deepEqual(packed.map(subsetText), [
    '10.0.0.2@u-2 -> http:9090/TCP',
    '10.0.0.1@u-1 !10.0.0.10@u-10 -> http:8080/TCP',
  ]);
});

test('subsets are sorted by their hashes: ports of different pods', () => {
  const a = { name: 'a', port: 1, protocol: 'TCP' };
  const packed = repackSubsets([
    { addresses: pods([1]), ports: [a, { name: 'b', port: 2, protocol: 'TCP' }] },
    { addresses: pods([2]), ports: [a] },
    { addresses: pods([3]), ports: [{ name: 'c', port: 3, protocol: 'UDP' }] },
  ]);
  assert.deepEqual(packed.map(subsetText), [
    '10.0.0.3@u-3 -> c:3/UDP',
    '10.0.0.1@u-1 -> b:2/TCP',
    '10.0.0.1@u-1 10.0.0.2@u-2 -> a:1/TCP',
  ]);
});

test('thousands of ports on a thousand addresses are grouped before they are compared', () => {
  const addresses = pods(Array.from({ length: 1000 }, (_, i) => i));
  const ports = Array.from({ length: 3000 }, (_, i) => ({ name: `p${i}`, port: i + 1, protocol: 'TCP' }));
  const input = [
    { addresses, ports },
    { notReadyAddresses: addresses!.slice(0, 1), ports: ports.slice(1000) },
  ];
  const packed = repackSubsets(input);
  assert.deepEqual(new Set(packed.map((subset) => subset.ports!.length)), new Set([1000, 2000]));
});

const address = fc.record(
  {
    ip: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.10', 'fd00::1'),
    hostname: fc.constantFrom('a', 'b'),
    targetRef: fc.record({ kind: fc.constant('Pod'), uid: fc.constantFrom('', 'u1', 'u2') }),
  },
  { requiredKeys: ['ip'] },
);
const port = fc.record(
  {
    name: fc.constantFrom('', 'a', 'b'),
    port: fc.constantFrom(0, 1, 2),
    protocol: fc.constantFrom('TCP', 'UDP'),
    appProtocol: fc.constantFrom('', 'x'),
  },
  { requiredKeys: ['port'] },
);
const subset = fc.record({
  addresses: fc.array(address, { maxLength: 4 }),
  notReadyAddresses: fc.array(address, { maxLength: 4 }),
  ports: fc.array(port, { maxLength: 3 }),
});
const subsets = fc.array(subset, { maxLength: 5 });

test('repacking packed subsets changes nothing', () => {
  // Port 0, which no API server takes, vanishes only afterwards and may leave two subsets without ports.
  const valid = subsets.map((list) =>
    list.map((item) => Object.assign({}, item, { ports: item.ports.filter((each) => each.port > 0) })),
  );
  fc.assert(
    fc.property(valid, (input) => {
      const once = deepFreeze(repackSubsets(deepFreeze(input)));
      const again = repackSubsets(once);
      assert.ok(subsetsEqual(again, once));
    }),
    propertyRuns(500, 3),
  );
});

test('repacking keeps the ports and states of each address', () => {
  /** `port address state` of every combination, not ready winning. */
  const facts = (list: readonly EndpointSubset[]): string[] => {
    const states = new Map<string, boolean>();
    for (const { addresses = [], notReadyAddresses = [], ports = [] } of list) {
      for (const { name = '', port, protocol = '', appProtocol } of ports) {
        for (const [all, ready] of [
          [addresses, true],
          [notReadyAddresses, false],
        ] as const) {
          for (const { ip, targetRef } of all) {
            const key = JSON.stringify([name, port, protocol, appProtocol ?? null, ip, targetRef?.uid ?? '']);
            if (port > 0) states.set(key, ready && (states.get(key) ?? true));
          }
        }
      }
    }
    return [...states].map(([key, ready]) => `${key} ${ready}`).sort();
  };
  fc.assert(
    fc.property(subsets, (input) => assert.deepEqual(facts(repackSubsets(input)), facts(input))),
    propertyRuns(500, 4),
  );
});

test('subsets that share ports in thousands of ways are refused before a merge', () => {
  // 3.7 million addresses.
  const subsets = subsetsByBits(14, 71, 8000);
  for (const repack of [repackStored, repackSubsets])
    assert.throws(() => repack(subsets), /^Error: subsets: more than 250000 addresses, because ports with other/);
  assert.equal(repackStored(subsetsByBits(8, 71, 255)).length, 255);
});

test('many addresses of the same ports are laid out, in however many subsets', () => {
  const [{ addresses, ports }] = subsetsByBits(1, 300_000, 1) as [EndpointSubset];
  assert.equal(repackStored([{ addresses, ports }]).length, 1);
  const apart = addresses!.slice(0, 100_000).map((address) => ({ addresses: [address], ports }));
  assert.equal(repackStored(apart).length, 1);
});
