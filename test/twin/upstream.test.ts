/** The plans of the queue model beside upstream's own algorithm, on samples. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podRecord, serviceRecord } from '../support/batches.ts';
import { createSliceServer, serveSliceRequest } from '../support/slice-server.ts';
import { createUpstream, upstreamSync } from '../support/upstream-slices.ts';
import type { EndpointSlice, NodeRecord, PodRecord } from '../../src/kube/types.ts';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import { createPacking, type Packing, repack } from '../../src/twin/packing.ts';

const PER_SLICE = 4;
const STEPS = 60;
const PLACES = 30;
const NODE: NodeRecord = { name: 'node', uid: 'u', resourceVersion: '1', labels: [], ready: true, allocatableCpu: '4' };
const SERVICE = serviceRecord({ namespace: 'ns', name: 'web', selector: ['app', 'web'] });

function pod(place: number, isReady: boolean): PodRecord {
  const labels = ['app', 'web'];
  return podRecord(place, { namespace: 'ns', nodeName: 'node', labels, ready: isReady, podIP: `10.0.0.${place + 1}` });
}

/** How many endpoints each slice has, and how many places the packing has in each. */
function sizesOf({ counts, free, sliceOf }: Packing): readonly (readonly number[])[] {
  const slices = [...counts.keys()].filter((slice) => !free.includes(slice));
  const places = [...sliceOf.values()];
  const held = (slice: number): number => places.filter((of) => of === slice).length;
  return [slices.map((slice) => counts[slice]!), slices.map(held)].map(inOrder);
}

function inOrder(sizes: readonly number[]): number[] {
  return sizes.toSorted((a, b) => a - b);
}

/** As the server holds it. */
function packingOf(slices: readonly EndpointSlice[], placeOf: ReadonlyMap<string, number>): Packing {
  const packing = createPacking();
  for (const { endpoints: listed } of slices) {
    const endpoints = listed ?? [];
    const slice = packing.counts.push(endpoints.length) - 1;
    packing.founders.push(slice);
    if (endpoints.length === 0) packing.placeholder = slice;
    for (const { targetRef } of endpoints) packing.sliceOf.set(placeOf.get(targetRef!.name!)!, slice);
  }
  return packing;
}

for (let seed = 1; seed <= 5; seed++) {
  test(`the model plans the writes that upstream plans, seed ${seed}`, () => {
    const prng = createPrng(seed);
    const upstream = createUpstream(PER_SLICE);
    const server = createSliceServer();
    const ready = new Map<number, boolean>();
    for (let step = 0; step < STEPS; step++) {
      const before = new Map(ready);
      for (let i = nextInt(prng, 8); i >= 0; i--) {
        const place = nextInt(prng, PLACES);
        if (nextInt(prng, 3) === 0) ready.delete(place);
        else ready.set(place, nextInt(prng, 2) === 0);
      }
      const pods = [...ready].map(([place, isReady]) => pod(place, isReady));
      const placeOf = new Map(Array.from({ length: PLACES }, (_, place) => [pod(place, true).name, place]));
      const slices = [...server.slices.values()];
      const { writes } = upstreamSync(upstream, { service: SERVICE, pods, nodes: [NODE], slices }, 'ns/web', prng);
      const packing = packingOf(slices, placeOf);
      const planned = repack(
        packing,
        {
          added: [...ready.keys()].filter((place) => !before.has(place)).toSorted((a, b) => a - b),
          changed: [...ready]
            .filter(([place, is]) => before.has(place) && before.get(place) !== is)
            .map(([place]) => place),
          removed: [...before.keys()].filter((place) => !ready.has(place)),
        },
        { perSlice: PER_SLICE, rankOf: (founder) => founder, recycles: 'last' },
      );
      const theirs = writes.map(({ verb, object }) => `${verb} ${object?.endpoints?.length ?? 0}`);
      const ours = planned.map(({ verb, endpoints }) => `${verb} ${endpoints}`);
      assert.deepEqual(ours.toSorted(), theirs.toSorted(), `step ${step}`);
      for (const write of writes) serveSliceRequest(server, write);
      // Which endpoints are where is chance upstream, so the next step begins with what the server has.
      const sizes = inOrder([...server.slices.values()].map(({ endpoints: listed }) => listed?.length ?? 0));
      assert.deepEqual(sizesOf(packing), [sizes, sizes], `what step ${step} leaves`);
    }
  });
}
