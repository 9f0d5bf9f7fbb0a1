/** The place of the first value that is not below `value` in an ascending list; its length = there is none. */
export function placeFrom(ascending: ArrayLike<number>, value: number): number {
  return firstPlace(ascending, (each) => each >= value);
}

/** The place of the first value above `value` in an ascending list; its length = there is none. */
export function placeAbove(ascending: ArrayLike<number>, value: number): number {
  return firstPlace(ascending, (each) => each > value);
}

/**
 * The value at a place of both ascending lists together, as if they were one.
 * @param place from 0 on, and within both
 */
export function valueOfBoth(a: ArrayLike<number>, b: ArrayLike<number>, place: number): number {
  const count = place + 1;
  // So many of the first `count` values are of `a`.
  let low = Math.max(0, count - b.length);
  let high = Math.min(count, a.length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (a[middle]! < b[count - middle - 1]!) low = middle + 1;
    else high = middle;
  }
  return Math.max(a[low - 1] ?? -Infinity, b[count - low - 1] ?? -Infinity);
}

/** @param isThere false for the first values, and true from some place on */
function firstPlace(ascending: ArrayLike<number>, isThere: (value: number) => boolean): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isThere(ascending[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
