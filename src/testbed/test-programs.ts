/** The API server and the controllers on which settings are tried: this program's, or those of a directory. */
import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseMetrics, sumOf } from '../metrics/text.ts';
import { createApiClient } from '../node/api-client.ts';
import { type Output, OUTPUTS } from '../twin/ledger.ts';
import { DEFAULT_SETTINGS } from '../twin/settings.ts';
import { startController } from './controller-process.ts';
import { type Cluster, type ServerBinaries, startControllerManager, startKubeCluster } from './kube-cluster.ts';
import { REQUESTS_AT_ONCE, type ReplayServer, type TestController } from './replay.ts';
import { startServe } from './serve-process.ts';

/** The programs in KUBEBUILDER_ASSETS; null = it is not there. */
export interface TestPrograms {
  readonly server: ServerBinaries | null;
  readonly kubeControllerManager: string | null;
}

export interface TestServer extends ReplayServer {
  readonly kind: 'embedded API server' | 'kube-apiserver';
  /** The real cluster, of a kube-apiserver; null = the server is the embedded one. */
  readonly cluster: Cluster<ServerBinaries> | null;
  readonly stop: () => Promise<void>;
}

/** @param directory '' = there is none */
export async function findPrograms(directory: string): Promise<TestPrograms> {
  const find = async (name: string): Promise<string | null> => {
    const path = join(directory, name);
    return directory === ''
      ? null
      : access(path).then(
          () => path,
          () => null,
        );
  };
  const [etcd, kubeApiserver] = [await find('etcd'), await find('kube-apiserver')];
  return {
    server: etcd === null || kubeApiserver === null ? null : { etcd, kubeApiserver },
    kubeControllerManager: await find('kube-controller-manager'),
  };
}

/** What a kube-controller-manager says of itself, such as `v1.36.3`; null = it says nothing. */
export function versionOf(kubeControllerManager: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(kubeControllerManager, ['--version'], { timeout: VERSION_MS_MAX }, (error, stdout) =>
      resolve(error === null ? (/\bv\d+\.\d+\S*/.exec(stdout)?.[0] ?? null) : null),
    );
  });
}

const VERSION_MS_MAX = 10_000;

/**
 * Starts a kube-apiserver if there is one, else the embedded API server as a process of its own.
 * @param flags flags of the embedded API server
 */
export async function startTestServer(
  { server }: Pick<TestPrograms, 'server'>,
  flags: readonly string[] = [],
): Promise<TestServer> {
  if (server === null) {
    const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0', ...flags]);
    const client = createApiClient({ url: serve.url }, REQUESTS_AT_ONCE);
    const stop = async (): Promise<void> => {
      await client.close();
      await serve.stop();
    };
    return {
      kind: 'embedded API server',
      client,
      kubeconfigPath: serve.kubeconfig,
      failed: serve.failed,
      cluster: null,
      stop,
    };
  }
  const cluster = await startKubeCluster(server);
  const { url, token, caFile, kubeconfigPath, failed } = cluster;
  const client = createApiClient({ url, token, ca: await readFile(caFile, 'utf8') }, REQUESTS_AT_ONCE);
  const stop = async (): Promise<void> => {
    await client.close();
    await cluster.stop();
  };
  return { kind: 'kube-apiserver', client, kubeconfigPath, failed, cluster, stop };
}

/**
 * @param flags the flags to try
 * @param outputs what is written; without Endpoints, as after they are retired
 * @param count how many controllers run, which share their tokens: those of the outputs, and mirroring if there are more
 */
export async function startEndpointd(
  { kubeconfigPath }: Pick<ReplayServer, 'kubeconfigPath'>,
  flags: readonly string[],
  outputs = OUTPUTS,
  count = DEFAULT_SETTINGS.controllers,
): Promise<TestController> {
  const running = controllersOf(outputs).slice(0, Math.max(count, outputs.length));
  const controllers = `--controllers=${running.join(',')}`;
  const controller = startController([`--kubeconfig=${kubeconfigPath}`, controllers, ...flags]);
  return {
    ...controller,
    cpuSeconds: async () => (await controller.usage()).cpuSeconds,
    metricsText: () => controller.get('/metrics'),
  };
}

const CONTROLLER_OF: Readonly<Record<Output, string>> = {
  endpoints: 'endpoints-controller',
  slices: 'endpointslice-controller',
};

function controllersOf(outputs: readonly Output[]): string[] {
  return [...outputs.map((output) => CONTROLLER_OF[output]), 'endpointslice-mirroring-controller'];
}

/** As `startEndpointd`. */
export async function startKubeControllerManager(
  { kubeconfigPath }: Pick<ReplayServer, 'kubeconfigPath'>,
  kubeControllerManager: string,
  flags: readonly string[],
  outputs = OUTPUTS,
): Promise<TestController> {
  const managed = { kubeconfigPath, directory: dirname(kubeconfigPath), binaries: { kubeControllerManager } };
  const manager = await startControllerManager(managed, controllersOf(outputs), { flags });
  let isStopping = false;
  const failed = manager.ended.then(async (status) => {
    if (isStopping) return new Promise<never>(() => undefined);
    const log = await readFile(manager.logPath, 'utf8').catch(() => '');
    throw new Error(`kube-controller-manager has ended with status ${status}:\n${log.slice(-LOG_CHARS)}`);
  });
  failed.catch(() => undefined);
  let cpuSeconds = 0;
  return {
    // By its own metrics, as endpointd's. What tells of processes from outside is not there on every platform.
    cpuSeconds: async () =>
      (cpuSeconds = sumOf(parseMetrics(await manager.metricsText()), 'process_cpu_seconds_total') ?? cpuSeconds),
    metricsText: () => manager.metricsText(),
    stop: () => {
      isStopping = true;
      return manager.stop();
    },
    failed,
  };
}

const LOG_CHARS = 2000;
