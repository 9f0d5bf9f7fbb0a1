/** What a measured program is known by. A commit that changes only data or documents is no other program. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const HASH_CHARS = 12;

/** @param program its main file; all files beside and below it count */
export function programHash(program: URL): string {
  const cwd = fileURLToPath(new URL('.', program));
  const hash = createHash('sha256');
  for (const path of globSync('**/*.{js,ts}', { cwd }).toSorted())
    hash.update(`${path}\0`).update(readFileSync(`${cwd}${path}`));
  return hash.digest('hex').slice(0, HASH_CHARS);
}
