/** Whether the tests notice a mutant. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { type TestFile, testsThatRun } from './baseline.ts';
import type { Mutant } from './find-mutants.ts';
import { runTests, type TestRun } from './test-process.ts';

export interface Verdict {
  readonly status: 'killed' | 'endless' | 'survived' | 'not run by any test';
  /** The test that failed. */
  readonly by: string;
  readonly seconds: number;
}

export interface TrialOptions {
  readonly root: string;
  readonly tests: readonly TestFile[];
  /** Where Node keeps what it has compiled. */
  readonly compileCache: string;
  /** CPU seconds that a process has at least. */
  readonly limit: number;
}

/** As many times what its tests take without a mutant, a process may take with one. */
const SLOWER = 3;
/** Test files that together take less than this run in one process: starting one takes longer than most. */
const TOGETHER_SECONDS = 2;

/** @param killer path of the test file that noticed the mutant last time, which is tried first; '' = none is known */
export async function tryMutant(mutant: Mutant, options: TrialOptions, killer: string): Promise<Verdict> {
  const started = performance.now();
  const verdict = (status: Verdict['status'], by = ''): Verdict => ({
    status,
    by,
    seconds: (performance.now() - started) / 1000,
  });
  const tests = testsThatRun(options.tests, mutant.file, mutant.start);
  if (tests.length === 0) return verdict('not run by any test');
  const folder = mkdtempSync(join(tmpdir(), 'mutant-'));
  try {
    const path = join(folder, 'mutant.ts');
    writeFileSync(path, mutant.source);
    for (const batch of batches(tests, mutant.file, killer)) {
      const run: TestRun = {
        root: options.root,
        files: batch.map((file) => join(options.root, file.path)),
        cpuLimit: Math.max(options.limit, SLOWER * sum(batch)),
        env: {
          NODE_COMPILE_CACHE: options.compileCache,
          MUTANT: JSON.stringify({ url: pathToFileURL(join(options.root, mutant.file)).href, path }),
        },
      };
      const outcome = await runTests(run);
      // What waits for processes and clocks may fail by itself on a busy machine: it has to fail twice.
      const sure = batch.some(hasOwnProcess) && outcome.kind !== 'passed' ? await runTests(run) : outcome;
      if (sure.kind === 'failed') return verdict('killed', sure.by);
      if (sure.kind === 'endless') return verdict('endless');
    }
    return verdict('survived');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * First what noticed it last time; then the test of the same name; then the quick ones together; then each that starts
 * processes or threads by itself.
 */
function batches(all: readonly TestFile[], source: string, killer: string): TestFile[][] {
  const before = all.filter(({ path }) => path === killer);
  const tests = all.filter(({ path }) => path !== killer);
  const name = basename(source, '.ts');
  const own = (file: TestFile): boolean => basename(file.path).startsWith(`${name}.`);
  const bySeconds = [...tests].sort((a, b) => a.seconds - b.seconds);
  const made: TestFile[][] = before.length > 0 ? [before] : [];
  const ownTests = bySeconds.filter((file) => own(file) && !hasOwnProcess(file));
  if (ownTests.length > 0) made.push(ownTests);
  let last: TestFile[] = [];
  for (const file of bySeconds) {
    if (ownTests.includes(file) || hasOwnProcess(file)) continue;
    if (last.length === 0 || sum(last) + file.seconds > TOGETHER_SECONDS) made.push((last = []));
    last.push(file);
  }
  return [...made, ...bySeconds.filter(hasOwnProcess).map((file) => [file])];
}

/** What loads nothing that touches the outside shares a process with others. */
function hasOwnProcess(file: TestFile): boolean {
  return file.loaded.some((path) => /^(src\/node|src\/cli|workers|bench|test\/kube)\//.test(path));
}

function sum(files: readonly TestFile[]): number {
  return files.reduce((seconds, file) => seconds + file.seconds, 0);
}
