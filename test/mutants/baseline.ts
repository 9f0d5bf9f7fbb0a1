/** What each test file runs of the sources, and how long it takes: from one run without a mutant, kept while it is true. */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { type RunRanges, runRanges, type ScriptCoverage, wasRun } from './coverage.ts';
import { inParallel } from './in-parallel.ts';
import { runTests } from './test-process.ts';

export interface TestFile {
  /** Path from the root. */
  readonly path: string;
  readonly seconds: number;
  /** Of everything it has loaded. */
  readonly digest: string;
  /** Paths from the root of all modules of the project that it has loaded, in this and other processes. */
  readonly loaded: readonly string[];
  /** By source file, one for each process or thread. */
  readonly run: Readonly<Record<string, readonly RunRanges[]>>;
}

export interface BaselineOptions {
  readonly root: string;
  readonly tests: readonly string[];
  readonly sources: readonly string[];
  readonly cache: string;
  readonly workers: number;
  readonly tell: (line: string) => void;
}

/** What waits for processes and clocks may fail by itself on a busy machine. */
const ATTEMPTS = 3;
/** Far more than any test file takes; here it only ends what hangs. */
const CPU_LIMIT = 300;

/** A test file that fails as it is can kill nothing: it is left out, and said so. */
export async function readBaseline(options: BaselineOptions): Promise<TestFile[]> {
  const { root, tests, cache, workers, tell } = options;
  const known = new Map(readCache(cache).map((file) => [file.path, file]));
  const digests = new Map<string, string>();
  const digest = (paths: readonly string[]): string => hash(paths.map((path) => digestOf(root, path, digests)));
  let count = 0;
  const all = await inParallel(tests, workers, async (path) => {
    const before = known.get(path);
    if (before !== undefined && before.digest === digest(before.loaded)) return before;
    const measurement = await measure(options, path, ATTEMPTS);
    if (typeof measurement === 'string') {
      tell(`${path}: LEFT OUT, for it fails without a mutant: ${measurement}`);
      return null;
    }
    const { loaded, ...measured } = measurement;
    tell(`${path}: ${measured.seconds.toFixed(1)} s without a mutant`);
    const file = { path, digest: digest(loaded), loaded, ...measured };
    known.set(path, file);
    if (++count % 20 === 0) writeCache(cache, [...known.values()]);
    return file;
  });
  const files = all.filter((file) => file !== null);
  writeCache(cache, files);
  return files;
}

/** Test files that have run the character at `offset` of a source file. */
export function testsThatRun(files: readonly TestFile[], source: string, offset: number): TestFile[] {
  return files.filter((file) => file.run[source]?.some((ranges) => wasRun(ranges, offset)));
}

/** A text is what failed, at the last of the attempts. */
async function measure(
  options: BaselineOptions,
  path: string,
  attempts: number,
): Promise<Pick<TestFile, 'seconds' | 'loaded' | 'run'> | string> {
  const { root, sources } = options;
  const reports = mkdtempSync(join(tmpdir(), 'mutants-coverage-'));
  try {
    const started = performance.now();
    const outcome = await runTests({
      root,
      files: [join(root, path)],
      cpuLimit: CPU_LIMIT,
      env: { NODE_V8_COVERAGE: reports },
    });
    const seconds = (performance.now() - started) / 1000;
    if (outcome.kind !== 'passed') {
      if (attempts > 1) return await measure(options, path, attempts - 1);
      return outcome.kind === 'failed' ? outcome.by : 'it does not end';
    }
    const loaded = new Set([path]);
    const run: Record<string, RunRanges[]> = {};
    const prefix = pathToFileURL(`${root}/`).href;
    for (const report of readdirSync(reports)) {
      const { result } = JSON.parse(readFileSync(join(reports, report), 'utf8')) as { result: ScriptCoverage[] };
      for (const script of result) {
        if (!script.url.startsWith(prefix) || script.url.includes('/node_modules/')) continue;
        const name = fileURLToPath(script.url).slice(root.length + 1);
        loaded.add(name);
        if (sources.includes(name)) (run[name] ??= []).push(runRanges(script));
      }
    }
    return { seconds, loaded: [...loaded].sort(), run };
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

function digestOf(root: string, path: string, digests: Map<string, string>): string {
  let digest = digests.get(path);
  if (digest === undefined) {
    digest = hash([path, existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '']);
    digests.set(path, digest);
  }
  return digest;
}

function hash(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex');
}

function readCache(path: string): TestFile[] {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as TestFile[]) : [];
}

function writeCache(path: string, files: readonly TestFile[]): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(files));
}
