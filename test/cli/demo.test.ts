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
  const names = [
    'services',
    'pods',
    'slices',
    'writes of Endpoints',
    'writes of slices',
    'writes of mirrored slices',
    'pod change to object',
    'pod change to slice',
    'events',
    'controller',
  ];
  for (const name of names) {
    assert.ok(
      lines.some((line) => line.startsWith(name)),
      `the summary tells ${name}`,
    );
  }
});
