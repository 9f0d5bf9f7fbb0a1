/**
 * The program as it is shipped. Few files instead of some 300, because a start spends most of its time in Node's loader
 * (docs/account.md "A start, until the first list request"). Libraries stay what npm installs.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { rolldown, type OutputChunk } from 'rolldown';
import { createLineTable } from './line-table.ts';

const ROOT = join(import.meta.dirname, '..');

/** `bin/endpointd.js` loads the first two, and `npm run bench -- account` the third. */
const ENTRIES = ['src/main', 'src/node/signals', 'src/cli/run', 'workers/apiserver', 'workers/planner', 'workers/tune'];

interface Modules {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

interface Chunk {
  readonly name: string;
  /** Whether it has this module, and with it what the module imports, as far as no chunk before has it. */
  readonly holds: (id: string, modules: Modules) => boolean;
}

const PLANNER = [at('src/shard/planner.ts'), at('src/shard/entry-bytes.ts')];

/** The chunks that a start of `run` and a shard's thread load. The other commands share what rolldown finds. */
const CHUNKS: readonly Chunk[] = [
  // What is loaded before a command is known.
  { name: 'start', holds: (id, modules) => isImported(id, modules, 'src/main.ts') },
  // A shard on the main thread encodes nothing, so the codec is apart.
  { name: 'planner', holds: (id) => PLANNER.includes(id) },
  { name: 'controllers', holds: (id, modules) => isImported(id, modules, 'src/cli/run.ts') },
];

function at(path: string): string {
  return join(ROOT, path);
}

function isImported(id: string, modules: Modules, by: string): boolean {
  return modules.getModuleInfo(at(by))?.importedIds.includes(id) ?? false;
}

/** Writes the files into `dist`, a directory that need not be there. @throws Error where the sources cannot be bundled */
export async function writeProgram(dist: string): Promise<void> {
  for (const chunk of await bundle()) writeChunk(dist, chunk);
}

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
    // For the paths in source maps alone.
    dir: ROOT,
    format: 'esm',
    entryFileNames: '[name].js',
    // As deep as the sources that look for a file beside them: node/worker-entry.ts, cli/version.ts.
    chunkFileNames: 'src/chunks/[name].js',
    comments: false,
    sourcemap: 'hidden',
    codeSplitting: {
      groups: CHUNKS.map(({ name, holds }, index) => ({
        debugName: name,
        name: (id, modules) => (holds(id, modules) ? name : null),
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
function writeChunk(dist: string, { fileName, code, map }: OutputChunk): void {
  const path = join(dist, fileName);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, escapeLetters(code));
  // A chunk that only hands on exports of others has no lines.
  if (map === null) return;
  const sources = map.sources.map((source) => join(dirname(fileName), source).replaceAll('\\', '/'));
  writeFileSync(`${path}.lines`, JSON.stringify(createLineTable(map.mappings, sources)));
}
