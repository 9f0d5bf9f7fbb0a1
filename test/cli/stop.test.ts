/** SIGTERM while a write has no answer: the first lets it end, a second one does not wait for it. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN } from '../support/installed.ts';

describe('a stop under way', () => {
  let server: ServeProcess;
  beforeEach(async () => {
    server = await startServe(['--profile=tiny', '--fault=verb=create|update,resource=endpoints,delay=fixed:3s']);
  });
  afterEach(() => server.stop());

  /** A controller that has sent its first writes. */
  async function controller(): Promise<{ child: ChildProcess; said: () => string }> {
    const flags = [
      `--kubeconfig=${server.kubeconfig}`,
      '--shards=0',
      '--secure-port=0',
      '--metrics-bind-address=127.0.0.1:0',
    ];
    const child = spawn(execPath, [BIN, 'run', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const sent = /^rest_client_rate_limiter_duration_seconds_count\{verb="POST".*\} [1-9]/m;
    for (let metrics = ''; !sent.test(metrics); await sleep(20)) {
      assert.equal(child.exitCode, null, said);
      const address = /http="([\d.:]+)"/.exec(said)?.[1];
      if (address !== undefined) metrics = await (await fetch(`http://${address}/metrics`)).text();
    }
    return { child, said: () => said };
  }

  it('the second signal ends the process at once, with status 128 + 15', async () => {
    const { child, said } = await controller();
    child.kill('SIGTERM');
    await sleep(200);
    assert.equal(child.exitCode, null, said());
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    assert.equal(code, 143, said());
    assert.ok(!said().includes('"Stopped"'), said());
  });

  it('a stop ends with status 0 once all sent writes are answered', async () => {
    const { child, said } = await controller();
    const fromMs = performance.now();
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    const tookMs = performance.now() - fromMs;
    assert.equal(code, 0, said());
    assert.ok(said().includes('"Stopped"'), said());
    assert.ok(tookMs < 10_000, `${tookMs} ms`);
  });
});
