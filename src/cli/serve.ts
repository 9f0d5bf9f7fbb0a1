/** `endpointd serve`: the embedded API server as a command. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import process from 'node:process';
import { parseFaultRule } from '../apiserver/fault-text.ts';
import { RESOURCES } from '../apiserver/resource.ts';
import { createApiClient, type ApiClient } from '../node/api-client.ts';
import { kubeconfigFor } from '../node/apiserver-http.ts';
import { startApiServerThread } from '../node/apiserver-thread.ts';
import { endNow } from '../node/end-process.ts';
import { FAULTS_PATH } from '../node/fault-gate.ts';
import { selfSigned, type TlsIdentity } from '../node/self-signed.ts';
import { onStopSignals } from '../node/signals.ts';
import { CHURN_MIXES, createChurn } from '../workload/churn.ts';
import { makeCluster, type Cluster } from '../workload/cluster.ts';
import { findProfile, PROFILES, type Profile } from '../workload/profile.ts';
import {
  createNodes,
  runChurn,
  runKubelets,
  runNamespaceController,
  type ClusterLife,
  type NamespacedCollection,
} from '../testbed/cluster-life.ts';
import {
  bool,
  choice,
  duration,
  integer,
  list,
  number,
  parsed,
  text,
  ValueError,
  WAIT_MS_MAX,
  type Kind,
} from './flags/flag-kinds.ts';
import { parseFlags, type CommandFlags, type OptionsOf } from './flags/flag-table.ts';
import { runGarbageCollector } from '../testbed/garbage-collector.ts';
import { loadCluster } from '../testbed/load-cluster.ts';
import { sendThrough } from '../testbed/send-through.ts';
import { starting, UsageError } from './usage.ts';

const EMPTY = 'none';
/** IPv4 comes first: a Service that names no family gets one IPv4 address. */
export const DUAL_STACK_RANGES: readonly string[] = ['10.96.0.0/12', 'fd00:10:96::/112'];
const REQUESTS_AT_ONCE = 16;

/** Fault rules as text. */
const faultRules: Kind<readonly string[]> = {
  ...list('<rule>'),
  parse(said) {
    if (said === '') return [];
    try {
      parseFaultRule(said);
    } catch (error) {
      throw new ValueError(`${(error as Error).message}.`);
    }
    return [said];
  },
};

/** `endpointd serve`: the embedded API server, until a signal stops it. Returns the exit status. */
export async function serve(args: readonly string[]): Promise<number> {
  const options = parseServeFlags(args, (text) => process.stdout.write(text));
  const { port, bindAddress, kubeconfig, profile, seed, watchList, faultAdmin } = options;
  const access = options.secure ? secureAccess(bindAddress) : {};
  await checkReplaceable(kubeconfig);
  const stopping = new AbortController();
  const stopped = once(stopping.signal, 'abort');
  onStopSignals(() => stopping.abort(), endNow);
  const server = await starting(
    `serve on port ${port}`,
    startApiServerThread({
      port,
      host: bindAddress,
      seed,
      watchList,
      faults: options.fault,
      faultAdmin,
      serviceClusterIPRanges: options.dualStack ? DUAL_STACK_RANGES : DUAL_STACK_RANGES.slice(0, 1),
      ...access,
    }),
  );
  const url = reachable(server.url);
  const { tls, token } = access;
  const client = createApiClient(
    { url, ...(tls === undefined ? {} : { ca: tls.cert }), ...(token === undefined ? {} : { token }) },
    REQUESTS_AT_ONCE,
  );
  const lives: ClusterLife[] = [];
  const live = async (): Promise<void> => {
    const patient = sendingThrough(client, stopping.signal);
    const cluster = profile === null ? null : await fill(patient, profile, seed);
    await createNodes(patient, options.nodes);
    lives.push(...startLife(client, cluster, options));
    const config = kubeconfigFor(url, token ?? '', tls?.cert ?? '');
    await writeKubeconfig(kubeconfig, MARK + config);
    process.stdout.write(`${config}# written to ${resolve(kubeconfig)}; serving at ${url} until Ctrl-C\n`);
    await Promise.race(lives.map(({ failed }) => failed));
  };
  try {
    await Promise.race([stopped, starting('go on', server.failed), live()]);
  } finally {
    for (const life of lives) await life.stop();
    await client.close();
    await server.close();
  }
  return 0;
}

/**
 * Faults apply to the requests that fill the server too, so they are sent again until they pass. Rejects once the signal
 * is aborted.
 */
function sendingThrough(client: ApiClient, signal: AbortSignal): Pick<ApiClient, 'send'> {
  return {
    async send(request) {
      await sendThrough(client, request, signal);
      signal.throwIfAborted();
    },
  };
}

interface SecureAccess {
  readonly tls?: TlsIdentity;
  readonly token?: string;
}

const CERTIFICATE_DAYS = 365;

function secureAccess(bindAddress: string): SecureAccess {
  const hosts = new Set(['localhost', '127.0.0.1', '::1', hostname(), bindAddress]);
  const tls = selfSigned({ name: 'endpointd serve', hosts: [...hosts], nowMs: Date.now(), days: CERTIFICATE_DAYS });
  return { tls, token: randomBytes(24).toString('base64url') };
}

/** The first line of each kubeconfig that is written here: a file without it may be somebody else's. */
const MARK = '# made by `endpointd serve`, which replaces this file at its next start\n';

/** @throws UsageError if the file may be somebody else's, or StartError if it cannot be read */
async function checkReplaceable(path: string): Promise<void> {
  if (!(await isFile(path))) return;
  const text = await starting('read --kubeconfig', readFile(path, 'utf8'));
  if (text === '' || text.startsWith(MARK)) return;
  throw new UsageError(
    `--kubeconfig=${path} has no first line of endpointd serve, which would replace it. Remove it, or name another path.`,
  );
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() ?? false;
}

/** @throws UsageError or StartError */
async function writeKubeconfig(path: string, config: string): Promise<void> {
  // While the server was filled, somebody may have written it.
  await checkReplaceable(path);
  const isOther = existsSync(path) && !(await isFile(path));
  // A device or a pipe is written to. A file is replaced: an old one would keep its mode.
  await starting('write --kubeconfig', isOther ? writeFile(path, config) : replaceFile(path, config));
}

async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(fresh, text, { mode: 0o600, flag: 'wx' });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** The address at which a client on this machine finds a server that listens on all addresses. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^127(\.[0-9]+){3}$/.test(address);
}

const FAULT_EXAMPLE = 'verb=update,resource=endpoints,lose-reply=0.01,delay=exponential:50ms';

const SERVE_FLAGS = {
  port: { kind: integer(0, 65_535), default: '0', help: 'port to listen on; 0 = any free port' },
  'bind-address': {
    kind: parsed('<ip>', address),
    default: '127.0.0.1',
    help: 'address to listen on; an address other than loopback needs --secure',
  },
  secure: {
    kind: bool,
    default: 'false',
    help: 'HTTPS and a bearer token; each start makes new ones and writes them into the kubeconfig',
  },
  kubeconfig: {
    kind: text('<path>'),
    default: 'endpointd.kubeconfig',
    help: 'where the kubeconfig is written; a file that serve has not made is left alone',
  },
  profile: {
    kind: choice('<name>', [EMPTY, ...PROFILES.map(({ name }) => name)]),
    default: EMPTY,
    help: 'cluster to fill the server with',
  },
  seed: { kind: integer(0, 2 ** 32 - 1), default: '1', help: 'the same seed gives the same cluster' },
  life: { kind: bool, default: 'true', help: 'schedule, start and end pods, as a cluster does' },
  'end-namespaces': {
    kind: bool,
    default: 'true',
    help: 'empty and finalize deleted namespaces, as kube-controller-manager does where it runs',
  },
  'collect-garbage': {
    kind: bool,
    default: 'true',
    help: 'delete slices whose Service or Endpoints is gone, as kube-controller-manager does where it runs',
  },
  'pod-step': {
    // A step takes up to half as long again.
    kind: duration(0, WAIT_MS_MAX / 1.5),
    default: '300ms',
    help: 'how long each step of a pod takes on average',
  },
  nodes: { kind: integer(0, 5000), default: '3', help: "nodes to create in addition to the profile's" },
  'churn-rate': { kind: number(0, 10_000), default: '0', help: "changes of the profile's objects a second" },
  'dual-stack': {
    kind: bool,
    default: 'false',
    help: 'Services can have addresses of both families, and new pods have them',
  },
  'watch-list': { kind: bool, default: 'true', help: 'offer WatchList streaming' },
} as const;

const FAULT_FLAGS = {
  fault: {
    kind: faultRules,
    default: '',
    help: `a rule such as ${FAULT_EXAMPLE}; the first rule that fits a request decides; may be repeated`,
  },
  'fault-admin': {
    kind: bool,
    default: 'false',
    help: `rules can be read (GET), replaced (PUT, one a line) and ended (DELETE) at ${FAULTS_PATH} from this machine`,
  },
} as const;

export const SERVE_COMMAND: CommandFlags = {
  command: 'endpointd serve',
  description:
    'Runs the embedded API server alone. It keeps everything in memory, and serves plain HTTP on loopback by default.',
  groups: [
    { title: '', flags: SERVE_FLAGS },
    { title: 'Faults on demand', flags: FAULT_FLAGS },
  ],
};

type ServeFlags = OptionsOf<typeof SERVE_FLAGS & typeof FAULT_FLAGS>;

export interface ServeOptions extends Omit<ServeFlags, 'profile'> {
  /** null = an empty cluster. */
  readonly profile: Profile | null;
}

/** @throws UsageError or HelpShown */
export function parseServeFlags(args: readonly string[], print: (text: string) => void): ServeOptions {
  const { profile, ...flags } = parseFlags(SERVE_COMMAND, args, print) as ServeFlags;
  if (flags.churnRate > 0 && profile === EMPTY) {
    throw new UsageError('--churn-rate needs a --profile: only the objects of a profile are changed');
  }
  if (!flags.secure && !isLoopback(flags.bindAddress)) {
    throw new UsageError(
      `--bind-address=${flags.bindAddress} needs --secure: everybody who reaches the address could change everything`,
    );
  }
  return { ...flags, profile: profile === EMPTY ? null : findProfile(profile) };
}

function address(said: string): string {
  if (isIP(said) === 0) throw new ValueError('Allowed: an IP address.');
  return said;
}

async function fill(client: Pick<ApiClient, 'send'>, profile: Profile, seed: number): Promise<Cluster> {
  const cluster = makeCluster(profile, seed);
  let total = 0;
  await loadCluster(client, cluster, REQUESTS_AT_ONCE, (created) => (total = created));
  process.stderr.write(`profile ${profile.name}, seed ${seed}: ${total} objects created\n`);
  return cluster;
}

/** With churn, the workload itself is the scheduler and kubelet of the profile's pods. */
function startLife(client: ApiClient, cluster: Cluster | null, options: ServeOptions): readonly ClusterLife[] {
  const { seed, podStepMs, churnRate, dualStack } = options;
  const churns = cluster !== null && churnRate > 0;
  const lives: ClusterLife[] = [];
  if (options.life) {
    const leftAlone = new Set(churns ? cluster.namespaces : []);
    lives.push(runKubelets(client, { seed, stepMs: podStepMs, leftAlone, dualStack }));
  }
  if (options.endNamespaces) lives.push(runNamespaceController(client, namespacedCollections()));
  if (options.collectGarbage) lives.push(runGarbageCollector(client));
  if (churns) lives.push(runChurn(client, createChurn(cluster, CHURN_MIXES.steady, seed), churnRate));
  return lives;
}

/** The collections in which a namespace has objects: every namespaced resource of the embedded server. */
export function namespacedCollections(): readonly NamespacedCollection[] {
  return RESOURCES.filter(({ namespaced }) => namespaced).map(({ apiVersion, group, name }) => ({
    root: group === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`,
    resource: name,
  }));
}
