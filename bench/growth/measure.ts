/** One point of growth: a controller as a process on a replay of the cluster, its start, and flips one at a time. */
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { kubeconfigFor } from '../../src/node/apiserver-http.ts';
import { percentile } from '../../src/lib/percentile.ts';
import { startController } from '../../src/testbed/controller-process.ts';
import { kubeBinaries } from '../../test/e2e/binaries.ts';
import { startControllerManager } from '../../src/testbed/kube-cluster.ts';
import { CONTROLLERS } from '../peers/scenario.ts';
import { asDeployed } from '../support/as-deployed.ts';
import { cpuSecondsOf, exactSecondsOf, usageOf } from '../support/process-usage.ts';
import { flipsOf, KUBE_MANAGER, type Point } from './axes.ts';
import type { GrowthRun } from './flatness.ts';
import type { FlipResult } from './flipper.ts';
import type { Order, Report } from './replay-process.ts';

export interface GrowthPeer {
  readonly name: string;
  readonly start: (kubeconfigPath: string, directory: string) => Promise<RunningPeer>;
}

interface RunningPeer {
  readonly pid: number;
  /** Rejects when the process ends by itself. */
  readonly failed: Promise<never>;
  readonly stop: () => Promise<unknown>;
}

const QPS = 5000;
const REPLAY = fileURLToPath(new URL('replay-process.ts', import.meta.url));
/** The resources that the two controllers watch. */
const WATCHED = ['pods', 'services', 'nodes', 'endpointslices'];
const SHOWN_MS_MAX = 600_000;
const SEEN_MS_MAX = 60_000;
const REST_MS = 500;
const REST_SHARE = 0.05;
const REST_MS_MAX = 120_000;

/** @param isDeployed whether it is started as deployed; without, tests are quicker */
export function endpointd(program: URL, isDeployed: boolean): GrowthPeer {
  const own = [`--controllers=${CONTROLLERS.join(',')}`, `--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`];
  return {
    name: 'endpointd',
    start: async (kubeconfigPath) => {
      const { flags, env } = isDeployed ? await asDeployed() : { flags: [], env: {} };
      return startController([...flags, `--kubeconfig=${kubeconfigPath}`, ...own], program, env);
    },
  };
}

export const MANAGER: GrowthPeer = {
  name: KUBE_MANAGER,
  start: async (kubeconfigPath, directory) => {
    const binaries = await kubeBinaries();
    const manager = await startControllerManager({ kubeconfigPath, directory, binaries }, CONTROLLERS, {
      qps: QPS,
      burst: QPS,
    });
    const failed = manager.ended.then((status): never => {
      throw new Error(`kube-controller-manager has ended with status ${status}, see ${manager.logPath}`);
    });
    failed.catch(() => undefined);
    return { pid: manager.pid, failed, stop: () => manager.stop() };
  },
};

/** @param wanted the number of flips; even */
export async function measurePoint(peer: GrowthPeer, point: Point, wanted: number): Promise<GrowthRun> {
  const flips = flipsOf(peer.name, wanted);
  const directory = mkdtempSync(join(tmpdir(), 'endpointd-growth-'));
  const replay = startReplay();
  let running: RunningPeer | null = null;
  try {
    const { url } = await replay.ask('serving', { kind: 'serve', shape: point.shape });
    const kubeconfigPath = join(directory, 'kubeconfig');
    writeFileSync(kubeconfigPath, kubeconfigFor(url, ''));
    running = await peer.start(kubeconfigPath, directory);
    const flip = async (count: number, seed: number, seenMsMax = SEEN_MS_MAX): Promise<FlipResult> =>
      (await Promise.race([replay.ask('flipped', { kind: 'flip', count, seed, seenMsMax }), running!.failed])).result;
    await Promise.race([replay.shown(), running.failed]);
    // The first flip is answered when the controller has taken in the whole cluster.
    const first = await flip(2, 1, SHOWN_MS_MAX);
    await rests(running.pid);
    const startCpu = cpuSecondsOf(running.pid);
    // As many flips before, so that the measured code is compiled.
    const warm = await flip(flips, 2);
    await rests(running.pid);
    const before = exactSecondsOf(running.pid);
    const result = await flip(flips, 3);
    const spent = exactSecondsOf(running.pid) - before;
    const after = usageOf(running.pid);
    return {
      ...point,
      peer: peer.name,
      cpuAFlip: (spent / result.flips) * 1000,
      bytesAFlip: result.bytes / result.flips,
      writesAFlip: result.writes / result.flips,
      p50: percentile(result.samples.slices, 0.5),
      p99: percentile(result.samples.slices, 0.99),
      startCpu,
      peakMB: after.peakBytes / 1e6,
      steadyMB: after.residentBytes / 1e6,
      wrong: [...new Set([first, warm, result].flatMap(({ wrong }) => wrong))],
    };
  } finally {
    await running?.stop();
    await replay.stop();
    rmSync(directory, { recursive: true });
  }
}

interface Replay {
  readonly ask: <K extends Report['kind']>(answer: K, order: Order) => Promise<Extract<Report, { kind: K }>>;
  /** Resolves when the controller was shown the whole cluster. */
  readonly shown: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

function startReplay(): Replay {
  const child: ChildProcess = fork(REPLAY, { stdio: 'inherit' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const broken = ended.then((): never => {
    throw new Error('the replay of the cluster has ended');
  });
  broken.catch(() => undefined);
  const hear = <T>(take: (report: Report) => T | undefined): Promise<T> => {
    const heard = new Promise<T>((resolve) => {
      const listen = (report: Report): void => {
        const found = take(report);
        if (found === undefined) return;
        child.off('message', listen);
        resolve(found);
      };
      child.on('message', listen);
    });
    return Promise.race([heard, broken]);
  };
  const shown = hear((report) => (report.kind === 'shown' && isAll(report.resources) ? report : undefined));
  shown.catch(() => undefined);
  return {
    ask: (answer, order) => {
      const heard = hear((report) => (isA(report, answer) ? report : undefined));
      child.send(order);
      return heard;
    },
    shown: async () => {
      const late = sleep(SHOWN_MS_MAX, null, { ref: false });
      if ((await Promise.race([shown, late])) !== null) return;
      throw new Error(`the controller has not asked for all of the cluster in ${SHOWN_MS_MAX} ms`);
    },
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function isA<K extends Report['kind']>(report: Report, kind: K): report is Extract<Report, { kind: K }> {
  return report.kind === kind;
}

function isAll(resources: readonly string[]): boolean {
  return WATCHED.every((each) => resources.includes(each));
}

/** Waits until the process uses hardly any of a core. */
async function rests(pid: number): Promise<void> {
  let before = cpuSecondsOf(pid);
  for (let ms = 0; ms < REST_MS_MAX; ms += REST_MS) {
    await sleep(REST_MS);
    const now = cpuSecondsOf(pid);
    if (now - before < (REST_SHARE * REST_MS) / 1000) return;
    before = now;
  }
  throw new Error(`the controller did not come to rest in ${REST_MS_MAX / 1000} s`);
}
