import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { execPath } from 'node:process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const RUN_COMMAND = new URL('../../src/node/run-command.ts', import.meta.url).href;
/** One file descriptor is left, and a command needs three. */
const WITHOUT_DESCRIPTORS = `
  import { closeSync, openSync } from 'node:fs';
  const { runCommand } = await import(${JSON.stringify(RUN_COMMAND)});
  const open = [];
  try {
    for (;;) open.push(openSync('/dev/null'));
  } catch {
    closeSync(open.pop());
  }
  const said = await runCommand({ path: 'true', args: [], env: process.env, msMax: 60_000 }).catch(String);
  for (const file of open) closeSync(file);
  console.log(said);
`;

test('a command that finds no file descriptor is an error, and ends nothing', async () => {
  const limited = ['-c', 'ulimit -n 40; exec "$0" --input-type=module --eval "$1"', execPath, WITHOUT_DESCRIPTORS];
  // The command's own time limit, a minute, keeps nothing alive.
  const { stdout } = await promisify(execFile)('sh', limited, { timeout: 30_000 });
  assert.equal(stdout, 'Error: spawn true EMFILE\n');
});
