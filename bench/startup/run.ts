/**
 * The cost of a start: CPU and memory of the process when the API server sees its first list request, and that for the Lease
 * where there is one. Measured as deployed, without TLS and Lease with and without a compile cache, and beside a Node that
 * does nothing, in turn. Linux only.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { selfSigned } from '../../src/node/self-signed.ts';
import { NODE_FLAGS } from '../../src/testbed/controller-process.ts';
import { freePorts } from '../../src/testbed/free-ports.ts';
import { programOf } from '../peers/peers.ts';
import type { BenchMark } from '../marks/data.ts';
import { verdictOver } from '../marks/mark-result.ts';
import { createTeller } from '../marks/tell.ts';
import { compileProgram } from '../support/compile.ts';
import type { Size } from '../support/micro-bench.ts';
import { threadSecondsOf, usageOf } from '../support/process-usage.ts';
import { plural } from '../../src/lib/figures.ts';
import { median } from '../../src/lib/percentile.ts';

const ROUNDS = { tiny: 1, full: 9 };
const START_MS_MAX = 60_000;
/** Lists of the controllers, which begin as watches. Questions about rights and authorities come before them. */
const LIST = /^\/api.*\/(?:pods|services|nodes|endpoints|endpointslices)\?/;
/** The Lease is read in the step that asks for the first lists, so either may come first. */
const LEASE = /\/leases\//;
const CPU_MS_MAX = 250;
const RESIDENT_MB_MAX = 60;

export interface Start {
  readonly cpuMs: number;
  readonly mainMs: number;
  readonly residentMB: number;
}

interface Case {
  readonly title: string;
  /** Whether the cache of an earlier start is kept; null = no cache is used. */
  readonly cache: 'kept' | 'emptied' | null;
  readonly serving: 'nothing' | 'plain' | 'TLS';
  /** `deployed`: with TLS and a token, and it asks for its Lease. `bare`: in plain HTTP, and without a Lease. */
  readonly server: 'deployed' | 'bare';
}

/** Of the image in `deploy/`: its file system takes no cache, and it serves with TLS. */
const DEPLOYED: Case = {
  title: 'as deployed: TLS, its Lease, its secure port, no compile cache',
  cache: null,
  serving: 'TLS',
  server: 'deployed',
};

const CASES: readonly Case[] = [
  DEPLOYED,
  { title: 'secure port, no compile cache', cache: null, serving: 'TLS', server: 'bare' },
  { title: 'warm compile cache', cache: 'kept', serving: 'nothing', server: 'bare' },
  { title: 'its first start', cache: 'emptied', serving: 'nothing', server: 'bare' },
  { title: 'no compile cache', cache: null, serving: 'nothing', server: 'bare' },
  { title: 'warm, with its plain port', cache: 'kept', serving: 'plain', server: 'bare' },
];

export async function runStartupBench(size: Size, rest: readonly string[]): Promise<void> {
  const { show, end } = createTeller('startup', size, rest);
  if (size === 'full') compileProgram();
  const main = fileURLToPath(programOf(size));
  const nothing: Start[] = [];
  const cases = (size === 'full' ? CASES : CASES.slice(0, 1)).map((each) => ({ each, starts: [] as Start[] }));
  const deployed = cases[0]!.starts;
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-startup-'));
  try {
    for (let round = 0; round < ROUNDS[size]; round++) {
      nothing.push(await startNothing());
      for (const { each, starts } of cases) starts.push(await startCase(main, each, directory));
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  show({
    title: 'A start, until the first list request',
    columns: ['', 'CPU ms', 'of it main', 'resident MB'],
    rows: [rowOf('Node alone', nothing), ...cases.map(({ each, starts }) => rowOf(each.title, starts))],
    note: `Medians of ${plural(nothing.length, 'start')}. As deployed also until the request for the Lease. The starts below it are in plain HTTP, without a Lease`,
  });
  const markOf = (what: string, figure: keyof Start, most: number, unit: string): BenchMark => ({
    what: `${what} <= ${most} ${unit}`,
    got: `${middle(deployed, figure).toFixed(0)} ${unit}, Node alone ${middle(nothing, figure).toFixed(0)} ${unit}`,
    verdict: verdictOver(deployed, (drawn) => middle(drawn, figure) <= most),
    rounds: deployed.length,
  });
  end([
    markOf('CPU of a start as deployed, until the first list request,', 'cpuMs', CPU_MS_MAX, 'ms'),
    markOf('resident then', 'residentMB', RESIDENT_MB_MAX, 'MB'),
  ]);
}

function rowOf(title: string, starts: readonly Start[]): string[] {
  const [cpuMs, mainMs, residentMB] = (['cpuMs', 'mainMs', 'residentMB'] as const).map((of) => middle(starts, of));
  return [title, cpuMs!.toFixed(0), mainMs!.toFixed(0), residentMB!.toFixed(1)];
}

function middle(starts: readonly Start[], figure: keyof Start): number {
  return median(starts.map((start) => start[figure]));
}

async function startCase(main: string, { cache, serving, server }: Case, directory: string): Promise<Start> {
  const caches = join(directory, 'cache');
  const env = cache === null ? { NODE_DISABLE_COMPILE_CACHE: '1' } : { NODE_COMPILE_CACHE: caches };
  const once = async (): Promise<Start> => {
    const asked = await startServer(server, directory);
    return startController([main, 'run', ...asked.flags, ...(await servingFlags(serving))], env, asked);
  };
  if (cache === 'emptied') rmSync(caches, { recursive: true, force: true });
  // A kept cache is of the same program with the same flags.
  if (cache === 'kept') await once();
  return once();
}

async function servingFlags(serving: Case['serving']): Promise<string[]> {
  switch (serving) {
    case 'nothing':
      return ['--secure-port=0'];
    case 'plain':
      return ['--secure-port=0', '--metrics-bind-address=127.0.0.1:0'];
    case 'TLS':
      return ['--bind-address=127.0.0.1', `--secure-port=${(await freePorts(1))[0]}`];
  }
}

/** The little of an API server that a start needs. It answers 404, and lists not at all. */
interface AskedServer {
  /** With which a controller finds it. */
  readonly flags: readonly string[];
  /** Resolves when all was asked for that a start waits for. */
  readonly asked: Promise<unknown>;
  readonly close: () => void;
}

/** @param directory for a kubeconfig */
async function startServer(kind: Case['server'], directory: string): Promise<AskedServer> {
  const [list, lease] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answer: RequestListener = ({ url = '' }, response) => {
    if (LEASE.test(url)) lease.resolve();
    if (LIST.test(url)) list.resolve();
    else response.writeHead(404).end('{}');
  };
  const identity = kind === 'bare' ? null : selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  const server = identity === null ? createServer(answer) : createTlsServer(identity, answer);
  const address = `127.0.0.1:${await listen(server)}`;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  if (identity === null)
    return { flags: ['--leader-elect=false', `--master=http://${address}`], asked: list.promise, close };
  const kubeconfig = writeKubeconfig(directory, `https://${address}`, identity.cert);
  return { flags: [`--kubeconfig=${kubeconfig}`], asked: Promise.all([list.promise, lease.promise]), close };
}

/** A pod has no kubeconfig, but a token and an authority in files, too. In JSON it costs no YAML parser. */
function writeKubeconfig(directory: string, server: string, ca: string): string {
  const [path, tokenFile] = [join(directory, 'kubeconfig'), join(directory, 'token')];
  const name = 'deployed';
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const kubeconfig = {
    clusters: [{ name, cluster }],
    users: [{ name, user: { tokenFile } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(tokenFile, 'token');
  writeFileSync(path, JSON.stringify(kubeconfig));
  return path;
}

async function startController(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { asked, close }: AskedServer,
): Promise<Start> {
  const child = spawn(process.execPath, [...NODE_FLAGS, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  try {
    return await readWhen(child, asked);
  } finally {
    // SIGTERM ends the process in good order, so that the compile cache is written.
    await ended(child, 'SIGTERM');
    close();
  }
}

async function startNothing(): Promise<Start> {
  const args = [...NODE_FLAGS, '--eval', 'process.stdout.write("here"); setInterval(() => undefined, 60_000);'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const here = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  try {
    return await readWhen(child, here);
  } finally {
    await ended(child, 'SIGKILL');
  }
}

async function readWhen(child: ChildProcess, moment: Promise<unknown>): Promise<Start> {
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`the process has ended with status ${code}`)));
    timer = setTimeout(() => reject(new Error('no list was asked for, or no Lease')), START_MS_MAX);
  });
  failed.catch(() => undefined);
  try {
    await Promise.race([moment, failed]);
  } finally {
    clearTimeout(timer);
  }
  const pid = child.pid!;
  const threads = threadSecondsOf(pid);
  const cpuSeconds = [...threads.values()].reduce((sum, seconds) => sum + seconds, 0);
  return {
    cpuMs: cpuSeconds * 1000,
    mainMs: (threads.get('node-MainThread') ?? 0) * 1000,
    residentMB: usageOf(pid).residentBytes / 1e6,
  };
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exit;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
