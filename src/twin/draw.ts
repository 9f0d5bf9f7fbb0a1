/** Chance that all settings share: a number is drawn by what it is for, and not one after the other. */

/** A number in (0, 1), the same for the same arguments. */
export function uniformAt(seed: number, a: number, b: number): number {
  let z =
    (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(a + 1, 0xc2b2ae35) ^ Math.imul(b + 1, 0x27d4eb2f)) >>> 0;
  z = Math.imul(z ^ (z >>> 16), 0x7feb352d);
  z = Math.imul(z ^ (z >>> 15), 0x846ca68b);
  return (((z ^ (z >>> 16)) >>> 0) + 0.5) / 0x1_0000_0000;
}

/** The rank of the slice that was made for a place first, among the slices of its family that a sync may take. */
export type DrawRank = (founder: number, sync: number, family: number) => number;

export function createRanks(seed: number): DrawRank {
  return (founder, sync, family) => uniformAt(seed ^ RANK_SALT ^ family, founder, sync);
}

/** The family that a sync of a service takes first, of so many. */
export type DrawFamily = (service: number, sync: number, families: number) => number;

export function createFamilyDraw(seed: number): DrawFamily {
  return (service, sync, families) => Math.floor(families * uniformAt(seed ^ FAMILY_SALT, service, sync));
}

const [RANK_SALT, FAMILY_SALT] = [0x3c6ef372, 0x5be0cd19];
