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

/** `count` bounds, each `factor` times the one before. */
export function exponentialBounds(first: number, factor: number, count: number): number[] {
  // Rounded to 12 digits: 1e-8 * 10^n must read 0.1, not 0.10000000000000002, for it is printed as a label.
  return Array.from({ length: count }, (_, index) => Number((first * factor ** index).toPrecision(12)));
}
