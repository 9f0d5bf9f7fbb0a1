/** The processes of a cell: an API server, the compiled controller, and `endpointd record`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { isRecord } from '../../src/apiserver/object.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { NODE_FLAGS, startController } from '../../src/testbed/controller-process.ts';
import { startControllerManager } from '../../src/testbed/kube-cluster.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import type { Settings } from '../../src/twin/settings.ts';
import { startCluster } from '../../test/e2e/cluster.ts';
import type { LoadTarget } from '../support/http-load.ts';
import { serviceKeyOf } from '../support/outputs.ts';
import type { World } from './data.ts';
import { CONTROLLERS } from '../peers/scenario.ts';

/** The embedded server waits so long before it carries out a write of the controller. */
export const WRITE_DELAY_MS = 10;
const CONNECTIONS = 32;
/** If nothing was written for so long, the controller has made everything right at the start. */
const QUIET_MS = 1500;
const SETTLED_MS_MAX = 60_000;
const POLL_MS = 250;

export interface Server {
  readonly client: ApiClient;
  readonly kubeconfigPath: string;
  /** Of an administrator. */
  readonly target: LoadTarget;
  readonly startController: (settings: Settings, isAtStart: boolean) => Promise<Running>;
  /** Resolves when everything is listed. The names are plain unless something else is said. */
  readonly startRecorder: (path: string, names?: 'plain' | 'pseudonyms') => Promise<Running>;
  /** Stops what was started here and still runs, then the server. */
  readonly stop: () => Promise<unknown>;
}

type BareServer = Omit<Server, 'startRecorder'>;

export interface Running {
  readonly pid: number;
  readonly stop: () => Promise<unknown>;
}

export async function openWorld(world: World, program: URL): Promise<Server> {
  const server = await (world.server === 'kube' ? openKube(world, program) : openEmbedded(world, program));
  const running = new Set<Running>();
  const noted = async (starting: Promise<Running>): Promise<Running> => {
    const started = await starting;
    running.add(started);
    const stop = async (): Promise<void> => {
      running.delete(started);
      await started.stop();
    };
    return { pid: started.pid, stop };
  };
  return {
    ...server,
    startController: (settings, isAtStart) => noted(server.startController(settings, isAtStart)),
    startRecorder: (path, names = 'plain') => noted(startRecorder(program, path, server.kubeconfigPath, names)),
    stop: async () => {
      // Whatever has failed is told by who stops the server.
      await Promise.allSettled([...running].map((started) => started.stop()));
      await server.stop();
    },
  };
}

async function openEmbedded(world: World, program: URL): Promise<BareServer> {
  const rule = `verb=create|update|delete,resource=endpoints|endpointslices,delay=fixed:${WRITE_DELAY_MS}ms`;
  const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0', `--fault=${rule}`], program);
  const client = createApiClient({ url: serve.url }, CONNECTIONS);
  const { kubeconfig } = serve;
  return {
    client,
    kubeconfigPath: kubeconfig,
    target: { url: serve.url },
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

async function openKube(world: World, program: URL): Promise<BareServer> {
  const kube = await startCluster();
  const { url, token, caFile, kubeconfigPath } = kube;
  const client = createApiClient({ url, token, ca: readFileSync(caFile, 'utf8') }, CONNECTIONS);
  return {
    client,
    kubeconfigPath,
    target: { url, token, caFile },
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
export async function makeRight(server: Server, settings: Settings): Promise<void> {
  const controller = await server.startController(settings, true);
  await settled(server.client);
  await controller.stop();
}

/** Resolves when each Service with a selector has both outputs, and nothing was written for a while. */
export async function settled({ list }: ApiClient): Promise<void> {
  const untilMs = performance.now() + SETTLED_MS_MAX;
  const { items: services } = await list('/api/v1/services');
  const awaited = services.filter(({ spec }) => isRecord(spec) && spec['selector'] !== undefined).map(serviceKeyOf);
  let [last, sinceMs] = ['', performance.now()];
  while (performance.now() - sinceMs < QUIET_MS) {
    const { items: slices } = await list('/apis/discovery.k8s.io/v1/endpointslices');
    const { items: endpoints } = await list('/api/v1/endpoints');
    const now = [...slices, ...endpoints].map(({ metadata }) => metadata.resourceVersion).join();
    // On a busy machine a controller that has just been started may pause half-way.
    const missing = [slices, endpoints].flatMap((outputs) => {
      const shown = new Set(outputs.map(serviceKeyOf));
      return awaited.filter((key) => !shown.has(key));
    });
    if (now !== last || missing.length > 0) [last, sinceMs] = [now, performance.now()];
    if (performance.now() > untilMs) {
      const what = missing.length > 0 ? `it has not written all of ${missing[0]!}` : 'it does not come to rest';
      throw new Error(`the controller is not done: ${what}`);
    }
    await new Promise((resolve) => void setTimeout(resolve, POLL_MS));
  }
}

async function startRecorder(
  program: URL,
  path: string,
  kubeconfig: string,
  names: 'plain' | 'pseudonyms',
): Promise<Running> {
  const args = [...NODE_FLAGS, program.pathname, 'record', path, `--kubeconfig=${kubeconfig}`];
  if (names === 'plain') args.push('--plain');
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
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGINT');
      const [status] = await ended;
      if (status !== 0) throw new Error(`endpointd record has ended with status ${status}:\n${said}`);
    },
  };
}
