/**
 * `endpointd demo`: everything on embedded defaults. The API server runs on a thread of this process, the controller as a
 * process of its own; this thread makes the cluster and its changes, watches what comes of them, and judges.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { percentile } from '../lib/percentile.ts';
import { createApiClient } from '../node/api-client.ts';
import type { ApiClient } from '../node/api-client.ts';
import { startApiServerThread } from '../node/apiserver-thread.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../workload/churn.ts';
import { makeCluster } from '../workload/cluster.ts';
import type { Cluster } from '../workload/cluster.ts';
import { findProfile, PROFILES } from '../workload/profile.ts';
import { startController } from './controller-process.ts';
import { expectedEndpoints, wrongEndpoints } from './endpoints-check.ts';
import { watchEndpoints } from './endpoints-view.ts';
import type { EndpointsView } from './endpoints-view.ts';
import { add, choice, integer, parseWith } from './flag-values.ts';
import { awaitFlip } from './flip.ts';
import { loadCluster } from './load-cluster.ts';
import { createProgress } from './progress.ts';
import type { Progress } from './progress.ts';

export interface DemoOptions {
  readonly profile: string;
  readonly seed: number;
  /** null = the controller's own default. */
  readonly shards: number;
  readonly churnSeconds: number;
  /** Requests that change something, a second. */
  readonly rate: number;
}

const REQUESTS_AT_ONCE = 16;
const CONVERGE_MS_MAX = 60_000;
const SETTLE_MS_MAX = 10_000;
const SETTLE_POLL_MS = 250;

/** Gives the exit status: 0 when every object is right at the end. */
export async function demo(args: readonly string[]): Promise<number> {
  const options = parseDemoFlags(args, (text) => process.stdout.write(text));
  const progress = createProgress(process.stdout, () => performance.now());
  const fromMs = performance.now();
  const server = await startApiServerThread({ seed: options.seed });
  const client = createApiClient({ url: server.url }, REQUESTS_AT_ONCE);
  const cluster = makeCluster(findProfile(options.profile), options.seed);
  await load(client, cluster, progress);

  const view = await watchEndpoints(client);
  const controller = await startController([
    `--master=${server.url}`,
    '--kube-api-qps=5000',
    '--kube-api-burst=5000',
    `--shards=${options.shards}`,
  ]);
  const story = async (): Promise<number> => {
    await converge(client, view, progress);
    const writesBefore = view.writes();
    const churned = await churn(client, view, cluster, options, progress);
    const wrong = await settle(client, progress);
    const { cpuSeconds, residentBytes } = await controller.usage();
    const lines = [
      ['services', count(cluster.services.length)],
      ['pods', count(cluster.pods.length)],
      ['writes', `${count(writesBefore)} to converge, ${count(view.writes() - writesBefore)} under churn`],
      ['pod change to object', latencyText(churned.latenciesMs)],
      ['events', `${count(churned.changes)}, ${count(churned.changes / churned.seconds)} a second`],
      ['controller', `${cpuSeconds.toFixed(1)} s CPU, ${count(residentBytes / 1e6)} MB`],
      ['all of it', `${((performance.now() - fromMs) / 1000).toFixed(0)} s`],
    ];
    process.stdout.write(`\n${lines.map(([name, value]) => `${name!.padEnd(22)}${value}\n`).join('')}`);
    process.stdout.write(wrong.length === 0 ? 'OK\n' : `WRONG ${wrong.length}: ${wrong.slice(0, 5).join(', ')}\n`);
    return wrong.length === 0 ? 0 : 1;
  };
  try {
    return await Promise.race([story(), controller.failed]);
  } finally {
    view.stop();
    await controller.stop();
    await client.close();
    await server.close();
  }
}

export function parseDemoFlags(args: readonly string[], print: (text: string) => void): DemoOptions {
  const command = new Command('endpointd demo')
    .description('The controller on an embedded API server with a seeded cluster and churn, checked at the end.')
    .usage('[--flag=value ...]');
  const profiles = PROFILES.map(({ name }) => name);
  add(command, '--profile <name>', `cluster to start with: ${profiles.join(', ')}`, choice(profiles), 'demo');
  add(command, '--seed <n>', 'the same seed makes the same cluster and the same changes', integer(0, 2 ** 32 - 1), 1);
  add(command, '--shards <n>', 'worker threads that plan; 0 plans on the main thread', integer(0, 64), 2);
  add(command, '--churn-seconds <n>', 'how long the cluster changes', integer(0, 3600), 15);
  add(command, '--rate <n>', 'changes a second', integer(1, 1000), 100);
  command.helpOption('-h, --help', 'this text');
  parseWith(command, args, print);
  return command.opts<DemoOptions>();
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

async function converge(client: ApiClient, view: EndpointsView, progress: Progress): Promise<void> {
  const fromMs = performance.now();
  const expected = await readExpected(client);
  const timer = setInterval(() => progress.show(`converging   ${count(view.writes())} of ${count(expected.size)}`), 50);
  try {
    await view.converged(expected, CONVERGE_MS_MAX);
  } finally {
    clearInterval(timer);
  }
  progress.done(
    `converged    ${count(expected.size)} Endpoints in ${secondsSince(fromMs)}, start of the controller included`,
  );
}

interface Churned {
  readonly changes: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

/** One request after the other, as valid changes must be, no faster than the rate. */
async function churn(
  client: ApiClient,
  view: EndpointsView,
  cluster: Cluster,
  { seed, churnSeconds, rate }: DemoOptions,
  progress: Progress,
): Promise<Churned> {
  const stream = createChurn(cluster, CHURN_MIXES.steady, seed);
  const latenciesMs: number[] = [];
  const fromMs = performance.now();
  const elapsedMs = (): number => performance.now() - fromMs;
  let changes = 0;
  while (elapsedMs() < churnSeconds * 1000) {
    const change = nextChange(stream, Date.now());
    if (change === null) break;
    const sentMs = performance.now();
    awaitFlip(cluster, change, view, () => latenciesMs.push(performance.now() - sentMs));
    await client.send(change.request);
    changes++;
    progress.show(
      `churn        ${count(changes)} changes, ${count(view.writes())} writes, pod change to object ${latencyText(latenciesMs)}`,
    );
    const aheadMs = (changes / rate) * 1000 - elapsedMs();
    if (aheadMs > 1) await sleep(aheadMs);
  }
  const seconds = elapsedMs() / 1000;
  progress.done(`churned      ${count(changes)} changes in ${seconds.toFixed(1)} s`);
  return { changes, seconds, latenciesMs };
}

/** Gives the keys that are still wrong when the time is over. */
async function settle(client: ApiClient, progress: Progress): Promise<readonly string[]> {
  const fromMs = performance.now();
  for (;;) {
    const expected = await readExpected(client);
    const { items } = await client.list('/api/v1/endpoints');
    const wrong = wrongEndpoints(expected, items);
    if (wrong.length === 0 || performance.now() - fromMs > SETTLE_MS_MAX) {
      progress.done(`checked      ${count(items.length)} objects against the oracle`);
      return wrong;
    }
    progress.show(`checking     ${count(wrong.length)} objects are not right yet`);
    await sleep(SETTLE_POLL_MS);
  }
}

async function readExpected(client: ApiClient): Promise<ReturnType<typeof expectedEndpoints>> {
  const [services, pods] = await Promise.all([client.list('/api/v1/services'), client.list('/api/v1/pods')]);
  return expectedEndpoints(services.items, pods.items);
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
