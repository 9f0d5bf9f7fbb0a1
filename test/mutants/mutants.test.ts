/** The tool that tests the tests, on a toy. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { openCompiler } from './compiler.ts';
import { runRanges, wasRun } from './coverage.ts';
import { type Equivalent, EQUIVALENTS } from './equivalents.ts';
import { findMutants, type Mutant } from './find-mutants.ts';
import { asData, summary, survivorText } from './report.ts';
import { shuffled } from './sample.ts';
import { chooseMutants, percentKilled, type Project, type Result, testMutants } from './test-mutants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const TOY = 'test/mutants/toy/toy.ts';
const cache = mkdtempSync(join(tmpdir(), 'mutants-test-'));
const cacheOfKillers = join(cache, 'killers');
const compiler = openCompiler(ROOT);
const toy: Project = {
  root: ROOT,
  sources: [TOY],
  tests: ['test/mutants/toy/toy-tests.ts'],
  equivalents: [],
  cache,
};
const all = findMutants(TOY, compiler.parse(TOY));
const everything = { seed: 1, from: 0, count: 1000, only: [], files: '' };

after(() => {
  compiler.close();
  rmSync(cache, { recursive: true });
});

function find(original: string, replacement: string): Mutant {
  const found = all.find((mutant) => mutant.original === original && mutant.replacement === replacement);
  assert.ok(found, `${original} -> ${replacement}`);
  return found;
}

const running = {
  workers: 2,
  limit: 1,
  longest: Infinity,
  before: new Map<string, Omit<Result, 'mutant'>>(),
  tell: () => {},
  done: () => {},
};

async function run(project: Project, mutants: readonly Mutant[], before = running.before) {
  return testMutants(project, mutants, { ...running, before });
}

describe('which mutants there are', () => {
  it('an expression has mutants with their function and place', () => {
    assert.deepEqual(
      all
        .filter(({ within }) => within === 'larger')
        .map(({ line, operator, original, replacement }) => `${line} ${operator}: ${original} -> ${replacement}`),
      [
        '5 statement left out: return a > b ? a : b; -> ;',
        '5 condition: a > b -> true',
        '5 condition: a > b -> false',
        '5 binary operator: a > b -> a >= b',
        '5 binary operator: a > b -> a <= b',
        '5 returned value: a > b ? a : b -> undefined',
        '5 returned value: a > b ? a : b -> null',
        '5 returned value: a > b ? a : b -> []',
      ],
    );
  });

  it('a mutant that does not type-check is none', () => {
    const valid = chooseMutants(toy, everything, compiler).filter(({ within }) => within === 'isSmall');
    assert.deepEqual(valid.map(({ replacement }) => replacement).sort(), ['(10 + 1)', 'n <= 10', 'n >= 10']);
  });

  it('a seed always draws the same mutants, and another seed draws others', () => {
    const drawn = (seed: number): string[] => shuffled(all, seed).map(({ id }) => id);
    assert.deepEqual(drawn(1), drawn(1));
    assert.notDeepEqual(drawn(1), drawn(2));
    assert.deepEqual(drawn(1).sort(), drawn(2).sort());
  });

  it('a change elsewhere leaves the order of the other mutants', () => {
    const drawn = shuffled(all, 1);
    const gone = drawn[3]!;
    assert.deepEqual(
      shuffled(
        all.filter((mutant) => mutant !== gone),
        1,
      ),
      drawn.filter((mutant) => mutant !== gone),
    );
  });

  it('the slices of a sample together are the sample', () => {
    const ids = (from: number, count: number): string[] =>
      chooseMutants(toy, { ...everything, from, count }, compiler).map(({ id }) => id);
    assert.deepEqual([...ids(0, 3), ...ids(3, 4)], ids(0, 7));
  });
});

describe('what becomes of them', () => {
  it('a mutant is killed by a test, survives, is not run, or does not end', async () => {
    const results = await run(toy, [
      find('a > b', 'a <= b'),
      find('a > b', 'a >= b'),
      find('n < 10', 'n <= 10'),
      find('made++', 'made--'),
    ]);
    assert.deepEqual(
      results.map(({ status, by }) => `${status}: ${by}`),
      [
        'killed: test/mutants/toy/toy-tests.ts: the larger of two numbers is returned',
        'survived: ',
        'not run by any test: ',
        'endless: ',
      ],
    );
    assert.equal(percentKilled(results), 50);
    assert.match(
      summary(results),
      /^4 mutants: 1 killed by a test, 1 without an end, 2 survived \(1 of them run by no/,
    );
  });

  it('results of an earlier run on the same tree are kept', async () => {
    const mutant = find('a > b', 'a <= b');
    const earlier = { status: 'survived', by: '', seconds: 7 } as const;
    assert.deepEqual(await run(toy, [mutant], new Map([[mutant.id, earlier]])), [{ mutant, ...earlier }]);
  });

  it('the test file that killed a mutant last time runs first', async () => {
    const mutant = find('a > b', 'a <= b');
    const more = 'test/mutants/toy/more-tests.ts';
    const killer = async (tests: readonly string[]) => {
      const [result] = await run({ ...toy, tests, cache: cacheOfKillers }, [mutant]);
      return result?.by.split(': ')[0];
    };
    assert.equal(await killer([more]), more);
    assert.equal(await killer([...toy.tests, more]), more);
  });

  it('a listed equivalent is not tried and does not count', async () => {
    const entry: Equivalent = {
      file: TOY,
      within: 'larger',
      original: 'a > b',
      replacement: 'a >= b',
      reason: 'of two equal numbers either is the larger',
    };
    const results = await run({ ...toy, equivalents: [entry] }, [find('a > b', 'a >= b'), find('a > b', 'true')]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['equivalent', 'killed'],
    );
    assert.equal(percentKilled(results), 100);
  });

  it('an equivalent about code that is gone is an error', () => {
    const entry: Equivalent = { file: TOY, within: 'larger', original: 'a > c', replacement: 'a < c', reason: '' };
    assert.throws(() => chooseMutants({ ...toy, equivalents: [entry] }, everything, compiler), {
      message: `equivalents that match no mutant any more:\n${TOY}: larger: a > c -> a < c`,
    });
  });

  it('a test file that fails without a mutant is left out and named', async () => {
    const said: string[] = [];
    const broken = { ...toy, tests: ['test/mutants/toy/no-such-file.ts'] };
    const [result] = await testMutants(broken, [find('a > b', 'true')], {
      ...running,
      tell: (line) => said.push(line),
    });
    assert.equal(result?.status, 'not run by any test');
    assert.match(said.join(''), /^test\/mutants\/toy\/no-such-file.ts: LEFT OUT, for it fails without a mutant/);
  });

  it('a survivor is shown as the lines that it changes', () => {
    const mutant = find('a > b', 'a >= b');
    const source = compiler.parse(TOY).text;
    assert.equal(
      survivorText({ mutant, status: 'survived', by: '', seconds: 1 }, source),
      [
        `${mutant.id} ${TOY}:5 in larger: binary operator, survived`,
        '-   return a > b ? a : b;',
        '+   return a >= b ? a : b;',
      ].join('\n'),
    );
  });

  it('the data of the results name the mutant without its source', () => {
    const mutant = find('a > b', 'a >= b');
    const facts = { commit: 'abc', date: '2026-01-01', seed: 1 };
    const { id, line, within, operator, original, replacement } = mutant;
    assert.deepEqual(asData([{ mutant, status: 'survived', by: '', seconds: 1 }], facts), {
      ...facts,
      percentKilled: 0,
      results: [
        { id, file: TOY, line, within, operator, original, replacement, status: 'survived', by: '', seconds: 1 },
      ],
    });
  });
});

it('the innermost range of a V8 report tells whether a character has run', () => {
  const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });
  const ranges = runRanges({
    url: '',
    functions: [
      { ranges: [range(0, 100, 1)] },
      { ranges: [range(10, 40, 2), range(20, 30, 0), range(30, 35, 1)] },
      { ranges: [range(50, 60, 0)] },
    ],
  });
  assert.deepEqual(ranges, [0, 20, 30, 50, 60, 100]);
  assert.deepEqual(
    [0, 19, 20, 29, 30, 55, 60, 99, 100].map((offset) => wasRun(ranges, offset)),
    [true, true, false, false, true, false, true, true, false],
  );
});

it('every listed equivalent has a reason and matches the code', () => {
  const files = [...new Set(EQUIVALENTS.map(({ file }) => file))];
  const project = { ...toy, sources: files, equivalents: EQUIVALENTS };
  assert.deepEqual(chooseMutants(project, { ...everything, count: 0 }, compiler), []);
  assert.deepEqual(
    EQUIVALENTS.filter(({ reason }) => reason === ''),
    [],
  );
});
