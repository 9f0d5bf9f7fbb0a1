/**
 * The CPU of a start from nothing, and of one flip (flips.ts). The account of a start has the CPU of each thread until the
 * modules are loaded, until the first write, until 200 services are right, and until all are. It has the same figures for a
 * second start in the same process, the CPU of compilers and collector on the helper threads, and the parts of the main
 * thread. Linux only.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiClient } from '../../src/node/api-client.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
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
  type Outputs,
} from '../support/outputs.ts';
import { usageOf } from '../support/process-usage.ts';
import { SEED } from '../support/records.ts';
import { table } from '../support/table.ts';
import { accountOfFlips } from './flips.ts';
import {
  minus,
  NONE,
  secondsOf,
  startProcess,
  sumOf,
  THREADS,
  type Collections,
  type Controller,
  type Seconds,
  type Stage,
} from './process.ts';
import { sharesOf, type CpuProfile } from './profile.ts';

const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller'];
const CONNECTIONS = 16;
const CONVERGE_MS_MAX = 300_000;
const FIRST_SERVICES = 200;
const POLL_MS = 5;

const PHASES = ['modules', 'lists, until the first write', `${FIRST_SERVICES} services`, 'the rest'] as const;

interface Round {
  readonly phases: readonly Seconds[];
  readonly collections: Collections;
  /** null = no profile was asked for. */
  readonly profile: CpuProfile | null;
  readonly peakMB: number;
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
    const stage = { client, cluster, expected, program, args };
    await accountOfStart(stage, size);
    await accountOfFlips(stage, size);
  } finally {
    await client.close();
    await serve.stop();
  }
}

async function accountOfStart(stage: Stage, size: Size): Promise<void> {
  const { services, pods, namespaces } = stage.cluster;
  console.log(`\n${services.length} services, ${pods.length} pods, ${namespaces.length} namespaces, from nothing`);
  // The first process fills the compile cache.
  if (size === 'full') await play(stage, [], false);
  const plain = await play(stage, [], false);
  const alone = await play(stage, ['--single-threaded-gc'], false);
  const profiled = await play(stage, [], true);
  const titles = ['first time', 'second time'];
  for (const [i, { phases, collections, peakMB }] of plain.entries()) {
    const rows = phases.map((seconds, phase) => [PHASES[phase]!, ...secondsText(seconds)]);
    const all = sumOf(phases);
    rows.push(['all', ...secondsText(all)]);
    console.log(`\n${titles[i]} in the process: CPU seconds\n${table(['', ...THREADS, 'together'], rows)}`);
    const compilers = sumOf(alone[i]!.phases)['V8 helpers'];
    const collector = Math.max(0, all['V8 helpers'] - compilers);
    console.log(`of the helpers: compilers ${compilers.toFixed(2)} s, collector ${collector.toFixed(2)} s`);
    for (const [kind, { count, ms }] of Object.entries(collections)) {
      console.log(`collections, ${kind}: ${count} of ${(ms / count).toFixed(2)} ms of wall time each`);
    }
    console.log(`peak memory so far: ${peakMB.toFixed(0)} MB`);
  }
  printParts(plain, profiled, titles);
}

/** Prints the parts: the shares are of a run with a profile, and the CPU is of a run without one. */
function printParts(plain: readonly Round[], profiled: readonly Round[], titles: readonly string[]): void {
  const parts = new Map<string, number[]>();
  for (const [i, { profile }] of profiled.entries()) {
    const main = sumOf(plain[i]!.phases.slice(1)).main;
    for (const [part, share] of sharesOf(profile!)) {
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
  const controller = await startProcess(stage, nodeFlags);
  try {
    return [
      await playOnce(stage, controller, withProfile, true),
      await playOnce(stage, controller, withProfile, false),
    ];
  } finally {
    await controller.kill();
  }
}

async function playOnce(stage: Stage, controller: Controller, withProfile: boolean, isFirst: boolean): Promise<Round> {
  const { client, cluster, expected } = stage;
  const { pid, ended } = controller;
  await deleteOutputs(client, cluster.namespaces);
  const outputs = await watchOutputs(client);
  const looks = isFirst ? [NONE] : [];
  try {
    const look = (): void => void looks.push(secondsOf(pid));
    look();
    if (!isFirst) looks.unshift(looks[0]!);
    if (withProfile) await controller.profile();
    controller.run();
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
  const peakMB = usageOf(pid).peakBytes / 1e6;
  const profile = withProfile ? await controller.profiled() : null;
  const collections = await controller.stop();
  return { phases: PHASES.map((_, i) => minus(looks[i + 1]!, looks[i]!)), collections, profile, peakMB };
}

async function wrote(outputs: Outputs, count: number): Promise<void> {
  for (;;) {
    const { endpoints, slices } = writesOf(outputs);
    if (endpoints + slices >= count) return;
    await sleep(POLL_MS);
  }
}

function secondsText(seconds: Seconds): string[] {
  const each = THREADS.map((thread) => seconds[thread]);
  return [...each, each.reduce((sum, one) => sum + one, 0)].map((one) => one.toFixed(2));
}
