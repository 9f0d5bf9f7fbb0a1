import { nextInt, type Prng } from '../lib/prng.ts';

/** The alphabet of names that the API server generates. It has no vowels, so that no words arise. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export const SUFFIX_CHARACTERS = 5;

/** The random end of the name of a new slice, drawn as the API server draws it. */
export function drawSuffix(prng: Prng): string {
  let text = '';
  for (let i = 0; i < SUFFIX_CHARACTERS; i++) text += ALPHABET[nextInt(prng, ALPHABET.length)];
  return text;
}
