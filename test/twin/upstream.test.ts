/** The slices of the queue model beside those of upstream's own algorithm, on samples. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSliceServer, serveSliceRequest } from '../support/slice-server.ts';
import {
  createOneBook,
  KEY,
  NODE,
  ourWrites,
  placesIn,
  podsOf,
  serviceOf,
  sizesAt,
  sizesOf,
  slicesOf,
  theirWrites,
} from '../support/twin-upstream.ts';
import { createUpstream, upstreamSync } from '../support/upstream-slices.ts';
import type { EndpointSlice } from '../../src/kube/types.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import { planService, takeChange } from '../../src/twin/book.ts';
import { createPacking, type Packing, type PlaceChanges, repack } from '../../src/twin/packing.ts';
import { NOTHING, type Published } from '../../src/twin/story.ts';

const STEPS = 60;
const PLACES = 30;
/** A sample is of one family or of two, and has a slice size of its own. */
const SAMPLES = Array.from({ length: 10 }, (_, i) => ({ seed: i + 1, families: 1 + (i % 2) }));
const PER_SLICE_MAX = 8;

/** As the server holds it. */
function packingOf(slices: readonly EndpointSlice[]): Packing {
  const packing = createPacking();
  for (const listed of slices) {
    const places = placesIn(listed);
    const slice = packing.counts.push(places.length) - 1;
    packing.founders.push(slice);
    if (places.length === 0) packing.placeholder = slice;
    for (const place of places) packing.sliceOf.set(place, slice);
  }
  return packing;
}

function changesBetween(before: ReadonlyMap<number, boolean>, after: ReadonlyMap<number, boolean>): PlaceChanges {
  return {
    added: [...after.keys()].filter((place) => !before.has(place)).toSorted((a, b) => a - b),
    changed: [...after.keys()].filter((place) => before.has(place) && before.get(place) !== after.get(place)),
    removed: [...before.keys()].filter((place) => !after.has(place)),
  };
}

for (const { seed, families } of SAMPLES) {
  test(`of equal slices both write the same, seed ${seed}, families: ${families}`, () => {
    const prng = createPrng(seed);
    const perSlice = 1 + nextInt(prng, PER_SLICE_MAX);
    const upstream = createUpstream(perSlice);
    const server = createSliceServer();
    const ready = new Map<number, boolean>();
    for (let step = 0; step < STEPS; step++) {
      const before = new Map(ready);
      for (let i = nextInt(prng, 8); i >= 0; i--) {
        const place = nextInt(prng, PLACES);
        if (nextInt(prng, 3) === 0) ready.delete(place);
        else ready.set(place, nextInt(prng, 2) === 0);
      }
      const slices = [...server.slices.values()];
      const world = { service: serviceOf(families), pods: podsOf(ready), nodes: [NODE], slices };
      const { writes } = upstreamSync(upstream, world, KEY, prng);
      const packings = Array.from({ length: families }, (_, family) => packingOf(slicesOf(server, family)));
      for (const [family, packing] of packings.entries()) {
        const rules = { perSlice, rankOf: (founder: number) => founder, recycles: 'last' } as const;
        const planned = repack(packing, changesBetween(before, ready), rules);
        assert.deepEqual(ourWrites(planned), theirWrites(writes, server, family), `step ${step}`);
      }
      for (const write of writes) serveSliceRequest(server, write);
      // Which endpoints are where is chance upstream, so the next step begins with what the server has.
      for (const [family, packing] of packings.entries()) {
        const sizes = sizesAt(server, family);
        assert.deepEqual(sizesOf(packing), [sizes, sizes], `what step ${step} leaves`);
      }
    }
  });
}

/** The first endpoints of a slice go, and those behind them turn ready or not. */
interface SliceChange {
  readonly gone: number;
  readonly turned: number;
}

interface Changes {
  /** From the emptiest slice to the fullest. */
  readonly ofSlices: readonly SliceChange[];
  readonly added: number;
}

function drawChanges(prng: Prng, sizes: readonly number[], perSlice: number): Changes {
  const isEnd = nextInt(prng, 12) === 0;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const ofSlices = sizes.map((size) => {
    const some = nextInt(prng, 3) === 0 ? nextInt(prng, size + 1) : 0;
    const gone = isEnd ? size : some;
    return { gone, turned: nextInt(prng, 2) * nextInt(prng, size - gone + 1) };
  });
  return { ofSlices, added: total > PLACES ? 0 : nextInt(prng, 2 * perSlice + 2) };
}

/** Changes the endpoints of one side. @returns the places of them */
function change(
  ready: Map<number, boolean>,
  slices: Iterable<readonly number[]>,
  { ofSlices, added }: Changes,
): Set<number> {
  const vacant = Array.from({ length: 2 * PLACES }, (_, place) => place).filter((place) => !ready.has(place));
  const places = new Set(vacant.slice(0, added));
  for (const place of places) ready.set(place, true);
  const sorted = [...slices].filter(({ length }) => length > 0).toSorted((a, b) => a.length - b.length);
  for (const [i, { gone, turned }] of ofSlices.entries()) {
    for (const place of sorted[i]!.slice(0, gone)) ready.delete(place);
    for (const place of sorted[i]!.slice(gone, gone + turned)) ready.set(place, ready.get(place) !== true);
    for (const place of sorted[i]!.slice(0, gone + turned)) places.add(place);
  }
  return places;
}

function publishedOf(isReady: boolean | undefined): Published {
  if (isReady === undefined) return NOTHING;
  return isReady ? { endpoints: 1, slices: 1, isReady } : { endpoints: 2, slices: 2, isReady };
}

/** The places of each slice. */
function heldBy({ sliceOf }: Packing): Iterable<readonly number[]> {
  return Map.groupBy(sliceOf.keys(), (place) => sliceOf.get(place)).values();
}

/**
 * Which endpoints are where is chance upstream. So a change says from how full a slice endpoints go, and each side takes those
 * that it has there. Of two families nothing is left to chance: on each side the slices of both have the same pods.
 */
for (const { seed, families } of SAMPLES) {
  test(`slices stay as full, sync after sync, seed ${seed}, families: ${families}`, () => {
    const prng = createPrng(seed);
    const perSlice = 1 + nextInt(prng, PER_SLICE_MAX);
    const [upstream, server] = [createUpstream(perSlice), createSliceServer()];
    const book = createOneBook('slices', families, perSlice, 2 * PLACES);
    const { packings } = book.services[0]!;
    const [theirs, ours] = [new Map<number, boolean>(), new Map<number, boolean>()];
    for (let step = 0; step < STEPS; step++) {
      const sizes = sizesAt(server, 0).filter((size) => size > 0);
      const changes = drawChanges(prng, sizes, perSlice);
      change(theirs, slicesOf(server, 0).map(placesIn), changes);
      for (const place of change(ours, heldBy(packings[0]!), changes))
        takeChange(book, { place, wanted: publishedOf(ours.get(place)) }, step);
      const slices = [...server.slices.values()];
      const world = { service: serviceOf(families), pods: podsOf(theirs), nodes: [NODE], slices };
      const { writes } = upstreamSync(upstream, world, KEY, families === 1 ? prng : null);
      const planned = planService(book, 0);
      for (const family of packings.keys()) {
        const own = planned.filter((write) => write.family === family);
        assert.deepEqual(ourWrites(own), theirWrites(writes, server, family), `step ${step}`);
      }
      for (const write of writes) serveSliceRequest(server, write);
      for (const [family, packing] of packings.entries()) {
        const left = sizesAt(server, family);
        assert.deepEqual(sizesOf(packing), [left, left], `what step ${step} leaves`);
      }
    }
  });
}
