/**
 * `npm run prepack`: the program as it is shipped, in `dist`. Few files instead of some 300, because a start spends most of
 * its time in Node's loader (docs/account.md "A start, until the first list request"). Libraries stay what npm installs.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { rolldown, type OutputChunk } from 'rolldown';
import { createLineTable } from './line-table.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

const ENTRIES = ['src/main', 'src/node/signals', 'workers/apiserver', 'workers/planner', 'workers/tune'];

/**
 * What these files import is a chunk each: what is loaded before a command is known, a shard's thread, and `run`. A module
 * belongs to the first that imports it, directly or not. The other commands share what rolldown finds.
 */
const CHUNKS = [
  { path: 'src/main.ts', chunk: 'start' },
  { path: 'workers/planner.ts', chunk: 'planner' },
  { path: 'src/cli/run.ts', chunk: 'controllers' },
];

async function bundle(): Promise<OutputChunk[]> {
  const build = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, `${entry}.ts`])),
    platform: 'node',
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    onLog(_level, { message }) {
      throw new Error(message);
    },
  });
  const { output } = await build.generate({
    dir: DIST,
    format: 'esm',
    entryFileNames: '[name].js',
    // As deep as the sources that look for a file beside them: node/worker-entry.ts, cli/version.ts.
    chunkFileNames: 'src/chunks/[name].js',
    comments: false,
    sourcemap: 'hidden',
    codeSplitting: {
      // What a module imports goes where the module goes, unless a group of a higher priority has it.
      groups: CHUNKS.map(({ path, chunk }, index) => ({
        debugName: chunk,
        name: (id, modules) => (modules.getModuleInfo(join(ROOT, path))?.importedIds.includes(id) ? chunk : null),
        priority: CHUNKS.length - index,
      })),
    },
  });
  await build.close();
  return output.filter((file) => file.type === 'chunk');
}

/** V8 keeps a source in two bytes a letter if one of its letters is not ASCII, and needs longer to read it. */
function escapeLetters(code: string): string {
  return code.replaceAll(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Beside each chunk is the table for `node/source-lines.ts`. */
function writeChunk({ fileName, code, map }: OutputChunk): void {
  const path = join(DIST, fileName);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, escapeLetters(code));
  // A chunk that only hands on exports of others has no lines.
  if (map === null) return;
  const sources = map.sources.map((source) => relative(ROOT, join(dirname(path), source)).replaceAll('\\', '/'));
  writeFileSync(`${path}.lines`, JSON.stringify(createLineTable(map.mappings, sources)));
}

/** What `endpointd version` tells. Without git the image's build or nobody does. */
function writeCommit(): void {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, stdio: 'pipe' });
    writeFileSync(join(DIST, 'commit'), commit);
  } catch {
    // A copy of the sources without their history.
  }
}

rmSync(DIST, { recursive: true, force: true });
for (const chunk of await bundle()) writeChunk(chunk);
writeCommit();
