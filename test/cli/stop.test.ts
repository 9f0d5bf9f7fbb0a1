/** SIGTERM while a write has no answer: the first lets it end, a second one does not wait for it. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';
import { until } from '../support/until.ts';

const DELAY_MS = 3000;

interface Controller {
  readonly server: ServeProcess;
  readonly child: ChildProcess;
  readonly said: () => string;
}

// They mostly wait.
describe('a stop under way', { concurrency: 3 }, () => {
  /** How many Endpoints the server has. */
  async function endpointsStored(server: ServeProcess): Promise<number> {
    const { items } = (await (await fetch(`${server.url}/api/v1/endpoints`)).json()) as { items: unknown[] };
    return items.length;
  }

  /** A controller that has sent its first writes. They are answered after `delayMs`. */
  async function controller(
    context: TestContext,
    { preload = 'data:text/javascript,', delayMs = DELAY_MS } = {},
  ): Promise<Controller> {
    const fault = `verb=create|update,resource=endpoints,user-agent=endpointd,delay=fixed:${delayMs}ms`;
    const server = await startServe(['--profile=tiny', `--fault=${fault}`], MAIN);
    context.after(() => server.stop());
    const flags = [
      `--kubeconfig=${server.kubeconfig}`,
      '--shards=0',
      '--secure-port=0',
      '--metrics-bind-address=127.0.0.1:0',
    ];
    const child = spawn(execPath, [`--import=${preload}`, BIN, 'run', ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    context.after(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const sent = /^rest_client_rate_limiter_duration_seconds_count\{verb="POST".*\} [1-9]/m;
    await until(async () => {
      assert.equal(child.exitCode, null, said);
      const address = /http="([\d.:]+)"/.exec(said)?.[1];
      return address !== undefined && sent.test(await (await fetch(`http://${address}/metrics`)).text());
    }, 20);
    return { server, child, said: () => said };
  }

  it('the second signal ends the process at once, with status 128 + 15', async (context) => {
    const { child, said } = await controller(context, { delayMs: 30_000 });
    child.kill('SIGTERM');
    await until(() => said().includes('"Stopping: '));
    assert.equal(child.exitCode, null, said());
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    assert.equal(code, 143, said());
    assert.ok(!said().includes('"Stopped"'), said());
  });

  it('a stop ends with status 0 once all sent writes are answered', async (context) => {
    const { server, child, said } = await controller(context);
    const fromMs = performance.now();
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    const tookMs = performance.now() - fromMs;
    const stored = await endpointsStored(server);
    assert.ok(stored > 0);
    await sleep(DELAY_MS + 1000);
    assert.equal(await endpointsStored(server), stored, 'nothing was under way');
    assert.equal(code, 0, said());
    assert.ok(said().includes('"Stopped"'), said());
    assert.ok(tookMs < 10_000, `${tookMs} ms`);
  });

  it('a stop that cannot drain in its time says so, with status 1', async (context) => {
    // The stop gives up before the writes are answered.
    const code = `
      const { setTimeout: real } = globalThis;
      globalThis.setTimeout = (then, ms, ...rest) => real(then, ms === 15_000 ? 500 : ms, ...rest);
    `;
    const preload = `data:text/javascript,${encodeURIComponent(code)}`;
    const { child, said } = await controller(context, { preload });
    child.kill('SIGTERM');
    const [status] = (await once(child, 'exit')) as [number];
    assert.equal(status, 1, said());
    assert.ok(said().includes('"Stopped without draining all writes"'), said());
  });
});
