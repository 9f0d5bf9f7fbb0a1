/** What comments and documents cite is there, under the title that they cite it by. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertNone, readSources } from './support/sources.ts';

const ROOT = join(import.meta.dirname, '..');
const sources = readSources('{src,workers,bench,build,test}/**/*.ts')
  .filter(({ path }) => path !== 'test/citations.test.ts')
  // A comment may be wrapped within a citation.
  .map(({ path, text }) => ({ path, text: text.replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' ') }));
const documents = readSources('*.md', 'docs/**/*.md');

/** Titles of all headings. */
function titlesIn(file: string): Set<string> {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!));
}

/** As a link to it has it. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(/\s/g, '-');
}

/** `docs/spec/wire.md "Lists", "Watches"`: the file, and each title. */
const CITATION = /(docs\/[\w/-]+\.md)((?:,? (?:and )?"[^"]+")*)/g;

test('sections that comments cite exist', () => {
  const missing: string[] = [];
  let found = 0;
  for (const { path, text } of sources) {
    for (const [citation, target, quoted] of text.matchAll(CITATION)) {
      if (!existsSync(join(ROOT, target!))) missing.push(`${path}: ${citation}`);
      else {
        const titles = titlesIn(target!);
        const cited = [...quoted!.matchAll(/"([^"]+)"/g)].map((match) => match[1]!);
        found += cited.length;
        missing.push(...cited.filter((title) => !titles.has(title)).map((title) => `${path}: ${target} "${title}"`));
      }
    }
  }
  assertNone(
    missing,
    'Comments cite files or sections that are not there. Cite the title of a heading, word for word:',
  );
  assert.ok(found > 100, `only ${found} citations were found`);
});

test('comments cite nothing that is not in the repository', () => {
  const absent = sources.flatMap(({ path, text }) =>
    [
      /(?<!docs\/|\()\bspec\/ ?\w+\.md/,
      /\bdesign(?:\.md|, section)/,
      /(?<!\w)\((?:section )?\d{1,2}\.\d(?:\)|, step| and )/,
    ]
      .map((pattern) => pattern.exec(text)?.[0])
      .filter((cited) => cited !== undefined)
      .map((cited) => `${path}: ${cited}`),
  );
  assertNone(absent, 'Comments cite what a reader of the repository does not have. Cite docs/spec, or state the fact:');
});

test('defects of upstream that comments number are on the list', () => {
  const page = documents.find(({ path }) => path === 'docs/spec/endpointslice.md')!;
  const listed = new Set(page.text.match(/(?<=^\| )D\d+(?= \|)/gm));
  assert.equal(listed.size, 41);
  const unlisted = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\((D\d+(?:(?:,| and) D\d+)*)\)/g)]
      .flatMap((match) => match[1]!.match(/D\d+/g)!)
      .filter((name) => !listed.has(name))
      .map((name) => `${path}: ${name}`),
  );
  assertNone(unlisted, 'The table of known defects in docs/spec/endpointslice.md has no such row:');
});

test('links of documents have targets', () => {
  const broken = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)#:]*)(?:#([^)]+))?\)/g)]
      .filter(([, file, anchor]) => {
        const target = file === '' ? path : join(path, '..', file!);
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && ![...titlesIn(target)].map(anchorOf).includes(anchor);
      })
      .map(([link]) => `${path}: ${link}`),
  );
  assertNone(
    broken,
    'There is no such file, or no such heading in it. An anchor is the heading in small letters, with dashes:',
  );
});

test('links lead from README.md to every document', () => {
  const reached = new Set<string>();
  const follow = (path: string): void => {
    const document = documents.find((each) => each.path === path);
    if (document === undefined || reached.has(path)) return;
    reached.add(path);
    for (const [, file] of document.text.matchAll(/\]\(([^)#:]+)(?:#[^)]+)?\)/g)) follow(join(path, '..', file!));
  };
  follow('README.md');
  // Linked as a folder: its files are the specification, one for each part of it.
  const rest = documents.map(({ path }) => path).filter((path) => !reached.has(path) && !path.startsWith('docs/spec/'));
  assertNone(rest, 'No reader finds these documents. Link them from README.md or from a document that it links:');
});
