/**
 * The lognormal distributions that explain a histogram of latencies. The histogram's mean would depend on a few stalls,
 * and so would the single best distribution where two buckets have all the rest: they leave its width open.
 */
import { exp, log } from '../lib/exp-log.ts';
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

/** The middle of several distributions. */
export interface LikelyLognormal extends Lognormal {
  /** The factors by which each may be smaller or larger. */
  readonly unsure: Lognormal;
}

/** If one bucket has a larger share of all values, its inside is unknown, and so is the median. */
const ONE_BIN_MAX = 0.9;
/** A smaller share of slow values may be stalls, which tell nothing of the others. */
const STALLS_MAX = 0.005;
/** More values tell no more: those of one moment have the same luck. */
const VALUES_MAX = 1000;
/** Distributions whose logarithm of the likelihood is less by no more than this explain the histogram as well. */
const LIKELY = 2;

const MEDIAN_STEP = 1.005;
const [MEDIAN_MIN, MEDIAN_MAX] = [0.1, 10_000];
const SIGMAS: readonly number[] = Array.from({ length: 50 }, (_, i) => 0.05 + 0.05 * i);

/** null = the buckets are too coarse to tell anything. @param bins by bound, the last one Infinity */
export function lognormalOf(bins: readonly Bin[]): LikelyLognormal | null {
  const total = bins.reduce((sum, { count }) => sum + count, 0);
  if (bins.some(({ count }) => count > ONE_BIN_MAX * total)) return null;
  const histogram = histogramOf(bins, total);
  const values = Math.min(total, VALUES_MAX);
  const tried: (Lognormal & { readonly likelihood: number })[] = [];
  let most = -Infinity;
  for (const sigma of SIGMAS) {
    for (let median = MEDIAN_MIN; median < MEDIAN_MAX; median *= MEDIAN_STEP) {
      const likelihood = values * likelihoodOf(histogram, log(median), sigma);
      if (likelihood < most - LIKELY) continue;
      most = Math.max(most, likelihood);
      tried.push({ median, tail: tailOf(sigma), likelihood });
    }
  }
  return middleOf(tried.filter(({ likelihood }) => likelihood >= most - LIKELY));
}

/** Of both numbers that which is as many times the least as the greatest is of it. */
export function middleOf(likely: readonly Lognormal[]): LikelyLognormal {
  const of = (name: 'median' | 'tail'): readonly [value: number, unsure: number] => {
    const values = likely.map((one) => one[name]);
    const [least, greatest] = [Math.min(...values), Math.max(...values)];
    return [Math.sqrt(least * greatest), Math.sqrt(greatest / least)];
  };
  const [[median, medianUnsure], [tail, tailUnsure]] = [of('median'), of('tail')];
  return { median, tail, unsure: { median: medianUnsure, tail: tailUnsure } };
}

interface Histogram {
  /** Each with its share of all values. */
  readonly bins: readonly { readonly bound: number; readonly share: number }[];
  /** The share of slower values, which may be stalls. */
  readonly slow: number;
}

function histogramOf(bins: readonly Bin[], total: number): Histogram {
  let slow = 0;
  let end = bins.length;
  while (slow + bins[end - 1]!.count <= STALLS_MAX * total) slow += bins[--end]!.count;
  return {
    bins: bins.slice(0, end).map(({ bound, count }) => ({ bound, share: count / total })),
    slow: slow / total,
  };
}

/**
 * The logarithm of the likelihood, for each value. As many of the slow values are stalls as the distribution does not
 * explain.
 */
function likelihoodOf({ bins, slow }: Histogram, mu: number, sigma: number): number {
  let likelihood = 0;
  let below = 0;
  for (const { bound, share } of bins) {
    const upTo = bound === Infinity ? 1 : normalBelow((log(bound) - mu) / sigma);
    if (share > 0) likelihood += share * log(Math.max(LEAST, upTo - below));
    below = upTo;
  }
  const slowest = Math.max(slow, 1 - below);
  if (slow > 0) likelihood += slow * log(slowest);
  return likelihood + (1 - slow) * log(Math.max(LEAST, 1 - slowest) / Math.max(LEAST, below));
}

const LEAST = 1e-12;

/** The share of a standard normal distribution below `z`, within 1e-7 (Abramowitz and Stegun 26.2.17). */
function normalBelow(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = (poly * exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
  return z > 0 ? 1 - tail : tail;
}
