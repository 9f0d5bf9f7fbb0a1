/**
 * Beside kube-controller-manager running the same controllers: the same real API server, the same objects, the same script, one
 * after the other. CPU is that of the controller's process.
 */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { startController } from '../../src/testbed/controller-process.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { percentile } from '../../src/lib/percentile.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { makeCluster, type Cluster } from '../../src/workload/cluster.ts';
import { servicePorts } from '../../src/workload/objects.ts';
import { findProfile, type Profile } from '../../src/workload/profile.ts';
import { patch } from '../../src/workload/request.ts';
import { startCluster, startControllerManager, type Cluster as KubeCluster } from '../../test/e2e/cluster.ts';
import type { Size } from '../support/micro-bench.ts';
import { readExpected, type Writes } from '../support/outputs.ts';
import { SEED } from '../support/records.ts';
import { table } from '../support/table.ts';
import { measureCold, measureFlips, type ColdFigures, type FlipFigures, type Peer, type Scene } from './measure.ts';

interface Part {
  readonly name: string;
  readonly title: string;
  readonly controllers: readonly string[];
  /** Whether the service's port is the name of one that half of the pods have under another number. */
  readonly namedPort: boolean;
  /** Of endpointd's CPU, as the divisor of the peer's. `cold`: null = not measured; its `cpuMark`: null = no mark is set. */
  readonly cold: { readonly cpuMark: number | null } | null;
  readonly flipCpuMark: number;
}

const ALL_CONTROLLERS = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];

const PARTS: readonly Part[] = [
  {
    name: 'endpoints',
    title: 'the endpoints controller alone',
    controllers: ['endpoints-controller'],
    namedPort: false,
    cold: { cpuMark: 6 },
    flipCpuMark: 12,
  },
  {
    name: 'all',
    title: 'all three controllers',
    controllers: ALL_CONTROLLERS,
    namedPort: false,
    cold: { cpuMark: null },
    flipCpuMark: 40,
  },
  {
    name: 'two-numbers',
    title: 'all three controllers, a named port with two numbers',
    controllers: ALL_CONTROLLERS,
    namedPort: true,
    cold: null,
    flipCpuMark: 10,
  },
];

interface Scale {
  readonly onens: Profile;
  readonly huge: Profile;
  /** Enough of them that garbage collections count with their share. */
  readonly flips: number;
  readonly restartMs: number;
  readonly settleMs: number;
}

interface Figures {
  readonly cold: ColdFigures | null;
  readonly flip: FlipFigures;
}

const QPS = 5000;
const LOAD_CONCURRENT = 16;

/** Both are compared as they are shipped: an image holds compiled code, and the flags of Node are those of the image. */
const COMPILED = new URL('../../dist/src/main.js', import.meta.url);

/** @param rest `--only=<part>` measures one part */
export async function runPeersBench(size: Size, rest: readonly string[]): Promise<void> {
  const parts = chosenParts(rest);
  const scale = scaleOf(size);
  execFileSync('npm', ['run', '--silent', 'prepack'], { cwd: new URL('../..', import.meta.url), stdio: 'inherit' });
  const kube = await startCluster();
  const client = createApiClient(
    { url: kube.url, token: kube.token, ca: await readFile(kube.caFile, 'utf8') },
    LOAD_CONCURRENT,
  );
  try {
    const cold = await measureColdParts(kube, client, parts, scale);
    const one = await load(client, scale.huge);
    for (const part of parts) {
      await setPorts(client, one, part.namedPort);
      const scene = await sceneOf(client, one, part);
      const figures: Figures[] = [];
      for (const [i, peer] of peersOf(kube, part).entries()) {
        const flip = await measureFlips(peer, scene, scale.flips, scale.settleMs);
        figures.push({ cold: cold.get(part)?.[i] ?? null, flip });
      }
      print(part, figures, size);
    }
  } finally {
    await client.close();
    await kube.stop();
  }
}

function chosenParts(rest: readonly string[]): readonly Part[] {
  const only = rest.find((arg) => arg.startsWith('--only='))?.slice('--only='.length);
  if (only === undefined) return PARTS;
  const chosen = PARTS.filter(({ name }) => name === only);
  if (chosen.length > 0) return chosen;
  throw new Error(`no part is called ${only}: there are ${PARTS.map(({ name }) => name).join(', ')}`);
}

function scaleOf(size: Size): Scale {
  const onens = findProfile('onens');
  // Half of the pods are of a new revision, which listens on another port.
  const huge = { ...findProfile('huge'), halfUpdatedShare: 1 };
  if (size === 'full') return { onens, huge, flips: 300, restartMs: 10_000, settleMs: 3000 };
  return {
    onens: { ...onens, servicesPerNamespace: 20, nodes: 5 },
    huge: { ...huge, sizes: [{ pods: 50, weight: 1 }], nodes: 5 },
    flips: 10,
    restartMs: 3000,
    settleMs: 500,
  };
}

function peersOf(kube: KubeCluster, { controllers }: Part): readonly [Peer, Peer] {
  const flags = [`--kubeconfig=${kube.kubeconfigPath}`, `--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`];
  return [
    {
      name: 'kube-controller-manager',
      start: () => startControllerManager(kube, controllers, { qps: QPS, burst: QPS }),
    },
    {
      name: 'endpointd',
      start: () => startController([...flags, `--controllers=${controllers.join(',')}`], COMPILED),
    },
  ];
}

async function measureColdParts(
  kube: KubeCluster,
  client: ApiClient,
  parts: readonly Part[],
  { onens, restartMs }: Scale,
): Promise<ReadonlyMap<Part, readonly ColdFigures[]>> {
  const figures = new Map<Part, ColdFigures[]>();
  const coldParts = parts.filter(({ cold }) => cold !== null);
  if (coldParts.length === 0) return figures;
  const many = await load(client, onens);
  for (const part of coldParts) {
    const scene = await sceneOf(client, many, part);
    const ofPart: ColdFigures[] = [];
    for (const peer of peersOf(kube, part)) ofPart.push(await measureCold(peer, scene, restartMs));
    figures.set(part, ofPart);
  }
  return figures;
}

async function load(client: ApiClient, profile: Profile): Promise<Cluster> {
  const cluster = makeCluster(profile, SEED);
  const from = performance.now();
  await loadCluster(client, cluster, LOAD_CONCURRENT);
  const seconds = ((performance.now() - from) / 1000).toFixed(0);
  const { services, pods } = cluster;
  console.log(`${profile.name}: services: ${services.length}, pods: ${pods.length}; loaded in ${seconds} s`);
  return cluster;
}

async function sceneOf(client: ApiClient, cluster: Cluster, { controllers }: Part): Promise<Scene> {
  const [endpoints, slices, mirroring] = ALL_CONTROLLERS.map((name) => controllers.includes(name));
  const expected = await readExpected(client, cluster.namespaces, {
    endpointsController: endpoints!,
    slicesController: slices!,
    mirroringController: mirroring!,
  });
  return { client, cluster, expected };
}

async function setPorts(client: ApiClient, { services }: Cluster, namedPort: boolean): Promise<void> {
  for (const service of services) {
    service.namedPort = namedPort;
    await client.send(patch('Service', service.namespace, service.name, { spec: { ports: servicePorts(service) } }));
  }
}

function print({ title, cold, flipCpuMark }: Part, [theirs, ours]: readonly Figures[], size: Size): void {
  const rows: string[][] = [];
  const add = (name: string, digits: number, mark: number | null, figure: (figures: Figures) => number): void => {
    const [their, our] = [figure(theirs!), figure(ours!)];
    const ratio = their / our;
    const verdict = size === 'full' ? (ratio >= mark! ? ': yes' : ': NO') : '';
    rows.push([
      name,
      // A peer that falls behind may have shown none of the flips when the time is over.
      Number.isNaN(their) ? 'none seen' : their.toFixed(digits),
      Number.isNaN(our) ? 'none seen' : our.toFixed(digits),
      Number.isFinite(ratio) ? `1/${ratio.toFixed(1)}` : '-',
      mark === null ? '' : `1/${mark}${verdict}`,
    ]);
  };
  const addWrites = (name: string, writes: (figures: Figures) => Writes): void => {
    for (const [kind, what] of KINDS) {
      if (writes(theirs!)[kind] + writes(ours!)[kind] > 0)
        add(`${name}: writes of ${what}`, 0, null, (f) => writes(f)[kind]);
    }
  };
  if (cold !== null) {
    add('from nothing: wall, s', 1, null, (f) => f.cold!.seconds);
    add('from nothing: CPU, s', 2, cold.cpuMark, (f) => f.cold!.cpuSeconds);
    addWrites('from nothing', (f) => f.cold!.writes);
    add('from nothing: peak memory, MB', 0, null, (f) => f.cold!.peakBytes / 1e6);
    add('restart: CPU, s', 2, null, (f) => f.cold!.restartCpuSeconds);
    add('restart: writes', 0, null, ({ cold: figures }) => sum(figures!.restartWrites));
  }
  const { flips, slicesMs } = ours!.flip;
  add('a flip: CPU, ms', 2, flipCpuMark, (f) => (f.flip.cpuSeconds / flips) * 1000);
  addWrites(`${flips} flips`, (f) => f.flip.writes);
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    add(`a flip: ${name} to Endpoints, ms`, 1, null, (f) => percentile(f.flip.endpointsMs, share));
    if (slicesMs.length > 0)
      add(`a flip: ${name} to the slice, ms`, 1, null, (f) => percentile(f.flip.slicesMs, share));
  }
  console.log(`\n${title}\n${table(['', 'kube-controller-manager', 'endpointd', 'endpointd is', 'mark'], rows)}`);
}

const KINDS = [
  ['endpoints', 'Endpoints'],
  ['slices', 'slices'],
  ['mirrored', 'mirrored slices'],
] as const;

function sum({ endpoints, slices, mirrored }: Writes): number {
  return endpoints + slices + mirrored;
}
