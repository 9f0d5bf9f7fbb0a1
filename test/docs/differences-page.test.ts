import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { differencesPage } from './differences-page.ts';

test('docs/differences.md says what the lists say (else: npm run docs)', () => {
  const file = new URL('../../docs/differences.md', import.meta.url);
  assert.equal(readFileSync(file, 'utf8'), differencesPage());
});
