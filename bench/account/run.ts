/**
 * The account of a start from nothing. It has the CPU of each thread until the modules are loaded, until the first
 * write, until 200 services are right, and until all are. It has the same figures for a second start in the same
 * process, the CPU of compilers and collector on the helper threads, and the parts of the main thread. Linux only.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS } from '../../src/testbed/controller-process.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { makeCluster, type Cluster } from '../../src/workload/cluster.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { programOf } from '../peers/peers.ts';
import { SPREAD } from '../peers/scenarios/profiles.ts';
import type { Size } from '../support/micro-bench.ts';
import {
  converged,
  deleteOutputs,
  readExpected,
  stopOutputs,
  watchOutputs,
  whichControllers,
  writesOf,
  type ExpectedOutputs,
  type Outputs,
} from '../support/outputs.ts';
import { threadSecondsOf, usageOf } from '../support/process-usage.ts';
import { SEED } from '../support/records.ts';
import { table } from '../support/table.ts';
import { sharesOf, type CpuProfile } from './profile.ts';

const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url));
const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller'];
const CONNECTIONS = 16;
const CONVERGE_MS_MAX = 300_000;
const FIRST_SERVICES = 200;
const POLL_MS = 5;

const PHASES = ['modules', 'lists, until the first write', `${FIRST_SERVICES} services`, 'the rest'] as const;
const THREADS = ['main', 'V8 helpers', 'others'] as const;
type Seconds = Readonly<Record<(typeof THREADS)[number], number>>;
const NONE: Seconds = { main: 0, 'V8 helpers': 0, others: 0 };

/** What the process reports when it has stopped. */
interface Reply {
  /** Collections of the main thread, by kind. */
  readonly collections: Readonly<Record<string, { readonly count: number; readonly ms: number }>>;
  /** null = no profile was asked for. */
  readonly profile: CpuProfile | null;
}

interface Round {
  readonly phases: readonly Seconds[];
  readonly reply: Reply;
  readonly peakMB: number;
}

interface Stage {
  readonly client: ApiClient;
  readonly cluster: Cluster;
  readonly expected: ExpectedOutputs;
  /** The module that exports `run`. */
  readonly program: string;
  readonly args: readonly string[];
}

export async function runAccountBench(size: Size): Promise<void> {
  const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0']);
  const client = createApiClient({ url: serve.url }, CONNECTIONS);
  try {
    const cluster = makeCluster(SPREAD(size), SEED);
    await loadCluster(client, cluster, CONNECTIONS);
    const expected = await readExpected(client, cluster.namespaces, whichControllers(CONTROLLERS));
    const flags = ['--leader-elect=false', '--secure-port=0', '--kube-api-qps=5000', '--kube-api-burst=5000'];
    const args = [`--master=${serve.url}`, `--controllers=${CONTROLLERS.join(',')}`, '--shards=0', ...flags];
    const main = programOf(size);
    const program = new URL(main.href.endsWith('.ts') ? 'cli/run.ts' : 'cli/run.js', main).href;
    await account({ client, cluster, expected, program, args }, size);
  } finally {
    await client.close();
    await serve.stop();
  }
}

async function account(stage: Stage, size: Size): Promise<void> {
  const { services, pods, namespaces } = stage.cluster;
  console.log(`\n${services.length} services, ${pods.length} pods, ${namespaces.length} namespaces, from nothing`);
  // The first process fills the compile cache.
  if (size === 'full') await play(stage, [], false);
  const plain = await play(stage, [], false);
  const alone = await play(stage, ['--single-threaded-gc'], false);
  const profiled = await play(stage, [], true);
  const titles = ['first time', 'second time'];
  for (const [i, { phases, reply, peakMB }] of plain.entries()) {
    const rows = phases.map((seconds, phase) => [PHASES[phase]!, ...secondsText(seconds)]);
    const all = sumOf(phases);
    rows.push(['all', ...secondsText(all)]);
    console.log(`\n${titles[i]} in the process: CPU seconds\n${table(['', ...THREADS, 'together'], rows)}`);
    const compilers = sumOf(alone[i]!.phases)['V8 helpers'];
    const collector = Math.max(0, all['V8 helpers'] - compilers);
    console.log(`of the helpers: compilers ${compilers.toFixed(2)} s, collector ${collector.toFixed(2)} s`);
    for (const [kind, { count, ms }] of Object.entries(reply.collections)) {
      console.log(`collections, ${kind}: ${count} of ${(ms / count).toFixed(2)} ms of wall time each`);
    }
    console.log(`peak memory so far: ${peakMB.toFixed(0)} MB`);
  }
  printParts(plain, profiled, titles);
}

/** Prints the parts: the shares are of a run with a profile, and the CPU is of a run without one. */
function printParts(plain: readonly Round[], profiled: readonly Round[], titles: readonly string[]): void {
  const parts = new Map<string, number[]>();
  for (const [i, { reply }] of profiled.entries()) {
    const main = sumOf(plain[i]!.phases.slice(1)).main;
    for (const [part, share] of sharesOf(reply.profile!)) {
      const ms = parts.get(part) ?? titles.map(() => 0);
      ms[i] = share * main * 1000;
      parts.set(part, ms);
    }
  }
  const rows = [...parts]
    .toSorted(([, [a = 0]], [, [b = 0]]) => b - a)
    .map(([part, ms]) => [part].concat(ms.map((each) => each.toFixed(0))));
  console.log(`\nthe main thread after the modules, by a profile: CPU ms\n${table(['', ...titles], rows)}`);
}

/** Two starts in one process. */
async function play(stage: Stage, nodeFlags: readonly string[], withProfile: boolean): Promise<Round[]> {
  const { program, args } = stage;
  const child = fork(CHILD, [program, String(withProfile), ...args], {
    execArgv: [...NODE_FLAGS, ...nodeFlags],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`the controller has ended with status ${code}`)));
  });
  ended.catch(() => undefined);
  try {
    await Promise.race([message(child), ended]);
    const rounds = [await playOnce(stage, child, ended, true)];
    rounds.push(await playOnce(stage, child, ended, false));
    return rounds;
  } finally {
    child.kill('SIGKILL');
    await ended.catch(() => undefined);
  }
}

async function playOnce(stage: Stage, child: ChildProcess, ended: Promise<never>, isFirst: boolean): Promise<Round> {
  const { client, cluster, expected } = stage;
  await deleteOutputs(client, cluster.namespaces);
  const outputs = await watchOutputs(client);
  const looks = isFirst ? [NONE] : [];
  try {
    const look = (): void => void looks.push(secondsOf(child.pid!));
    look();
    if (!isFirst) looks.unshift(looks[0]!);
    order(child, 'start');
    const right = converged(outputs, expected, CONVERGE_MS_MAX);
    const services = Math.min(FIRST_SERVICES, cluster.services.length);
    await Promise.race([wrote(outputs, 1), ended]);
    look();
    await Promise.race([wrote(outputs, CONTROLLERS.length * services), ended]);
    look();
    await Promise.race([right, ended]);
    look();
  } finally {
    stopOutputs(outputs);
  }
  const peakMB = usageOf(child.pid!).peakBytes / 1e6;
  order(child, 'stop');
  const reply = (await Promise.race([message(child), ended])) as Reply;
  const phases = PHASES.map((_, i) => minus(looks[i + 1]!, looks[i]!));
  return { phases, reply, peakMB };
}

async function wrote(outputs: Outputs, count: number): Promise<void> {
  for (;;) {
    const { endpoints, slices } = writesOf(outputs);
    if (endpoints + slices >= count) return;
    await sleep(POLL_MS);
  }
}

function order(child: ChildProcess, what: 'start' | 'stop'): void {
  child.send(what);
}

function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('message', resolve));
}

function secondsOf(pid: number): Seconds {
  const threads = threadSecondsOf(pid);
  const main = threads.get('node-MainThread') ?? 0;
  const helpers = threads.get('node-V8Worker') ?? 0;
  const all = [...threads.values()].reduce((sum, each) => sum + each, 0);
  return { main, 'V8 helpers': helpers, others: all - main - helpers };
}

function combine(a: Seconds, b: Seconds, sign: number): Seconds {
  return {
    main: a.main + sign * b.main,
    'V8 helpers': a['V8 helpers'] + sign * b['V8 helpers'],
    others: a.others + sign * b.others,
  };
}

function sumOf(all: readonly Seconds[]): Seconds {
  return all.reduce((sum, each) => combine(sum, each, 1), NONE);
}

function minus(a: Seconds, b: Seconds): Seconds {
  return combine(a, b, -1);
}

function secondsText(seconds: Seconds): string[] {
  const each = THREADS.map((thread) => seconds[thread]);
  return [...each, each.reduce((sum, one) => sum + one, 0)].map((one) => one.toFixed(2));
}
