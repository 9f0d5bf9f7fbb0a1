/**
 * Runs one cell on real processes: an API server, the controller as it is shipped, and `endpointd record`, each in a
 * process of its own. This process makes the changes. The figures are those that the recording shows.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, getPriority, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { withRecording } from '../../src/cli/record/recording-file.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { NODE_FLAGS, startController } from '../../src/testbed/controller-process.ts';
import { type Evidence, evidenceBetween } from '../../src/tune/evidence.ts';
import { playedOf } from '../../src/tune/played.ts';
import { latenciesOf, quantile } from '../../src/twin/figures.ts';
import type { Output } from '../../src/twin/ledger.ts';
import type { Settings } from '../../src/twin/settings.ts';
import type { Story } from '../../src/twin/story.ts';
import { startControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startCluster } from '../../test/e2e/cluster.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import { cpuSecondsOf } from '../support/process-usage.ts';
import { type CellTimes, measuredPart, storyOf } from './cell-times.ts';
import type { CellRun, MeasuredOutput, World } from './data.ts';
import type { CellPlan } from './plan.ts';
import { liveStory, loadStory } from './story-life.ts';

/** The embedded server waits so long before it carries out a write of the controller. */
export const WRITE_DELAY_MS = 10;
const CONTROLLERS = ['endpoints-controller', 'endpointslice-controller'];
const CONNECTIONS = 32;
/** If nothing was written for so long, the controller has made everything right at the start. */
const QUIET_MS = 1500;
const SETTLED_MS_MAX = 60_000;
const POLL_MS = 250;

interface Server {
  readonly client: ApiClient;
  readonly kubeconfigPath: string;
  readonly startController: (settings: Settings, isAtStart: boolean) => Promise<Running>;
  readonly stop: () => Promise<unknown>;
}

interface Running {
  readonly pid: number;
  readonly stop: () => Promise<unknown>;
}

export interface CellOrder {
  readonly world: World;
  readonly plan: CellPlan;
  readonly repeat: number;
  readonly seed: number;
  readonly times: CellTimes;
  /** The program of endpointd. */
  readonly program: URL;
}

/** @throws Error if a process ends by itself, or a request is refused */
export async function runCell({ world, plan, repeat, seed, times, program }: CellOrder): Promise<CellRun> {
  const story = storyOf(plan, seed, times);
  const server = await (world.server === 'kube' ? openKube(world, program) : openEmbedded(world, program));
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-cell-'));
  const path = join(directory, 'cell.rec');
  try {
    await loadStory(server.client, story);
    await makeRight(server, plan.settings);
    const controller = await server.startController(plan.settings, false);
    const recorder = await startRecorder(program, path, server.kubeconfigPath);
    await settled(server.client);
    const before = usageOf(controller.pid);
    const { latenessMs } = await liveStory(server.client, story, times.warmUpMs + times.measuredMs);
    const after = usageOf(controller.pid);
    await recorder.stop();
    await controller.stop();
    return {
      cell: plan.name,
      world,
      repeat,
      seed,
      ...times,
      at: new Date().toISOString().slice(0, 16),
      machine: {
        cores: cpus().length,
        busy: round((after.busyMs - before.busyMs) / (after.busyMs + after.idleMs - before.busyMs - before.idleMs), 3),
        controllerCpu: round((after.controllerSeconds - before.controllerSeconds) / ((after.ms - before.ms) / 1000), 3),
        load: round(loadavg()[0]!, 1),
        nice: getPriority(),
      },
      latenessMs: { p50: round(latenessMs.p50, 1), p99: round(latenessMs.p99, 1) },
      measured: measuredOf(path, story, times),
    };
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
}

function measuredOf(path: string, planned: Story, times: CellTimes): CellRun['measured'] {
  const { story, evidence, doubts } = withRecording(path, ({ events }) => playedOf(path, events));
  if (doubts.length > 0) throw new Error(`the recording cannot be believed: ${doubts.join(', ')}`);
  // Lateness is measured by the recorder's clock. The first change of the story is the first change that it has
  // recorded.
  const lateMs = story.changes[0]!.atMs - planned.changes[0]!.atMs;
  const moved = evidenceBetween(evidence, lateMs, Infinity);
  const since = (output: Output): Evidence => ({
    samples: {
      endpoints: [],
      slices: [],
      [output]: moved.samples[output].map((one) => ({ ...one, atMs: one.atMs - lateMs })),
    },
    writesAtMs: { endpoints: [], slices: [], [output]: moved.writesAtMs[output].map((atMs) => atMs - lateMs) },
  });
  const of = (output: Output): MeasuredOutput => {
    const { samples, writesAtMs } = measuredPart(since(output), times);
    const sorted = latenciesOf(samples[output], 'any');
    const at = (share: number): number => round(quantile(sorted, share), 2);
    return { changes: sorted.length, writes: writesAtMs[output].length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  };
  return { endpoints: of('endpoints'), slices: of('slices') };
}

async function openEmbedded(world: World, program: URL): Promise<Server> {
  const rule = `verb=create|update|delete,resource=endpoints|endpointslices,delay=fixed:${WRITE_DELAY_MS}ms`;
  const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0', `--fault=${rule}`]);
  const client = createApiClient({ url: serve.url }, CONNECTIONS);
  const { kubeconfig } = serve;
  return {
    client,
    kubeconfigPath: kubeconfig,
    startController: (settings, isAtStart) => {
      if (world.controller === 'endpointd') return startEndpointd(program, kubeconfig, settings, isAtStart);
      throw new Error('kube-controller-manager runs on a real API server only: --server=kube');
    },
    stop: async () => {
      await client.close();
      await serve.stop();
    },
  };
}

async function openKube(world: World, program: URL): Promise<Server> {
  const kube = await startCluster();
  const { url, token, caFile, kubeconfigPath } = kube;
  const client = createApiClient({ url, token, ca: readFileSync(caFile, 'utf8') }, CONNECTIONS);
  return {
    client,
    kubeconfigPath,
    startController: (settings, isAtStart) => {
      if (world.controller === 'endpointd') return startEndpointd(program, kubeconfigPath, settings, isAtStart);
      const { qps, burst } = isAtStart ? FAST : settings;
      return startControllerManager(kube, CONTROLLERS, { qps, burst, flags: flagsOf(settings) });
    },
    stop: async () => {
      await client.close();
      await kube.stop();
    },
  };
}

const FAST = { qps: 5000, burst: 5000 };

function startEndpointd(program: URL, kubeconfig: string, settings: Settings, isAtStart: boolean): Promise<Running> {
  const { qps, burst } = isAtStart ? FAST : settings;
  const own = [`--kubeconfig=${kubeconfig}`, `--controllers=${CONTROLLERS.join(',')}`, '--shards=0'];
  const limit = [`--kube-api-qps=${qps}`, `--kube-api-burst=${burst}`];
  return Promise.resolve(startController([...own, ...limit, ...flagsOf(settings)], program));
}

function flagsOf(settings: Settings): string[] {
  return [
    `--concurrent-endpoint-syncs=${settings.endpointSyncs}`,
    `--concurrent-service-endpoint-syncs=${settings.serviceEndpointSyncs}`,
    `--endpoint-updates-batch-period=${settings.endpointsBatchMs}ms`,
    `--endpointslice-updates-batch-period=${settings.slicesBatchMs}ms`,
    `--max-endpoints-per-slice=${settings.endpointsPerSlice}`,
  ];
}

/**
 * Another controller, without a rate limit, makes everything right at the start. So the measured controller begins with
 * full buckets.
 */
async function makeRight(server: Server, settings: Settings): Promise<void> {
  const controller = await server.startController(settings, true);
  await settled(server.client);
  await controller.stop();
}

/** Resolves when nothing was written for a while. */
async function settled({ list }: ApiClient): Promise<void> {
  const untilMs = performance.now() + SETTLED_MS_MAX;
  let [last, sinceMs] = ['', performance.now()];
  while (performance.now() - sinceMs < QUIET_MS) {
    const { items } = await list('/apis/discovery.k8s.io/v1/endpointslices');
    const { items: endpoints } = await list('/api/v1/endpoints');
    const now = [...items, ...endpoints].map(({ metadata }) => metadata.resourceVersion).join();
    if (now !== last || items.length === 0) [last, sinceMs] = [now, performance.now()];
    if (performance.now() > untilMs) throw new Error('the controller has written nothing, or does not come to rest');
    await new Promise((resolve) => void setTimeout(resolve, POLL_MS));
  }
}

/** Resolves when everything is listed. */
async function startRecorder(
  program: URL,
  path: string,
  kubeconfig: string,
): Promise<{ readonly stop: () => Promise<void> }> {
  const args = [...NODE_FLAGS, program.pathname, 'record', path, `--kubeconfig=${kubeconfig}`, '--plain'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const listed = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('recording for')) resolve();
    });
  });
  const ended = once(child, 'close') as Promise<[number]>;
  await Promise.race([listed, ended]);
  if (child.exitCode !== null) throw new Error(`endpointd record has ended:\n${said}`);
  return {
    stop: async () => {
      child.kill('SIGINT');
      const [status] = await ended;
      if (status !== 0) throw new Error(`endpointd record has ended with status ${status}:\n${said}`);
    },
  };
}

interface Usage {
  readonly ms: number;
  readonly controllerSeconds: number;
  /** CPU of all cores since the machine's start. */
  readonly busyMs: number;
  readonly idleMs: number;
}

function usageOf(pid: number): Usage {
  let [busyMs, idleMs] = [0, 0];
  for (const { times } of cpus()) {
    busyMs += times.user + times.nice + times.sys + times.irq;
    idleMs += times.idle;
  }
  return { ms: performance.now(), controllerSeconds: cpuSecondsOf(pid), busyMs, idleMs };
}

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
