/** A small seeded generator (xoshiro128**, state filled by splitmix32): fast, repeatable, not for secrets. */

export interface Prng {
  a: number;
  b: number;
  c: number;
  d: number;
}

/** The same seed (taken modulo 2^32) gives the same sequence, on every machine. */
export function createPrng(seed: number): Prng {
  let state = seed >>> 0;
  const word = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) | 0;
  };
  return { a: word(), b: word(), c: word(), d: word() };
}

/** A uniform integer in [0, 2^32). */
export function nextUint32(prng: Prng): number {
  const scrambled = Math.imul(rotateLeft(Math.imul(prng.b, 5), 7), 9) >>> 0;
  const t = prng.b << 9;
  prng.c ^= prng.a;
  prng.d ^= prng.b;
  prng.b ^= prng.c;
  prng.a ^= prng.d;
  prng.c ^= t;
  prng.d = rotateLeft(prng.d, 11);
  return scrambled;
}

/** A uniform number in [0, 1) with 32 random bits. */
export function nextFloat(prng: Prng): number {
  return nextUint32(prng) / 0x1_0000_0000;
}

/** An integer in [0, n), n up to 2^32; uniform but for a bias below n / 2^32. */
export function nextInt(prng: Prng, n: number): number {
  return Math.floor(nextFloat(prng) * n);
}

/** The items in an order drawn by the generator (Fisher and Yates); one draw for each item but one. */
export function shuffled<T>(items: readonly T[], prng: Prng): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = nextInt(prng, i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
