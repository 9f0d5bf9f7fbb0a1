import { nextInt, type Prng } from '../lib/prng.ts';

/** The alphabet of the server's generated names. It has no vowels, so no words come about. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export const SUFFIX_CHARACTERS = 5;

/** The random end of a new slice's name, as the API server would draw it. */
export function drawSuffix(prng: Prng): string {
  let text = '';
  for (let i = 0; i < SUFFIX_CHARACTERS; i++) text += ALPHABET[nextInt(prng, ALPHABET.length)];
  return text;
}
