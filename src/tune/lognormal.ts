/**
 * The lognormal distribution that fits a histogram of latencies best. The histogram's mean would depend on a few
 * stalls.
 */
import { tailOf } from '../twin/api-latency.ts';

/** One bucket: values above the bound of the bucket before and up to `bound`, in milliseconds. */
export interface Bin {
  readonly bound: number;
  readonly count: number;
}

export interface Lognormal {
  readonly median: number;
  /** The p99 over the median. */
  readonly tail: number;
}

/** If one bucket has a larger share of all values, its inside is unknown, and so is the median. */
const ONE_BIN_MAX = 0.9;

const MEDIAN_STEP = 1.02;
const [MEDIAN_MIN, MEDIAN_MAX] = [0.1, 10_000];
const SIGMAS: readonly number[] = Array.from({ length: 50 }, (_, i) => 0.05 + 0.05 * i);

/**
 * The distribution with the greatest likelihood; null = the buckets are too coarse to tell. @param bins by bound, the
 * last one Infinity
 */
export function lognormalOf(bins: readonly Bin[]): Lognormal | null {
  const total = bins.reduce((sum, { count }) => sum + count, 0);
  if (bins.some(({ count }) => count > ONE_BIN_MAX * total)) return null;
  let best: Lognormal | null = null;
  let most = -Infinity;
  for (let median = MEDIAN_MIN; median < MEDIAN_MAX; median *= MEDIAN_STEP) {
    for (const sigma of SIGMAS) {
      const likelihood = likelihoodOf(bins, Math.log(median), sigma);
      if (likelihood <= most) continue;
      most = likelihood;
      best = { median, tail: tailOf(sigma) };
    }
  }
  return best;
}

/** The logarithm of the likelihood. */
function likelihoodOf(bins: readonly Bin[], mu: number, sigma: number): number {
  let likelihood = 0;
  let below = 0;
  for (const { bound, count } of bins) {
    const share = bound === Infinity ? 1 : normalBelow((Math.log(bound) - mu) / sigma);
    if (count > 0) likelihood += count * Math.log(Math.max(LEAST, share - below));
    below = share;
  }
  return likelihood;
}

const LEAST = 1e-12;

/** The share of a standard normal distribution below `z`, within 1e-7 (Abramowitz and Stegun 26.2.17). */
function normalBelow(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (poly * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
  return z > 0 ? 1 - tail : tail;
}
