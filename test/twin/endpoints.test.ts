/** Endpoints as the queue model has them beside the oracle of docs/spec/endpoints.md "Over capacity". */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOneBook, KEY, podOf, podsOf, serviceOf } from '../support/twin-upstream.ts';
import { type OracleEndpoints, oracleEndpoints } from '../../src/judge/endpoints-oracle.ts';
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import { type Book, type ModelWrite, planService, takeChange } from '../../src/twin/book.ts';
import { NOTHING, type Published } from '../../src/twin/story.ts';

const STEPS = 30;
const PLACES = 1600;

const STATES: readonly Published[] = [
  { endpoints: 1, slices: 1, isReady: true },
  { endpoints: 2, slices: 2, isReady: false },
  // It is being deleted.
  { endpoints: 0, slices: 3, isReady: false },
  NOTHING,
];

interface Shown {
  readonly ready: readonly string[];
  readonly notReady: readonly string[];
}

function shownIn({ subsets }: OracleEndpoints): Shown {
  return {
    ready: subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)),
    notReady: subsets.flatMap(({ notReadyAddresses = [] }) => notReadyAddresses.map(({ ip }) => ip)),
  };
}

function shownBy({ planned, plannedReady }: Book): Shown {
  const those = (isReady: 0 | 1): string[] =>
    [...planned.keys()]
      .filter((place) => planned[place] !== 0 && plannedReady[place] === isReady)
      .map((place) => podOf(place, true).podIP);
  return { ready: those(1), notReady: those(0) };
}

/** docs/spec/endpoints.md "When nothing is written" */
function writesFor(before: OracleEndpoints | null, after: OracleEndpoints): Pick<ModelWrite, 'verb' | 'endpoints'>[] {
  const { ready, notReady } = shownIn(after);
  const endpoints = ready.length + notReady.length;
  if (before === null) return [{ verb: 'create', endpoints }];
  const isRight = !before.overCapacity && !after.overCapacity && JSON.stringify(before) === JSON.stringify(after);
  return isRight ? [] : [{ verb: 'update', endpoints }];
}

test('a change of Endpoints above a thousand looks at few of the other pods', () => {
  /** Each pod becomes ready, and unready again. */
  const looksWith = (pods: number): number => {
    const book = createOneBook('endpoints', 1, 100, pods);
    const { waiting, seated } = book.services[0]!.ranking!;
    let looks = 0;
    for (const heap of [waiting, seated]) {
      const { before } = heap;
      Object.assign(heap, {
        before: (...two: Parameters<typeof before>) => {
          looks++;
          return before(...two);
        },
      });
    }
    for (const wanted of [STATES[1]!, STATES[0]!, STATES[1]!])
      for (let place = 0; place < pods; place++) takeChange(book, { place, wanted }, place);
    return looks;
  };
  const [two, four] = [looksWith(2000), looksWith(4000)];
  assert.ok(two > 2000 && four < 3 * two, `${two} and ${four} looks`);
});

for (let seed = 1; seed <= 4; seed++) {
  test(`Endpoints show the same addresses, up to a thousand and above, seed ${seed}`, () => {
    const prng = createPrng(seed);
    const book = createOneBook('endpoints', 1, 100, PLACES);
    const ready = new Map<number, boolean>();
    let before: OracleEndpoints | null = null;
    for (let step = 0; step < STEPS; step++) {
      const wanted = STATES[nextInt(prng, STATES.length)]!;
      const [first, count] = [nextInt(prng, PLACES), nextInt(prng, nextInt(prng, 2) === 0 ? 4 : PLACES)];
      for (let i = 0; i < count; i++) {
        const place = (first + i) % PLACES;
        if (nextInt(prng, 3) === 0) continue;
        takeChange(book, { place, wanted }, step);
        if (wanted.endpoints === 0) ready.delete(place);
        else ready.set(place, wanted.isReady);
      }
      const after: OracleEndpoints = oracleEndpoints({ services: [serviceOf(1)], pods: podsOf(ready) }, KEY)!;
      const written = planService(book, 0).map(({ verb, endpoints }) => ({ verb, endpoints }));
      assert.deepEqual(written, writesFor(before, after), `step ${step}`);
      assert.deepEqual(shownBy(book), shownIn(after), `step ${step}`);
      before = after;
    }
  });
}
