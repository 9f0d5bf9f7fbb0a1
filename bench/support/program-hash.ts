/** Short hashes of files. By its files a measured program is known: a commit of data or documents is no other program. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const HASH_CHARS = 12;

/** @param program its main file; all files beside and below it count */
export function programHash(program: URL): string {
  const directory = new URL('.', program);
  return filesHash(directory, globSync('**/*.{js,ts}', { cwd: fileURLToPath(directory) }).toSorted());
}

/** @param paths in the directory; their order counts */
export function filesHash(directory: URL, paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(`${path}\0`).update(readFileSync(new URL(path, directory)));
  return hash.digest('hex').slice(0, HASH_CHARS);
}
