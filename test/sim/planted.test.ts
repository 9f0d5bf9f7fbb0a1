/** Bugs that are planted for a moment: the simulation finds each within its first seeds. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PLANTED } from './planted.ts';

const PROGRAM = fileURLToPath(new URL('planted.ts', import.meta.url));

describe('the simulation finds, within its first 300 seeds, that', () => {
  for (const [i, { name }] of PLANTED.entries()) {
    it(name, async (t) => {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, String(i)]);
      t.diagnostic(stdout.slice(0, 200));
      assert.match(stdout, /^seed \d+: /);
    });
  }
});
