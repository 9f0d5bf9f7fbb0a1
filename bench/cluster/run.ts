/**
 * From nothing to right on the embedded API server, with all three controllers: planners inline and on threads, in rounds
 * whose order changes. The first run of a server is not counted, because the server compiles its own code then. The clusters
 * differ in the size of their services, not in their number of pods. The controllers are a process of their own, and the
 * server is a thread of this process. The oracles judge the objects.
 */
import { performance } from 'node:perf_hooks';
import { startController } from '../../src/testbed/controller-process.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { startApiServerThread } from '../../src/node/apiserver-thread.ts';
import { plural } from '../../src/lib/figures.ts';
import { makeCluster, type Cluster } from '../../src/workload/cluster.ts';
import { findProfile, type Profile } from '../../src/workload/profile.ts';
import { programOf } from '../peers/peers.ts';
import type { BenchMark } from '../marks/data.ts';
import { verdictOver } from '../marks/mark-result.ts';
import { createTeller, type Teller } from '../marks/tell.ts';
import { compileProgram } from '../support/compile.ts';
import type { Size } from '../support/micro-bench.ts';
import {
  converged,
  deleteOutputs,
  outputsHash,
  readExpected,
  stopOutputs,
  watchOutputs,
  writesOf,
} from '../support/outputs.ts';
import { usageOf } from '../support/process-usage.ts';
import { SEED } from '../support/records.ts';
import { median } from '../../src/lib/percentile.ts';

const SHARDS = [0, 1, 2];
/** So each number of shards is first, second and third equally often. */
const ROUNDS = { tiny: 1, full: 2 * SHARDS.length };
const LOAD_CONCURRENT = 8;
const CONVERGE_MS_MAX = 120_000;
const CONTROLLERS = { endpointsController: true, slicesController: true, mirroringController: true };

export async function runClusterBench(size: Size, rest: readonly string[]): Promise<void> {
  const teller = createTeller('cluster', size, rest);
  if (size === 'full') compileProgram();
  const program = programOf(size);
  const clusters: ClusterRuns[] = [];
  for (const profile of profilesOf(size)) clusters.push(await runCluster(profile, program, ROUNDS[size], teller));
  teller.end([markOf(clusters, ROUNDS[size])]);
}

interface World {
  readonly client: ApiClient;
  readonly url: string;
  readonly program: URL;
}

async function runCluster(profile: Profile, program: URL, rounds: number, { show }: Teller): Promise<ClusterRuns> {
  const cluster = makeCluster(profile, SEED);
  const server = await startApiServerThread({ seed: SEED });
  const client = createApiClient({ url: server.url }, LOAD_CONCURRENT);
  const loadedFrom = performance.now();
  await loadCluster(client, cluster, LOAD_CONCURRENT);
  const loadSeconds = (performance.now() - loadedFrom) / 1000;
  const { services, handMade, pods } = cluster;
  console.log(`\n${pods.length} pods are loaded in ${loadSeconds.toFixed(1)} s`);

  const world = { client, url: server.url, program };
  await converge(world, SHARDS[0]!, cluster);
  const runs: Convergence[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = round % SHARDS.length;
    const order = [...SHARDS.slice(first), ...SHARDS.slice(0, first)];
    for (const shards of order) runs.push(await converge(world, shards, cluster));
  }
  show({
    title: `${services.length} services, ${pods.length} pods, ${handMade.length} services with Endpoints made by hand`,
    columns: COLUMNS,
    rows: SHARDS.map((shards) => rowOf(runs, shards, cluster)),
    note: `Medians of ${plural(rounds, 'run')}. The hash is of all objects at the end`,
  });
  await client.close();
  await server.close();
  const [inline, thread] = [runsWith(runs, 0), runsWith(runs, 1)];
  return { pods: Math.round(pods.length / services.length), inline, thread };
}

/** What a cluster takes inline and with one thread, by round. */
interface ClusterRuns {
  /** Of a service. */
  readonly pods: number;
  readonly inline: readonly Convergence[];
  readonly thread: readonly Convergence[];
}

const DEARER_MAX = 1.05;

function markOf(clusters: readonly ClusterRuns[], rounds: number): BenchMark {
  const all = Array.from({ length: rounds }, (_, round) => round);
  const text = (cluster: ClusterRuns): string => {
    const { wall, cpu } = threadBy(cluster, all);
    return `${cluster.pods} pods: wall x ${wall.toFixed(2)}, CPU x ${cpu.toFixed(2)}`;
  };
  return {
    what: `a planner on a thread, where it saves no time, takes <= ${DEARER_MAX} times the CPU and the time of one inline`,
    got: `services of ${clusters.map(text).join('; ')}`,
    verdict: verdictOver(all, (drawn) =>
      clusters
        .map((cluster) => threadBy(cluster, drawn))
        .every(({ wall, cpu }) => wall < 1 || Math.max(wall, cpu) <= DEARER_MAX),
    ),
    rounds,
  };
}

/** One thread by inline: ratios of the medians of these rounds. */
function threadBy({ inline, thread }: ClusterRuns, rounds: readonly number[]): { wall: number; cpu: number } {
  const ratio = (of: (run: Convergence) => number): number =>
    median(rounds.map((round) => of(thread[round]!))) / median(rounds.map((round) => of(inline[round]!)));
  return { wall: ratio(({ seconds }) => seconds), cpu: ratio(({ cpuSeconds }) => cpuSeconds) };
}

const PODS_OF_A_SERVICE = [5, 50, 250, 1000];
const PODS_OF_A_NAMESPACE = 1000;

/** The tiny profile has some of everything. The plain profiles get Endpoints to mirror in addition. */
function profilesOf(size: Size): Profile[] {
  if (size !== 'full') return [findProfile('tiny')];
  return PODS_OF_A_SERVICE.map(profileWith);
}

function profileWith(pods: number): Profile {
  const servicesPerNamespace = PODS_OF_A_NAMESPACE / pods;
  const sizes = [{ pods, weight: 1 }];
  return { ...findProfile('spread'), namespaces: 10, servicesPerNamespace, sizes, handMadeShare: 0.05 };
}

interface Convergence {
  readonly shards: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly endpoints: number;
  readonly slices: number;
  readonly mirrored: number;
  readonly peakBytes: number;
  /** Of all objects at the end. */
  readonly hash: string;
}

async function converge({ client, url, program }: World, shards: number, cluster: Cluster): Promise<Convergence> {
  const expected = await readExpected(client, cluster.namespaces, CONTROLLERS);
  const outputs = await watchOutputs(client);
  const from = performance.now();
  const controller = startController(
    [`--master=${url}`, `--shards=${shards}`, '--kube-api-qps=5000', '--kube-api-burst=5000'],
    program,
  );
  await Promise.race([converged(outputs, expected, CONVERGE_MS_MAX), controller.failed]);
  const seconds = (performance.now() - from) / 1000;
  const { cpuSeconds, peakBytes } = usageOf(controller.pid);
  const status = await controller.stop();
  if (status !== 0) throw new Error(`the controller has ended with status ${status}`);
  stopOutputs(outputs);
  const { endpoints, slices, mirrored } = writesOf(outputs);
  const hash = await outputsHash(client, cluster.namespaces);
  await deleteOutputs(client, cluster.namespaces);
  return { shards, seconds, cpuSeconds, endpoints, slices, mirrored, peakBytes, hash };
}

const COLUMNS: readonly string[] = [
  'planners',
  'wall s',
  'CPU s',
  'CPU us/pod',
  'Endpoints',
  'slices',
  'mirrored',
  'peak RSS MB',
  'hash',
];

function runsWith(all: readonly Convergence[], shards: number): readonly Convergence[] {
  return all.filter((run) => run.shards === shards);
}

function rowOf(all: readonly Convergence[], shards: number, { pods }: Cluster): string[] {
  const runs = runsWith(all, shards);
  const middle = (of: (run: Convergence) => number): number => median(runs.map(of));
  const cpuSeconds = middle((run) => run.cpuSeconds);
  return [
    shards === 0 ? 'inline' : plural(shards, 'thread'),
    middle(({ seconds }) => seconds).toFixed(2),
    cpuSeconds.toFixed(2),
    ((cpuSeconds / pods.length) * 1e6).toFixed(0),
    middle(({ endpoints }) => endpoints).toFixed(0),
    middle(({ slices }) => slices).toFixed(0),
    middle(({ mirrored }) => mirrored).toFixed(0),
    (middle(({ peakBytes }) => peakBytes) / 1e6).toFixed(0),
    [...new Set(runs.map(({ hash }) => hash))].join(', '),
  ];
}
