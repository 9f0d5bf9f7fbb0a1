/** Finds mutants of a project's sources, draws a sample, and tries its tests on each. */
import { join, resolve } from 'node:path';

import { readBaseline, type TestFile } from './baseline.ts';
import type { Compiler } from './compiler.ts';
import { type Equivalent, isEquivalent, staleEntries } from './equivalents.ts';
import { findMutants, type Mutant } from './find-mutants.ts';
import { inParallel } from './in-parallel.ts';
import { openKillers } from './killers.ts';
import { shuffled } from './sample.ts';
import { tryMutant, type Verdict } from './trial.ts';

export interface Project {
  readonly root: string;
  /** Paths from the root. */
  readonly sources: readonly string[];
  readonly tests: readonly string[];
  readonly equivalents: readonly Equivalent[];
  /** A folder for what is kept between runs. */
  readonly cache: string;
}

export interface Choice {
  readonly seed: number;
  /** Valid mutants that are passed over, and that are taken, in the order of the seed. */
  readonly from: number;
  readonly count: number;
  /** Only these, whatever the sample; [] for a sample. */
  readonly only: readonly string[];
  /** What a mutant's file contains. */
  readonly files: string;
}

export interface Result {
  readonly mutant: Mutant;
  readonly status: Verdict['status'] | 'equivalent';
  readonly by: string;
  readonly seconds: number;
}

/** Throws if an entry of the equivalents matches nothing. An id that no mutant has any more is left out. */
export function chooseMutants(project: Project, choice: Choice, compiler: Compiler): Mutant[] {
  const all = project.sources.flatMap((file) => findMutants(file, compiler.parse(file)));
  const stale = staleEntries(project.equivalents, all);
  if (stale.length > 0) {
    const lines = stale.map((entry) => `${entry.file}: ${entry.within}: ${entry.original} -> ${entry.replacement}`);
    throw new Error(`equivalents that match no mutant any more:\n${lines.join('\n')}`);
  }
  if (choice.only.length > 0) {
    return all.filter(({ id }) => choice.only.includes(id));
  }
  const chosen: Mutant[] = [];
  let valid = 0;
  for (const mutant of shuffled(all, choice.seed)) {
    if (chosen.length === choice.count) break;
    if (!mutant.file.includes(choice.files) || !compiler.accepts(mutant.file, mutant.source)) continue;
    if (++valid > choice.from) chosen.push(mutant);
  }
  return chosen;
}

export interface Running {
  readonly workers: number;
  /** CPU seconds that a process of tests has at least. */
  readonly limit: number;
  /** Only with test files that take less time than this, in seconds. */
  readonly longest: number;
  /** What became of mutants in an earlier run of the same tree, by their ids: they are not tried again. */
  readonly before: ReadonlyMap<string, Omit<Result, 'mutant'>>;
  readonly tell: (line: string) => void;
  readonly done: (result: Result, index: number) => void;
}

export async function testMutants(project: Project, mutants: readonly Mutant[], running: Running): Promise<Result[]> {
  const root = resolve(project.root);
  const { workers, tell, limit, longest, before } = running;
  const cache = join(project.cache, 'baseline.json');
  const measured: TestFile[] = await readBaseline({ ...project, root, cache, workers, tell });
  const tests = measured.filter(({ seconds }) => seconds < longest);
  const killers = openKillers(join(project.cache, 'killers.json'));
  const compileCache = join(project.cache, 'compiled');
  return inParallel(mutants, workers, async (mutant, index) => {
    const result = await resultOf(mutant);
    running.done(result, index);
    return result;
  });

  async function resultOf(mutant: Mutant): Promise<Result> {
    if (isEquivalent(mutant, project.equivalents)) return { mutant, status: 'equivalent', by: '', seconds: 0 };
    const earlier = before.get(mutant.id);
    if (earlier !== undefined) return { mutant, ...earlier };
    const verdict = await tryMutant(mutant, { root, tests, compileCache, limit }, killers.of(mutant.id));
    if (verdict.status === 'killed') killers.note(mutant.id, verdict.by);
    return { mutant, ...verdict };
  }
}

/** Of those that are not equivalent, how many per cent were killed; 100 of none. */
export function percentKilled(results: readonly Result[]): number {
  const counted = results.filter((result) => result.status !== 'equivalent');
  if (counted.length === 0) return 100;
  return (100 * counted.filter((result) => !isSurvivor(result)).length) / counted.length;
}

export function isSurvivor(result: Result): boolean {
  return result.status === 'survived' || result.status === 'not run by any test';
}
