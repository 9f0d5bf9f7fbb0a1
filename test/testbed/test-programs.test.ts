import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { test } from 'node:test';
import { startKubeControllerManager } from '../../src/testbed/test-programs.ts';
import { until } from '../support/until.ts';

/** Serves metrics as kube-controller-manager does, and spends no CPU. */
const MANAGER = `#!${execPath}
const { createServer } = require('node:https');
const { readFileSync } = require('node:fs');
const flag = (name) => process.argv.find((arg) => arg.startsWith('--' + name + '=')).split('=')[1];
const file = (ending) => readFileSync(flag('cert-dir') + '/kube-controller-manager.' + ending);
createServer({ cert: file('crt'), key: file('key') }, (_, response) =>
  response.end('process_cpu_seconds_total 125.5\\n'),
).listen(Number(flag('secure-port')), '127.0.0.1');
`;

test("kube-controller-manager's CPU is read from its metrics", { timeout: 60_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'manager-'));
  const path = join(directory, 'manager.cjs');
  writeFileSync(path, MANAGER);
  chmodSync(path, 0o755);
  const manager = await startKubeControllerManager({ kubeconfigPath: join(directory, 'kubeconfig') }, path, []);
  t.after(async () => {
    await manager.stop();
    rmSync(directory, { recursive: true });
  });
  await until(async () => (await manager.metricsText()) !== '', 20);
  assert.equal(await manager.cpuSeconds(), 125.5);
});
