/** The API server of a run: a real one that begins with a copy of prepared data, or the embedded one. */
import { createHash } from 'node:crypto';
import { access, cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../../src/metrics/program-of.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import { wrongObjects } from '../../src/judge/cluster-check.ts';
import { startController } from '../../src/testbed/controller-process.ts';
import { loadCluster } from '../../src/testbed/load-cluster.ts';
import { makeCluster, type Cluster } from '../../src/workload/cluster.ts';
import type { Profile } from '../../src/workload/profile.ts';
import { KUBERNETES_VERSION, kubeBinaries } from '../../test/e2e/binaries.ts';
import {
  type ClusterOptions,
  type ControllerUser,
  type ManagedCluster,
  startControllerManager,
} from '../../src/testbed/kube-cluster.ts';
import { startCluster } from '../../test/e2e/cluster.ts';
import { startServe } from '../../src/testbed/serve-process.ts';
import {
  converged,
  deleteOutputs,
  expectedOutputs,
  readCluster,
  stopOutputs,
  watchOutputs,
  whichControllers,
} from '../support/outputs.ts';
import { putPods } from './etcd-pods.ts';
import type { LoadTarget } from '../support/http-load.ts';

export type ServerKind = 'kube' | 'embedded';

/** The controllers' objects at the begin of a run: `nothing` = there are none, `right` = all exist and are right. */
export type Outset = 'nothing' | 'right';

export interface BenchServer {
  readonly kind: ServerKind;
  readonly target: LoadTarget;
  readonly kubeconfigPath: string;
  /** The kubeconfig of that user. The embedded server knows no users. */
  readonly kubeconfigOf: (user: ControllerUser) => Promise<string>;
  readonly client: ApiClient;
  /** The server's processes, by their names in a report. */
  readonly processes: () => Readonly<Record<string, number>>;
  /** The server for kube-controller-manager. */
  readonly managed: () => Promise<ManagedCluster>;
  /** Kills the API server and starts it again. The embedded one, which stores nothing, stands still for a while. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface ServerRequest {
  readonly kind: ServerKind;
  readonly profile: Profile;
  readonly seed: number;
  readonly outset: Outset;
  /** The controllers that make everything right. */
  readonly controllers: readonly string[];
  /**
   * Whose they are. It is the program that is measured: a second writer would be one more entry in the managedFields of
   * each object, and each write would carry it.
   */
  readonly writer: Program;
  readonly options: Pick<ClusterOptions, 'fsync' | 'priorityAndFairness' | 'apiserverFlags'>;
  /** The program that serves, where the server is the embedded one, and that makes everything right. */
  readonly program: URL;
  readonly say: (text: string) => void;
}

export const CONNECTIONS = 64;
const PREPARE_CONNECTIONS = 16;
const STILL_MS = 300;
/** Of who makes everything right: as good as no limit. */
const QPS = 5000;
const PREPARE_MS_MAX = 600_000;
/** To be raised when older prepared data would differ. */
const DATA_FORMAT = 3;
/** The directory that benches keep from one run to the next. */
export const CACHE = join(homedir(), '.cache', 'endpointd', 'bench');

export interface OpenedServer {
  readonly server: BenchServer;
  readonly cluster: Cluster;
}

export interface Servers {
  readonly open: (request: ServerRequest) => Promise<OpenedServer>;
  /**
   * Ends the server, or keeps it for the next request that fits. @param asFound whether pods, services and nodes are as
   * they were
   */
  readonly release: (opened: OpenedServer, asFound: boolean) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * A real API server begins with a copy of prepared data each time. The embedded one has to be filled, so it is used
 * again if it is as it was found.
 */
export function createServers(): Servers {
  let kept: (OpenedServer & { readonly key: string }) | null = null;
  const keys = new Map<OpenedServer, string>();
  const close = async (): Promise<void> => {
    const last = kept;
    kept = null;
    await last?.server.stop();
  };
  const open = async (request: ServerRequest): Promise<OpenedServer> => {
    const { kind, profile, seed } = request;
    const key = JSON.stringify([kind, profile, seed]);
    if (kept?.key !== key) await close();
    const opened = kept ?? (await openServer(request));
    kept = null;
    keys.set(opened, key);
    try {
      if (kind === 'embedded') await bringToOutset(opened, request);
    } catch (error) {
      keys.delete(opened);
      await opened.server.stop();
      throw error;
    }
    return opened;
  };
  const release = async (opened: OpenedServer, asFound: boolean): Promise<void> => {
    if (asFound && opened.server.kind === 'embedded') kept = { ...opened, key: keys.get(opened)! };
    else await opened.server.stop();
    keys.delete(opened);
  };
  return { open, release, close };
}

async function openServer(request: ServerRequest): Promise<OpenedServer> {
  const cluster = makeCluster(request.profile, request.seed);
  if (request.kind === 'kube') {
    const data = await preparedData(request, cluster);
    return { server: await openKube({ ...request.options, etcdFrom: data }), cluster };
  }
  const server = await openEmbedded(request.program);
  try {
    await load(server, request, cluster);
    return { server, cluster };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Makes everything right, if that is asked for, on a server that holds the inputs. */
async function bringToOutset({ server, cluster }: OpenedServer, request: ServerRequest): Promise<void> {
  if (request.outset === 'nothing') await deleteOutputs(server.client, cluster.namespaces);
  else await makeRight(server, request, cluster);
}

async function openKube(options: ClusterOptions): Promise<BenchServer> {
  const kube = await startCluster(options);
  const { url, token, caFile, kubeconfigPath } = kube;
  const client = createApiClient({ url, token, ca: await readFile(caFile, 'utf8') }, CONNECTIONS);
  return {
    kind: 'kube',
    target: { url, token, caFile },
    kubeconfigPath,
    kubeconfigOf: (user) => kube.kubeconfigOf(user),
    client,
    processes: () => ({ ...kube.pids() }),
    managed: () => Promise.resolve(kube),
    restart: async () => {
      await kube.killApiserver();
      await kube.startApiserver();
    },
    stop: async () => {
      await client.close();
      await kube.stop();
    },
  };
}

async function openEmbedded(program: URL): Promise<BenchServer> {
  const serve = await startServe(['--life=false', '--end-namespaces=false', '--nodes=0'], program);
  const client = createApiClient({ url: serve.url }, CONNECTIONS);
  return {
    kind: 'embedded',
    target: { url: serve.url },
    kubeconfigPath: serve.kubeconfig,
    kubeconfigOf: () => Promise.resolve(serve.kubeconfig),
    client,
    processes: () => ({ apiserver: serve.pid }),
    managed: async () => ({
      kubeconfigPath: serve.kubeconfig,
      directory: join(serve.kubeconfig, '..'),
      binaries: await kubeBinaries(),
    }),
    restart: async () => {
      process.kill(serve.pid, 'SIGSTOP');
      await sleep(STILL_MS);
      process.kill(serve.pid, 'SIGCONT');
    },
    stop: async () => {
      await client.close();
      await serve.stop();
    },
  };
}

/** The data of an etcd that holds the cluster. They are made once and kept, so each run begins with the same bytes. */
export async function preparedData(
  request: ServerRequest,
  cluster: Cluster = makeCluster(request.profile, request.seed),
): Promise<string> {
  const { profile, seed, outset, controllers, writer } = request;
  const by = outset === 'nothing' ? null : writer;
  const what = JSON.stringify([DATA_FORMAT, KUBERNETES_VERSION, profile, seed, outset, by, controllers.toSorted()]);
  const directory = join(CACHE, `${profile.name}-${createHash('sha256').update(what).digest('hex').slice(0, 16)}`);
  if (
    await access(directory).then(
      () => true,
      () => false,
    )
  )
    return directory;
  const from = outset === 'nothing' ? undefined : await preparedData({ ...request, outset: 'nothing' }, cluster);
  const kube = await startCluster(from === undefined ? {} : { etcdFrom: from });
  const client = createApiClient(
    { url: kube.url, token: kube.token, ca: await readFile(kube.caFile, 'utf8') },
    PREPARE_CONNECTIONS,
  );
  try {
    const server = { client, kubeconfigPath: kube.kubeconfigPath, managed: () => Promise.resolve(kube) };
    if (outset === 'nothing') await load(server, request, { ...cluster, pods: [] });
    else await makeRight(server, request, cluster);
    await kube.killApiserver();
    if (outset === 'nothing') await putPods(kube.etcdUrl, cluster);
    await kube.killEtcd();
    await mkdir(CACHE, { recursive: true });
    const made = `${directory}.${process.pid}`;
    await cp(kube.etcdData, made, { recursive: true });
    await rename(made, directory).catch(() => rm(made, { recursive: true }));
    return directory;
  } finally {
    await client.close();
    await kube.stop();
  }
}

type Prepared = Pick<BenchServer, 'client' | 'kubeconfigPath' | 'managed'>;

async function load({ client }: Pick<Prepared, 'client'>, { say }: ServerRequest, cluster: Cluster): Promise<void> {
  const { services, pods, profile } = cluster;
  say(`loading ${profile.name}: ${services.length} services, ${pods.length} pods`);
  await loadCluster(client, cluster, PREPARE_CONNECTIONS);
}

async function makeRight(server: Prepared, request: ServerRequest, cluster: Cluster): Promise<void> {
  const { client } = server;
  const { controllers, say } = request;
  const objects = await readCluster(client, cluster.namespaces);
  if (wrongObjects(objects, whichControllers(controllers)).length === 0) return;
  say('making what the controllers write');
  const expected = expectedOutputs(objects, whichControllers(controllers));
  const outputs = await watchOutputs(client);
  const controller = await startWriter(server, request);
  try {
    await Promise.race([converged(outputs, expected, PREPARE_MS_MAX), controller.failed]);
  } finally {
    stopOutputs(outputs);
    await controller.stop();
  }
}

async function startWriter(
  { kubeconfigPath, managed }: Prepared,
  { controllers, program, writer }: ServerRequest,
): Promise<{ readonly failed: Promise<unknown>; readonly stop: () => Promise<unknown> }> {
  if (writer === 'kube-controller-manager') {
    const manager = await startControllerManager(await managed(), controllers, { qps: QPS, burst: QPS });
    const failed = manager.ended.then((status): never => {
      throw new Error(`kube-controller-manager has ended with status ${status}, see ${manager.logPath}`);
    });
    failed.catch(() => undefined);
    return { failed, stop: () => manager.stop() };
  }
  const flags = [`--kubeconfig=${kubeconfigPath}`, `--kube-api-qps=${QPS}`, `--kube-api-burst=${QPS}`];
  return startController([...flags, `--controllers=${controllers.join(',')}`], program);
}
