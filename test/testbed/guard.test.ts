import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { test } from 'node:test';
import { MAIN } from '../support/installed.ts';
import { runs } from '../support/runs-process.ts';
import { until } from '../support/until.ts';

/** Starts all that can be started, and tells the pids. */
const SCRIPT = `
const testbed = ${JSON.stringify(new URL('../../src/testbed/', import.meta.url))};
const { startChild } = await import(testbed + 'child.ts');
const { startController } = await import(testbed + 'controller-process.ts');
const { removeWithUs } = await import(testbed + 'guard.ts');
const { startServe } = await import(testbed + 'serve-process.ts');
const main = new URL(${JSON.stringify(MAIN)});
removeWithUs(process.argv[1]);
const serve = await startServe([], main);
const controller = startController(['--kubeconfig=' + serve.kubeconfig], main);
await controller.get('/livez');
const group = await startChild('setsid', ['sh', '-c', 'sleep 1000 & wait'], '/dev/null');
console.log(serve.pid, controller.pid, group.pid);
`;

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

test('a process that is killed leaves no program and no directory behind', { timeout: 60_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-guard-'));
  const args = ['--input-type=module', '-e', SCRIPT, directory];
  const starter = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(starter.stdout, 'data')) as [Buffer];
  const pids = line.toString().split(' ').map(Number);
  await until(() => childrenOf(pids[2]!).length === 1);
  pids.push(...childrenOf(pids[2]!));
  t.after(() => {
    for (const pid of pids.filter(runs)) process.kill(pid, 'SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  assert.deepEqual([pids.length, pids.every(runs), existsSync(directory)], [4, true, true]);
  starter.kill('SIGKILL');
  await until(() => !pids.some(runs));
  await until(() => !existsSync(directory));
});
