import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPacking, repack, type Packing, type PackingRules, type PlaceChanges } from '../../src/twin/packing.ts';

const NONE: PlaceChanges = { added: [], changed: [], removed: [] };

/** Places from `first` on. */
function places(count: number, first = 0): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

const RULES: PackingRules = { perSlice: 100, rankOf: (founder) => founder, recycles: 'first' };

function write(packing: Packing, changes: Partial<PlaceChanges>, rules: Partial<PackingRules> = {}): string[] {
  return repack(packing, { ...NONE, ...changes }, { ...RULES, ...rules }).map(
    ({ verb, endpoints }) => `${verb} ${endpoints}`,
  );
}

function packed(...sizes: readonly number[]): Packing {
  const packing = createPacking();
  let first = 0;
  for (const size of sizes) {
    const slice = packing.counts.push(size) - 1;
    packing.founders.push(first);
    for (let i = 0; i < size; i++) packing.sliceOf.set(first++, slice);
  }
  return packing;
}

test('new endpoints fill new slices', () => {
  assert.deepEqual(write(createPacking(), { added: places(250) }), ['create 100', 'create 100', 'create 50']);
});

test('a rest that does not fill a slice goes where it fits best as a whole', () => {
  assert.deepEqual(write(packed(62, 61), { added: places(127, 1000) }), ['create 100', 'update 89']);
  assert.deepEqual(write(packed(74, 74), { added: places(152, 1000) }), ['create 100', 'create 52']);
});

test('written slices take new endpoints first, the fullest first', () => {
  const packing = packed(80, 20);
  assert.deepEqual(write(packing, { changed: [0, 80], added: places(15, 1000) }), ['update 95', 'update 20']);
});

test('a slice that is emptied is deleted, or its name is used again', () => {
  assert.deepEqual(write(packed(2, 100), { removed: [0, 1] }), ['delete 0']);
  assert.deepEqual(write(packed(2, 100), { removed: [0, 1], added: places(100, 1000) }), ['update 100']);
});

test('of the new slices upstream recycles the last, and writes those after all others', () => {
  const changes = { removed: places(4), added: places(9, 1000), changed: [4] };
  const before = (): Packing => packed(4, 4);
  assert.deepEqual(write(before(), changes, { perSlice: 4 }), ['update 4', 'create 4', 'create 1', 'update 4']);
  const upstream = repack(before(), changes, { ...RULES, perSlice: 4, recycles: 'last' });
  assert.deepEqual(
    upstream.map(({ verb, endpoints, places: shown }) => [verb, endpoints, shown.length]),
    [
      ['create', 4, 4],
      ['create', 4, 4],
      ['update', 4, 1],
      // Those that are gone, and the last new one.
      ['update', 1, 5],
    ],
  );
});

test('a service without endpoints keeps one slice, and uses it again', () => {
  const packing = packed(3);
  assert.deepEqual(write(packing, { removed: [0, 1, 2] }), ['update 0']);
  assert.deepEqual(write(packing, {}), []);
  assert.deepEqual(write(packing, { added: [7] }), ['update 1']);
});

test('a write names the places whose changes it shows', () => {
  const [first, second] = repack(packed(10, 10), { added: [50], changed: [3], removed: [12] }, RULES);
  assert.deepEqual(first!.places, [3, 50]);
  assert.deepEqual(second!.places, [12]);
});

test('slices that nothing else orders come by the rank of their first places', () => {
  const order = (rankOf: (founder: number) => number): number[] =>
    repack(packed(10, 10, 10), { ...NONE, changed: [0, 10, 20] }, { ...RULES, rankOf }).flatMap((each) => each.places);
  assert.deepEqual(
    order((founder) => founder),
    [0, 10, 20],
  );
  assert.deepEqual(
    order((founder) => -founder),
    [20, 10, 0],
  );
});

test('of slices that are equally full the one of the lowest rank takes the rest', () => {
  const takes = (rankOf: (founder: number) => number): number => {
    const packing = packed(10, 10);
    repack(packing, { ...NONE, added: [50] }, { ...RULES, rankOf });
    return packing.sliceOf.get(50)!;
  };
  assert.equal(
    takes((founder) => founder),
    0,
  );
  assert.equal(
    takes((founder) => -founder),
    1,
  );
});

test('the first of the rest are those that would not fill a new slice', () => {
  const packing = packed(60);
  write(packing, { added: places(130, 1000) });
  assert.deepEqual([packing.sliceOf.get(1029), packing.sliceOf.get(1030)], [0, 1]);
});
