/** Counts of observed values in fixed buckets, as plain numbers. */

export interface Histogram {
  /** Upper bounds, inclusive, ascending; the bucket above the last one has none. */
  readonly bounds: readonly number[];
  /** Values in each bucket (not cumulative); one longer than `bounds`. */
  readonly counts: Float64Array;
  sum: number;
  count: number;
}

export function createHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Float64Array(bounds.length + 1), sum: 0, count: 0 };
}

export function observe(histogram: Histogram, value: number): void {
  const { bounds } = histogram;
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value <= bounds[middle]!) high = middle;
    else low = middle + 1;
  }
  histogram.counts[low] = histogram.counts[low]! + 1;
  histogram.sum += value;
  histogram.count++;
}

/**
 * The value below which the share `q` (0 to 1) of the observed values lies, interpolated within its bucket as
 * PromQL's histogram_quantile does; 0 when nothing was observed, the last bound when it lies above.
 */
export function quantile(histogram: Histogram, q: number): number {
  const { bounds, counts, count } = histogram;
  if (count === 0) return 0;
  const rank = q * count;
  let below = 0;
  for (let bucket = 0; bucket < bounds.length; bucket++) {
    const inside = counts[bucket]!;
    if (inside > 0 && below + inside >= rank) {
      const lower = bucket === 0 ? Math.min(0, bounds[0]!) : bounds[bucket - 1]!;
      return lower + (bounds[bucket]! - lower) * ((rank - below) / inside);
    }
    below += inside;
  }
  return bounds.at(-1) ?? 0;
}

/** `count` bounds, each `factor` times the one before. */
export function exponentialBounds(first: number, factor: number, count: number): number[] {
  // Rounded to 12 digits: 1e-8 * 10^n must read 0.1, not 0.10000000000000002, for it is printed as a label.
  return Array.from({ length: count }, (_, index) => Number((first * factor ** index).toPrecision(12)));
}
