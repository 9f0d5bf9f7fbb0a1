/**
 * `npm run mutants`: changes the code in one place, again and again, and sees whether a test fails. Ends with status 1 when
 * less than 95 % of the changes that can be told from the program were noticed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { openCompiler } from './compiler.ts';
import { EQUIVALENTS } from './equivalents.ts';
import { asData, progressLine, summary, survivorText } from './report.ts';
import { chooseMutants, isSurvivor, percentKilled, type Project, type Result, testMutants } from './test-mutants.ts';

const USAGE = `npm run mutants -- [options]
  --seed=N      draws other mutants (1)
  --count=N     how many, of those that type-check (400)
  --from=N      passes over the first N of the seed's order: a sample in slices (0)
  --files=TEXT  only files whose path contains it
  --only=ID,ID  just these mutants
  --survivors   just those that survived in the last run, by its results
  --resume      goes on with a run that was broken off: what its results tell of this commit is not tried again
  --quick       only with test files that take under two seconds: survivors are candidates
  --list        says which mutants, without a test
  --workers=N   processes at a time (all processors)
  --out=PATH    where the results go, as JSON (.cache/mutants/results.json)`;

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const TARGET_PERCENT = 95;
/** CPU seconds that tests have at least: an endless loop is noticed after them. */
const LIMIT_SECONDS = 5;
const QUICK_SECONDS = 2;

const project: Project = {
  root: ROOT,
  // The list of differences is text for people.
  sources: globSync('src/{core,shard,controller,kube}/**/*.ts', { cwd: ROOT })
    .filter((file) => file !== 'src/core/differences.ts')
    .sort(),
  // This tool's own test and those of benches, texts, packages, layers and of what the simulation finds say nothing about
  // what the code does.
  tests: globSync('test/**/*.test.ts', { cwd: ROOT })
    .filter((file) => !/^test\/(mutants\/.*|bench\/.*|packaging|docs|deploy|architecture|sim\/planted)/.test(file))
    .sort(),
  equivalents: EQUIVALENTS,
  cache: join(ROOT, '.cache/mutants'),
};

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '400' },
    from: { type: 'string', default: '0' },
    files: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    survivors: { type: 'boolean', default: false },
    resume: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    workers: { type: 'string', default: String(availableParallelism()) },
    out: { type: 'string', default: join(project.cache, 'results.json') },
    help: { type: 'boolean', default: false },
  },
});

function whole(name: 'seed' | 'count' | 'from' | 'workers'): number {
  const number = Number(values[name]);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name}: ${values[name]} is no whole number`);
  return number;
}

type LastResult = Omit<Result, 'mutant'> & { readonly id: string };

function lastResults(path: string): { readonly commit: string; readonly results: readonly LastResult[] } {
  if (!existsSync(path)) return { commit: '', results: [] };
  return JSON.parse(readFileSync(path, 'utf8')) as { commit: string; results: LastResult[] };
}

/** The ids that survived. */
function survivors(results: readonly LastResult[]): string[] {
  return results.filter(({ status }) => /^survived|^not run/.test(status)).map(({ id }) => id);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

async function main(): Promise<boolean> {
  const last = lastResults(values.out);
  const commit = git('rev-parse', '--short', 'HEAD');
  if (values.resume && (last.commit !== commit || git('status', '--porcelain') !== ''))
    throw new Error(`--resume: the results are of ${last.commit || 'no commit'}, not of this tree`);
  const choice = {
    seed: whole('seed'),
    count: whole('count'),
    from: whole('from'),
    files: values.files,
    only: values.survivors ? survivors(last.results) : values.only.split(',').filter((id) => id !== ''),
  };
  const compiler = openCompiler(ROOT);
  const mutants = chooseMutants(project, choice, compiler);
  compiler.close();
  if (values.only !== '' && mutants.length < choice.only.length)
    throw new Error(`--only: no mutant has one of these ids`);
  if (values.list) {
    for (const mutant of mutants) {
      console.log(
        `${mutant.id} ${mutant.file}:${mutant.line} ${mutant.within}: ${mutant.original} -> ${mutant.replacement}`,
      );
    }
    return true;
  }
  const done: Result[] = [];
  const keep = (): void => {
    mkdirSync(dirname(values.out), { recursive: true });
    const data = asData(done, { commit, date: new Date().toISOString(), seed: choice.seed });
    writeFileSync(values.out, `${JSON.stringify(data, undefined, 2)}\n`);
  };
  const results = await testMutants(project, mutants, {
    workers: whole('workers'),
    limit: LIMIT_SECONDS,
    longest: values.quick ? QUICK_SECONDS : Infinity,
    before: new Map(
      values.resume ? last.results.map(({ id, status, by, seconds }) => [id, { status, by, seconds }]) : [],
    ),
    tell: console.log,
    done: (result, index) => {
      console.log(progressLine(result, index, mutants.length));
      done.push(result);
      keep();
    },
  });
  for (const result of results.filter(isSurvivor)) {
    console.log(`\n${survivorText(result, readFileSync(join(ROOT, result.mutant.file), 'utf8'))}`);
  }
  console.log(`\nseed ${choice.seed}, ${summary(results)}\n${values.out}`);
  return percentKilled(results) >= TARGET_PERCENT;
}

if (values.help) console.log(USAGE);
else if (!(await main())) process.exitCode = 1;
