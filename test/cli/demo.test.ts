import assert from 'node:assert/strict';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { BIN } from '../support/installed.ts';
import { runs } from '../support/runs-process.ts';
import { until } from '../support/until.ts';

type Demo = ChildProcessByStdio<null, Readable, Readable>;

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

test('a demo that cannot be written says so in one line', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [BIN, 'demo', '--profile=tiny'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const exited = once(child, 'exit');
  assert.match(await text(child.stderr!), /^endpointd: cannot write to stdout: ENOSPC: .*\n$/);
  assert.deepEqual(await exited, [1, null]);
});

const withProc = { skip: process.platform === 'linux' ? false : 'the process table is read from /proc' };

/** A demo that has converged, and the id of its controller's process. */
async function convergedDemo(): Promise<{ readonly child: Demo; readonly controller: number }> {
  const child = spawn(process.execPath, [BIN, 'demo', '--profile=tiny', '--churn-seconds=60'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const converged = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('converged')) resolve();
    });
  });
  await Promise.race([converged, once(child, 'exit').then(([status]) => assert.fail(`ended with ${status}`))]);
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ').filter(Boolean);
  // Beside the shell that ends it if the demo is killed.
  const controllers = children.filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('run'),
  );
  assert.equal(controllers.length, 1);
  return { child, controller: Number(controllers[0]) };
}

test('a demo that is ended by a signal ends its controller', withProc, async () => {
  const { child, controller } = await convergedDemo();
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [143, null]);
  await until(() => !runs(controller));
});

test('a demo whose reader goes away ends quietly, with its controller', withProc, async () => {
  const { child, controller } = await convergedDemo();
  const exited = once(child, 'exit');
  const said = text(child.stderr);
  child.stdout.destroy();
  assert.deepEqual(await exited, [0, null]);
  assert.equal(await said, '');
  await until(() => !runs(controller));
});
