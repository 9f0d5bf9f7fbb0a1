/** The place of the first value that is not below `value` in an ascending list; its length = there is none. */
export function placeFrom(ascending: ArrayLike<number>, value: number): number {
  return firstPlace(ascending, (each) => each >= value);
}

/** The place of the first value above `value` in an ascending list; its length = there is none. */
export function placeAbove(ascending: ArrayLike<number>, value: number): number {
  return firstPlace(ascending, (each) => each > value);
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
