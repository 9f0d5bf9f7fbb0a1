/**
 * `node test/e2e/beside.ts [--only=TEXT]`: the same trouble for endpointd and for the real kube-controller-manager, each with
 * a real API server and etcd of its own, and how long each takes until the slow oracles find nothing wrong. Prints the table
 * of docs/reliability.md. It takes about a quarter of an hour, since silence is noticed late.
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGarbageCollector } from '../../src/testbed/garbage-collector.ts';
import { wrongObjects } from '../../src/judge/cluster-check.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { readObjects } from '../../src/testbed/read-objects.ts';
import { sendThrough } from '../../src/testbed/send-through.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import type { Churn } from '../../src/workload/change.ts';
import { createChurn, nextChange } from '../../src/workload/churn.ts';
import { makeCluster } from '../../src/workload/cluster.ts';
import { clientOf } from './client.ts';
import { startControllerManager, type Cluster, type ManagedCluster } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from './cluster.ts';
import { startEndpointd } from './endpointd.ts';
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts';
import { DUAL_STACK } from './script.ts';
import { startTunnel, type Tunnel } from './tunnel.ts';
import { UPSTREAM_MIX, UPSTREAM_PROFILE } from './upstream-story.ts';
import { expectAllRight } from './whole-check.ts';

const SEED = 20_261_122;
const CHANGES = 150;
const QPS = 500;
const OUTAGE_MS = 20_000;
/** From a change to its event, on a busy machine. */
const TOLD_MS = 5000;
const RIGHT_MS_MAX = 12 * 60_000;
const POLL_MS = 200;
/** Who cannot write for so long is behind: 10 s after that both must have caught up. */
const SOON_MS = 10_000;
const CHECKS = { garbageCollected: true };
const UPSTREAM = ['endpoints-controller', 'endpointslice-controller', 'endpointslice-mirroring-controller'];

interface Controller {
  kill(): Promise<void>;
}

type StartController = (cluster: ManagedCluster) => Promise<Controller>;

const CONTROLLERS: Readonly<Record<string, StartController>> = {
  endpointd: async (cluster) => {
    const flags = [`--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`, '--shards=1'];
    const endpointd = await startEndpointd(cluster, flags, { untilReady: false });
    return { kill: () => endpointd.kill9() };
  },
  'kube-controller-manager': async (cluster) => {
    const manager = await startControllerManager(cluster, UPSTREAM, { qps: QPS, burst: QPS });
    return { kill: () => manager.stop() };
  },
};

/** A cluster, a controller that reaches it through a tunnel or a proxy, and somebody who changes things beside it. */
interface Side {
  readonly cluster: Cluster;
  readonly tunnel: Tunnel;
  readonly proxy: FaultProxy;
  /** It has ended and starts again. */
  restart(): Promise<void>;
  kill(): Promise<void>;
  change(): Promise<void>;
}

interface Trouble {
  readonly name: string;
  readonly through: 'tunnel' | 'proxy';
  /** Gives the moment from which the time counts. */
  strike(side: Side): Promise<number>;
}

const TROUBLES: readonly Trouble[] = [
  {
    name: 'the controller is killed, and starts again at once',
    through: 'tunnel',
    async strike(side) {
      await side.kill();
      await side.change();
      return startAgain(side);
    },
  },
  {
    name: `the controller is gone for ${OUTAGE_MS / 1000} s`,
    through: 'tunnel',
    async strike(side) {
      await side.kill();
      await Promise.all([side.change(), sleep(OUTAGE_MS)]);
      return startAgain(side);
    },
  },
  {
    name: `the API server is gone for ${OUTAGE_MS / 1000} s`,
    through: 'tunnel',
    async strike(side) {
      await side.change();
      await side.cluster.killApiserver();
      await sleep(OUTAGE_MS);
      await side.cluster.startApiserver();
      const fromMs = performance.now();
      await side.change();
      return fromMs;
    },
  },
  {
    name: `the API server stands still for ${OUTAGE_MS / 1000} s`,
    through: 'tunnel',
    async strike(side) {
      await Promise.all([side.change(), side.cluster.freezeApiserver(OUTAGE_MS)]);
      return performance.now();
    },
  },
  {
    name: 'a load balancer forgets all open connections without a word; new ones work',
    through: 'tunnel',
    async strike(side) {
      side.tunnel.forget();
      const fromMs = performance.now();
      await side.change();
      return fromMs;
    },
  },
  {
    name: 'a proxy that speaks HTTP/1.1 keeps all watches open and brings nothing more; new ones work',
    through: 'proxy',
    async strike(side) {
      side.proxy.setFault({ name: 'silence', meets: ['watch'], chance: 1, at: 'stream', does: 'stall' });
      const fromMs = performance.now();
      await side.change();
      await sleep(TOLD_MS);
      side.proxy.setFault(null);
      return fromMs;
    },
  },
];

/** Its start counts. */
async function startAgain(side: Side): Promise<number> {
  const fromMs = performance.now();
  await side.restart();
  return fromMs;
}

interface Outcome {
  readonly wrongSoon: number;
  /** null = not within the longest time. */
  readonly rightMs: number | null;
}

async function play(trouble: Trouble, start: StartController): Promise<Outcome> {
  // What was started ends in the opposite order, also where a later start fails.
  await using ends = new AsyncDisposableStack();
  const cluster = await startCluster({ serviceClusterIPRanges: DUAL_STACK });
  ends.defer(() => cluster.stop());
  const client = clientOf(cluster);
  ends.defer(() => client.close());
  const collector = runGarbageCollector(client);
  ends.defer(() => collector.stop());
  const tunnel = await startTunnel(cluster);
  ends.defer(() => tunnel.stop());
  const proxy = await startFaultProxy(cluster, SEED);
  ends.defer(() => proxy.stop());
  const { kubeconfigPath } = trouble.through === 'tunnel' ? tunnel : proxy;
  const managed: ManagedCluster = { kubeconfigPath, directory: cluster.directory, binaries: cluster.binaries };
  let controller = await start(managed);
  ends.defer(() => controller.kill());
  const model = makeCluster(UPSTREAM_PROFILE, SEED);
  await loadCluster(client, model, 16);
  await expectAllRight(client, CHECKS);
  const churn = createChurn(model, UPSTREAM_MIX, SEED);
  const fromMs = await trouble.strike({
    cluster,
    tunnel,
    proxy,
    kill: () => controller.kill(),
    restart: async () => void (controller = await start(managed)),
    change: () => change(client, churn),
  });
  return await judge(client, fromMs);
}

async function change(client: ApiClient, churn: Churn): Promise<void> {
  for (let i = 0; i < CHANGES; i++) {
    await sendThrough(client, nextChange(churn, Date.now())!.request, AbortSignal.timeout(60_000));
  }
}

async function judge(client: ApiClient, fromMs: number): Promise<Outcome> {
  let wrongSoon = 0;
  let wasSoon = false;
  for (;;) {
    const wrong = wrongObjects(await readObjects(client), CHECKS).length;
    const tookMs = performance.now() - fromMs;
    if (!wasSoon && (tookMs >= SOON_MS || wrong === 0)) {
      wasSoon = true;
      wrongSoon = wrong;
    }
    if (wrong === 0) return { wrongSoon, rightMs: tookMs };
    if (tookMs > RIGHT_MS_MAX) return { wrongSoon, rightMs: null };
    await sleep(POLL_MS);
  }
}

function cells({ wrongSoon, rightMs }: Outcome): string {
  const right = rightMs === null ? `not within ${RIGHT_MS_MAX / 60_000} min` : `${(rightMs / 1000).toFixed(1)} s`;
  return `${wrongSoon} | ${right}`;
}

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const names = Object.keys(CONTROLLERS);
console.log(
  `| trouble | ${names.map((name) => `${name}: wrong after ${SOON_MS / 1000} s | all right after`).join(' | ')} |`,
);
console.log(`| --- |${' --- | --- |'.repeat(names.length)}`);
for (const trouble of TROUBLES.filter(({ name }) => name.includes(values.only))) {
  const outcomes = await Promise.all(Object.values(CONTROLLERS).map((start) => play(trouble, start)));
  console.log(`| ${trouble.name} | ${outcomes.map(cells).join(' | ')} |`);
}
