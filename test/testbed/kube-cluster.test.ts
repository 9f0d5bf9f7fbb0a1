import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { test, type TestContext } from 'node:test';
import { selfSigned } from '../../src/node/self-signed.ts';
import { startKubeCluster } from '../../src/testbed/kube-cluster.ts';

const TAKEN = 'listen tcp 127.0.0.1:2379: bind: address already in use';

/** Its first starts fail, so many. */
const etcd = (failures: number): string => `#!/bin/sh
cd "$(dirname "$0")"
echo etcd >>starts
if [ "$(grep -c etcd starts)" -le ${failures} ]; then echo '${TAKEN}' >&2; exit 1; fi
touch etcd-runs
exec sleep 600
`;

/** Its first starts fail, so many. It says yes to everything as soon as there is an etcd. */
const apiserver = (failures: number): string => `#!${execPath}
const { appendFileSync, existsSync, readFileSync } = require('node:fs');
const { createServer } = require('node:https');
appendFileSync(__dirname + '/starts', 'kube-apiserver\\n');
if (readFileSync(__dirname + '/starts', 'utf8').split('kube-apiserver').length - 1 <= ${failures}) {
  console.error('${TAKEN}');
  process.exit(1);
}
const flag = (name) => process.argv.find((arg) => arg.startsWith('--' + name + '=')).split('=')[1];
const file = (ending) => readFileSync(flag('cert-dir') + '/apiserver.' + ending);
const waiting = setInterval(() => {
  if (!existsSync(__dirname + '/etcd-runs')) return;
  clearInterval(waiting);
  const identity = { cert: file('crt'), key: file('key') };
  createServer(identity, (_, response) => response.end()).listen(Number(flag('secure-port')), '127.0.0.1');
}, 10);
`;

/** Starts a cluster of these programs. Returns which of them were started, in their order, and how it ended. */
async function started(t: TestContext, etcdSource: string, apiserverSource: string): Promise<[string[], string]> {
  const directory = mkdtempSync(join(tmpdir(), 'programs-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const binaries = { etcd: join(directory, 'etcd'), kubeApiserver: join(directory, 'apiserver.cjs') };
  writeFileSync(binaries.etcd, etcdSource);
  writeFileSync(binaries.kubeApiserver, apiserverSource);
  for (const path of Object.values(binaries)) chmodSync(path, 0o755);
  const serving = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  const end = await startKubeCluster(binaries, { serving }).then(
    async (cluster) => {
      await cluster.stop();
      return 'ready';
    },
    (error: Error) => error.message,
  );
  return [readFileSync(join(directory, 'starts'), 'utf8').trim().split('\n'), end];
}

test('a cluster whose etcd finds its port taken starts once more', { timeout: 60_000 }, async (t) => {
  const [starts, end] = await started(t, etcd(1), apiserver(0));
  assert.equal(end, 'ready');
  assert.equal(starts.filter((name) => name === 'etcd').length, 2);
});

test('a cluster whose API server finds its port taken starts once more', { timeout: 60_000 }, async (t) => {
  const [starts, end] = await started(t, etcd(0), apiserver(1));
  assert.equal(end, 'ready');
  assert.equal(starts.filter((name) => name === 'kube-apiserver').length, 2);
});

test('a cluster that finds its ports taken each time does not start', { timeout: 60_000 }, async (t) => {
  const [starts, end] = await started(t, etcd(0), apiserver(100));
  assert.match(end, /^kube-apiserver has ended.*: bind: address already in use/s);
  assert.equal(starts.filter((name) => name === 'kube-apiserver').length, 3);
});

test('a cluster whose program ends for another reason is not started again', { timeout: 60_000 }, async (t) => {
  const [starts, end] = await started(t, etcd(0), apiserver(100).replaceAll(TAKEN, 'unknown flag'));
  assert.match(end, /^kube-apiserver has ended.*unknown flag/s);
  assert.equal(starts.filter((name) => name === 'kube-apiserver').length, 1);
});
