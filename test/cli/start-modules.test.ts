/** What `endpointd run` loads before it has asked for anything: memory that each process pays for, and CPU of each start. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const RUN = new URL('../../src/cli/run.ts', import.meta.url).href;
const LOADED = `
  await import(${JSON.stringify(RUN)});
  console.log(JSON.stringify(process.moduleLoadList));
`;

test("Node's own undici, which fetch and WebSocket need, is not loaded", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', LOADED]);
  const loaded = JSON.parse(stdout) as string[];
  assert.ok(loaded.includes('NativeModule http'));
  assert.deepEqual(
    loaded.filter((name) => name.includes('undici')),
    [],
  );
});
