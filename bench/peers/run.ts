/**
 * Beside kube-controller-manager running `endpoints-controller` alone: the same real API server, the same objects, the same
 * script, one after the other. CPU is that of the controller's process, its start included where it starts.
 */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startController } from '../../src/cli/controller-process.ts';
import { expectedEndpoints } from '../../src/cli/endpoints-check.ts';
import type { ExpectedEndpoints } from '../../src/cli/endpoints-check.ts';
import { watchEndpoints } from '../../src/cli/endpoints-view.ts';
import type { EndpointsView } from '../../src/cli/endpoints-view.ts';
import { loadCluster } from '../../src/cli/load-cluster.ts';
import { percentile } from '../../src/lib/percentile.ts';
import { createApiClient } from '../../src/node/api-client.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import type { Cluster, PodModel } from '../../src/workload/cluster.ts';
import { readinessConditions } from '../../src/workload/objects.ts';
import { findProfile } from '../../src/workload/profile.ts';
import type { Profile } from '../../src/workload/profile.ts';
import { patchStatus } from '../../src/workload/request.ts';
import { startCluster, startControllerManager } from '../../test/kube/cluster.ts';
import type { Cluster as KubeCluster } from '../../test/kube/cluster.ts';
import type { Size } from '../support/micro-bench.ts';
import { usageOf } from '../support/process-usage.ts';
import { SEED } from '../support/records.ts';
import { table } from '../support/table.ts';

interface Peer {
  readonly name: string;
  readonly start: (kube: KubeCluster) => Promise<{ readonly pid: number; readonly stop: () => Promise<unknown> }>;
}

interface Scale {
  readonly onens: Profile;
  readonly huge: Profile;
  readonly flips: number;
  /** Long enough for either controller to finish what a start makes it do. */
  readonly restartMs: number;
  /** Before and after the flips. */
  readonly settleMs: number;
}

interface Figures {
  readonly coldSeconds: number;
  readonly coldCpu: number;
  readonly coldWrites: number;
  readonly coldPeak: number;
  readonly restartCpu: number;
  readonly restartWrites: number;
  readonly flipCpuMs: number;
  readonly flipWrites: number;
  readonly flipP50: number;
  readonly flipP99: number;
}

const QPS = 5000;
const LOAD_CONCURRENT = 16;
const CONVERGE_MS_MAX = 300_000;
const FLIP_INTERVAL_MS = 200;

/** Both are compared as they are shipped: an image holds compiled code. */
const COMPILED = new URL('../../dist/src/main.js', import.meta.url);

const PEERS: readonly Peer[] = [
  {
    name: 'kube-controller-manager',
    start: (kube) => startControllerManager(kube, ['endpoints-controller'], { qps: QPS, burst: QPS }),
  },
  {
    name: 'endpointd',
    start: (kube) =>
      startController(
        [`--kubeconfig=${kube.kubeconfigPath}`, `--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`],
        COMPILED,
      ),
  },
];

export async function runPeersBench(size: Size): Promise<void> {
  const scale = scaleOf(size);
  execFileSync('npm', ['run', '--silent', 'prepack'], { cwd: new URL('../..', import.meta.url), stdio: 'inherit' });
  const kube = await startCluster();
  const client = createApiClient(
    { url: kube.url, token: kube.token, ca: await readFile(kube.caFile, 'utf8') },
    LOAD_CONCURRENT,
  );
  try {
    const many = await load(client, scale.onens);
    const figures: Figures[] = [];
    const cold: Awaited<ReturnType<typeof measureCold>>[] = [];
    for (const peer of PEERS) {
      cold.push(await measureCold(kube, client, many, peer, scale));
      await deleteEndpoints(client, many);
    }
    const one = await load(client, scale.huge);
    for (const [i, peer] of PEERS.entries()) {
      figures.push({ ...cold[i]!, ...(await measureFlips(kube, client, one, peer, scale)) });
      await deleteEndpoints(client, one);
    }
    print(figures, many, one, scale);
  } finally {
    await client.close();
    await kube.stop();
  }
}

function scaleOf(size: Size): Scale {
  const onens = findProfile('onens');
  const huge = findProfile('huge');
  if (size === 'full') return { onens, huge, flips: 100, restartMs: 10_000, settleMs: 3000 };
  return {
    onens: { ...onens, servicesPerNamespace: 20, nodes: 5 },
    huge: { ...huge, sizes: [{ pods: 50, weight: 1 }], nodes: 5 },
    flips: 10,
    restartMs: 3000,
    settleMs: 500,
  };
}

async function load(client: ApiClient, profile: Profile): Promise<Cluster> {
  const cluster = makeCluster(profile, SEED);
  const from = performance.now();
  await loadCluster(client, cluster, LOAD_CONCURRENT);
  const seconds = ((performance.now() - from) / 1000).toFixed(0);
  console.log(
    `${profile.name}: ${cluster.services.length} services, ${cluster.pods.length} pods, loaded in ${seconds} s`,
  );
  return cluster;
}

/** From nothing to right, then once more from the start with nothing to do. */
async function measureCold(
  kube: KubeCluster,
  client: ApiClient,
  cluster: Cluster,
  peer: Peer,
  { restartMs }: Scale,
): Promise<Pick<Figures, 'coldSeconds' | 'coldCpu' | 'coldWrites' | 'coldPeak' | 'restartCpu' | 'restartWrites'>> {
  const expected = await readExpected(client, cluster);
  const view = await watchEndpoints(client);
  const from = performance.now();
  const first = await peer.start(kube);
  await view.converged(expected, CONVERGE_MS_MAX);
  const coldSeconds = (performance.now() - from) / 1000;
  const { cpuSeconds: coldCpu, peakBytes: coldPeak } = usageOf(first.pid);
  await first.stop();
  const coldWrites = view.writes();

  const second = await peer.start(kube);
  await sleep(restartMs);
  const { cpuSeconds: restartCpu } = usageOf(second.pid);
  await second.stop();
  view.stop();
  console.log(`${peer.name}: right after ${coldSeconds.toFixed(1)} s`);
  return { coldSeconds, coldCpu, coldWrites, coldPeak, restartCpu, restartWrites: view.writes() - coldWrites };
}

async function measureFlips(
  kube: KubeCluster,
  client: ApiClient,
  cluster: Cluster,
  peer: Peer,
  { flips, settleMs }: Scale,
): Promise<Pick<Figures, 'flipCpuMs' | 'flipWrites' | 'flipP50' | 'flipP99'>> {
  const expected = await readExpected(client, cluster);
  const view = await watchEndpoints(client);
  const controller = await peer.start(kube);
  await view.converged(expected, CONVERGE_MS_MAX);
  await sleep(settleMs);
  const writesBefore = view.writes();
  const cpuBefore = usageOf(controller.pid).cpuSeconds;
  const latencies: number[] = [];
  // The lowest addresses are those that an object of 1,000 holds.
  const pods = cluster.pods.slice(0, flips / 2);
  const from = performance.now();
  for (let i = 0; i < flips; i++) {
    const ahead = from + i * FLIP_INTERVAL_MS - performance.now();
    if (ahead > 0) await sleep(ahead);
    await flip(client, view, cluster, pods[i % pods.length]!, latencies);
  }
  await sleep(settleMs);
  const cpu = usageOf(controller.pid).cpuSeconds - cpuBefore;
  await controller.stop();
  view.stop();
  return {
    flipCpuMs: (cpu / flips) * 1000,
    flipWrites: view.writes() - writesBefore,
    flipP50: percentile(latencies, 0.5),
    flipP99: percentile(latencies, 0.99),
  };
}

async function flip(
  client: ApiClient,
  view: EndpointsView,
  cluster: Cluster,
  pod: PodModel,
  latencies: number[],
): Promise<void> {
  const [service] = cluster.services;
  pod.ready = !pod.ready;
  const conditions = readinessConditions(pod.ready, Math.floor(Date.now() / 1000));
  const sent = performance.now();
  view.expectAddress(`${service!.namespace}/${service!.name}`, pod.address, pod.ready, () =>
    latencies.push(performance.now() - sent),
  );
  await client.send(patchStatus('Pod', pod.app.namespace, pod.name, { conditions }));
}

async function readExpected(client: ApiClient, cluster: Cluster): Promise<ExpectedEndpoints> {
  const services: Parameters<typeof expectedEndpoints>[0][number][] = [];
  const pods: typeof services = [];
  for (const namespace of cluster.namespaces) {
    services.push(...(await client.list(`/api/v1/namespaces/${namespace}/services`)).items);
    pods.push(...(await client.list(`/api/v1/namespaces/${namespace}/pods`)).items);
  }
  return expectedEndpoints(services, pods);
}

async function deleteEndpoints(client: ApiClient, cluster: Cluster): Promise<void> {
  for (const namespace of cluster.namespaces) {
    await client.send({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}/endpoints` });
  }
}

function print([theirs, ours]: readonly Figures[], many: Cluster, one: Cluster, { flips }: Scale): void {
  const row = (name: string, figure: (figures: Figures) => number, digits: number): string[] => {
    const [their, our] = [figure(theirs!), figure(ours!)];
    return [name, their.toFixed(digits), our.toFixed(digits), our === 0 ? '-' : `1/${(their / our).toFixed(1)}`];
  };
  const rows = [
    row('from nothing: wall, s', (f) => f.coldSeconds, 1),
    row('from nothing: CPU, s', (f) => f.coldCpu, 2),
    row('from nothing: writes', (f) => f.coldWrites, 0),
    row('from nothing: peak memory, MB', (f) => f.coldPeak / 1e6, 0),
    row('restart: CPU, s', (f) => f.restartCpu, 2),
    row('restart: writes', (f) => f.restartWrites, 0),
    row('a flip: CPU, ms', (f) => f.flipCpuMs, 2),
    row('a flip: p50 to the watcher, ms', (f) => f.flipP50, 1),
    row('a flip: p99 to the watcher, ms', (f) => f.flipP99, 1),
    row(`${flips} flips: writes`, (f) => f.flipWrites, 0),
  ];
  console.log(
    `\none namespace of ${many.services.length} services and ${many.pods.length} pods; flips in a service of ${one.pods.length} pods`,
  );
  console.log(table(['', ...PEERS.map(({ name }) => name), 'endpointd is'], rows));
}
