/** Plans over the life of one Endpoints object, against an oracle that knows no groups, no subsets and no packing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseIp } from '../../../src/core/ip.ts';
import type { MirrorConfig } from '../../../src/core/mirroring/plan.ts';
import type { SliceWrite } from '../../../src/core/slices/slice-write.ts';
import type {
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSlice,
  EndpointSubset,
} from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { applySliceWrite, mirroredEndpoints, planMirrorWith } from '../../support/mirror-text.ts';
import { propertyRuns } from '../../support/runs.ts';

const SEED = 20261121;
const USABLE = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '010.0.0.1', '::ffff:10.0.0.2', 'fd00::1', 'fd00::2'];
const UNUSABLE = ['127.0.0.1', 'bad'];

/** What an address says is a function of its IP and uid, so that it does not matter which of two equal ones is first. */
const address = fc
  .record({ ip: fc.constantFrom(...USABLE, ...UNUSABLE), uid: fc.constantFrom('', 'u1', 'u2') })
  .map(({ ip, uid }): EndpointAddress => {
    const targetRef = { kind: 'Pod', namespace: 'ns', name: `pod-${uid}`, uid };
    const nodeName = `node-${uid}`;
    return uid === '' ? { ip, nodeName } : { ip, nodeName, hostname: uid, targetRef };
  });

const port = fc.constantFrom<EndpointPort>(
  { name: 'http', port: 80, protocol: 'TCP' },
  { name: 'http', port: 81, protocol: 'TCP' },
  { name: 'http', port: 80, protocol: 'TCP', appProtocol: 'h2c' },
  { port: 53, protocol: 'UDP' },
);

const subset: fc.Arbitrary<EndpointSubset> = fc.record({
  addresses: fc.array(address, { maxLength: 4 }),
  notReadyAddresses: fc.array(address, { maxLength: 2 }),
  ports: fc.array(port, { minLength: 1, maxLength: 2 }),
});

/** Either all subsets have ports or none, as an oracle that looks at single ports cannot merge "no port" with ports. */
const endpoints = fc
  .record({
    subsets: fc.array(subset, { maxLength: 3 }),
    portless: fc.constantFrom(false, false, false, true),
    label: fc.constantFrom('', '', '', 'x'),
  })
  .map(({ subsets, portless, label }): Endpoints =>
    deepFreeze({
      ...mirroredEndpoints([], label === '' ? {} : { labels: { label } }),
      subsets: portless ? subsets.map((one) => ({ ...one, ports: [] })) : subsets,
    }),
  );

const config: fc.Arbitrary<MirrorConfig> = fc.constantFrom(
  { endpointsPerSubsetMax: 1000, all: false },
  { endpointsPerSubsetMax: 1000, all: true },
  { endpointsPerSubsetMax: 2, all: true },
  { endpointsPerSubsetMax: 1, all: true },
);

type Readiness = boolean | 'either';

/**
 * Each (family, port, endpoint) as one line, by looking at one port after the other. Not ready wins, but where two subsets
 * say different things of a port with appProtocol: those are two ports, and hashes decide which of them is last.
 */
function oracle({ subsets = [] }: Endpoints): Map<string, Readiness> {
  const all = new Map<string, Readiness>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const portOrNone of ports.length === 0 ? [null] : ports) {
      const own = new Map<string, boolean>();
      const add = (source: EndpointAddress, isReady: boolean): void => {
        const ip = UNUSABLE.includes(source.ip) ? null : parseIp(source.ip);
        if (ip !== null) own.set(lineOf(ip.family, portOrNone, ip.canonical, source), isReady);
      };
      for (const source of addresses) add(source, true);
      for (const source of notReadyAddresses) add(source, false);
      for (const [line, isReady] of own) {
        const before = all.get(line) ?? isReady;
        all.set(line, before === isReady ? isReady : portOrNone?.appProtocol === undefined ? false : 'either');
      }
    }
  }
  return all;
}

function expectSaid(slices: readonly EndpointSlice[], endpoints: Endpoints): void {
  const right = oracle(endpoints);
  const said = contentOf(slices).map(([line, ready]) => `${line} ${right.get(line) === 'either' ? 'either' : ready}`);
  // What is said twice is in two slices, with different other ports.
  assert.deepEqual([...new Set(said)].toSorted(), [...right].map(([line, ready]) => `${line} ${ready}`).toSorted());
}

function lineOf(
  family: string,
  portOrNone: { name?: string; port?: number; protocol?: string; appProtocol?: string } | null,
  ip: string,
  { hostname = '', nodeName = '', targetRef }: Omit<EndpointAddress, 'ip'>,
): string {
  const portText =
    portOrNone === null
      ? 'none'
      : [portOrNone.name ?? '', portOrNone.protocol, portOrNone.port, portOrNone.appProtocol].join('/');
  return [family, portText, ip, hostname, nodeName, targetRef?.uid ?? ''].join(' ');
}

function contentOf(slices: readonly EndpointSlice[]): [line: string, ready: boolean | undefined][] {
  return slices.flatMap(({ addressType, ports, endpoints: held }) =>
    (ports!.length === 0 ? [null] : ports!).flatMap((portOrNone) =>
      held!.map((endpoint): [string, boolean | undefined] => {
        return [lineOf(addressType, portOrNone, endpoint.addresses[0]!, endpoint), endpoint.conditions?.ready];
      }),
    ),
  );
}

/** Names of new slices that no earlier plan drew. */
function suffixes(): () => string {
  let count = 0;
  return () => `s${String(++count).padStart(4, '0')}`;
}

function applyAll(stored: readonly EndpointSlice[], writes: readonly SliceWrite[]): readonly EndpointSlice[] {
  return deepFreeze(writes.reduce(applySliceWrite, stored));
}

function addressesOf(slices: readonly (EndpointSlice | null)[]): Set<string> {
  return new Set(slices.flatMap((slice) => slice?.endpoints?.flatMap((endpoint) => endpoint.addresses) ?? []));
}

/** In the worst order of the writes of each phase: of one phase, those that drop an address are first. */
function assertNeverNowhere(before: readonly EndpointSlice[], writes: readonly SliceWrite[]): void {
  const stays = addressesOf(applyAll(before, writes)).intersection(addressesOf(before));
  const drops = ({ name, object }: SliceWrite, ip: string): boolean =>
    addressesOf(before.filter((slice) => slice.metadata.name === name)).has(ip) && !addressesOf([object]).has(ip);
  const first = writes.filter(({ phase }) => phase === 1);
  const second = writes.filter(({ phase }) => phase === 2);
  const between = applyAll(before, first);
  for (const ip of stays) {
    const inFirst = applyAll(
      before,
      first.filter((write) => drops(write, ip)),
    );
    assert.ok(addressesOf(inFirst).has(ip), `${ip} is nowhere in phase 1`);
    const inSecond = applyAll(
      between,
      second.filter((write) => drops(write, ip)),
    );
    // What only an update of phase 2 adds, one that itself drops what another write adds, cannot be helped.
    const exchanged = second.some(({ object }) => addressesOf([object]).has(ip));
    assert.ok(exchanged || addressesOf(inSecond).has(ip), `${ip} is nowhere in phase 2`);
  }
}

/** What somebody else does to the slices between two plans. */
type Meddling = 'nothing' | 'delete' | 'label' | 'conditions' | 'duplicate';
const meddling = fc.constantFrom<Meddling>('nothing', 'nothing', 'delete', 'label', 'conditions', 'duplicate');

function meddle(stored: readonly EndpointSlice[], what: Meddling, pick: number): readonly EndpointSlice[] {
  const slice = stored[pick % Math.max(stored.length, 1)];
  if (slice === undefined || what === 'nothing') return stored;
  const others = stored.filter((other) => other !== slice);
  if (what === 'delete') return others;
  const metadata = { ...slice.metadata, labels: { ...slice.metadata.labels, foreign: 'x' } };
  if (what === 'label') return deepFreeze([...others, { ...slice, metadata }]);
  if (what === 'duplicate') {
    return deepFreeze([...stored, { ...slice, metadata: { ...slice.metadata, name: `copy-${slice.metadata.name}` } }]);
  }
  const changed = structuredClone(slice) as { endpoints: { conditions: object }[] } & EndpointSlice;
  for (const endpoint of changed.endpoints) endpoint.conditions = { ready: true, serving: true };
  return deepFreeze([...others, changed]);
}

test('slices have what the Endpoints have, and then nothing is left to write', () => {
  const steps = fc.array(fc.record({ endpoints, what: meddling, pick: fc.nat(9) }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(config, steps, (limits, lived) => {
      const suffix = suffixes();
      let stored: readonly EndpointSlice[] = [];
      for (const step of lived) {
        stored = meddle(stored, step.what, step.pick);
        const plan = planMirrorWith({ endpoints: step.endpoints, stored, config: limits, suffix });
        assertNeverNowhere(stored, plan.writes);
        stored = applyAll(stored, plan.writes);

        expectSaid(stored, step.endpoints);
        const again = planMirrorWith({ endpoints: step.endpoints, stored, config: limits, suffix });
        assert.deepEqual(again.writes, []);
        assert.deepEqual(again.facts, { ...plan.facts, added: 0, updated: 0, removed: 0 });
        assert.equal(plan.facts.slices, stored.length);
        assert.equal(
          plan.facts.endpoints,
          stored.reduce((sum, slice) => sum + slice.endpoints!.length, 0),
        );
        assert.ok(plan.facts.slicesDesired <= stored.length);
        for (const slice of stored) {
          assert.ok(slice.endpoints!.length > 0 && slice.endpoints!.length <= limits.endpointsPerSubsetMax);
        }
      }
    }),
    propertyRuns(400, SEED),
  );
});

test('the order of subsets, addresses, ports and slices does not matter', () => {
  const shuffled = <T>(list: readonly T[]): fc.Arbitrary<T[]> =>
    fc.shuffledSubarray([...list], { minLength: list.length, maxLength: list.length });
  const shuffledSubset = (one: EndpointSubset): fc.Arbitrary<EndpointSubset> =>
    fc.record({
      addresses: shuffled(one.addresses!),
      notReadyAddresses: shuffled(one.notReadyAddresses!),
      ports: shuffled(one.ports!),
    });
  const twice = fc
    .record({ before: endpoints, after: endpoints, limits: config })
    .chain(({ before, after, limits }) => {
      const { writes } = planMirrorWith({ endpoints: before, config: limits });
      const stored = applyAll([], writes);
      return fc.record({
        limits: fc.constant(limits),
        endpoints: fc.constant(after),
        stored: fc.constant(stored),
        shuffledSubsets: fc.tuple(...after.subsets!.map(shuffledSubset)).chain((subsets) => shuffled(subsets)),
        shuffledStored: shuffled(stored),
      });
    });
  fc.assert(
    fc.property(twice, ({ limits, endpoints: after, stored, shuffledSubsets, shuffledStored }) => {
      const plan = planMirrorWith({ endpoints: after, stored, config: limits });
      const other = planMirrorWith({
        endpoints: { ...after, subsets: shuffledSubsets },
        stored: shuffledStored,
        config: limits,
      });
      assert.deepEqual(other.writes, plan.writes);
      assert.deepEqual(other.facts, plan.facts);
      const messages = ({ problems }: typeof plan): string[] => problems.map(({ message }) => message);
      assert.deepEqual(messages(other), messages(plan));
    }),
    propertyRuns(300, SEED),
  );
});

test('an endpoint that stays does not move, and writes are as few as possible', () => {
  const numbers = fc.uniqueArray(fc.nat(40), { maxLength: 30 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(numbers, { minLength: 1, maxLength: 5 }), (max, lived) => {
      const suffix = suffixes();
      let stored: readonly EndpointSlice[] = [];
      let before = new Set<string>();
      for (const octets of lived) {
        const now = new Set(octets.map((octet) => `10.0.0.${octet}`));
        const { writes } = planMirrorWith({
          endpoints: mirroredEndpoints([`${[...now].join(' ')} -> 80/TCP`]),
          stored,
          config: { endpointsPerSubsetMax: max, all: true },
          suffix,
        });
        const touched = stored.filter(({ endpoints: held }) => held!.some((e) => !now.has(e.addresses[0]!))).length;
        const room = stored
          .flatMap(({ endpoints: held }) => {
            const kept = held!.filter((e) => now.has(e.addresses[0]!)).length;
            return kept < held!.length ? [max - kept] : [];
          })
          .reduce((sum, free) => sum + free, 0);
        const added = now.difference(before).size;
        assert.equal(writes.length, touched + Math.ceil(Math.max(0, added - room) / max));
        const after = applyAll(stored, writes);
        for (const { metadata, endpoints: held } of after) {
          const was = addressesOf(stored.filter((slice) => slice.metadata.name === metadata.name));
          for (const { addresses } of held!) assert.ok(was.has(addresses[0]!) || !before.has(addresses[0]!));
        }
        stored = after;
        before = now;
      }
    }),
    propertyRuns(200, SEED),
  );
});

test('above the limit ready addresses come first, and the others are counted', () => {
  const world = fc.record({
    max: fc.integer({ min: 1, max: 6 }),
    ready: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 6 }),
    notReady: fc.uniqueArray(fc.integer({ min: 10, max: 19 }), { maxLength: 6 }),
    invalid: fc.nat(3),
    otherFamily: fc.boolean(),
  });
  fc.assert(
    fc.property(world, ({ max, ready, notReady, invalid, otherFamily }) => {
      const prefix = (octet: number): string => (otherFamily && octet % 2 === 0 ? `fd00::${octet}` : `10.0.0.${octet}`);
      const addresses = [
        ...ready.map(prefix),
        ...notReady.map((octet) => `!${prefix(octet)}`),
        ...Array.from({ length: invalid }, (_, i) => `!bad${i}`),
      ];
      const { writes, facts } = planMirrorWith({
        endpoints: mirroredEndpoints([`${addresses.join(' ')} -> 80/TCP`]),
        config: { endpointsPerSubsetMax: max, all: false },
      });
      const held = writes.flatMap(({ object }) => object!.endpoints!);
      assert.equal(held.length, Math.min(max, ready.length + notReady.length));
      assert.equal(held.filter((e) => e.conditions?.ready === true).length, Math.min(max, ready.length));
      assert.equal(facts.skipped, addresses.length - held.length);
      assert.equal(new Set(writes.map(({ object }) => object!.addressType)).size, writes.length);
    }),
    propertyRuns(300, SEED),
  );
});
