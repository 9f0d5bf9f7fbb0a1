/** A controller that may open 64 files: clients of its metrics port cannot take those that a probe needs. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { execPath } from 'node:process';
import { after, before, it } from 'node:test';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';

const SYNCING = /"Caches are filled"/;
/** Of a kubelet's probe it is one second. */
const PROBE_MS_MAX = 5000;

let server: ServeProcess;
before(async () => {
  server = await startServe(['--profile=tiny'], MAIN);
});
after(() => server.stop());

it('/livez is answered beside 100 connections without a request', async (t) => {
  const flags = [
    `--kubeconfig=${server.kubeconfig}`,
    '--shards=0',
    '--secure-port=0',
    '--metrics-bind-address=127.0.0.1:0',
  ];
  const limited = ['-c', 'ulimit -n 64; exec "$0" "$@"', execPath, BIN, 'run', ...flags];
  const child = spawn('sh', limited, { stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  while (!SYNCING.test(said)) await Promise.race([once(child.stderr, 'data'), exited.then(() => assert.fail(said))]);
  const address = /http="([\d.:]+)"/.exec(said)![1]!;

  const idle = Array.from({ length: 100 }, () => connect(Number(address.split(':')[1]), '127.0.0.1'));
  t.after(() => idle.forEach((socket) => socket.destroy()));
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  const probe = await fetch(`http://${address}/livez`, { signal: AbortSignal.timeout(PROBE_MS_MAX) });
  assert.equal(await probe.text(), 'ok');

  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null], said);
});
