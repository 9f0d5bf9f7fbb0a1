import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, commentsOf, importedFiles, withoutComments } from './sources.ts';

const SOURCE = [
  '/** Cuts a text',
  ' * at `limit`. */',
  "const url = 'https://example.org'; // behind code",
  'const slash = /[/]\\/\\*/; /* in a line */',
  'const text = `no // comment`;',
].join('\n');

test('a text within a string or an expression is no comment', () => {
  assert.equal(commentsOf(SOURCE), '/** Cuts a text at `limit`. */ behind code\n/* in a line */');
  assert.equal(
    withoutComments(SOURCE).trim(),
    "const url = 'https://example.org'; \nconst slash = /[/]\\/\\*/; \nconst text = `no // comment`;",
  );
});

test('code has no texts that could name what code may not do', () => {
  assert.equal(codeOf("log('setTimeout'); // Date.now"), "log(''); ");
});

test('imports of files start from the folder of the file', () => {
  const text = "import { a } from '../lib/a.ts';\nimport fs from 'node:fs';\nconst b = await import('./b.ts');\n";
  assert.deepEqual(importedFiles({ path: 'src/core/x.ts', text }), ['src/lib/a.ts', 'src/core/b.ts']);
});
