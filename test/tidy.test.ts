/**
 * What lint cannot see of a tidy repository. Lint holds the rest (`.oxlintrc.json`): one import of a module in a file, types
 * imported as types, functions of at most 70 lines.
 */
import { describe, it } from 'node:test';
import { assertNone, commentsOf, importedFiles, readSources, withoutComments } from './support/sources.ts';

/** Where the program and its threads begin: what `build/bundle.ts` makes of them is `dist`. */
const ENTRIES = /^(?:src\/main\.ts|workers\/)/;

/** What comments call by name and others have named: file formats, protocols, Kubernetes. */
const NAMES_OF_OTHERS: ReadonlySet<string> = new Set(
  [
    'Host Origin gRPC',
    'basicConstraints digitalSignature extKeyUsage keyCertSign serverAuth',
    'matchConditions namespaceSelector patchMergeKey unhealthyPodEvictionPolicy',
  ].flatMap((line) => line.split(' ')),
);

const TITLE_MAX = 79;
/** What stands for a part of a title that is known when the test runs. */
const PLACEHOLDER = 'x'.repeat(10);

const sources = readSources('{src,workers}/**/*.ts');
const others = readSources('{test,bench,build}/**/*.ts');
const all = [...sources, ...others];
const documents = readSources('*.md', 'docs/*.md').filter(({ path }) => path !== 'CHANGELOG.md');
const paths = readSources('{src,workers,test,bench,build,docs}/**/*.{ts,md}', '*.md').map(({ path }) => path);

/** Every word of code, strings included: the names of fields and flags are strings. */
const wordsByFile = new Map(
  all.map(({ path, text }) => [path, new Set(withoutComments(text).match(/[A-Za-z_$][\w$]*/g))]),
);
/** In how many files each stands. */
const files = new Map<string, number>();
for (const each of wordsByFile.values()) for (const word of each) files.set(word, (files.get(word) ?? 0) + 1);

/** The values that a file exports. */
function exportsOf(text: string): string[] {
  return [...withoutComments(text).matchAll(/^export (?:async )?(?:const|let|function\*?|class) (\w+)/gm)].map(
    (match) => match[1]!,
  );
}

describe('tidy', () => {
  it('the program reaches every source, so no file is for tests alone', () => {
    const bySource = new Map(sources.map((source) => [source.path, source]));
    const reached = new Set<string>();
    const follow = (path: string): void => {
      const source = bySource.get(path);
      if (source === undefined || reached.has(path)) return;
      reached.add(path);
      for (const target of importedFiles(source)) follow(target);
    };
    for (const { path } of sources) if (ENTRIES.test(path)) follow(path);
    assertNone(
      sources.map(({ path }) => path).filter((path) => !reached.has(path)),
      'Neither src/main.ts nor a worker imports these files, yet they are shipped. Remove them, or move them to test/support:',
    );
  });

  it('a value that a file exports is used by another file', () => {
    const unused = all.flatMap(({ path, text }) =>
      exportsOf(text)
        .filter((name) => files.get(name) === 1)
        .map((name) => `${path}: ${name}`),
    );
    assertNone(unused, 'No other file uses these exports. Take `export` away, or remove what nothing uses:');
  });

  it('what a source exports is not for tests alone', () => {
    const users = readSources('{src,workers,bench,build,test/docs}/**/*.ts').map(({ text }) => withoutComments(text));
    const times = new Map<string, number>();
    for (const text of users) {
      for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g)) times.set(word, (times.get(word) ?? 0) + 1);
    }
    const unused = sources.flatMap(({ path, text }) =>
      exportsOf(text)
        .filter((name) => times.get(name) === 1)
        .map((name) => `${path}: ${name}`),
    );
    assertNone(
      unused,
      'Neither the program, nor a bench, nor a document that is made from data uses these exports. Move them to test/support:',
    );
  });

  it('names in comments and documents are names in the code', () => {
    const unknown = [...sources.map(({ path, text }) => ({ path, text: commentsOf(text) })), ...documents].flatMap(
      ({ path, text }) => {
        const quoted = [...text.matchAll(/`([A-Za-z_]*[a-z][A-Z]\w*|[a-z]\w+)`/g)].map((match) => match[1]!);
        const camelCase = path.endsWith('.ts') ? (text.match(/\b[a-z]+[a-z0-9]*[A-Z]\w*/g) ?? []) : [];
        const named = [...new Set([...quoted, ...camelCase])];
        return named.filter((name) => !files.has(name) && !NAMES_OF_OTHERS.has(name)).map((name) => `${path}: ${name}`);
      },
    );
    assertNone(
      unknown,
      'Nothing in the code has these names. Name what there is; a name that others have given belongs to NAMES_OF_OTHERS:',
    );
  });

  it('files that comments and documents name exist', () => {
    const missing = [...all.map(({ path, text }) => ({ path, text: commentsOf(text) })), ...documents].flatMap(
      ({ path, text }) =>
        [...text.matchAll(/(?<![\w/.*<-])(?:\.\.\/)*((?:[\w-][\w.-]*\/)*[\w-][\w.-]*\.(?:ts|md))\b/g)]
          .map((match) => match[1]!)
          .filter((name) => !paths.some((each) => each === name || each.endsWith(`/${name}`)))
          .map((name) => `${path}: ${name}`),
    );
    assertNone(missing, 'There are no such files. Name the file that is meant, by the end of its path:');
  });

  it(`titles of tests have at most ${TITLE_MAX} characters`, () => {
    const long = others.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:test|it|describe|suite)(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g)]
        .map((match) => match[2]!)
        .filter((title) => title.replaceAll(/\$\{[^}]*\}/g, PLACEHOLDER).length > TITLE_MAX)
        .map((title) => `${path}: ${title}`),
    );
    assertNone(long, 'These titles are too long. State the rule; what explains it is a comment:');
  });

  it('a random test takes its seed and the number of its runs from outside', () => {
    const fixed = others.flatMap(({ path, text }) => {
      if (!/\bfc\.assert\(/.test(text)) return [];
      const given = [...text.matchAll(/^(?!.*fc\.sample).*\bnumRuns: \d.*$/gm)].map(
        ([line]) => `${path}: ${line.trim()}`,
      );
      return text.includes('propertyRuns(') ? given : [path];
    });
    assertNone(fixed, 'Pass `propertyRuns(n)` to `fc.assert` (CONTRIBUTING.md "Seeds"):');
  });

  it('a test that waits for something gives up one day', () => {
    const loops = /^( *)(?:while \(|for \((?!.* of |.* < ))(?:.*\{\n[^]*?^\1\}|.*;)$/gm;
    const endless = others
      .filter(({ path }) => /\.(?:test|bench)\.ts$/.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(loops)]
          .filter(([loop]) => /\bawait (?:sleep|setImmediate)\(|\bset(?:Immediate|Timeout)\(/.test(loop))
          .filter(([loop]) => !loop.includes('Date.now()'))
          .map(([loop]) => `${path}: ${loop.trim().split('\n')[0]}`),
      );
    assertNone(
      endless,
      'These loops may never end, and no limit of the runner ends them. Call `until` of test/support:',
    );
  });

  it('.ci/run calls no Node by name: npm finds the one of the project', () => {
    const [ci] = readSources('.ci/run');
    const calls = ci!.text.split('\n').filter((line) => /^[^#]*(?<![\w./-])node\s/.test(line));
    assertNone(calls, 'Make it a script of package.json:');
  });

  it('a rule of lint that is switched off says why', () => {
    const silent = all.flatMap(({ path, text }) =>
      (text.match(/\/\/ oxlint-disable.*/g) ?? [])
        .filter((comment) => !comment.includes(' -- '))
        .map((comment) => `${path}: ${comment}`),
    );
    assertNone(silent, 'Write the reason behind the name of the rule, after two dashes:');
  });
});
