/**
 * What an operator sees after a change of flags is another time than the one that was played. It is as long, of the same
 * cluster, and has changes of its own.
 */
import { quantile } from '../twin/figures.ts';
import type { Program } from '../metrics/program-of.ts';
import { isChange, type Story } from '../twin/story.ts';
import { UNSURE } from './measured.ts';
import { type Expression, type Scope, WORST_MS } from './objective.ts';
import type { Blocks } from './resample.ts';

const BOUND_SHARE = 0.9;
/** A block of a resample is half a minute long, or a tenth of a run that is shorter than five minutes. */
const BLOCKS_MIN = 10;

/** Whose draws the figure is of. */
export function blocksOf(
  { isWorst }: Pick<Expression, 'isWorst'>,
  { durationMs, worstMs = WORST_MS }: Pick<Scope, 'durationMs' | 'worstMs'>,
): Blocks {
  return {
    durationMs,
    blockMs: Math.min(worstMs, durationMs) / BLOCKS_MIN,
    partMs: isWorst ? worstMs : Infinity,
  };
}

/** What another time stays below in nine of ten cases. @param sorted the figure of each resample */
export function boundOfDraws(sorted: Float64Array, blocks: Blocks): number {
  const bound = quantile(sorted, BOUND_SHARE);
  // NaN stays: what a run does not have meets no limit.
  if (!Number.isFinite(bound)) return bound;
  const middle = quantile(sorted, 0.5);
  return middle + (bound - middle) * anotherTime(blocks);
}

/**
 * How many times as far as resamples another time is from the one that was played. Resamples differ from that time by as much
 * as it differs from what is usual, and another time differs from what is usual by as much again: sqrt(2) times as much, since
 * neither knows of the other. Few blocks show too little of it: the spread of `n` values is too small by sqrt(n / (n - 1)), and
 * known as badly as the quantile of Student's t for them is further out (its expansion, Abramowitz and Stegun 26.7.5).
 */
function anotherTime(blocks: Blocks): number {
  const count = countOf(blocks);
  const student = 1 + (NORMAL_OF_BOUND ** 2 + 1) / (4 * (count - 1));
  return Math.SQRT2 * Math.sqrt(count / (count - 1)) * student;
}

/** How many blocks are exchanged with each other. */
function countOf({ durationMs, blockMs, partMs }: Blocks): number {
  return Math.round(Math.min(durationMs, partMs) / blockMs);
}

/** The quantile of the standard normal distribution for `BOUND_SHARE`. */
const NORMAL_OF_BOUND = 1.2816;

/**
 * How many times as many changes another time may have. Resamples do not tell what that does: they repeat the waits of this time,
 * and a queue that was short of its limit is beyond it with a few changes more. Events that are no changes, such as those of
 * pods without a Service, say nothing of that.
 */
export function busierBy(story: Story, controller: Program): number {
  const blocks = blocksOf({ isWorst: false }, story);
  const counts = new Float64Array(countOf(blocks));
  for (const change of story.changes) {
    const block = Math.floor(change.atMs / blocks.blockMs);
    if (block < counts.length && isChange(change, controller)) counts[block]!++;
  }
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  if (mean === 0) return 1;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length;
  const share = Math.sqrt(variance / counts.length) / mean;
  return Math.min(BUSIER_MAX, 1 + NORMAL_OF_BOUND * anotherTime(blocks) * share);
}

/** Where changes come in bursts another time has more of them, and none that are quicker. */
const BUSIER_MAX = UNSURE;

/** The same changes in less time. */
export function hastened(story: Story, factor: number): Story {
  return {
    ...story,
    durationMs: story.durationMs / factor,
    changes: story.changes.map((change) => ({ ...change, atMs: change.atMs / factor })),
  };
}
