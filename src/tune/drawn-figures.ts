/**
 * A figure of each of many resamples, without making these runs: a resample is told by how often it has each block. A sum is
 * that of the blocks. A quantile is found in the latencies of all blocks, which are put in order once.
 */
import { latenciesOf } from '../twin/figures.ts';
import type { Ledger } from '../twin/ledger.ts';
import { placeAbove, placeFrom } from '../lib/sorted.ts';
import { type Expression, figureOf, isOfLatencies, type Scope } from './objective.ts';
import { blockCounts, type Blocks, cutInBlocks } from './resample.ts';

/** For each resample the value of the figure of its whole run. */
export function figuresOfDraws(
  expression: Expression,
  ledger: Ledger,
  scope: Scope,
  blocks: Blocks,
  count: number,
  seed: number,
): number[] {
  const counts = blockCounts(blocks, count, seed);
  const ledgers = cutInBlocks(ledger, blocks);
  if (!isOfLatencies(expression)) {
    const values = ledgers.map((block) => figureOf(expression, block, scope));
    return counts.map((times) => values.reduce((sum, value, block) => sum + times[block]! * value, 0));
  }
  const { kinds, output } = expression;
  const shown = inOrder(ledgers.map(({ samples }) => latenciesOf(samples[output], kinds)));
  const unshown = inOrder(ledgers.map((block) => latenciesOf(block.unshown[output], kinds)));
  if (expression.of === 'later') {
    const { thanMs } = expression;
    return counts.map((times) => {
      const late = countFrom(unshown, times, placeAbove(unshown.values, thanMs));
      const total = countFrom(shown, times, 0) + late;
      return total === 0 ? 0 : (countFrom(shown, times, placeAbove(shown.values, thanMs)) + late) / total;
    });
  }
  return counts.map((times) => quantileOfDraw(shown, unshown, times, expression.share));
}

/** The latencies of all blocks in ascending order, and the block of each. */
interface Ordered {
  readonly values: Float64Array;
  readonly blocks: Uint32Array;
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
  return { values, blocks };
}

/** How many values a resample has from this place on. @param times how often it has each block */
function countFrom({ blocks }: Ordered, times: Uint32Array, place: number): number {
  let count = 0;
  for (let i = place; i < blocks.length; i++) count += times[blocks[i]!]!;
  return count;
}

/** As `quantilesOf` has it. */
function quantileOfDraw(shown: Ordered, unshown: Ordered, times: Uint32Array, share: number): number {
  const count = countFrom(shown, times, 0);
  const own = count === 0 ? 0 : valueFromEnd(shown, NO_VALUES, 0, times, aboveQuantile(share, count));
  const later = placeAbove(unshown.values, own);
  const late = countFrom(unshown, times, later);
  return late === 0 ? own : valueFromEnd(shown, unshown, later, times, aboveQuantile(share, count + late));
}

const NO_VALUES: Ordered = { values: new Float64Array(), blocks: new Uint32Array() };

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
