/** Draws mutants by seed. */
import { fnv1a32 } from '../../src/lib/hash.ts';
import { createPrng, nextUint32 } from '../../src/lib/prng.ts';
import type { Mutant } from './find-mutants.ts';

/**
 * All of them in the order of this seed. A mutant's place hangs on the seed and its own id: a change elsewhere in the code
 * leaves the rest of a sample as it was.
 */
export function shuffled(mutants: readonly Mutant[], seed: number): Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, place: nextUint32(createPrng(fnv1a32(`${seed} ${mutant.id}`))) }))
    .sort((a, b) => a.place - b.place || (a.mutant.id < b.mutant.id ? -1 : 1))
    .map(({ mutant }) => mutant);
}
