import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

test('a small demo converges, survives its churn, and is right at the end', async () => {
  const child = spawn(process.execPath, [MAIN, 'demo', '--profile=tiny', '--churn-seconds=1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const lines = (await text(child.stdout)).trimEnd().split('\n');
  assert.equal(await exited, 0);
  assert.equal(lines.at(-1), 'OK');
  for (const name of ['services', 'pods', 'writes', 'pod change to object', 'events', 'controller']) {
    assert.ok(
      lines.some((line) => line.startsWith(name)),
      `the summary tells ${name}`,
    );
  }
});
