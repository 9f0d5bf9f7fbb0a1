import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { BIN } from '../support/installed.ts';

test('a small demo converges, survives its churn, and is right at the end', async () => {
  const child = spawn(process.execPath, [BIN, 'demo', '--profile=tiny', '--churn-seconds=1'], {
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

const withProc = { skip: process.platform === 'linux' ? false : 'the process table is read from /proc' };

test('a demo that is ended by a signal ends its controller', withProc, async () => {
  const child = spawn(process.execPath, [BIN, 'demo', '--profile=tiny', '--churn-seconds=60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('converged')) resolve();
    });
  });
  const controllers = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ').filter(Boolean);
  assert.equal(controllers.length, 1);
  child.kill('SIGTERM');
  assert.equal(await exited, 143);
  while (existsSync(`/proc/${controllers[0]}`)) await sleep(20);
});
