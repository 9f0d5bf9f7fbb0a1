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
 * `count` bounds, each `factor` times the one before. They are multiplied step by step, because the errors of rounding
 * are part of labels that queries name, such as Prometheus' `le="9.999999999999999e-06"`.
 */
export function exponentialBounds(first: number, factor: number, count: number): number[] {
  const bounds: number[] = [];
  for (let bound = first; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}
