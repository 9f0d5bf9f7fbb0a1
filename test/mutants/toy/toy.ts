/** A small thing to mutate. */

/** The larger of two numbers. */
export function larger(a: number, b: number): number {
  return a > b ? a : b;
}

/** How often `larger` has to be asked for the largest of `count` numbers. */
export function comparisons(count: number): number {
  let made = 0;
  while (made + 1 < count) made++;
  return made;
}

/** Nothing tests this one. */
export function isSmall(n: number): boolean {
  return n < 10;
}
