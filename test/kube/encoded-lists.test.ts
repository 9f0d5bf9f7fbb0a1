import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeAgain, encodeObject } from '../../src/kube/codec.ts';
import type { Endpoint, EndpointAddress, Endpoints, EndpointSlice } from '../../src/kube/types.ts';
import { propertyRuns } from '../support/runs.ts';

const address = (n: number): EndpointAddress => ({
  ip: `10.0.${n >> 8}.${n & 0xff}`,
  nodeName: `node-${n % 7}`,
  // Lengths that differ show a copy that is off by some bytes.
  targetRef: { kind: 'Pod', namespace: 'default', name: `web-${'x'.repeat(n % 150)}`, uid: `uid-${n}` },
});
const endpoint = (n: number, ready = true): Endpoint => ({
  addresses: [`10.0.${n >> 8}.${n & 0xff}`],
  conditions: { ready, serving: ready, terminating: false },
  hints: { forZones: [{ name: 'a'.repeat(n % 9) }] },
});

const endpoints = (
  ...subsets: { ready: readonly EndpointAddress[]; notReady: readonly EndpointAddress[] }[]
): Endpoints => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'web', annotations: { 'example.com/a': 'b' } },
  subsets: subsets.map(({ ready, notReady }) => ({
    addresses: ready,
    notReadyAddresses: notReady,
    ports: [{ port: 80 }],
  })),
});
const slice = (items: readonly Endpoint[]): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'web-abcde', generateName: 'web-' },
  addressType: 'IPv4',
  endpoints: items,
  ports: [{ name: '', protocol: 'TCP', port: 80 }],
});

function count(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}

/** Encodes one state after the other, and compares each with an encoding that knows nothing of those before. */
function check(states: readonly (Endpoints | EndpointSlice)[]): void {
  for (let i = 1; i < states.length; i++) {
    assert.deepEqual(
      Buffer.from(encodeAgain(states[i]!, states[i - 1]!)),
      Buffer.from(encodeObject(states[i]!)),
      `${i}`,
    );
  }
}

describe('an object that is encoded again', () => {
  const all = count(300).map(address);
  const whole = endpoints({ ready: all, notReady: [] });

  it('an unchanged object has the same bytes', () => {
    check([whole, endpoints({ ready: all, notReady: [] }), endpoints({ ready: [...all], notReady: [] })]);
  });

  it('an object has the bytes of its new state, wherever an address changes', () => {
    for (const at of [0, 1, 150, 298, 299]) {
      const without = all.toSpliced(at, 1);
      const changed = all.with(at, address(1000 + at));
      const inserted = all.toSpliced(at, 0, address(2000 + at));
      check([
        whole,
        endpoints({ ready: all, notReady: [] }),
        endpoints({ ready: without, notReady: [all[at]!] }),
        whole,
      ]);
      check([whole, endpoints({ ready: all, notReady: [] }), endpoints({ ready: changed, notReady: [] })]);
      check([whole, endpoints({ ready: all, notReady: [] }), endpoints({ ready: inserted, notReady: [] })]);
    }
  });

  it('an object may have got other subsets in other places', () => {
    const [a, b] = [all.slice(0, 150), all.slice(150)];
    const two = endpoints({ ready: a, notReady: [] }, { ready: b, notReady: [] });
    check([whole, two, endpoints({ ready: b, notReady: [] }, { ready: a, notReady: b }), two, endpoints()]);
  });

  it('a slice may be encoded again', () => {
    const items = count(100).map((n) => endpoint(n));
    const flipped = items.with(40, endpoint(40, false));
    check([slice(items), slice([...items]), slice(flipped), slice(flipped.slice(30)), slice([]), slice(items)]);
  });

  it('encoded parts are not looked into again', () => {
    let looks = 0;
    const watched = count(100).map((n): EndpointAddress => ({
      get ip() {
        looks++;
        return `10.0.0.${n}`;
      },
    }));
    const replaced = watched.with(40, address(1));
    const grown = replaced.toSpliced(40, 0, address(2));
    const shrunk = grown.toSpliced(50, 1);
    let before = endpoints();
    for (const ready of [watched, replaced, grown, shrunk]) {
      const next = endpoints({ ready, notReady: [] });
      encodeAgain(next, before);
      assert.equal(looks, 100);
      before = next;
    }
  });

  it('an object has the bytes of its new state, whatever the changes', () => {
    const steps = fc.array(fc.array(fc.tuple(fc.nat(200), fc.nat(2)), { maxLength: 6 }), { maxLength: 8 });
    const property = fc.property(fc.integer({ min: 60, max: 200 }), steps, (size, changes) => {
      let items: readonly EndpointAddress[] = all.slice(0, size);
      let next = 5000;
      const states = [endpoints({ ready: items, notReady: [] })];
      for (const step of changes) {
        for (const [at, kind] of step) {
          const i = Math.min(at, items.length - 1);
          items =
            kind === 0
              ? items.toSpliced(i, 1)
              : kind === 1
                ? items.toSpliced(i, 0, address(next++))
                : items.with(i, address(next++));
        }
        states.push(endpoints({ ready: items, notReady: [] }));
      }
      check(states);
    });
    fc.assert(property, propertyRuns(200, 20_261_121));
  });
});
