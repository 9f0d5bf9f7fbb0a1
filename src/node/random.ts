import { randomInt } from 'node:crypto';
import type { Random } from '../ports/random.ts';

export function createRandom(): Random {
  return { uint32: () => randomInt(2 ** 32) };
}
