/** The commands as an operator meets them: exit status, and one line on stderr for what cannot be taken. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { freePorts } from '../../src/testbed/free-ports.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { BIN, MAIN } from '../support/installed.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'endpointd-main-'));
after(() => rmSync(directory, { recursive: true }));

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function endpointd(...args: string[]): Promise<Outcome> {
  return endpointdIn({ KUBERNETES_SERVICE_HOST: '', KUBERNETES_SERVICE_PORT: '' }, args);
}

function endpointdIn(variables: Record<string, string>, args: readonly string[]): Promise<Outcome> {
  const env = { ...process.env, ...variables };
  return new Promise((resolve) => {
    execFile(execPath, [BIN, ...args], { env }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const shown: [args: string[], text: RegExp][] = [
  [['--help'], /Commands:\n {2}run /],
  [['run', '--help'], /Usage: endpointd run \[--flag=value/],
  [['verify', '--help'], /--watch <duration>/],
  [['check-rights', '--help'], /-o, --output <format>\n {8}a table for people/],
  [['explain', '--help'], /Usage: endpointd explain <kind> <name>/],
  [['top', '--help'], /Usage: endpointd top/],
  [['serve', '-h'], /--profile <name>/],
  [['demo', '--help'], /--churn-seconds <n>/],
  [['--version'], /^\d+\.\d+\.\d+\n$/],
  [['run', '--v=2', '--version'], /^\d+\.\d+\.\d+\n$/],
  [['version'], /^endpointd \d+\.\d+\.\d+\ncommit ([0-9a-f]{40}|unknown)\nnode v\d+\.\d+\.\d+\n$/],
];
for (const [args, text] of shown) {
  test(`endpointd ${args.join(' ')} prints its text`, async () => {
    const { status, stdout, stderr } = await endpointd(...args);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, text);
    const wide = stdout.split('\n').filter((line) => line.length > 80);
    assert.deepEqual(wide, [], 'more than 80 columns');
  });
}

const refused: [args: string[], status: number, line: string][] = [
  [[], 2, 'endpointd: no command given. Allowed: '],
  [['destroy'], 2, 'endpointd: unknown command "destroy". Allowed: run, '],
  [
    ['run', '--shards=many'],
    2,
    "endpointd run: option '--shards <n>' argument 'many' is invalid. Allowed: a whole number",
  ],
  [
    ['run', '--no-such-flag=1'],
    2,
    'endpointd run: unknown flags, here and in kube-controller-manager: --no-such-flag. Allowed: the flags that --help lists.',
  ],
  [['demo', '--rate=0'], 2, "endpointd demo: option '--rate <n>' argument '0' is invalid. Allowed: a whole number"],
  [['serve', '--port=x'], 2, "endpointd serve: option '--port <n>' argument 'x' is invalid."],
  [['verify', '-o', 'pdf'], 2, "endpointd verify: option '-o, --output <format>' argument 'pdf' is invalid."],
  // 1 would say that something is different.
  [['verify', '--kubeconfig=/no/such'], 2, 'endpointd verify: cannot read kubeconfig /no/such: ENOENT'],
  [['run'], 1, 'endpointd run: no API server: neither --kubeconfig nor --master is given'],
  [['run', '--kubeconfig=/no/such'], 1, 'endpointd run: cannot read kubeconfig /no/such: ENOENT'],
];
for (const [args, expected, line] of refused) {
  test(`endpointd ${args.join(' ')} is refused with status ${expected}`, async () => {
    const { status, stdout, stderr } = await endpointd(...args);
    assert.equal(status, expected);
    assert.equal(stdout, '');
    assert.ok(stderr.startsWith(line), stderr);
    assert.equal(stderr.indexOf('\n'), stderr.length - 1, 'one line');
  });
}

const MOUNTED = '/var/run/secrets/kubernetes.io/serviceaccount/token';

test(
  'in a pod, run reads the token that the kubelet has mounted',
  { skip: existsSync(MOUNTED) && 'this is a pod' },
  async () => {
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    const { status, stderr } = await endpointdIn(pod, ['run']);
    assert.equal(status, 1);
    assert.ok(stderr.includes(MOUNTED), stderr);
  },
);

test('run starts without a writable place, as with a read-only root', async () => {
  // A file, for the superuser may write to any directory.
  const file = join(import.meta.dirname, 'main.test.ts');
  const env = { ...process.env, TMPDIR: file, XDG_CACHE_HOME: file, NODE_COMPILE_CACHE: undefined };
  const server = await startServe(['--profile=tiny'], MAIN);
  const flags = [`--kubeconfig=${server.kubeconfig}`, '--shards=1', '--secure-port=0'];
  const { status, stderr } = await untilReady(['run', ...flags], /All services are synced|A shard was lost/, env);
  await server.stop();
  assert.equal(status, 0, stderr);
  assert.ok(!stderr.includes('A shard was lost'), stderr);
});

test('compiled code is kept where only the user can write, and not in /tmp', async () => {
  const [home, temporary] = [mkdtempSync(join(directory, 'home-')), mkdtempSync(join(directory, 'tmp-'))];
  await endpointdIn({ HOME: home, TMPDIR: temporary, XDG_CACHE_HOME: '', NODE_COMPILE_CACHE: '' }, ['--version']);
  const kept = join(home, '.cache', 'endpointd', 'compiled');
  assert.deepEqual([statSync(kept).mode & 0o777, readdirSync(kept).length, readdirSync(temporary)], [0o700, 1, []]);
});

test('V8 runs without the elision of objects that can mix up their numbers', async () => {
  // Only the name of the directory of compiled code tells with which flags V8 runs.
  const kept = mkdtempSync(join(directory, 'cache-'));
  await endpointdIn({ XDG_CACHE_HOME: kept, NODE_COMPILE_CACHE: '' }, ['--version']);
  const print = ['--print', 'v8.cachedDataVersionTag().toString(16)'];
  const tagOf = async (flags: string[]): Promise<string> => (await run(execPath, [...flags, ...print])).stdout.trim();
  const names = readdirSync(join(kept, 'endpointd', 'compiled')).join(', ');
  assert.ok(names.includes(`-${await tagOf(['--no-maglev-escape-analysis'])}-`), names);
  assert.ok(!names.includes(`-${await tagOf([])}-`), names);
});

test('a port in use gives one line, with the command that finds who, and status 1', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const run = await endpointd(
    'run',
    '--master=http://127.0.0.1:1',
    '--secure-port=0',
    `--metrics-bind-address=127.0.0.1:${port}`,
  );
  const serveOn = (platform: string): Promise<Outcome> => {
    const preload = `data:text/javascript,Object.defineProperty(process,'platform',{value:'${platform}'})`;
    const args = ['serve', `--port=${port}`, `--kubeconfig=${join(directory, 'unused')}`];
    return endpointdIn({ NODE_OPTIONS: `--import=${preload}` }, args);
  };
  const [serve, serveOnMac] = [await serveOn('linux'), await serveOn('darwin')];
  taken.close();
  assert.deepEqual([run.status, serve.status, serveOnMac.status], [1, 1, 1]);
  assert.match(
    run.stderr,
    /^endpointd run: cannot serve --metrics-bind-address=127\.0\.0\.1:\d+: .*EADDRINUSE.*; another process listens there: .*\n$/,
  );
  assert.match(serve.stderr, /^endpointd serve: cannot serve on port \d+: .*EADDRINUSE.*\(ss -ltnp names it\).*\n$/);
  assert.match(serveOnMac.stderr, /\(lsof -nP -iTCP -sTCP:LISTEN names it\)/);
});

/** A command that runs until a stream fits `ready`, then gets SIGTERM. */
function untilReady(args: readonly string[], ready: RegExp, env = process.env): Promise<Outcome> {
  const child = spawn(execPath, [BIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  const look = (): void => {
    // Once: a second signal would end it at once.
    if (!child.killed && (ready.test(stdout) || ready.test(stderr))) child.kill('SIGTERM');
  };
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    look();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    look();
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve({ status: code ?? -1, stdout, stderr }));
  });
}

test('serve prints its kubeconfig, and both commands stop with status 0 on SIGTERM', async () => {
  const kubeconfig = join(directory, 'kubeconfig');
  const serving = await untilReady(['serve', `--kubeconfig=${kubeconfig}`, '--profile=tiny'], /until Ctrl-C/);
  assert.equal(serving.status, 0, serving.stderr);
  assert.match(serving.stdout, /^apiVersion: v1\nkind: Config\n/);
  const flags = [`--kubeconfig=${kubeconfig}`, '--secure-port=0', '--shards=0'];
  const running = await untilReady(['run', ...flags], /tried again/);
  assert.equal(running.status, 0, running.stderr);
});

/** What happens to a command that does not end. */
const KILLED = { timeout: 20_000, killSignal: 'SIGKILL' } as const;

/** Makes the thread of the API server throw as soon as it serves. */
const ENDING_THREAD = `data:text/javascript,
  import { isMainThread, parentPort } from 'node:worker_threads';
  if (!isMainThread) parentPort.postMessage = function (ready) {
    Object.getPrototypeOf(this).postMessage.call(this, ready);
    setTimeout(() => { throw new Error('out of memory'); });
  };`;

test('serve ends with one line and status 1 when the thread of its API server ends', async () => {
  const env = { ...process.env, NODE_OPTIONS: `--import="${encodeURI(ENDING_THREAD)}"` };
  const args = [BIN, 'serve', `--kubeconfig=${join(directory, 'unused')}`];
  const child = spawn(execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'], ...KILLED });
  const said = text(child.stderr);
  const [status] = (await once(child, 'exit')) as [number];
  // The error may overtake the message that the thread serves.
  assert.match(await said, /^endpointd serve: cannot (?:go on|serve on port 0): out of memory\n$/);
  assert.equal(status, 1);
});

for (const profile of ['none', 'tiny']) {
  test(`one Ctrl-C ends serve --profile=${profile} while nothing passes`, async () => {
    const kubeconfig = join(directory, `never-${profile}`);
    const [port] = await freePorts(1);
    const flags = [`--port=${port}`, `--kubeconfig=${kubeconfig}`, `--profile=${profile}`, '--fault=server-error=1'];
    const child = spawn(execPath, [BIN, 'serve', ...flags], { stdio: ['ignore', 'ignore', 'pipe'], ...KILLED });
    const said = text(child.stderr);
    const ended = once(child, 'exit');
    const status = async () => (await fetch(`http://127.0.0.1:${port}/api/v1/nodes`).catch(() => null))?.status;
    await until(async () => (await status()) === 500, 20);
    child.kill('SIGINT');
    const [exitStatus] = (await ended) as [number | null];
    assert.deepEqual([exitStatus, await said, existsSync(kubeconfig)], [0, '', false]);
  });
}
