/** The peers: kube-controller-manager, endpointd as it is shipped, and the floor for both. */
import { asDeployed } from '../support/as-deployed.ts';
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type DebugView, JOURNAL_MAX } from '../../src/controller/reports/debug-view.ts';
import { parseMetrics } from '../../src/metrics/text.ts';
import { METRICS_KEPT_MS } from '../../src/node/serving/metrics-page.ts';
import { NODE_FLAGS, startController } from '../../src/testbed/controller-process.ts';
import { DEFAULT_SETTINGS } from '../../src/twin/settings.ts';
import { type ControllerUser, startControllerManager } from '../../src/testbed/kube-cluster.ts';
import type { EchoOrder, EchoReport } from './echo-process.ts';
import type { Otherwise } from './flags.ts';
import {
  ECHO,
  ENDPOINTD,
  ENDPOINTD_OTHERWISE,
  MANAGER,
  type Peer,
  type PeerServer,
  type RunningPeer,
  type Settings,
} from './scenario.ts';

const DEFAULT_QPS = 5000;

const COMPILED = new URL('../../dist/src/main.js', import.meta.url);
const SOURCES = new URL('../../src/main.ts', import.meta.url);

/**
 * The program to run. The image has compiled code, so that is measured. The smallest size, which measures nothing, runs
 * the compiled `main.js` that BENCH_PROGRAM names, or the sources.
 */
export function programOf(size: Settings['size']): URL {
  if (size === 'tiny') return givenProgram() ?? SOURCES;
  if (!existsSync(COMPILED)) throw new Error('dist is not there: npm run prepack');
  return COMPILED;
}

/** A test starts many processes, and a start from the sources takes twice as long. */
function givenProgram(): URL | null {
  const path = process.env['BENCH_PROGRAM'] ?? '';
  return path === '' ? null : pathToFileURL(path);
}

/** So that endpointd's writes wait for none of the syncs of both controllers. */
export function writesFor(syncs: number): string[] {
  const most = 2 * syncs;
  return most > DEFAULT_SETTINGS.inFlight ? [`--max-writes-in-flight=${most}`] : [];
}

/** Flags that both peers have by the same names. */
function commonFlags({ syncs, batchPeriod }: Settings): string[] {
  const flags: string[] = [];
  if (syncs !== null) {
    flags.push(`--concurrent-endpoint-syncs=${syncs}`, `--concurrent-service-endpoint-syncs=${syncs}`);
  }
  if (batchPeriod !== null) {
    flags.push(`--endpoint-updates-batch-period=${batchPeriod}`, `--endpointslice-updates-batch-period=${batchPeriod}`);
  }
  return flags;
}

export function managerPeer(settings: Settings, controllers: readonly string[], name = MANAGER): Peer {
  return { name, echoes: false, writer: MANAGER, start: (on) => startManager(on, settings, controllers) };
}

/** Flow control asks nothing of an administrator. So each controller is its own user under it. */
function kubeconfigOf(
  { server, kubeconfigPath }: PeerServer,
  { priorityAndFairness }: Settings,
  user: ControllerUser,
): Promise<string> {
  return priorityAndFairness ? server.kubeconfigOf(user) : Promise.resolve(kubeconfigPath);
}

async function startManager(on: PeerServer, settings: Settings, controllers: readonly string[]): Promise<RunningPeer> {
  const { qps, burst, managerFlags } = settings;
  const kubeconfigPath = await kubeconfigOf(on, settings, 'kube-controller-manager');
  const managed = { ...(await on.server.managed()), kubeconfigPath };
  const manager = await startControllerManager(managed, controllers, {
    qps: qps ?? DEFAULT_QPS,
    burst: burst ?? qps ?? DEFAULT_QPS,
    flags: [...commonFlags(settings), ...managerFlags],
  });
  const failed = manager.ended.then((status): never => {
    throw new Error(`kube-controller-manager has ended with status ${status}, see ${manager.logPath}`);
  });
  failed.catch(() => undefined);
  return {
    processes: { 'kube-controller-manager': manager.pid },
    stop: () => manager.stop(),
    kill: () => manager.stop(),
    failed,
    tell: async () => ({ metrics: parseMetrics(await manager.metricsText()), journal: [] }),
  };
}

export function endpointdPeer(settings: Settings, controllers: readonly string[], name = ENDPOINTD): Peer {
  return {
    name,
    echoes: false,
    writer: ENDPOINTD,
    start: (on) => startEndpointd(on, settings, controllers, programOf(settings.size)),
  };
}

/** The endpointd with which `endpointdPeer` is compared. */
export function otherPeer(settings: Settings, controllers: readonly string[], { flags, program }: Otherwise): Peer {
  const endpointdFlags = [...settings.endpointdFlags, ...flags];
  const main = program === null ? programOf(settings.size) : pathToFileURL(program);
  return {
    name: ENDPOINTD_OTHERWISE,
    echoes: false,
    writer: ENDPOINTD,
    start: (on) => startEndpointd(on, { ...settings, endpointdFlags }, controllers, main),
  };
}

async function startEndpointd(
  on: PeerServer,
  settings: Settings,
  controllers: readonly string[],
  program: URL,
): Promise<RunningPeer> {
  const { qps, burst, endpointdFlags, size } = settings;
  const kubeconfigPath = await kubeconfigOf(on, settings, 'endpointd');
  // The smallest size may run the sources, which take long to be stripped of their types, and tests beside it may take the
  // port.
  const { flags, env } = size === 'tiny' ? { flags: [], env: {} } : await asDeployed();
  const controller = startController(
    [
      ...flags,
      `--kubeconfig=${kubeconfigPath}`,
      `--controllers=${controllers.join(',')}`,
      `--kube-api-qps=${qps ?? DEFAULT_QPS}`,
      `--kube-api-burst=${burst ?? qps ?? DEFAULT_QPS}`,
      ...commonFlags(settings),
      ...endpointdFlags,
    ],
    program,
    env,
  );
  let metricsAskedMs = -Infinity;
  return {
    processes: { endpointd: controller.pid },
    failed: controller.failed,
    tell: async () => {
      // A measure may be over before the page is rendered anew.
      await sleep(Math.max(0, metricsAskedMs + METRICS_KEPT_MS - performance.now()));
      const metrics = parseMetrics(await controller.get('/metrics'));
      metricsAskedMs = performance.now();
      const view = JSON.parse(await controller.get(`/debug/endpointd?format=json&changes=${JOURNAL_MAX}`)) as DebugView;
      return { metrics, journal: view.changes };
    },
    kill: () => controller.kill(),
    stop: async () => {
      const status = await controller.stop();
      // Below 0: the signal came before endpointd listened to any.
      if (status > 0) throw new Error(`endpointd has ended with status ${status}`);
    },
  };
}

/** Several processes that do the work of one peer. They end in this order. */
export function together(parts: readonly RunningPeer[]): RunningPeer {
  return {
    processes: Object.assign({}, ...parts.map(({ processes }) => processes)) as RunningPeer['processes'],
    failed: Promise.race(parts.map(({ failed }) => failed)),
    stop: async () => {
      for (const part of parts) await part.stop();
    },
    kill: async () => {
      for (const part of parts) await part.kill();
    },
  };
}

const ECHO_PROCESS = fileURLToPath(new URL('echo-process.ts', import.meta.url));

export function echoPeer(namespaces: readonly string[]): Peer {
  return { name: ECHO, echoes: true, writer: ENDPOINTD, start: ({ target }) => startEcho({ target, namespaces }) };
}

/** Resolves when the process watches. */
async function startEcho(order: EchoOrder): Promise<RunningPeer> {
  // With the flags of endpointd: a floor on another collector would be none.
  const child = fork(ECHO_PROCESS, { stdio: 'inherit', execArgv: [...NODE_FLAGS] });
  const reasons: string[] = [];
  // The reason may come after the end.
  const ended = Promise.all([
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
    new Promise<void>((resolve) => child.once('disconnect', resolve)),
  ]);
  let stopping = false;
  const failed = ended.then(async ([status]): Promise<never> => {
    if (stopping) return new Promise<never>(() => undefined);
    throw new Error([`the echo floor has ended with status ${status}`, ...reasons].join(': '));
  });
  failed.catch(() => undefined);
  const ready = new Promise<void>((resolve) => {
    child.on('message', (report: EchoReport) => {
      if (report.kind === 'watching') resolve();
      else reasons.push(report.why);
    });
  });
  child.send(order);
  await Promise.race([ready, failed]);
  const kill = async (): Promise<void> => {
    stopping = true;
    child.kill('SIGKILL');
    await ended;
  };
  return { processes: { echo: child.pid! }, failed, stop: kill, kill };
}
