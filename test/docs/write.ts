/** `npm run docs`: writes the documents that are made from data. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATED } from './generated.ts';

const ROOT = join(import.meta.dirname, '../..');

for (const { path, make } of GENERATED) writeFileSync(join(ROOT, path), make());
