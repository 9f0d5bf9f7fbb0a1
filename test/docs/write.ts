/** `npm run docs`: writes the documents that are made from data. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { differencesPage } from './differences-page.ts';

writeFileSync(join(import.meta.dirname, '../../docs/differences.md'), differencesPage());
