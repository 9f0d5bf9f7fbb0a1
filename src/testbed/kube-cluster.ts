import { generateKeyPairSync } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { selfSigned } from '../node/self-signed.ts';
import { parseMetrics, samplesOf, type Metrics } from '../metrics/text.ts';
import { freePorts } from './free-ports.ts';
import { startChild, type Child } from './child.ts';
import { removeWithUs } from './guard.ts';

/** Paths of the real Kubernetes programs that tests and benches run against. */
export interface KubeBinaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubeControllerManager: string;
  readonly kubectl: string;
}

export interface ClusterOptions {
  /** false = kube-apiserver runs without the WatchList feature. Default true. */
  readonly watchList?: boolean;
  /** true = each request is noted at `auditLogPath`: who, what, when. Default false. */
  readonly auditLog?: boolean;
  /** Default 10.96.0.0/12. Two ranges make the cluster dual-stack. */
  readonly serviceClusterIPRanges?: readonly string[];
  /** The most bytes that etcd accepts in one request. Default etcd's own, 1.5 MiB. */
  readonly etcdRequestBytesMax?: number;
  /** true = RBAC and the admission of owner references limit everybody but the administrator. Default false. */
  readonly rbac?: boolean;
  /** true = priority and fairness is on. Default false. */
  readonly priorityAndFairness?: boolean;
  /** More flags of kube-apiserver. */
  readonly apiserverFlags?: readonly string[];
  /** true = etcd waits for the disk, as it does where data matter. Default false. */
  readonly fsync?: boolean;
  /** The data directory of an etcd that has ended. The cluster begins with a copy of it. Default none. */
  readonly etcdFrom?: string;
  /** A release such as 1.34, whose behaviour the server has. Default the server's own. */
  readonly emulatedVersion?: string;
  /**
   * The PEM certificate and key with which kube-apiserver serves. `cert` includes the authority. Default a certificate
   * that kube-apiserver makes.
   */
  readonly serving?: { readonly cert: string; readonly key: string };
  /** Another cluster, whose etcd this one uses. Default an etcd of its own. */
  readonly beside?: Pick<Cluster, 'etcdUrl'>;
}

/** The programs that a cluster needs. */
export type ServerBinaries = Pick<KubeBinaries, 'etcd' | 'kubeApiserver'>;

/** A real etcd and kube-apiserver on loopback. There are no kubelets, no scheduler and no controllers. */
export interface Cluster<B extends ServerBinaries = KubeBinaries> {
  readonly url: string;
  /** The bearer token of an administrator. */
  readonly token: string;
  /** The PEM file by which the server's certificate is verified. */
  readonly caFile: string;
  readonly kubeconfigPath: string;
  /** Writes a kubeconfig of that user, who may do all where RBAC is off. */
  kubeconfigOf(user: ControllerUser): Promise<string>;
  /** A temporary directory, with the logs of all programs. */
  readonly directory: string;
  readonly auditLogPath: string;
  /** The data directory of etcd. While etcd is stopped, its data can be replaced. */
  readonly etcdData: string;
  /** The address at which etcd takes requests. */
  readonly etcdUrl: string;
  /** The address under which etcd's data name etcd itself. */
  readonly etcdPeerUrl: string;
  readonly binaries: B;
  /** Rejected when one of its programs ends without being killed by this object. Never resolves. */
  readonly failed: Promise<never>;
  /** Sends SIGKILL. */
  killApiserver(): Promise<void>;
  /** Starts kube-apiserver again on the same port and data, and waits until it is ready. */
  startApiserver(): Promise<void>;
  killEtcd(): Promise<void>;
  startEtcd(): Promise<void>;
  /** The program stands still for so long, as on an overloaded machine. So does etcd with the next one. */
  freezeApiserver(milliseconds: number): Promise<void>;
  freezeEtcd(milliseconds: number): Promise<void>;
  apiserverCpuSeconds(): number;
  /** The pids of the running programs. */
  pids(): { readonly apiserver: number; readonly etcd: number };
  /** Ends everything, with the programs that `startControllerManager` has started, and removes the directory. */
  stop(): Promise<void>;
}

const TOKEN = 'endpointd-test-token';
/** The users of controllers, as flow control knows them. The second one is the service account of `deploy/`. */
const CONTROLLER_TOKENS = {
  'kube-controller-manager': 'kube-controller-manager-test-token',
  endpointd: 'endpointd-service-account-test-token',
} as const;

export type ControllerUser = keyof typeof CONTROLLER_TOKENS;
const READY_MS_MAX = 120_000;
const READY_POLL_MS = 100;
const ANSWER_MS_MAX = 5000;
/**
 * The server says ready before it has made its own objects. Of its namespaces `default` comes last, and then its
 * Service.
 */
const READY_PATHS: readonly string[] = [
  '/readyz',
  '/api/v1/namespaces/default',
  '/api/v1/namespaces/default/services/kubernetes',
];

/** Starts of a cluster at most. Another process may take a port that was free before the program asks for it. */
const STARTS_MAX = 3;
/** kube-apiserver and etcd say so when another process has their port. */
const PORT_TAKEN = 'address already in use';

/** @throws Error with the end of a program's log if the program does not start */
export async function startKubeCluster<B extends ServerBinaries>(
  binaries: B,
  options: ClusterOptions = {},
): Promise<Cluster<B>> {
  for (let starts = 1; ; starts++) {
    try {
      return await startOnPorts(binaries, options, await freePorts(3));
    } catch (error) {
      if (starts === STARTS_MAX || !(error as Error).message.includes(PORT_TAKEN)) throw error;
    }
  }
}

async function startOnPorts<B extends ServerBinaries>(
  binaries: B,
  options: ClusterOptions,
  [etcdPort, peerPort, apiserverPort]: readonly number[],
): Promise<Cluster<B>> {
  const directory = await mkdtemp(join(tmpdir(), 'endpointd-kube-'));
  const keep = removeWithUs(directory);
  await writeFiles(directory, options);
  const url = `https://127.0.0.1:${apiserverPort}`;
  const caFile = join(directory, 'certs', 'apiserver.crt');
  const kubeconfigPath = await writeKubeconfig(join(directory, 'kubeconfig'), url, caFile, TOKEN);
  const etcdUrl = options.beside?.etcdUrl ?? `http://127.0.0.1:${etcdPort}`;
  const apiserverArgs = apiserverFlags(directory, etcdUrl, apiserverPort!, options);
  const { start, failed } = programsIn(directory);
  let etcd: Child | null = null;
  let apiserver: Child | null = null;
  const runApiserver = async (): Promise<void> => {
    apiserver = await start('kube-apiserver', binaries.kubeApiserver, apiserverArgs);
  };
  const apiserverReady = (): Promise<void> =>
    waitReady('kube-apiserver', apiserver!, join(directory, 'kube-apiserver.log'), () => isReady(url, caFile));
  const cluster: Cluster<B> = {
    url,
    token: TOKEN,
    caFile,
    kubeconfigPath,
    directory,
    auditLogPath: join(directory, 'audit.log'),
    etcdData: join(directory, 'etcd'),
    etcdUrl,
    etcdPeerUrl: `http://127.0.0.1:${peerPort}`,
    binaries,
    failed,
    kubeconfigOf: (user) => writeKubeconfig(`${kubeconfigPath}-${user}`, url, caFile, CONTROLLER_TOKENS[user]),
    async killApiserver() {
      await apiserver?.kill('SIGKILL');
    },
    async startApiserver() {
      await runApiserver();
      await apiserverReady();
    },
    async killEtcd() {
      await etcd?.kill('SIGKILL');
    },
    async startEtcd() {
      etcd = await start('etcd', binaries.etcd, etcdFlags(directory, etcdPort!, peerPort!, options));
    },
    freezeApiserver: (milliseconds) => freeze(apiserver, milliseconds),
    freezeEtcd: (milliseconds) => freeze(etcd, milliseconds),
    apiserverCpuSeconds: () => apiserver?.cpuSeconds() ?? 0,
    pids: () => ({ apiserver: apiserver?.pid ?? -1, etcd: etcd?.pid ?? -1 }),
    async stop() {
      for (const child of companions.get(cluster) ?? []) await child.kill('SIGKILL');
      await apiserver?.kill('SIGKILL');
      await etcd?.kill('SIGKILL');
      await rm(directory, { recursive: true, force: true });
      keep();
    },
  };
  try {
    if (options.beside === undefined) await cluster.startEtcd();
    await runApiserver();
    // kube-apiserver may be ready on a foreign etcd that has the port of ours.
    await Promise.race([apiserverReady(), failed]);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

interface Programs {
  readonly start: (name: string, path: string, args: readonly string[]) => Promise<Child>;
  readonly failed: Cluster['failed'];
}

/** Starts programs whose logs are in the directory. */
function programsIn(directory: string): Programs {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  const watchOver = async (name: string, child: Child, log: string): Promise<void> => {
    const status = await child.ended;
    if (!child.killed) reject(new Error(`${name} has ended with status ${status}; ${await endOf(log)}`));
  };
  const start = async (name: string, path: string, args: readonly string[]): Promise<Child> => {
    const log = join(directory, `${name}.log`);
    const child = await startChild(path, args, log);
    void watchOver(name, child, log);
    return child;
  };
  return { start, failed };
}

async function freeze(child: Child | null, milliseconds: number): Promise<void> {
  child?.pause();
  await sleep(milliseconds);
  child?.resume();
}

const companions = new WeakMap<object, Child[]>();

export interface ControllerManager {
  readonly pid: number;
  /** The address of its /metrics, which everybody may read. */
  readonly metricsUrl: string;
  /** The PEM file by which its certificate is verified. */
  readonly caFile: string;
  readonly logPath: string;
  /** The text of its /metrics. */
  metricsText(): Promise<string>;
  /**
   * Whether its controllers of Endpoints and slices have begun, and nothing waits and nothing is worked on in their queues.
   * Delayed keys do not count.
   */
  idle(): Promise<boolean>;
  /** Resolves with the exit status when it has ended. */
  readonly ended: Promise<number>;
  /** Sends SIGKILL. */
  stop(): Promise<void>;
}

export interface ControllerManagerOptions {
  /** Default 20, as upstream. */
  readonly qps?: number;
  /** Default 30, as upstream. */
  readonly burst?: number;
  /** More flags, such as `--concurrent-endpoint-syncs=20`. */
  readonly flags?: readonly string[];
  /** The API server decides who may read its pages, as kubeadm sets it up. Default: everybody may. */
  readonly isGuarded?: boolean;
}

/** The server to run on: a cluster, or any other server that a kubeconfig names. */
export interface ManagedCluster extends Pick<Cluster, 'kubeconfigPath' | 'directory'> {
  readonly binaries: Pick<KubeBinaries, 'kubeControllerManager'>;
}

/**
 * Starts a real kube-controller-manager with these controllers only.
 * @param controllers canonical names, such as `endpoints-controller`
 */
export async function startControllerManager(
  cluster: ManagedCluster,
  controllers: readonly string[],
  { qps = 20, burst = 30, flags = [], isGuarded = false }: ControllerManagerOptions = {},
): Promise<ControllerManager> {
  const [port] = await freePorts(1);
  const log = join(cluster.directory, `kube-controller-manager-${port}.log`);
  const certDirectory = join(cluster.directory, `kcm-certs-${port}`);
  const caFile = await prepareCertificate(certDirectory);
  const child = await startChild(
    cluster.binaries.kubeControllerManager,
    [
      `--kubeconfig=${cluster.kubeconfigPath}`,
      `--controllers=${controllers.join(',')}`,
      '--leader-elect=false',
      '--use-service-account-credentials=false',
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${certDirectory}`,
      '--authentication-skip-lookup=true',
      ...(isGuarded
        ? ['authentication', 'authorization'].map((of) => `--${of}-kubeconfig=${cluster.kubeconfigPath}`)
        : ['--authorization-always-allow-paths=*']),
      `--kube-api-qps=${qps}`,
      `--kube-api-burst=${burst}`,
      ...flags,
    ],
    log,
  );
  companions.set(cluster, [...(companions.get(cluster) ?? []), child]);
  const metricsUrl = `https://127.0.0.1:${port}/metrics`;
  return {
    pid: child.pid,
    metricsUrl,
    caFile,
    logPath: log,
    metricsText: async () => (await answerOf(metricsUrl, caFile)).text,
    async idle() {
      const { status, text } = await answerOf(metricsUrl, caFile);
      const metrics = parseMetrics(text);
      const adds = sumOfQueues(metrics, 'workqueue_adds_total');
      // Each add ends as finished work, whatever its outcome. The gauges are no help: they are updated only twice a
      // second. The page is there before the controllers are, and every cluster has a Service that each of them adds.
      return status === 200 && adds > 0 && adds === sumOfQueues(metrics, 'workqueue_work_duration_seconds_count');
    },
    ended: child.ended,
    stop: () => child.kill('SIGKILL'),
  };
}

/**
 * kube-controller-manager takes a certificate that is there. One that it makes itself costs it 0.17 s of CPU at its start
 * (medians of six starts with and without, 2026-11-23), which is no work of its controllers.
 * @returns the path of the certificate
 */
async function prepareCertificate(directory: string): Promise<string> {
  const { cert, key } = selfSigned({
    name: 'kube-controller-manager',
    hosts: ['127.0.0.1'],
    nowMs: Date.now(),
    days: CERTIFICATE_DAYS,
  });
  const path = (ending: string): string => join(directory, `kube-controller-manager.${ending}`);
  await mkdir(directory, { recursive: true });
  await writeFile(path('crt'), cert);
  await writeFile(path('key'), key, { mode: 0o600 });
  return path('crt');
}

const CERTIFICATE_DAYS = 30;

function etcdFlags(directory: string, port: number, peerPort: number, options: ClusterOptions): string[] {
  const url = `http://127.0.0.1:${port}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--log-level=warn',
    ...(options.fsync === true ? [] : ['--unsafe-no-fsync']),
    ...(options.etcdRequestBytesMax === undefined ? [] : [`--max-request-bytes=${options.etcdRequestBytesMax}`]),
  ];
}

function apiserverFlags(directory: string, etcdUrl: string, port: number, options: ClusterOptions): string[] {
  const ranges = options.serviceClusterIPRanges ?? ['10.96.0.0/12'];
  const flags = [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${join(directory, 'certs')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(directory, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(directory, 'sa.key')}`,
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    `--authorization-mode=${options.rbac === true ? 'RBAC' : 'AlwaysAllow'}`,
    `--service-cluster-ip-range=${ranges.join(',')}`,
    '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
    '--allow-privileged=true',
    // Tests send more than a fair share of its flow control would allow.
    '--max-requests-inflight=2000',
    '--max-mutating-requests-inflight=2000',
    `--enable-priority-and-fairness=${options.priorityAndFairness === true}`,
  ];
  if (options.rbac === true) flags.push('--enable-admission-plugins=OwnerReferencesPermissionEnforcement');
  if (options.emulatedVersion !== undefined) flags.push(`--emulated-version=${options.emulatedVersion}`);
  if (options.watchList === false) flags.push('--feature-gates=WatchList=false');
  if (options.auditLog === true) {
    flags.push(`--audit-policy-file=${join(directory, 'audit-policy.yaml')}`);
    flags.push(`--audit-log-path=${join(directory, 'audit.log')}`);
  }
  return [...flags, ...(options.apiserverFlags ?? [])];
}

const TOKENS = [
  `${TOKEN},admin,admin,system:masters`,
  `${CONTROLLER_TOKENS['kube-controller-manager']},system:kube-controller-manager,manager`,
  `${CONTROLLER_TOKENS.endpointd},system:serviceaccount:kube-system:endpointd,endpointd,"system:serviceaccounts,system:serviceaccounts:kube-system"`,
  '',
].join('\n');

const AUDIT_POLICY = [
  'apiVersion: audit.k8s.io/v1',
  'kind: Policy',
  'omitStages: [RequestReceived]',
  'rules: [{ level: Metadata }]',
  '',
].join('\n');

/** Returns its path. */
async function writeKubeconfig(path: string, url: string, caFile: string, token: string): Promise<string> {
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    'current-context: test',
    `clusters: [{ name: test, cluster: { server: "${url}", certificate-authority: ${JSON.stringify(caFile)} } }]`,
    `users: [{ name: admin, user: { token: ${token} } }]`,
    'contexts: [{ name: test, context: { cluster: test, user: admin } }]',
    '',
  ];
  await writeFile(path, lines.join('\n'));
  return path;
}

/** What the programs read. */
async function writeFiles(directory: string, { serving, etcdFrom }: ClusterOptions): Promise<void> {
  await writeKeys(directory, serving);
  await writeFile(join(directory, 'tokens.csv'), TOKENS);
  await writeFile(join(directory, 'audit-policy.yaml'), AUDIT_POLICY);
  if (etcdFrom !== undefined) await cp(etcdFrom, join(directory, 'etcd'), { recursive: true });
}

async function writeKeys(directory: string, serving: ClusterOptions['serving']): Promise<void> {
  if (serving !== undefined) await writeServing(join(directory, 'certs'), serving);
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await writeFile(join(directory, 'sa.key'), privateKey);
  await writeFile(join(directory, 'sa.pub'), publicKey);
}

/** Writes the certificate and key from which kube-apiserver serves. It reads them now and then, also while it runs. */
export async function writeServing(
  directory: string,
  { cert, key }: Required<ClusterOptions>['serving'],
): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'apiserver.key'), key);
  await writeFile(join(directory, 'apiserver.crt'), cert);
}

/** The sum over the queues of all three controllers. A controller that does not run adds nothing. */
function sumOfQueues(metrics: Metrics, name: string): number {
  const own = samplesOf(metrics, name).filter(({ labels }) => labels['name']?.startsWith('endpoint'));
  return own.reduce((sum, { value }) => sum + value, 0);
}

async function isReady(url: string, caFile: string): Promise<boolean> {
  for (const path of READY_PATHS) {
    if ((await answerOf(url + path, caFile)).status !== 200) return false;
  }
  return true;
}

async function waitReady(name: string, child: Child, log: string, check: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + READY_MS_MAX;
  while (!(await check())) {
    if (!child.running || Date.now() > deadlineMs) {
      throw new Error(`${name} ${child.running ? 'is not ready' : 'has ended'}; ${await endOf(log)}`);
    }
    await sleep(READY_POLL_MS);
  }
}

async function endOf(log: string): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '');
  return `its log ends:\n${text.slice(-2000)}`;
}

/** Status 0 = there was no answer. */
async function answerOf(url: string, caFile: string): Promise<{ readonly status: number; readonly text: string }> {
  const none = { status: 0, text: '' };
  const ca = await readFile(caFile).catch(() => null);
  if (ca === null) return none;
  return new Promise((resolve) => {
    const options = { ca, headers: { authorization: `Bearer ${TOKEN}` }, agent: false, timeout: ANSWER_MS_MAX };
    const request = get(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', () => resolve(none));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(none));
  });
}
