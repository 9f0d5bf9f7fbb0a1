/**
 * A figure of many resamples, without making these runs: a resample is told by how often it has each block. A sum is that of
 * the blocks. A quantile is found in the latencies of all blocks, which are put in order once.
 */
import { latenciesOf } from '../twin/figures.ts';
import type { Ledger } from '../twin/ledger.ts';
import { placeAbove, placeFrom } from '../lib/sorted.ts';
import { type Expression, figureOf, isOfLatencies, type Scope } from './objective.ts';

/** @param times how often the resample has each block */
export type FigureOfDraw = (times: Uint32Array) => number;

/** @param blocks what is in each block of the run */
export function figureOfDraws(expression: Expression, blocks: readonly Ledger[], scope: Scope): FigureOfDraw {
  if (!isOfLatencies(expression)) {
    const values = blocks.map((block) => figureOf(expression, block, scope));
    return (times) => values.reduce((sum, value, block) => sum + times[block]! * value, 0);
  }
  const { kinds, output } = expression;
  const shown = inOrder(blocks.map(({ samples }) => latenciesOf(samples[output], kinds)));
  const unshown = inOrder(blocks.map((block) => latenciesOf(block.unshown[output], kinds)));
  if (expression.of === 'quantile') return (times) => quantileOfDraw(shown, unshown, times, expression.share);
  const { thanMs } = expression;
  const [shownLate, unshownLate] = [placeAbove(shown.values, thanMs), placeAbove(unshown.values, thanMs)];
  return (times) => {
    const late = countFrom(unshown, times, unshownLate);
    const total = countOf(shown, times) + late;
    return total === 0 ? 0 : (countFrom(shown, times, shownLate) + late) / total;
  };
}

/** The latencies of all blocks in ascending order, the block of each, and how many each block has. */
interface Ordered {
  readonly values: Float64Array;
  readonly blocks: Uint32Array;
  readonly lengths: readonly number[];
}

function inOrder(byBlock: readonly Float64Array[]): Ordered {
  const values = new Float64Array(byBlock.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const own of byBlock) {
    values.set(own, end);
    end += own.length;
  }
  values.sort();
  const blocks = new Uint32Array(values.length);
  // How many of the equal values that begin at a place have theirs already.
  const placed = new Uint32Array(values.length);
  for (const [block, own] of byBlock.entries()) {
    for (const value of own) {
      const first = placeFrom(values, value);
      blocks[first + placed[first]!++] = block;
    }
  }
  return { values, blocks, lengths: byBlock.map(({ length }) => length) };
}

/** How many values a resample has. @param times how often it has each block */
function countOf({ lengths }: Ordered, times: Uint32Array): number {
  return lengths.reduce((sum, length, block) => sum + times[block]! * length, 0);
}

/** How many values a resample has from this place on. */
function countFrom({ blocks }: Ordered, times: Uint32Array, place: number): number {
  let count = 0;
  for (let i = place; i < blocks.length; i++) count += times[blocks[i]!]!;
  return count;
}

/** As `quantilesOf` has it. */
function quantileOfDraw(shown: Ordered, unshown: Ordered, times: Uint32Array, share: number): number {
  const count = countOf(shown, times);
  const own = count === 0 ? 0 : valueFromEnd(shown, NO_VALUES, 0, times, aboveQuantile(share, count));
  const later = placeAbove(unshown.values, own);
  const late = countFrom(unshown, times, later);
  return late === 0 ? own : valueFromEnd(shown, unshown, later, times, aboveQuantile(share, count + late));
}

const NO_VALUES: Ordered = { values: new Float64Array(), blocks: new Uint32Array(), lengths: [] };

/** How many of so many values are above the one that is their quantile. */
function aboveQuantile(share: number, count: number): number {
  return count - 1 - Math.max(0, Math.ceil(share * count) - 1);
}

/** The value of both that so many others follow. @param from the first place of `other` that counts */
function valueFromEnd(one: Ordered, other: Ordered, from: number, times: Uint32Array, above: number): number {
  let [i, j] = [one.values.length - 1, other.values.length - 1];
  for (let left = above; ;) {
    const isOther = j >= from && (i < 0 || other.values[j]! > one.values[i]!);
    const value = isOther ? other.values[j]! : one.values[i]!;
    left -= times[isOther ? other.blocks[j--]! : one.blocks[i--]!]!;
    if (left < 0) return value;
  }
}
