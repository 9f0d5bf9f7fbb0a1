/** What a comment or a document cites is there, under the title that it is cited by. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const sources = globSync('{src,workers,bench,test}/**/*.ts', { cwd: ROOT }).filter(
  (file) => file !== 'test/citations.test.ts',
);
const documents = globSync('{*.md,docs/**/*.md}', { cwd: ROOT });

/** A comment may be wrapped within a citation. */
function textOf(file: string): string {
  return read(file).replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' ');
}

/** Titles of all headings. */
function titlesIn(file: string): Set<string> {
  return new Set([...read(file).matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!));
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
  let found = 0;
  for (const file of sources) {
    for (const [text, target, quoted] of textOf(file).matchAll(CITATION)) {
      assert.ok(existsSync(join(ROOT, target!)), `${file}: ${text}`);
      const titles = titlesIn(target!);
      for (const [, title] of quoted!.matchAll(/"([^"]+)"/g)) {
        assert.ok(titles.has(title!), `${file}: ${target} has no section "${title}"`);
        found++;
      }
    }
  }
  assert.ok(found > 100, `${found} citations`);
});

test('comments cite nothing that is not in the repository', () => {
  for (const file of sources) {
    const text = textOf(file);
    for (const pattern of [/(?<!docs\/|\()\bspec\/\w+\.md/, /\bdesign(?:\.md|, section)/]) {
      assert.equal(pattern.exec(text)?.[0], undefined, file);
    }
  }
});

test('defects of upstream that comments name by number are on the list', () => {
  const listed = new Set(read('docs/spec/endpointslice.md').match(/(?<=^\| )D\d+(?= \|)/gm));
  assert.equal(listed.size, 41);
  for (const file of sources) {
    for (const [text, names] of textOf(file).matchAll(/\((D\d+(?:(?:,| and) D\d+)*)\)/g)) {
      for (const name of names!.match(/D\d+/g)!) assert.ok(listed.has(name), `${file}: ${text}`);
    }
  }
});

test('links of documents lead somewhere', () => {
  for (const document of documents) {
    for (const [text, path, anchor] of read(document).matchAll(/\]\(([^)#:]*)(?:#([^)]+))?\)/g)) {
      const target = path === '' ? document : join(document, '..', path!);
      assert.ok(existsSync(join(ROOT, target)), `${document}: ${text}`);
      if (anchor === undefined) continue;
      const anchors = [...titlesIn(target)].map(anchorOf);
      assert.ok(anchors.includes(anchor), `${document}: ${text}`);
    }
  }
});
