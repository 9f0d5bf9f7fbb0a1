import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { CpuShares } from '../../../src/core/slices/cpu-shares.ts';
import {
  allocateZones,
  allotHints,
  givingAndReceiving,
  OVERLOAD_FACTOR,
  stripHints,
} from '../../../src/core/slices/topology-hints.ts';
import { distributeTraffic } from '../../../src/core/slices/traffic-distribution.ts';
import type { EndpointSlice } from '../../../src/kube/types.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import { endpointsOf, hintSlices, type HintTexts, textOfEndpoints, writtenTexts } from './hint-text.ts';
import { addHints } from '../../support/upstream-topology.ts';
import { propertyRuns } from '../../support/runs.ts';

const SEED = 20261121;

function sharesOf(shares: Readonly<Record<string, number>>): CpuShares {
  return { version: 1, zones: Object.entries(shares).map(([zone, share]) => ({ zone, share })) };
}

/** The first `count` of the zones a, b, c, all with the same CPU. */
function equalShares(count: number): CpuShares {
  return sharesOf(Object.fromEntries(['a', 'b', 'c'].slice(0, count).map((zone) => [zone, 1 / count])));
}

const THIRDS = equalShares(3);
const HALVES = equalShares(2);

/** Allots hints and returns everything that a reader may want to see, as text. */
function allot(shares: CpuShares | null, texts: HintTexts) {
  const slices = hintSlices(texts);
  const result = allotHints(slices, shares);
  const hints = result.hints?.map(({ zone, count }) => `${zone}${count}`).join(' ') ?? null;
  return { written: writtenTexts(slices, result), hints, failure: result.failure };
}

suite('whether hints are possible at all', () => {
  function possible(zones: number): number[] {
    const numbers: number[] = [];
    for (let ready = 0; ready <= 13; ready++) {
      if (typeof allocateZones(ready, equalShares(zones)) !== 'string') numbers.push(ready);
    }
    return numbers;
  }

  test('two equal zones allow hints with 2, 4, 6, 7, ... ready endpoints', () => {
    assert.deepEqual(possible(2), [2, 4, 6, 7, 8, 9, 10, 11, 12, 13]);
  });

  test('three equal zones allow hints with 3, 6, 7, 9, 10, 12, 13 endpoints', () => {
    assert.deepEqual(possible(3), [3, 6, 7, 9, 10, 12, 13]);
  });

  test('a zone with a twentieth of the CPU needs ten endpoints, or two too many', () => {
    const shares = sharesOf({ a: 0.5, b: 0.45, c: 0.05 });
    for (const ready of [3, 4, 5, 6]) assert.equal(typeof allocateZones(ready, shares), 'string');
    assert.deepEqual(allocateZones(10, shares), [
      { zone: 'a', minimum: 5, desired: 5, maximum: 5 },
      { zone: 'b', minimum: 4, desired: 4.5, maximum: 4 },
      { zone: 'c', minimum: 1, desired: 1, maximum: 1 },
    ]);
    assert.deepEqual(allocateZones(20, shares), [
      { zone: 'a', minimum: 9, desired: 10, maximum: 11 },
      { zone: 'b', minimum: 8, desired: 9, maximum: 10 },
      { zone: 'c', minimum: 1, desired: 1, maximum: 3 },
    ]);
  });

  test('the factor is the double that Go has', () => {
    assert.equal(OVERLOAD_FACTOR, 0.8333333333333334);
  });

  test('each failure is in upstream’s words', () => {
    assert.equal(
      allocateZones(5, null),
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    );
    assert.equal(allocateZones(5, equalShares(1)), 'Nodes only ready in one zone');
    assert.equal(allocateZones(2, THIRDS), 'Insufficient number of endpoints (2 endpoints, 3 zones)');
    assert.equal(
      allocateZones(5, THIRDS),
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (5 endpoints, 3 zones)',
    );
  });
});

suite('who gives and who receives', () => {
  function exchange(desired: Readonly<Record<string, number>>, counts: Readonly<Record<string, number>>) {
    const allocations = Object.entries(desired).map(([zone, value]) => ({ zone, desired: value }));
    const { giving, receiving } = givingAndReceiving(allocations, new Map(Object.entries(counts)));
    return { give: Object.fromEntries(giving), receive: Object.fromEntries(receiving) };
  }

  test('without zones nothing is given', () => {
    assert.deepEqual(exchange({}, {}), { give: {}, receive: {} });
  });

  test('less than half an endpoint is not given', () => {
    assert.deepEqual(exchange({ a: 1.2, b: 1.1, c: 1 }, { a: 1, b: 1, c: 1 }), { give: {}, receive: {} });
  });

  test('an endpoint rather serves its own zone than a slightly better share', () => {
    assert.deepEqual(exchange({ a: 5.1, b: 5.1, c: 5.8 }, { a: 16 }), { give: { a: 10 }, receive: { b: 5, c: 5 } });
  });

  test('of two zones that need less than one, the one that needs more receives', () => {
    assert.deepEqual(exchange({ a: 5, b: 5.6, c: 5.4 }, { a: 16 }), { give: { a: 11 }, receive: { b: 6, c: 5 } });
  });

  test('of two zones that have too many, the one that has more gives', () => {
    assert.deepEqual(exchange({ a: 5, b: 5.6, c: 5.4 }, { b: 8, c: 8 }), {
      give: { b: 2, c: 3 },
      receive: { a: 5 },
    });
  });

  test('half an endpoint too much or too little in two zones moves one', () => {
    assert.deepEqual(exchange({ a: 5, b: 5.5 }, { a: 6, b: 5 }), { give: { a: 1 }, receive: { b: 1 } });
    assert.deepEqual(exchange({ a: 5, b: 5.45 }, { a: 6, b: 5 }), { give: {}, receive: {} });
    assert.deepEqual(exchange({ a: 5.55, b: 6 }, { a: 6, b: 5 }), { give: {}, receive: {} });
  });

  test('impossible figures do no harm', () => {
    const five = { a: 5, b: 5, c: 5 };
    assert.deepEqual(exchange(five, { a: 6, b: 6, c: 6 }), { give: {}, receive: {} });
    assert.deepEqual(exchange({ a: -5, b: -5, c: -5 }, { a: 6, b: 6, c: 6 }), { give: {}, receive: {} });
    assert.deepEqual(exchange(five, { a: -4, b: -3, c: -2 }), { give: {}, receive: {} });
    assert.deepEqual(exchange(five, { a: -40, b: 20, c: 20 }), { give: { b: 15, c: 15 }, receive: { a: 30 } });
  });
});

suite('slices that are written anyway', () => {
  test('no slices and no shares are a failure', () => {
    assert.deepEqual(allot(null, {}), {
      written: [],
      hints: null,
      failure: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    });
  });

  test('without shares there are no hints', () => {
    const { written, hints, failure } = allot(null, { created: ['a'] });
    assert.deepEqual(written, ['a']);
    assert.equal(hints, null);
    assert.match(failure, /^Insufficient Node information/);
  });

  test('two endpoints are too few for three zones', () => {
    const shares = sharesOf({ a: 0.3, b: 0.4, c: 0.3 });
    assert.deepEqual(allot(shares, { created: ['a b'] }), {
      written: ['a b'],
      hints: null,
      failure: 'Insufficient number of endpoints (2 endpoints, 3 zones)',
    });
  });

  test('two endpoints in two zones each serve their own', () => {
    const shares = sharesOf({ a: 0.45, b: 0.55 });
    assert.deepEqual(allot(shares, { created: ['a b'] }), { written: ['a>a b>b'], hints: 'a1 b1', failure: '' });
  });

  test('endpoints that are not ready are not counted, and keep their hints', () => {
    const shares = sharesOf({ a: 0.45, b: 0.55 });
    const { written, hints } = allot(shares, { created: ['a b !b ?b !b>a'] });
    assert.deepEqual(written, ['a>a b>b !b ?b !b>a']);
    assert.equal(hints, 'a1 b1');
  });

  test('a zone with one too many gives its first endpoint away', () => {
    const shares = sharesOf({ a: 0.35, b: 0.35, c: 0.3 });
    assert.deepEqual(allot(shares, { created: ['a b', 'c c a'], updated: ['a a', 'b c a'] }), {
      written: ['a>b b>b', 'c>c c>c a>a', 'a>a a>a', 'b>b c>c a>a'],
      hints: 'a4 b3 c3',
      failure: '',
    });
    assert.deepEqual(allocateZones(10, shares), [
      { zone: 'a', minimum: 3, desired: 3.5, maximum: 4 },
      { zone: 'b', minimum: 3, desired: 3.5, maximum: 4 },
      { zone: 'c', minimum: 3, desired: 3, maximum: 4 },
    ]);
  });

  test('three endpoints in one of three zones serve one zone each', () => {
    assert.deepEqual(allot(THIRDS, { created: ['c c c'] }), {
      written: ['c>a c>b c>c'],
      hints: 'a1 b1 c1',
      failure: '',
    });
  });

  test('one zone may give to two', () => {
    assert.deepEqual(allot(THIRDS, { created: ['a a a a b b c c c'] }).written, [
      'a>b a>a a>a a>a b>b b>b c>c c>c c>c',
    ]);
    assert.deepEqual(allot(THIRDS, { updated: ['a a a', '', 'a a a'] }).written, ['a>b a>c a>b', '', 'a>c a>a a>a']);
  });

  test('1, 3 and 2 pods in equal zones give two hints each, one for another zone', () => {
    assert.deepEqual(allot(THIRDS, { created: ['a b b b c c'] }), {
      written: ['a>a b>a b>b b>b c>c c>c'],
      hints: 'a2 b2 c2',
      failure: '',
    });
  });

  test('wrong hints are replaced, and right ones stay', () => {
    assert.deepEqual(allot(HALVES, { updated: ['a>b a>a+b b>b b>b@n'] }).written, ['a>a a>a b>b b>b']);
    const slices = hintSlices({ updated: ['a>a b>b'] });
    const before = [...slices.updated[0]!.endpoints];
    allotHints(slices, HALVES);
    assert.equal(slices.updated[0]!.endpoints[0], before[0]);
    assert.equal(slices.updated[0]!.endpoints[1], before[1]);
  });

  test('a ready endpoint without zone takes away all hints', () => {
    assert.deepEqual(allot(HALVES, { created: ['a b'], updated: ['>b b>b'], unchanged: ['a>a a>b'] }), {
      written: ['a b', ' b', 'a a'],
      hints: null,
      failure: 'One or more endpoints do not have a zone specified',
    });
    // One that is not ready needs none.
    assert.equal(allot(HALVES, { created: ['a b !'] }).hints, 'a1 b1');
  });
});

suite('slices that could stay as they are', () => {
  test('possible hints stay, and only missing ones are given', () => {
    assert.deepEqual(allot(HALVES, { created: ['a'], unchanged: ['a>b b>b !a', 'a>a'] }), {
      written: ['a>a'],
      hints: 'a2 b2',
      failure: '',
    });
  });

  test('slices of a,a,c,c and a,a,b,b,b give each zone three, one from another zone', () => {
    assert.deepEqual(allot(THIRDS, { unchanged: ['a a c c', 'a a b b b'] }), {
      written: ['a>c a>a c>c c>c', 'a>a a>a b>b b>b b>b'],
      hints: 'a3 b3 c3',
      failure: '',
    });
  });

  test('an endpoint with several hints counts for each of them', () => {
    assert.equal(allot(equalShares(2), { unchanged: ['a>a+b b>b', 'a>a b>b'] }).hints, 'a2 b3');
  });

  for (const [why, slice] of Object.entries({
    'a zone that has no share any more': 'a>gone b>b',
    'an endpoint without hints': 'a b>b',
    'an endpoint with an empty list of zones': 'a> b>b',
    'a node hint alone': 'a/n>@n b>b',
    'more hints for a zone than it may have': 'a>b b>b',
  })) {
    test(`a slice is written again: ${why}`, () => {
      const { written, hints } = allot(HALVES, { unchanged: [slice] });
      assert.deepEqual(written, [slice.includes('/') ? 'a/n>a b>b' : 'a>a b>b']);
      assert.equal(hints, 'a1 b1');
    });
  }

  test('slices are judged in order, each with those accepted before it', () => {
    const { written, hints } = allot(HALVES, { unchanged: ['a>a b>a', 'a>b b>b', 'a>a b>a', 'a>b b>b'] });
    assert.deepEqual(written, []);
    assert.equal(hints, 'a4 b4');
    // At most three of six: the second would make four for a. What is written then finds room for b only.
    assert.deepEqual(allot(HALVES, { unchanged: ['a>a b>a', 'a>a b>a', 'a>a b>b'] }), {
      written: ['a>b b>b'],
      hints: 'a3 b3',
      failure: '',
    });
  });

  test('an endpoint hinted for its own zone without a share is not written again', () => {
    const first = allot(HALVES, { created: ['a b x'] });
    assert.match(first.failure, /^Unable to allocate/);
    const { written } = allot(HALVES, { created: ['a a b x'] });
    assert.deepEqual(written, ['a>a a>a b>b x>x']);
    assert.deepEqual(allot(HALVES, { unchanged: written }), { written: [], hints: 'a2 b1 x1', failure: '' });
    // Nor do the other hints of that slice change.
    assert.deepEqual(allot(HALVES, { unchanged: ['a>b b>a x>x a>a'] }), {
      written: [],
      hints: 'a2 b1 x1',
      failure: '',
    });
  });

  test('a hint for a zone without a share suits no endpoint of another zone', () => {
    assert.deepEqual(allot(HALVES, { unchanged: ['a>x a>a b>b x>x'] }).written, ['a>a a>a b>b x>x']);
  });

  test('hints for nodes do not stay beside hints for zones', () => {
    assert.deepEqual(allot(HALVES, { unchanged: ['a/n>a@n', 'b/m>b !a/n>a@n'] }), {
      written: ['a/n>a'],
      hints: 'a1 b1',
      failure: '',
    });
  });

  test('a slice whose new hints are its old ones is not written', () => {
    // Too many for a, but b gets none: the only slice is redone, and there is nothing that anyone can give.
    assert.deepEqual(allot(HALVES, { unchanged: ['x>x x>x x>x a>a a>a a>a'] }), {
      written: [],
      hints: 'a3 x3',
      failure: '',
    });
  });

  test('endpoints for the same zone share their hints object', () => {
    const slices = hintSlices({ created: ['a a b b'] });
    allotHints(slices, HALVES);
    const [a1, a2, b1] = slices.created[0]!.endpoints;
    assert.equal(a1!.hints, a2!.hints);
    assert.notEqual(a1!.hints, b1!.hints);
  });

  test('a ready endpoint with a hint and no zone does not matter while its slice stays', () => {
    assert.deepEqual(allot(HALVES, { unchanged: ['>a b>b'] }), { written: [], hints: 'a1 b1', failure: '' });
  });
});

test('slices that stay are judged by their summary, not endpoint by endpoint', () => {
  const slices = hintSlices({ created: ['a'], unchanged: ['a>b b>b !a', 'a>a'] });
  const unread = slices.unchanged.map(({ object, summary }) => ({
    object: Object.defineProperty({ ...object }, 'endpoints', {
      get: () => assert.fail('the endpoints were read'),
    }),
    summary,
  }));
  assert.deepEqual(allotHints({ ...slices, unchanged: unread }, HALVES).touched, []);
  const bare = unread.map(({ object }) => ({ object, summary: { ...unread[0]!.summary, anyHints: false } }));
  assert.deepEqual(stripHints({ ...slices, unchanged: bare }).touched, []);
  const own = unread.map(({ object }) => ({ object, summary: { ...unread[0]!.summary, ownZoneHints: true } }));
  assert.deepEqual(distributeTraffic({ ...slices, unchanged: own }, 'PreferClose').touched, []);
});

suite('taking hints away', () => {
  test('hints are taken from every slice with some, ready endpoints or not', () => {
    const slices = hintSlices({
      created: ['a>a !a'],
      updated: ['b>b@n', 'b'],
      unchanged: ['a b', '!a>b a', 'b>', '', 'a/n>a@n'],
    });
    const result = stripHints(slices);
    assert.deepEqual(writtenTexts(slices, result), ['a !a', 'b', 'b', '!a a', 'b', 'a/n']);
    assert.equal(result.touched[0]!.stored, slices.unchanged[1]);
    assert.equal(result.hints, null);
    assert.equal(result.failure, '');
  });

  test('after a failure the slices are as if hints were switched off', () => {
    assert.deepEqual(allot(null, { updated: ['a>a'], unchanged: ['a', 'b>b !b>b'] }).written, ['a', 'b !b']);
  });

  test('endpoints and slices without hints stay the same objects', () => {
    const slices = hintSlices({ created: ['a !b'], unchanged: ['a a>a'] });
    const before = [...slices.created[0]!.endpoints];
    const { touched } = stripHints(slices);
    assert.deepEqual(
      slices.created[0]!.endpoints.map((endpoint, at) => endpoint === before[at]),
      [true, true],
    );
    assert.equal(touched[0]!.endpoints[0], slices.unchanged[0]!.object.endpoints![0]);
  });
});

suite('over random slices', () => {
  const endpointText = fc
    .record({
      state: fc.constantFrom('', '', '', '!', '?'),
      zone: fc.constantFrom('a', 'b', 'b', 'c', 'c', 'c', 'x'),
      hint: fc.constantFrom('', '>', '>a', '>b', '>c', '>x', '>a+b', '>c', '>b'),
    })
    .map(({ state, zone, hint }) => `${state}${zone}${hint}`);
  const sliceText = fc.array(endpointText, { maxLength: 8 }).map((texts) => texts.join(' '));
  const lists = fc.array(sliceText, { maxLength: 3 });
  const worlds = fc.record({ created: lists, updated: lists, unchanged: lists });
  const shareTables = fc.constantFrom(HALVES, THIRDS, sharesOf({ a: 0.1, b: 0.3, c: 0.6 }));

  function sum(numbers: readonly number[]): number {
    return numbers.reduce((total, number) => total + number, 0);
  }

  function isReadyText(text: string): boolean {
    return !/^[!?]/.test(text);
  }

  /** All endpoints as they would be on the server afterwards, slice by slice. */
  function everything(slices: ReturnType<typeof hintSlices>, { touched }: ReturnType<typeof allotHints>): string[] {
    const changed = new Map(touched.map(({ stored, endpoints }) => [stored, endpoints]));
    return [
      ...[...slices.created, ...slices.updated].map(({ endpoints }) => textOfEndpoints(endpoints)),
      ...slices.unchanged.map((stored) => textOfEndpoints(changed.get(stored) ?? stored.object.endpoints!)),
    ];
  }

  test('counts are those of the hints; a zone without share has only its own', () => {
    fc.assert(
      fc.property(worlds, shareTables, (world, shares) => {
        const slices = hintSlices(world);
        const result = allotHints(slices, shares);
        const before = [...world.created, ...world.updated, ...world.unchanged];
        const after = everything(slices, result);
        const counts = new Map<string, number>();
        for (const [at, text] of after.entries()) {
          const endpoints = text === '' ? [] : text.split(' ');
          for (const [place, endpoint] of endpoints.entries()) {
            if (result.failure !== '') assert.ok(!endpoint.includes('>'));
            else if (!isReadyText(endpoint)) assert.equal(endpoint, before[at]!.split(' ')[place]);
            else {
              const [zone, hints] = endpoint.split('>');
              for (const hint of hints!.split('+')) {
                assert.ok(hint === zone || shares.zones.some((share) => share.zone === hint), endpoint);
                counts.set(hint, (counts.get(hint) ?? 0) + 1);
              }
            }
          }
        }
        if (result.failure === '') {
          assert.deepEqual(
            Object.fromEntries(result.hints!.map(({ zone, count }) => [zone, count])),
            Object.fromEntries(counts),
          );
        } else assert.equal(result.hints, null);
      }),
      propertyRuns(500, SEED),
    );
  });

  test('with all slices to write, no further exchange between zones would help', () => {
    fc.assert(
      fc.property(lists, shareTables, (created, shares) => {
        const zones = new Set(shares.zones.map(({ zone }) => zone));
        const slices = hintSlices({
          created: created.map((text) => text.replaceAll(/(?<!>)[abcx]/g, (zone) => (zones.has(zone) ? zone : 'a'))),
        });
        const result = allotHints(slices, shares);
        if (result.failure !== '') return;
        const counts = new Map(result.hints!.map(({ zone, count }) => [zone, count]));
        const allocations = allocateZones(sum([...counts.values()]), shares);
        assert.ok(typeof allocations !== 'string');
        assert.deepEqual(givingAndReceiving(allocations, counts), { giving: new Map(), receiving: new Map() });
      }),
      propertyRuns(500, SEED),
    );
  });

  test('a port of upstream has the same failures and totals, and no fewer writes', () => {
    const slice = (text: string, name: string): EndpointSlice => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name },
      addressType: 'IPv4',
      endpoints: endpointsOf(text),
    });
    fc.assert(
      fc.property(worlds, shareTables, fc.nat(), (world, shares, seed) => {
        // With a hint each: which of two slices stays makes no difference to the total then.
        const [created, updated, unchanged] = [world.created, world.updated, world.unchanged].map((texts) =>
          texts.map((text) => text.replaceAll('+b', '')),
        ) as [string[], string[], string[]];
        const slices = hintSlices({ created, updated, unchanged });
        const ours = allotHints(slices, shares);
        const upstream = addHints(
          {
            create: created.map((text, i) => slice(text, `create-${i}`)),
            update: updated.map((text, i) => slice(text, `update-${i}`)),
            unchanged: unchanged.map((text, i) => slice(text, `web-${i}`)),
          },
          new Map(shares.zones.map(({ zone, share }) => [zone, share])),
          createPrng(seed),
        );
        assert.equal(ours.failure, upstream.failure);
        const written = new Set(upstream.update.map(({ metadata }) => metadata.name));
        for (const { stored } of ours.touched) assert.ok(written.has(stored.object.metadata.name));
        if (ours.failure !== '') assert.equal(ours.touched.length, upstream.update.length - updated.length);
        else assert.equal(sum(ours.hints!.map(({ count }) => count)), sum([...upstream.counts!.values()]));
      }),
      propertyRuns(500, SEED),
    );
  });

  test('hints given again to written slices change nothing in the end', () => {
    fc.assert(
      fc.property(worlds, shareTables, (world, shares) => {
        let texts = [...world.created, ...world.updated, ...world.unchanged];
        for (let round = 0; round <= texts.length + 1; round++) {
          const slices = hintSlices({ unchanged: texts });
          const result = allotHints(slices, shares);
          if (result.touched.length === 0) return;
          texts = everything(slices, result);
        }
        assert.fail(`still writing: ${texts.join(' | ')}`);
      }),
      propertyRuns(500, SEED),
    );
  });
});
