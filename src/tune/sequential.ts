/**
 * When there are enough pairs of runs. Each pair has a ratio, and the mean of their logarithms has an interval by
 * Student's t. There is a look after each pair. So with an ordinary 95 % interval some look would miss the truth in one
 * of six cases. The factors below are those of a nominal 98.8 %: with them all eight looks together hold the truth in
 * 95 %. That is of one figure of one setting: several together hold it less often.
 */
import { exp, log } from '../lib/exp-log.ts';

export type Decision = 'lower' | 'higher' | 'same' | 'cannot tell';

export interface Interval {
  /** null = more pairs are needed. */
  readonly decision: Decision | null;
  /** The ratio and its interval; 0 and Infinity = not known yet. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** Of runs without the figure. More of them would not have it either. */
export const UNTOLD: Interval = { decision: 'cannot tell', ratio: 1, low: 0, high: Infinity };

/** Fewer pairs tell nothing. */
export const PAIRS_MIN = 3;
export const PAIRS_MAX = 10;
/** Ratios that differ from 1 by less are called the same. */
export const SAME = 0.05;

/**
 * The factors for 3 to 10 pairs: Student's t with one degree less, at 0.6 % above. 400,000 simulated series gave them.
 */
const FACTORS: readonly number[] = [9.046, 5.472, 4.367, 3.85, 3.555, 3.365, 3.233, 3.136];

/** @param ratios of each pair, one setting over the other; above 0 */
export function intervalOf(ratios: readonly number[]): Interval {
  const count = ratios.length;
  const logs = ratios.map(log);
  const mean = logs.reduce((sum, each) => sum + each, 0) / count;
  if (count < PAIRS_MIN) return { decision: null, ratio: exp(mean), low: 0, high: Infinity };
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (count - 1);
  const half = FACTORS[Math.min(count, PAIRS_MAX) - PAIRS_MIN]! * Math.sqrt(variance / count);
  const [low, high] = [exp(mean - half), exp(mean + half)];
  return {
    decision: decide(low, high) ?? (count < PAIRS_MAX ? null : 'cannot tell'),
    ratio: exp(mean),
    low,
    high,
  };
}

function decide(low: number, high: number): Decision | null {
  if (low >= 1 - SAME && high <= 1 + SAME) return 'same';
  if (high < 1) return 'lower';
  return low > 1 ? 'higher' : null;
}
