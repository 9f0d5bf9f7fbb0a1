/** `npm run docs`: writes the documents that are made from data. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { differencesPage } from './differences-page.ts';
import { withFlagTables } from './flag-tables.ts';

const ROOT = join(import.meta.dirname, '../..');
const README = join(ROOT, 'README.md');

writeFileSync(join(ROOT, 'docs/differences.md'), differencesPage());
writeFileSync(README, withFlagTables(readFileSync(README, 'utf8')));
