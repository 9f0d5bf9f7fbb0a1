/** The smallest sample that at least `share` (in [0, 1]) of all samples do not exceed; NaN when there are none. */
export function percentile(samples: readonly number[], share: number): number {
  // Numbers in a typed array are sorted without a call for each two of them.
  return percentileOfSorted(Float64Array.from(samples).sort(), share);
}

/** The same of samples that are sorted, the smallest first. */
export function percentileOfSorted(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Of an even number between the middle two; NaN when there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >>> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
