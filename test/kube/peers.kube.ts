import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));

test('the bench beside kube-controller-manager runs, and neither controller writes when it is started again', async () => {
  const child = spawn(process.execPath, [RUN, 'peers'], {
    env: { ...process.env, BENCH_SIZE: 'tiny' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(await exited, 0, out + errors);
  assert.match(out, /^restart: writes +0 +0 /m);
  assert.match(out, /^from nothing: writes +20 +20 /m);
});
