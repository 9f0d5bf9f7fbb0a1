import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { sourceLine, withSourceLines, type LineTable } from '../../src/node/source-lines.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-lines-'));
after(() => rmSync(directory, { recursive: true }));

const TABLE: LineTable = { sources: ['src/a.ts', 'src/b.ts'], runs: [3, 1, 0, 10, 5, 20, 0, 14, 6, 1, 1, 2] };

/** The URL of a file whose table has this text. */
function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(`${path}.lines`, text);
  return pathToFileURL(path).href;
}

/** As `source:line`; '' = none. */
function found(url: string, line: number, column: number): string {
  const said = sourceLine(url, line, column);
  return said === null ? '' : `${said.source}:${said.line}`;
}

test('a place in a chunk has the line of its run, so far from its beginning', () => {
  const url = write('chunk.js', JSON.stringify(TABLE));
  assert.equal(found(url, 3, 1), 'src/a.ts:10');
  assert.equal(found(url, 4, 7), 'src/a.ts:11');
  assert.equal(found(url, 5, 19), 'src/a.ts:12');
  assert.equal(found(url, 5, 20), 'src/a.ts:14', 'from that column on it is another line');
  assert.equal(found(url, 6, 1), 'src/b.ts:2');
  assert.equal(found(url, 60, 1), 'src/b.ts:56');
  assert.equal(found(url, 2, 9), '', 'what the bundler has put before it comes from no source');
});

test('a file without a table, or with a damaged one, has no other line', () => {
  assert.equal(found(pathToFileURL(join(directory, 'none.js')).href, 1, 1), '');
  assert.equal(found(write('damaged.js', '{"sources":'), 1, 1), '');
});

test('a source is its own: no table is looked for', () => {
  assert.equal(found(write('a.ts', JSON.stringify(TABLE)), 3, 1), '');
});

test('a stack names the sources of a chunk, and leaves other places as they are', () => {
  const chunk = write('stack.js', JSON.stringify(TABLE));
  const others = '    at main (node:internal/main:1:2)\n    at file:///usr/lib/other.js:3:4';
  assert.equal(
    withSourceLines(`Error: no\n    at plan (${chunk}:4:9)\n    at ${chunk}:6:1\n${others}`),
    `Error: no\n    at plan (src/a.ts:11)\n    at src/b.ts:2\n${others}`,
  );
});

test('a message that looks like a place of a stack stays as it is', () => {
  for (const text of ['file://host/x.js:1:2', 'file:///a%2Fb.js:1:2', 'file:.js:1:2', 'file://[.js:1:2']) {
    assert.equal(withSourceLines(`Error: ${text}`), `Error: ${text}`);
  }
});
