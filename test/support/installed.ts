/**
 * The program as it is installed, for tests of commands: they run what is shipped. It is built once for each state of the
 * sources, and kept where `npm ci` clears it away.
 */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '../..');
const KEPT = join(ROOT, 'node_modules/.cache/endpointd');
const KEPT_MS = 86_400_000;

function hashOfSources(): string {
  const hash = createHash('sha256');
  const paths = globSync(['{src,workers,build,bin}/**/*.{ts,js}', 'package{,-lock}.json'], { cwd: ROOT }).sort();
  for (const path of paths) hash.update(`${path}\0`).update(readFileSync(join(ROOT, path)));
  return hash.digest('hex').slice(0, 16);
}

/** Other test files may build the same at the same time: the first that is done is taken. */
async function install(directory: string): Promise<void> {
  mkdirSync(KEPT, { recursive: true });
  for (const name of globSync('*', { cwd: KEPT })) {
    const path = join(KEPT, name);
    // Another test file may have cleared it away meanwhile.
    const kept = statSync(path, { throwIfNoEntry: false });
    if (kept !== undefined && kept.mtimeMs < Date.now() - KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
  const fresh = mkdtempSync(join(KEPT, 'fresh-'));
  cpSync(join(ROOT, 'bin'), join(fresh, 'bin'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(fresh, 'package.json'));
  // Rolldown takes long to load, and the program is mostly there.
  const { writeProgram } = await import('../../build/bundle.ts');
  await writeProgram(join(fresh, 'dist'));
  try {
    renameSync(fresh, directory);
  } catch (error) {
    rmSync(fresh, { recursive: true });
    if (!existsSync(directory)) throw error;
  }
}

const directory = join(KEPT, hashOfSources());
if (!existsSync(directory)) await install(directory);

/** What the command `endpointd` runs. */
export const BIN = join(directory, 'bin/endpointd.js');

/** What `BIN` loads. */
export const MAIN = pathToFileURL(join(directory, 'dist/src/main.js'));
