/**
 * `endpointd demo`: everything on embedded defaults. The API server runs on a thread of this process, the controller in
 * a process of its own. This thread makes the cluster and its changes, watches what the controller writes, and judges
 * it.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { MANAGED_BY_VALUE, MIRROR_MANAGED_BY_VALUE, SLICE_MANAGED_BY_VALUE } from '../kube/names.ts';
import { percentile } from '../lib/percentile.ts';
import { createApiClient, type ApiClient } from '../node/api-client.ts';
import { startApiServerThread } from '../node/apiserver-thread.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../workload/churn.ts';
import { makeCluster, type Cluster } from '../workload/cluster.ts';
import { findProfile, PROFILES } from '../workload/profile.ts';
import { startController } from '../testbed/controller-process.ts';
import {
  slicesJudges,
  wrongObjects,
  wrongText,
  type ClusterObjects,
  type WrongObject,
} from '../judge/cluster-check.ts';
import { expectedEndpoints } from '../judge/endpoints-check.ts';
import { watchEndpoints, type EndpointsView } from '../testbed/endpoints-view.ts';
import { choice, integer } from './flags/flag-kinds.ts';
import { parseFlags, type CommandFlags, type OptionsOf } from './flags/flag-table.ts';
import { awaitFlip } from '../testbed/flip.ts';
import { loadCluster } from '../testbed/load-cluster.ts';
import { print } from './print.ts';
import { createProgress, type Progress } from './progress.ts';
import { readObjects } from '../testbed/read-objects.ts';
import { DUAL_STACK_RANGES } from './serve.ts';
import type { ServiceView } from '../testbed/service-view.ts';
import { watchSlices } from '../testbed/slices-view.ts';
import { starting } from './usage.ts';

/** The controller's objects, as the server's watches tell them. */
interface Views {
  readonly endpoints: EndpointsView;
  readonly slices: ServiceView;
}

const REQUESTS_AT_ONCE = 16;
const CONVERGE_MS_MAX = 60_000;
const SETTLE_MS_MAX = 10_000;
const SETTLE_POLL_MS = 250;

/** Returns the exit status: 0 = every object is right at the end. */
export async function demo(args: readonly string[]): Promise<number> {
  const options = parseDemoFlags(args, print);
  const { stdout } = process;
  const output = { isTTY: stdout.isTTY, columns: stdout.columns, write: print };
  const progress = createProgress(output, () => performance.now());
  const fromMs = performance.now();
  const server = await startApiServerThread({
    seed: options.seed,
    serviceClusterIPRanges: DUAL_STACK_RANGES,
  });
  const client = createApiClient({ url: server.url }, REQUESTS_AT_ONCE);
  const cluster = makeCluster(findProfile(options.profile), options.seed);
  await load(client, cluster, progress);

  const views: Views = { endpoints: await watchEndpoints(client), slices: await watchSlices(client) };
  const controller = startController([
    `--master=${server.url}`,
    '--kube-api-qps=5000',
    '--kube-api-burst=5000',
    `--shards=${options.shards}`,
  ]);
  const story = async (): Promise<number> => {
    await converge(client, views, progress);
    const writesBefore = writesOf(views);
    const churned = await churn(client, views, cluster, options, progress);
    const { wrong, objects } = await settle(client, progress);
    const writesAfter = writesOf(views);
    const { cpuSeconds, residentBytes } = await controller.usage();
    const lines = [
      ['services', count(objects.services.length)],
      ['pods', count(objects.pods.length)],
      ['slices', count(objects.slices.length)],
      ...writesBefore.map(({ of, writes }, i) => [
        `writes of ${of}`,
        `${count(writes)} to converge, ${count(writesAfter[i]!.writes - writes)} under churn`,
      ]),
      ['pod change to object', latencyText(churned.endpointsMs)],
      ['pod change to slice', latencyText(churned.slicesMs)],
      ['events', `${count(churned.changes)}, ${count(churned.changes / churned.seconds)} a second`],
      ['controller', `${cpuSeconds.toFixed(1)} s CPU, ${count(residentBytes / 1e6)} MB`],
      ['whole demo', `${((performance.now() - fromMs) / 1000).toFixed(0)} s`],
    ];
    print(`\n${lines.map(([name, value]) => `${name!.padEnd(26)}${value}\n`).join('')}`);
    print(wrong.length === 0 ? 'OK\n' : `WRONG ${wrong.length}:\n${wrongText(wrong)}\n`);
    return wrong.length === 0 ? 0 : 1;
  };
  try {
    return await Promise.race([story(), controller.failed, starting('go on', server.failed)]);
  } finally {
    views.endpoints.stop();
    views.slices.stop();
    await controller.stop();
    await client.close();
    await server.close();
  }
}

const DEMO_FLAGS = {
  profile: {
    kind: choice(
      '<name>',
      PROFILES.map(({ name }) => name),
    ),
    default: 'demo',
    help: 'cluster to start with',
  },
  seed: {
    kind: integer(0, 2 ** 32 - 1),
    default: '1',
    help: 'the same seed gives the same cluster and the same changes',
  },
  shards: { kind: integer(0, 64), default: '0', help: 'worker threads that plan; 0 plans on the main thread' },
  'churn-seconds': { kind: integer(0, 3600), default: '15', help: 'how long the cluster changes' },
  rate: { kind: integer(1, 1000), default: '100', help: 'changes a second' },
} as const;

export type DemoOptions = OptionsOf<typeof DEMO_FLAGS>;

const DEMO_COMMAND: CommandFlags = {
  command: 'endpointd demo',
  description:
    'Runs all three controllers on an embedded API server, with a seeded cluster and churn. Checks every object at the end.',
  groups: [{ title: '', flags: DEMO_FLAGS }],
};

/** @throws UsageError or HelpShown */
export function parseDemoFlags(args: readonly string[], print: (text: string) => void): DemoOptions {
  return parseFlags(DEMO_COMMAND, args, print) as DemoOptions;
}

async function load(client: ApiClient, cluster: Cluster, progress: Progress): Promise<void> {
  const fromMs = performance.now();
  let objects = 0;
  await loadCluster(client, cluster, REQUESTS_AT_ONCE, (created) => {
    objects = created;
    progress.show(`loading      ${count(created)} objects`);
  });
  progress.done(`loaded       ${count(objects)} objects in ${secondsSince(fromMs)}`);
}

async function converge(client: ApiClient, { endpoints, slices }: Views, progress: Progress): Promise<void> {
  const fromMs = performance.now();
  const objects = await readObjects(client);
  const expected = expectedEndpoints(objects.services, objects.pods);
  const judges = slicesJudges(objects);
  const timer = setInterval(
    () => progress.show(`converging   ${count(endpoints.writes())} Endpoints, ${count(slices.writes())} slices`),
    50,
  );
  try {
    await Promise.all([endpoints.converged(expected, CONVERGE_MS_MAX), slices.converged(judges, CONVERGE_MS_MAX)]);
  } finally {
    clearInterval(timer);
  }
  progress.done(
    `converged    ${count(expected.size)} Endpoints and the slices of ${count(judges.size)} services in ${secondsSince(fromMs)}, start of the controller included`,
  );
}

interface Writes {
  readonly of: string;
  readonly writes: number;
}

function writesOf({ endpoints, slices }: Views): readonly Writes[] {
  return [
    { of: 'Endpoints', writes: endpoints.writes(MANAGED_BY_VALUE) },
    { of: 'slices', writes: slices.writes(SLICE_MANAGED_BY_VALUE) },
    { of: 'mirrored slices', writes: slices.writes(MIRROR_MANAGED_BY_VALUE) },
  ];
}

interface Churned {
  readonly changes: number;
  readonly seconds: number;
  /** Milliseconds from each change of a pod until the Endpoints show it. `slicesMs`: until the slices do. */
  readonly endpointsMs: readonly number[];
  readonly slicesMs: readonly number[];
}

/** Sends one request after the other, no faster than the rate: a change is valid only after the one before. */
async function churn(
  client: ApiClient,
  { endpoints, slices }: Views,
  cluster: Cluster,
  { seed, churnSeconds, rate }: DemoOptions,
  progress: Progress,
): Promise<Churned> {
  const stream = createChurn(cluster, CHURN_MIXES.steady, seed);
  const endpointsMs: number[] = [];
  const slicesMs: number[] = [];
  const fromMs = performance.now();
  const elapsedMs = (): number => performance.now() - fromMs;
  let changes = 0;
  while (elapsedMs() < churnSeconds * 1000) {
    const change = nextChange(stream, Date.now());
    if (change === null) break;
    const sentMs = performance.now();
    awaitFlip(cluster, change, endpoints, () => endpointsMs.push(performance.now() - sentMs));
    awaitFlip(cluster, change, slices, () => slicesMs.push(performance.now() - sentMs));
    await client.send(change.request);
    changes++;
    progress.show(
      `churn        ${count(changes)} changes, pod change to object ${latencyText(endpointsMs)}, to slice ${latencyText(slicesMs)}`,
    );
    const aheadMs = (changes / rate) * 1000 - elapsedMs();
    if (aheadMs > 1) await sleep(aheadMs);
  }
  const seconds = elapsedMs() / 1000;
  progress.done(`churned      ${count(changes)} changes in ${seconds.toFixed(1)} s`);
  return { changes, seconds, endpointsMs, slicesMs };
}

interface Settled {
  /** The objects that are still wrong when the time is over. */
  readonly wrong: readonly WrongObject[];
  readonly objects: ClusterObjects;
}

async function settle(client: ApiClient, progress: Progress): Promise<Settled> {
  const fromMs = performance.now();
  for (;;) {
    const objects = await readObjects(client);
    const wrong = wrongObjects(objects);
    if (wrong.length === 0 || performance.now() - fromMs > SETTLE_MS_MAX) {
      const { endpoints, slices } = objects;
      progress.done(
        `checked      ${count(endpoints.length)} Endpoints and ${count(slices.length)} slices against the oracle`,
      );
      return { wrong, objects };
    }
    progress.show(`checking     ${count(wrong.length)} objects are still wrong`);
    await sleep(SETTLE_POLL_MS);
  }
}

function latencyText(latenciesMs: readonly number[]): string {
  if (latenciesMs.length === 0) return 'not measured yet';
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(latenciesMs, share).toFixed(1));
  return `p50 ${p50} ms, p99 ${p99} ms`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function secondsSince(fromMs: number): string {
  return `${((performance.now() - fromMs) / 1000).toFixed(1)} s`;
}
