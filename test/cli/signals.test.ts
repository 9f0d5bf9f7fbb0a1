/**
 * SIGINT and SIGTERM end every command, also while it is loaded or waits. The status shows that endpointd does it itself:
 * the system would end the process without one, and process 1 of a container not at all.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { BIN } from '../support/installed.ts';

/** For one process on a machine that is out of breath. */
const TIMEOUT_MS = 120_000;
const STATUS = { SIGINT: 130, SIGTERM: 143 } as const;

function start(args: readonly string[], preload = 'data:text/javascript,'): ChildProcess {
  return spawn(execPath, [`--import=${preload}`, BIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** By the signal, which it gets when it is `ready`. */
async function expectEnded(child: ChildProcess, ready: Promise<unknown>, signal: keyof typeof STATUS): Promise<void> {
  const exited = once(child, 'exit');
  await Promise.race([ready, exited.then(() => assert.fail('it has ended by itself'))]);
  child.kill(signal);
  assert.deepEqual(await exited, [STATUS[signal], null]);
}

/** A module for `--import`: the process sends itself `signal` when it is about to load `path`. */
function signalAtLoad(path: string, signal: string): string {
  const code = `
    import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, next) {
        if (url.endsWith('${path}')) process.kill(process.pid, '${signal}');
        return next(url, context);
      },
    });
  `;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

describe('a signal ends a command', () => {
  /** Answers nothing. */
  const server = createServer();
  let url: string;
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    for (const path of ['/src/main.js', '/cli/run.js']) {
      it(`${signal} ends run while ${path} is loaded`, { timeout: TIMEOUT_MS }, async () => {
        const child = start(['run', '--master=http://127.0.0.1:1', '--secure-port=0'], signalAtLoad(path, signal));
        const [status, endedBy] = (await once(child, 'exit')) as [number, string | null];
        assert.equal(endedBy, null);
        // It is heard when Node does not load, and by then it may find a controller that stops in good order.
        assert.ok(status === STATUS[signal] || status === 0, String(status));
      });
    }

    for (const command of ['retire-endpoints', 'explain service shop/web', 'check-rights', 'verify']) {
      it(`${signal} ends ${command} while the server does not answer`, { timeout: TIMEOUT_MS }, async () => {
        const asked = once(server, 'request');
        await expectEnded(start([...command.split(' '), `--master=${url}`]), asked, signal);
      });
    }

    for (const command of ['advise', 'top']) {
      it(`${signal} ends ${command} while its source does not answer`, { timeout: TIMEOUT_MS }, async () => {
        const asked = once(server, 'request');
        await expectEnded(start([command, `--source=${url}`]), asked, signal);
      });
    }

    it(`${signal} ends tune while it searches`, { timeout: TIMEOUT_MS }, async () => {
      const child = start(['tune', '--from=huge']);
      const searches = new Promise<void>((resolve) => {
        let said = '';
        child.stderr!.on('data', (chunk: Buffer) => {
          if ((said += chunk.toString()).includes('at settings')) resolve();
        });
      });
      await expectEnded(child, searches, signal);
    });
  }
});
