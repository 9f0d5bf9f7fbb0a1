/** Statistics of repeated runs of two peers: ratios of medians with an interval, and the size of the noise. */
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import { median, percentile } from '../../src/lib/percentile.ts';

export interface Ratio {
  /** NaN = one side has no runs, or is 0 or less. */
  readonly value: number;
  /**
   * The bounds of 95 percent of the resamples; both NaN = there are fewer than two pairs, or a resample has no ratio.
   */
  readonly low: number;
  readonly high: number;
  readonly pairs: number;
}

const RESAMPLES = 2000;
const RESAMPLES_SEED = 20_261_122;

/** NaN = one of the numbers is 0 or less. */
export function ratioOf(ours: number, theirs: number): number {
  return ours > 0 && theirs > 0 ? ours / theirs : Number.NaN;
}

/**
 * The ratio of two figures that are made of the same rounds, with a bootstrap interval over the rounds. The same rounds
 * give the same interval.
 */
export function ratioOver<T>(
  rounds: readonly T[],
  ours: (rounds: readonly T[]) => number,
  theirs: (rounds: readonly T[]) => number,
): Ratio {
  const value = ratioOf(ours(rounds), theirs(rounds));
  const pairs = rounds.length;
  const ratios = overResamples(rounds, (drawn) => ratioOf(ours(drawn), theirs(drawn)));
  if (ratios.length === 0 || ratios.some(Number.isNaN)) return { value, low: Number.NaN, high: Number.NaN, pairs };
  return { value, low: percentile(ratios, 0.025), high: percentile(ratios, 0.975), pairs };
}

/**
 * The figure of each of 2,000 lists of as many items, drawn from them with replacement: the same for the same items.
 * [] = there are fewer than two. @param figure is asked once for lists that differ in the order alone
 */
export function overResamples<T, Figure>(items: readonly T[], figure: (drawn: readonly T[]) => Figure): Figure[] {
  if (items.length < 2) return [];
  const { drawn, different } = drawsOf(items.length);
  const figures = different.map((places) => figure(places.map((place) => items[place]!)));
  return drawn.map((at) => figures[at]!);
}

interface Draws {
  /** Lists of places in ascending order: of five items there are 126. */
  readonly different: readonly (readonly number[])[];
  /** Of each draw the index in `different`. */
  readonly drawn: readonly number[];
}

const DRAWS = new Map<number, Draws>();

/** The draws from so many items, made once. */
function drawsOf(count: number): Draws {
  const made = DRAWS.get(count);
  if (made !== undefined) return made;
  const prng = createPrng(RESAMPLES_SEED);
  const different = new Map<string, { readonly at: number; readonly places: readonly number[] }>();
  const drawn = Array.from({ length: RESAMPLES }, () => {
    const places = Array.from({ length: count }, () => nextInt(prng, count)).sort((a, b) => a - b);
    const key = places.join();
    const known = different.get(key);
    if (known === undefined) different.set(key, { at: different.size, places });
    return known?.at ?? different.size - 1;
  });
  const draws = { different: [...different.values()].map(({ places }) => places), drawn };
  DRAWS.set(count, draws);
  return draws;
}

/** The percentile of all samples of some rounds together. A resample draws a round several times. */
export function pooledPercentile(
  byRound: ReadonlyMap<number, readonly number[]>,
  share: number,
): (rounds: readonly number[]) => number {
  const largest = largestOf(byRound);
  return (rounds) => {
    const times = new Map<number, number>();
    for (const round of rounds) times.set(round, (times.get(round) ?? 0) + 1);
    const count = rounds.reduce((sum, round) => sum + (byRound.get(round)?.length ?? 0), 0);
    if (count === 0) return Number.NaN;
    let above = count - Math.max(1, Math.ceil(share * count));
    for (let i = 0; ; i++) {
      const next = largest(i);
      if (next === null) return Number.NaN;
      above -= times.get(next.round) ?? 0;
      if (above < 0) return next.sample;
    }
  };
}

interface RoundSample {
  readonly round: number;
  readonly sample: number;
}

/** The samples of all rounds by their place, the largest first; null = there are no more. Only those asked for are merged. */
function largestOf(byRound: ReadonlyMap<number, readonly number[]>): (place: number) => RoundSample | null {
  const left = [...byRound].map(([round, samples]) => ({
    round,
    ascending: Float64Array.from(samples).sort(),
    count: samples.length,
  }));
  const merged: RoundSample[] = [];
  return (place) => {
    while (merged.length <= place) {
      let [round, sample, from] = [0, Number.NEGATIVE_INFINITY, -1];
      for (const [i, { ascending, count, round: own }] of left.entries()) {
        if (count === 0 || (from >= 0 && ascending[count - 1]! <= sample)) continue;
        [round, sample, from] = [own, ascending[count - 1]!, i];
      }
      if (from < 0) return null;
      left[from]!.count--;
      merged.push({ round, sample });
    }
    return merged[place]!;
  };
}

/**
 * How much two runs of the same program differ: the median, over all pairs of `runs`, of the larger by the smaller. It does
 * not grow with the number of runs, as that of the two that differ most does. NaN = there are fewer than two runs, or one
 * of them is 0 or less.
 */
export function spread(runs: readonly number[]): number {
  if (runs.length < 2 || !(Math.min(...runs) > 0)) return Number.NaN;
  return median(
    runs.flatMap((one, i) => runs.slice(i + 1).map((other) => Math.max(one, other) / Math.min(one, other))),
  );
}

/** With fewer pairs the interval of a ratio is only the range of its pairs. */
export const PAIRS_FOR_INTERVAL = 5;

/**
 * Whether a ratio is further from 1 than the noise, and its interval leaves 1. false = it is not, there is no interval, or
 * the noise is not known. @param noise a factor of at least 1
 */
export function isBeyondNoise({ value, low, high }: Ratio, noise: number): boolean {
  const leavesOne = low > 1 || high < 1;
  return leavesOne && (value > noise || value < 1 / noise);
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The line through the points by the medians of the slopes between all pairs, so a point that was disturbed does not move
 * it (Theil and Sen).
 */
export function lineThrough(points: readonly Point[]): { readonly base: number; readonly each: number } {
  const each = median(points.flatMap((a, i) => points.slice(i + 1).map((b) => (b.y - a.y) / (b.x - a.x))));
  return { base: median(points.map(({ x, y }) => y - each * x)), each };
}
