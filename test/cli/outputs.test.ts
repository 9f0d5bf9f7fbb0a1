/** Outputs that are full, stuck or gone keep the controller neither from working nor from ending. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { after, before, describe, it } from 'node:test';
import { freePorts } from '../../src/testbed/free-ports.ts';
import { startServe, type ServeProcess } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';
import { until } from '../support/until.ts';

/** What a stop may take with nothing to drain: the last lines wait a second. */
const STOP_MS_MAX = 10_000;

/** Code that the controller's process runs first. */
type Preload = string;
const NOTHING: Preload = '';
const THROWS_AT_SIGUSR2: Preload = "process.on('SIGUSR2', () => { throw new Error('thrown on purpose') })";
/** Nothing that listens ever closes. A stop waits 15 s for it. */
const NEVER_CLOSES: Preload = `
  import { Server } from 'node:net';
  Server.prototype.close = function () { return this; };
`;
/** The 15 s are a third of a second. */
const WAITS_SHORTLY: Preload = `
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (run, ms, ...args) => setTimeout(run, ms === 15_000 ? 300 : ms, ...args);
`;

/** Makes the file when SIGTERM is heard. */
const tellsSigterm = (path: string): Preload => `
  import { writeFileSync } from 'node:fs';
  process.once('SIGTERM', () => writeFileSync(${JSON.stringify(path)}, ''));
`;

const directory = mkdtempSync(join(tmpdir(), 'endpointd-outputs-'));
after(() => rmSync(directory, { recursive: true }));

let fifos = 0;
function makeFifo(): string {
  const path = join(directory, `fifo-${fifos++}`);
  execFileSync('mkfifo', [path]);
  return path;
}

/** The two ends of a FIFO into which not a byte more fits. */
function fullFifo(): { readonly read: number; readonly write: number } {
  const path = makeFifo();
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(filler, Buffer.alloc(size, '.'));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
    }
  }
  closeSync(filler);
  return { read, write: openSync(path, constants.O_WRONLY) };
}

/** What the FIFO holds now. */
function readAll(fd: number): string {
  const bytes = Buffer.alloc(1_048_576);
  let text = '';
  try {
    for (let n = 1; n > 0; text += bytes.toString('utf8', 0, n)) n = readSync(fd, bytes);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
  }
  return text;
}

interface Controller {
  readonly child: ChildProcess;
  readonly metric: (name: string) => Promise<number>;
  /** Sends the signal; gives the status, or the name of the signal that ended it. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | string>;
}

describe('a controller', () => {
  let server: ServeProcess;
  before(async () => {
    server = await startServe(['--profile=tiny'], MAIN);
  });
  after(() => server.stop());

  /** Ready, with all it says on `output`. */
  async function start(output: number | 'pipe', preload: Preload = NOTHING): Promise<Controller> {
    const port = (await freePorts(1))[0]!;
    const flags = [
      `--kubeconfig=${server.kubeconfig}`,
      '--shards=0',
      '--secure-port=0',
      `--metrics-bind-address=127.0.0.1:${port}`,
      '-v=4',
    ];
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(preload)}`;
    const child = spawn(execPath, [BIN, 'run', ...flags], {
      stdio: ['ignore', output, output],
      env: { ...env, NODE_OPTIONS },
    });
    const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
    await until(async () => {
      assert.equal(child.exitCode, null);
      return (await get('/readyz'))?.status === 200;
    }, 20);
    return {
      child,
      async metric(name) {
        const text = await (await get('/metrics'))!.text();
        return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
      },
      async end(signal) {
        child.kill(signal);
        const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
        const [status, endedBy] = await exited;
        clearTimeout(late);
        return status ?? endedBy!;
      },
    };
  }

  it('a controller works and stops with a log that is full', async () => {
    const { metric, end } = await start(openSync('/dev/full', 'w'));
    await until(async () => (await metric('endpointd_log_write_errors_total')) > 0, 20);
    assert.ok((await metric('endpointd_log_dropped_lines_total')) > 0);
    assert.equal(await end('SIGTERM'), 0);
  });

  it('a controller works and stops with a log that nobody reads', async () => {
    const { write } = fullFifo();
    const { metric, end } = await start(write);
    assert.equal(await metric('endpointd_log_write_errors_total'), 0);
    assert.equal(await end('SIGTERM'), 0);
  });

  it('a controller ends at once at the second signal, though nobody reads its log', async () => {
    const { write } = fullFifo();
    const heard = join(directory, 'heard');
    const { child, end } = await start(write, NEVER_CLOSES + tellsSigterm(heard));
    child.kill('SIGTERM');
    await until(() => existsSync(heard));
    assert.equal(await end('SIGTERM'), 143);
  });

  it('waiting log lines are written when the log is read again', async () => {
    const { read, write } = fullFifo();
    const { end } = await start(write);
    readAll(read);
    let said = '';
    await until(() => (said += readAll(read)).includes('"Starting endpointd"'), 20);
    assert.equal(await end('SIGTERM'), 0);
    assert.match(readAll(read), /"Stopped"\n$/);
  });

  it('a controller works and stops with a log whose reader is gone', async () => {
    const { child, metric, end } = await start('pipe');
    child.stdout!.destroy();
    child.stderr!.destroy();
    assert.ok((await metric('endpointd_build_info\\{.*\\}')) === 1);
    assert.equal(await end('SIGTERM'), 0);
  });

  it('a controller stops after 15 s even if its ports never close', async () => {
    const { write } = fullFifo();
    const { end } = await start(write, NEVER_CLOSES + WAITS_SHORTLY);
    assert.equal(await end('SIGTERM'), 0);
  });

  it('a controller that fails ends, though nobody reads its log', async () => {
    const { write } = fullFifo();
    const { end } = await start(write, THROWS_AT_SIGUSR2);
    assert.equal(await end('SIGUSR2'), 1);
  });

  it('a controller that fails prints its last lines, and then why', async () => {
    const { child, end } = await start('pipe', THROWS_AT_SIGUSR2);
    let said = '';
    child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const closed = once(child.stderr!, 'close');
    assert.equal(await end('SIGUSR2'), 1);
    await closed;
    assert.match(said, /"Starting endpointd"[^]*thrown on purpose/);
  });
});

it('a controller ends even if a file that it reads never comes', async () => {
  const kubeconfig = makeFifo();
  const child = spawn(execPath, [BIN, 'run', `--kubeconfig=${kubeconfig}`], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  await until(() => {
    assert.equal(child.exitCode, null);
    try {
      openSync(kubeconfig, constants.O_WRONLY | constants.O_NONBLOCK);
      return true;
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENXIO');
      return false;
    }
  });
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  assert.deepEqual(await exited, [143, null]);
  clearTimeout(late);
});
