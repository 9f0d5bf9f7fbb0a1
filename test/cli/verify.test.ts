/** `endpointd verify` as a process: status, outputs, and readers that go away. What it finds: test/verify. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param gone whose reader takes its end of the pipe away at once */
async function verify(args: readonly string[], gone: 'nobody' | 'stdout' | 'stderr' = 'nobody'): Promise<Outcome> {
  const child = spawn(execPath, [BIN, 'verify', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    if (gone === name) child[name].destroy();
    else child[name].on('data', (chunk: Buffer) => (texts[name] += chunk.toString()));
  }
  const [status] = (await once(child, 'close')) as [number];
  return { status, ...texts };
}

describe('verify', () => {
  let server: ServeProcess;
  before(async () => {
    // Its own Service, whose Endpoints are not the controllers'.
    server = await startServe(['--life=false'], MAIN);
  });
  after(() => server.stop());

  it('verify has status 0 and says so as text if nothing would be written', async () => {
    const { status, stdout } = await verify([`--kubeconfig=${server.kubeconfig}`]);
    assert.match(stdout, /^same: nothing would be written\n1 Service, 0 pods, 3 nodes on /);
    assert.equal(status, 0);
  });

  it('-o json prints JSON alone on stdout', async () => {
    const { stdout } = await verify([`--kubeconfig=${server.kubeconfig}`, '-o', 'json']);
    const { verdict, different } = JSON.parse(stdout) as { verdict: string; different: unknown[] };
    assert.deepEqual([verdict, different], ['same', []]);
  });

  it('verify plans in threads, as run does', async () => {
    const { status } = await verify([`--kubeconfig=${server.kubeconfig}`, '--shards=1']);
    assert.equal(status, 0);
  });

  it('verify ends quietly when its reader is gone', async () => {
    const { status, stderr } = await verify([`--kubeconfig=${server.kubeconfig}`, '-o', 'html'], 'stdout');
    assert.equal(status, 0);
    assert.ok(!/EPIPE|Error:|\n +at /.test(stderr), stderr);
  });

  it('verify writes its report even if nobody reads the progress', async () => {
    const { status, stdout } = await verify([`--kubeconfig=${server.kubeconfig}`], 'stderr');
    assert.deepEqual([status, stdout.split('\n')[0]], [0, 'same: nothing would be written']);
  });

  it('verify has status 2 if the report cannot be written', async () => {
    const args = [BIN, 'verify', `--kubeconfig=${server.kubeconfig}`];
    const full = openSync('/dev/full', 'w');
    const limit = { timeout: 30_000, killSignal: 'SIGKILL' } as const;
    const { status, stderr } = spawnSync(execPath, args, {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
      ...limit,
    });
    closeSync(full);
    assert.match(stderr, /\nendpointd verify: cannot write the report: ENOSPC/);
    assert.equal(status, 2);
  });

  it('verify has status 2 and says why if the server cannot be reached', async () => {
    const { status, stdout } = await verify(['--master=http://127.0.0.1:1', '--timeout=1s']);
    assert.match(stdout, /\ncould not see pods: not listed yet; no answer for endpoints, endpointslice\n/);
    assert.match(stdout, /\ncould not see endpoints: refused: connect ECONNREFUSED 127\.0\.0\.1:1; /);
    assert.equal(status, 2);
  });
});
