import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import process from 'node:process';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseFaultRule } from '../apiserver/fault-text.ts';
import { RESOURCES } from '../apiserver/resource.ts';
import { createApiClient } from '../node/api-client.ts';
import type { ApiClient, ApiRequest } from '../node/api-client.ts';
import { kubeconfigFor } from '../node/apiserver-http.ts';
import { startApiServerThread } from '../node/apiserver-thread.ts';
import { endNow } from '../node/end-process.ts';
import { FAULTS_PATH } from '../node/fault-gate.ts';
import { selfSigned } from '../node/self-signed.ts';
import type { TlsIdentity } from '../node/self-signed.ts';
import { onStopSignals } from '../node/signals.ts';
import { CHURN_MIXES, createChurn } from '../workload/churn.ts';
import { makeCluster } from '../workload/cluster.ts';
import type { Cluster } from '../workload/cluster.ts';
import { findProfile, PROFILES, type Profile } from '../workload/profile.ts';
import { createNodes, runChurn, runKubelets, runNamespaceController } from './cluster-life.ts';
import type { ClusterLife, NamespacedCollection } from './cluster-life.ts';
import { add, asText, bool, choice, duration, integer, number, parseWith } from './flag-values.ts';
import { runGarbageCollector } from './garbage-collector.ts';
import { loadCluster } from './load-cluster.ts';
import { sendThrough } from './send-through.ts';
import { starting, UsageError } from './usage.ts';

export interface ServeOptions {
  /** 0 = any free one. */
  readonly port: number;
  /** An address of this machine; all but loopback need `secure`. */
  readonly bindAddress: string;
  /** HTTPS with a certificate made for this run, and a bearer token. */
  readonly secure: boolean;
  /** Where the kubeconfig is written. */
  readonly kubeconfig: string;
  /** null = an empty cluster. */
  readonly profile: Profile | null;
  readonly seed: number;
  readonly watchList: boolean;
  /** Services may have addresses of both families. */
  readonly dualStack: boolean;
  /** Scheduler and kubelets run. */
  readonly life: boolean;
  /** So does a namespace controller. */
  readonly endNamespaces: boolean;
  /** So does a garbage collector of slices. */
  readonly collectGarbage: boolean;
  /** What a step of a pod takes on average. */
  readonly podStepMs: number;
  /** Nodes to create beside those of the profile. */
  readonly nodes: number;
  /** Changes of the profile's objects a second; 0 = none. */
  readonly churnRate: number;
  /** Fault rules as text. */
  readonly fault: readonly string[];
  readonly faultAdmin: boolean;
}

interface RawFlags extends Omit<ServeOptions, 'profile' | 'podStepMs'> {
  profile: string;
  podStep: number;
}

const EMPTY = 'none';
/** IPv4 first: a Service that says nothing gets one address of that family. */
export const DUAL_STACK_RANGES: readonly string[] = ['10.96.0.0/12', 'fd00:10:96::/112'];
const REQUESTS_AT_ONCE = 16;

/** `endpointd serve`: the embedded API server until a signal stops it. Gives the exit status. */
export async function serve(args: readonly string[]): Promise<number> {
  const options = parseServeFlags(args, (text) => process.stdout.write(text));
  const { port, bindAddress, kubeconfig, profile, seed, watchList, faultAdmin } = options;
  const access = options.secure ? secureAccess(bindAddress) : {};
  const stopped = new Promise<void>((stop) => onStopSignals(() => stop(), endNow));
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
  // Faults meet these requests as any other.
  const patient = { send: (request: ApiRequest) => sendThrough(client, request, new AbortController().signal) };
  const cluster = profile === null ? null : await fill(patient, profile, seed);
  await createNodes(patient, options.nodes);
  const lives = startLife(client, cluster, options);
  const text = kubeconfigFor(url, token ?? '', tls?.cert ?? '');
  await starting('write --kubeconfig', writeFile(kubeconfig, text, { mode: 0o600 }));
  process.stdout.write(`${text}# written to ${resolve(kubeconfig)}; serving at ${url} until Ctrl-C\n`);
  await Promise.race([stopped, ...lives.map(({ failed }) => failed)]);
  for (const life of lives) await life.stop();
  await client.close();
  await server.close();
  return 0;
}

interface SecureAccess {
  readonly tls?: TlsIdentity;
  readonly token?: string;
}

const CERTIFICATE_DAYS = 365;

function secureAccess(bindAddress: string): SecureAccess {
  const hosts = new Set(['localhost', '127.0.0.1', '::1', hostname(), bindAddress]);
  const tls = selfSigned({ hosts: [...hosts], nowMs: Date.now(), days: CERTIFICATE_DAYS });
  return { tls, token: randomBytes(24).toString('base64url') };
}

/** Where a client on this machine finds a server that listens on all addresses. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^127(\.[0-9]+){3}$/.test(address);
}

export function parseServeFlags(args: readonly string[], print: (text: string) => void): ServeOptions {
  const profiles = [EMPTY, ...PROFILES.map(({ name }) => name)];
  const command = new Command('endpointd serve')
    .description('The embedded API server alone, in memory; by default over plain HTTP on loopback.')
    .usage('[--flag=value ...]');
  add(command, '--port <n>', 'port to listen on; 0 is any free one', integer(0, 65_535), 0);
  add(command, '--bind-address <ip>', 'address to listen on; any but loopback needs --secure', address, '127.0.0.1');
  add(command, '--secure [bool]', 'HTTPS and a bearer token, both made anew and in the kubeconfig', bool, false);
  add(command, '--kubeconfig <path>', 'where the kubeconfig is written', asText, 'endpointd.kubeconfig');
  add(command, '--profile <name>', `cluster to fill it with: ${profiles.join(', ')}`, choice(profiles), EMPTY);
  add(command, '--seed <n>', 'the same seed makes the same cluster', integer(0, 2 ** 32 - 1), 1);
  add(command, '--life [bool]', 'schedule, start and end pods, as a cluster does', bool, true);
  const ends = 'empty and finalize deleted namespaces, as kube-controller-manager does where it runs';
  add(command, '--end-namespaces [bool]', ends, bool, true);
  const collects = 'delete slices whose Service or Endpoints is gone, as kube-controller-manager does where it runs';
  add(command, '--collect-garbage [bool]', collects, bool, true);
  add(command, '--pod-step <duration>', 'what each step of a pod takes on average', duration(0), 300, '300ms');
  add(command, '--nodes <n>', 'nodes to create beside those of the profile', integer(0, 5000), 3);
  add(command, '--churn-rate <n>', "changes of the profile's objects a second", number(0, 10_000), 0);
  add(command, '--dual-stack [bool]', 'Services can have addresses of both families', bool, false);
  add(command, '--watch-list [bool]', 'offer WatchList streaming', bool, true);
  command.optionsGroup('Faults on demand:');
  command.addOption(
    new Option('--fault <rule>', `a rule such as ${FAULT_EXAMPLE}; the first that fits a request decides; repeatable`)
      .argParser(faultRule)
      .default([], 'none'),
  );
  const admin = `rules can be read (GET), replaced (PUT, one a line) and ended (DELETE) at ${FAULTS_PATH} from this machine`;
  add(command, '--fault-admin [bool]', admin, bool, false);
  command.helpOption('-h, --help', 'this text');
  parseWith(command, args, print);
  const { podStep, profile, ...flags } = command.opts<RawFlags>();
  if (flags.churnRate > 0 && profile === EMPTY) {
    throw new UsageError('--churn-rate needs a --profile: only its objects are changed');
  }
  if (!flags.secure && !isLoopback(flags.bindAddress)) {
    throw new UsageError(
      `--bind-address=${flags.bindAddress} needs --secure: whoever reaches it could change everything`,
    );
  }
  return { ...flags, podStepMs: podStep, profile: profile === EMPTY ? null : findProfile(profile) };
}

function address(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError('It has to be an IP address.');
  return text;
}

const FAULT_EXAMPLE = 'verb=update,resource=endpoints,lose-reply=0.01,delay=exponential:50ms';

function faultRule(text: string, before: readonly string[]): readonly string[] {
  try {
    parseFaultRule(text);
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`);
  }
  return [...before, text];
}

async function fill(client: Pick<ApiClient, 'send'>, profile: Profile, seed: number): Promise<Cluster> {
  const cluster = makeCluster(profile, seed);
  let total = 0;
  await loadCluster(client, cluster, REQUESTS_AT_ONCE, (created) => (total = created));
  process.stderr.write(`profile ${profile.name}, seed ${seed}: ${total} objects created\n`);
  return cluster;
}

/** While the profile's pods change, that workload is their scheduler and kubelet as well. */
function startLife(client: ApiClient, cluster: Cluster | null, options: ServeOptions): readonly ClusterLife[] {
  const { seed, podStepMs, churnRate } = options;
  const churns = cluster !== null && churnRate > 0;
  const lives: ClusterLife[] = [];
  if (options.life) {
    const leftAlone = new Set(churns ? cluster.namespaces : []);
    lives.push(runKubelets(client, { seed, stepMs: podStepMs, leftAlone }));
  }
  if (options.endNamespaces) lives.push(runNamespaceController(client, namespacedCollections()));
  if (options.collectGarbage) lives.push(runGarbageCollector(client));
  if (churns) lives.push(runChurn(client, createChurn(cluster, CHURN_MIXES.steady, seed), churnRate));
  return lives;
}

/** Where a namespace's objects are: every namespaced resource that the embedded server has. */
export function namespacedCollections(): readonly NamespacedCollection[] {
  return RESOURCES.filter(({ namespaced }) => namespaced).map(({ apiVersion, group, name }) => ({
    root: group === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`,
    resource: name,
  }));
}
