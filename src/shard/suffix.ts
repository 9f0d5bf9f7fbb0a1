import { nextInt, type Prng } from '../lib/prng.ts';

/** Of which the server, too, makes the ends of generated names: no vowels, so that no words come about. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export const SUFFIX_CHARACTERS = 5;

/** The random end of a new slice's name, as the API server would draw it. */
export function drawSuffix(prng: Prng): string {
  let text = '';
  for (let i = 0; i < SUFFIX_CHARACTERS; i++) text += ALPHABET[nextInt(prng, ALPHABET.length)];
  return text;
}
