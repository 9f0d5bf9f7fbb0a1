import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withFlagTables } from './flag-tables.ts';

test('the tables of flags in README.md are made from the rows (else: npm run docs)', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  assert.equal(withFlagTables(readme), readme);
  assert.match(readme, /^\| `--min-resync-period` \| 12h \| at least 1s, or 0 for never \| /m);
});

test('a README without a place for a table is an error', () => {
  assert.throws(() => withFlagTables('# nothing'), /README\.md: no <!-- flags/);
});
