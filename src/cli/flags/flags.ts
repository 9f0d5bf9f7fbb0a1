import { availableParallelism } from 'node:os';
import type { LeadershipOptions } from '../../controller/leader/leadership.ts';
import type { ControllerOptions } from '../../controller/options.ts';
import { enabledControllers } from './controllers.ts';
import { takeForeignFlags } from './drop-in.ts';
import {
  bool,
  choice,
  duration,
  integer,
  list,
  mebibytes,
  number,
  period,
  rate,
  parsed,
  text,
  ValueError,
  within,
} from './flag-kinds.ts';
import { partOf, readFlags, type CommandFlags, type OptionsOf } from './flag-table.ts';
import { checkServing, SERVING, type ServingFlags } from './serving-flags.ts';
import { UsageError } from '../usage.ts';

/**
 * A thread has to warm up for itself and is woken for each batch, so it saves nothing where services are small: 800 services
 * of 5 pods from nothing take 1.40 s of CPU inline, 1.97 s with one thread and 2.38 s with two, of it on the main thread
 * 0.85, 0.94 and 1.01 s. A snapshot of 250 pods costs the main thread 0.4 instead of 2.3 ms. So where there are cores to spare
 * one thread plans, and does so beside all that the main thread does; more of them are for who asks.
 */
export function shardsDefault(cores: number): number {
  return cores <= 2 ? 0 : 1;
}

export const CONNECTION_FLAGS = {
  kubeconfig: {
    kind: text('<path>'),
    default: '',
    help: 'kubeconfig with the address and credentials of the API server; without it and --master: in-cluster',
  },
  master: {
    kind: parsed('<url>', url),
    default: '',
    help: "address of the API server; overrides the kubeconfig's",
  },
  'kube-api-qps': {
    kind: rate(number(0.001, 1e6), 5, 'no limit'),
    default: '20',
    help: 'requests a second to the API server, for each enabled controller, in one bucket for all of them',
  },
  'kube-api-burst': {
    kind: rate(integer(1, 1e6), 10, null),
    default: '30',
    help: 'requests that may be sent at once above --kube-api-qps, for each enabled controller',
  },
  'watch-list': {
    kind: bool,
    default: 'true',
    help: 'stream lists where the server can (WatchList); one that cannot, or does not finish, is listed in pages, and asked again with the next list',
  },
  'confirm-mass-removal': {
    kind: bool,
    default: 'true',
    help: 'when a list of pods or Services lacks those of more than half of all ready endpoints, and of more than 100, list both once more before anything is removed',
  },
} as const;

/** Of flags that kube-controller-manager has, the names, defaults, ranges and the words of an error are its own. */
export const CONTROLLER_FLAGS = {
  controllers: {
    kind: list('<list>'),
    default: '*',
    help: "comma separated names; '*' is all, 'name' enables, '-name' disables",
  },
  'concurrent-endpoint-syncs': {
    kind: integer(1, 10_000),
    default: '5',
    help: 'services whose Endpoints are synced at the same time: from planning to the answer of the last write',
  },
  'endpoint-updates-batch-period': {
    kind: period(0, 0),
    default: '0s',
    help: 'how long pod changes of a service are collected before its Endpoints are synced',
  },
  'concurrent-service-endpoint-syncs': {
    kind: within('concurrent-service-endpoint-syncs', 1, 50),
    default: '5',
    help: 'services whose EndpointSlices are synced at the same time',
  },
  'endpointslice-updates-batch-period': {
    kind: period(0, 0),
    default: '0s',
    help: 'how long pod changes of a service are collected before its EndpointSlices are synced',
  },
  'max-endpoints-per-slice': {
    kind: within('max-endpoints-per-slice', 1, 1000),
    default: '100',
    help: 'most endpoints in one EndpointSlice',
  },
  'mirroring-concurrent-service-endpoint-syncs': {
    kind: within('mirroring-concurrent-service-endpoint-syncs', 1, 50),
    default: '5',
    help: 'Endpoints mirrored at the same time',
  },
  'mirroring-endpointslice-updates-batch-period': {
    kind: period(0, 0),
    default: '0s',
    help: 'how long changes of mirrored EndpointSlices by others are collected before they are put right',
  },
  'mirroring-max-endpoints-per-subset': {
    kind: within('mirroring-max-endpoints-per-subset', 1, 1000),
    default: '1000',
    help: 'most addresses that are mirrored of one subset, both families together; further ones are left out',
  },
  'min-resync-period': {
    kind: period(0, 1000),
    default: '12h',
    help: 'every service is planned again after once to twice this time; 0 for never',
  },
} as const;

/** Names, defaults and rules as of kube-controller-manager's flags, but for the name of the Lease. */
const LEADER_ELECTION = {
  'leader-elect': {
    kind: bool,
    default: 'true',
    help: 'write only while holding a Lease; of several processes with the same Lease one writes, the others stand by',
  },
  'leader-elect-lease-duration': {
    kind: duration(1000),
    default: '15s',
    help: 'how long others wait after the last renewal that they saw; whole seconds',
  },
  'leader-elect-renew-deadline': {
    kind: duration(1),
    default: '10s',
    help: 'how long the holder writes after it sent its last confirmed renewal',
  },
  'leader-elect-retry-period': {
    kind: duration(1),
    default: '2s',
    help: 'time between two renewals, and between two tries of one that stands by and cannot watch the Lease',
  },
  'leader-elect-resource-lock': {
    kind: choice('<kind>', ['leases']),
    default: 'leases',
    help: 'kind of the object that is held',
  },
  'leader-elect-resource-name': {
    kind: parsed('<name>', leaseName),
    default: 'endpointd',
    help: 'name of the Lease; processes that run different --controllers need different ones',
  },
  'leader-elect-resource-namespace': {
    kind: text('<namespace>'),
    default: 'kube-system',
    help: 'namespace of the Lease',
  },
  'take-over-from': {
    kind: text('<manager>'),
    default: '',
    help: 'hold the Lease but write nothing while this controller, such as kube-controller-manager, still writes: it is known by its name in managedFields. Set it for a hand-over without a gap',
  },
  'take-over-after': {
    kind: duration(1000),
    default: '30s',
    help: 'how long something must have been due, and that controller must have written nothing, until this process begins',
  },
  standby: {
    kind: choice('<kind>', ['warm', 'cold']),
    default: 'warm',
    help: 'warm: who does not hold the Lease keeps its caches and plans up to date, and takes over at once; cold: it lists when it takes over, and costs nothing until then',
  },
} as const;

const SHARDS = {
  shards: {
    kind: integer(0, 64),
    default: String(shardsDefault(availableParallelism())),
    defaultInWords: '1; 0 on up to two cores',
    help: 'worker threads that plan; 0 plans on the main thread',
  },
  'shard-heap-limit': {
    kind: mebibytes(32, 65_536),
    default: '512',
    help: 'MiB of the old generation of the heap of one shard; a shard beyond it is replaced',
  },
  'shard-deadline': {
    kind: duration(100),
    default: '30s',
    help: 'a shard that has not answered for this long is replaced',
  },
  'max-batch-bytes': {
    kind: integer(65_536, 2 ** 30),
    default: '16777216',
    help: 'most bytes handed to a shard at once; a service bigger than this is reported as stuck',
  },
  'max-writes-in-flight': {
    kind: integer(1, 4096),
    default: '64',
    help: 'most writes without an answer at a time',
  },
  'event-queue-size': {
    kind: integer(1, 1_000_000),
    default: '1000',
    help: 'most events waiting to be recorded; further ones are dropped and counted',
  },
} as const;

const OBSERVATION = {
  'journal-size': {
    kind: integer(0, 100_000),
    default: '4096',
    help: 'last changes of which is kept where their time went, for /debug/endpointd and `explain`; 0 turns it off',
  },
  trace: {
    kind: text('<path>'),
    default: '',
    help: 'file to write a trace of the first --trace-for to, in the format of Chrome tracing and Perfetto',
  },
  'trace-for': {
    kind: duration(100),
    default: '30s',
    help: 'how long to trace; the file is written then, or when endpointd stops before',
  },
  v: {
    kind: integer(0, 100),
    default: '0',
    help: 'verbosity of the log: 0 = what an operator must know, 2 = each sync, 4 = each write',
    short: 'v',
  },
  'logging-format': {
    kind: choice('<format>', ['text', 'json']),
    default: 'text',
    help: 'format of the log: text as klog writes it, or JSON',
  },
} as const;

/** What users of upstream ask for and do not get: each changes what others may rely on, so none is on by itself. */
export const BEYOND_UPSTREAM_FLAGS = {
  'mirroring-all-endpoints': {
    kind: bool,
    default: 'false',
    help: 'mirror addresses above --mirroring-max-endpoints-per-subset into further slices, where upstream leaves them out',
    costs: 'more slices for every proxy to read',
  },
  'mirroring-zones': {
    kind: bool,
    default: 'false',
    help: 'mirrored endpoints have the zone of the node that their nodeName names, where upstream gives them none',
    costs: 'nodes are watched for mirroring too; going back takes the zones away, one write a slice',
  },
  'compact-slices': {
    kind: bool,
    default: 'false',
    help: 'merge EndpointSlices with the same ports when all their endpoints fit in half of them, a few at a time, in services whose pods have not changed for 10s; without it they stay half empty',
    costs:
      'a write of the slice that takes them in and a delete for each that goes, for every proxy to read; more slices again when the service grows',
  },
  'clean-up-unselected': {
    kind: bool,
    default: 'false',
    help: 'when a Service loses its selector or becomes an ExternalName, delete its EndpointSlices and Endpoints that are labelled as managed by these controllers, and do not mirror such Endpoints; without it they stay, as upstream',
    costs: 'who took the selector away to keep the endpoints as they were finds them gone',
  },
  'opt-out-label': {
    kind: parsed('<key>', labelKey),
    default: '',
    help: 'leave Services alone that have this label, whatever its value: their objects are neither written nor deleted',
    costs: 'nobody else keeps their objects right, unless somebody does',
  },
  'adaptive-batch-period-max': {
    kind: duration(0),
    default: '0s',
    help: 'collect pod changes of a service for longer and longer, from 0s up to this, while they keep arriving no further apart than this; for Endpoints and EndpointSlices, where it is longer than their batch period',
    costs: 'the last change of a roll-out shows up to so much later',
  },
  'kubelet-shutdown-is-termination': {
    kind: bool,
    default: 'false',
    help: 'pods that their kubelet is ending (condition DisruptionTarget, reason TerminationByKubelet) count as terminating before they have a deletionTimestamp; without it they stay ready until their condition Ready changes',
    costs: 'they leave the ready endpoints some seconds before their readiness says so',
  },
  'tolerate-unready-endpoints-annotation': {
    kind: bool,
    default: 'false',
    help: 'honour service.alpha.kubernetes.io/tolerate-unready-endpoints, which upstream dropped in 1.24',
    costs: 'Services that still carry it publish pods that are not ready, as Endpoints and slices',
  },
} as const;

/** Where the API server is: what every command says that reads a cluster. */
export const SERVER_FLAGS = { kubeconfig: CONNECTION_FLAGS.kubeconfig, master: CONNECTION_FLAGS.master } as const;

/** What of the flags of `run` decides what is planned. */
export const PLANNING_FLAGS = {
  'max-endpoints-per-slice': CONTROLLER_FLAGS['max-endpoints-per-slice'],
  'mirroring-max-endpoints-per-subset': CONTROLLER_FLAGS['mirroring-max-endpoints-per-subset'],
  'mirroring-all-endpoints': BEYOND_UPSTREAM_FLAGS['mirroring-all-endpoints'],
  'compact-slices': BEYOND_UPSTREAM_FLAGS['compact-slices'],
  'clean-up-unselected': BEYOND_UPSTREAM_FLAGS['clean-up-unselected'],
  'opt-out-label': BEYOND_UPSTREAM_FLAGS['opt-out-label'],
  'kubelet-shutdown-is-termination': BEYOND_UPSTREAM_FLAGS['kubelet-shutdown-is-termination'],
  'tolerate-unready-endpoints-annotation': BEYOND_UPSTREAM_FLAGS['tolerate-unready-endpoints-annotation'],
} as const;

export const RUN_FLAGS = {
  command: 'endpointd run',
  description:
    'Keeps the Endpoints and EndpointSlices of every Service right. Flags are those of kube-controller-manager where it has them.',
  groups: [
    { title: 'Connection', flags: CONNECTION_FLAGS },
    { title: 'Controllers', flags: CONTROLLER_FLAGS },
    { title: 'Leader election', flags: LEADER_ELECTION },
    { title: 'Shards and bounds', flags: SHARDS },
    { title: 'Serving', flags: SERVING },
    { title: 'Observation', flags: OBSERVATION },
    { title: 'Beyond upstream', flags: BEYOND_UPSTREAM_FLAGS },
  ],
} as const satisfies CommandFlags;

type RunFlags = OptionsOf<
  typeof CONNECTION_FLAGS &
    typeof CONTROLLER_FLAGS &
    typeof LEADER_ELECTION &
    typeof SHARDS &
    typeof SERVING &
    typeof OBSERVATION &
    typeof BEYOND_UPSTREAM_FLAGS
>;

/** What `endpointd run` is told, by the names of its flags. */
export interface RunOptions extends Pick<
  RunFlags,
  'kubeconfig' | 'master' | 'shards' | 'shardHeapLimitMb' | 'trace' | 'traceForMs' | 'v' | 'loggingFormat'
> {
  readonly controller: ControllerOptions;
  readonly serving: ServingFlags;
  /** The value of each flag, in the words of the command line. */
  readonly flagTexts: Readonly<Record<string, string>>;
  /** Names and patterns of `--controllers`. */
  readonly controllers: readonly string[];
  /** Flags of kube-controller-manager that have no meaning here, with their dashes. */
  readonly ignoredFlags: readonly string[];
  /** null = the process writes without asking anybody. */
  readonly election: Omit<LeadershipOptions, 'identity'> | null;
}

export const VERIFICATION = {
  output: {
    kind: choice('<format>', ['text', 'json', 'html']),
    default: 'text',
    help: 'the report as text, as JSON with all differences, or as one HTML page that asks nobody for anything',
    short: 'o',
  },
  watch: {
    kind: duration(0),
    default: '0s',
    help: 'go on for so long after the first look, beside a controller that runs: what has come right by the end does not count',
  },
  timeout: {
    kind: duration(1000),
    default: '1m',
    help: 'give up when nothing more has been listed or planned for so long',
  },
} as const;

const VERIFY_FLAGS = {
  command: 'endpointd verify',
  description:
    'Says what endpointd with these flags would write into a cluster, without writing anything. Takes the flags of endpointd run. Exit status: 0 = nothing, 1 = something, 2 = could not tell.',
  groups: [{ title: 'Verification', flags: VERIFICATION }, ...RUN_FLAGS.groups],
} as const satisfies CommandFlags;

/** What `endpointd verify` is told, by the names of its flags. */
export interface VerifyOptions extends RunOptions {
  readonly output: 'text' | 'json' | 'html';
  readonly watchMs: number;
  readonly timeoutMs: number;
}

/**
 * Reads the arguments after `endpointd verify`.
 * @param print where `--help` goes
 * @throws UsageError or HelpShown
 */
export function parseVerifyFlags(args: readonly string[], print: (text: string) => void): VerifyOptions {
  const { args: own, ignored } = takeForeignFlags(args, VERIFY_FLAGS.groups);
  const { options, texts } = readFlags(VERIFY_FLAGS, own, print);
  const { output, watchMs, timeoutMs, ...flags } = options as RunFlags & OptionsOf<typeof VERIFICATION>;
  return { ...runOptions(flags, texts, ignored), output, watchMs, timeoutMs };
}

const RIGHTS_CHECK = {
  output: {
    kind: choice('<format>', ['text', 'json']),
    default: 'text',
    help: 'a table for people, or JSON',
    short: 'o',
  },
} as const;

const CHECK_RIGHTS_FLAGS = {
  command: 'endpointd check-rights',
  description:
    'Asks the API server whether endpointd, as whom the kubeconfig says, may do all that these flags need. Takes the flags of endpointd run. Exit status: 0 = it may, 1 = rights are missing, 2 = could not tell.',
  groups: [{ title: 'Output', flags: RIGHTS_CHECK }, ...RUN_FLAGS.groups],
} as const satisfies CommandFlags;

/** What `endpointd check-rights` is told, by the names of its flags. */
export interface CheckRightsOptions extends RunOptions {
  readonly output: 'text' | 'json';
}

/**
 * Reads the arguments after `endpointd check-rights`.
 * @param print where `--help` goes
 * @throws UsageError or HelpShown
 */
export function parseCheckRightsFlags(args: readonly string[], print: (text: string) => void): CheckRightsOptions {
  const { args: own, ignored } = takeForeignFlags(args, CHECK_RIGHTS_FLAGS.groups);
  const { options, texts } = readFlags(CHECK_RIGHTS_FLAGS, own, print);
  const { output, ...flags } = options as RunFlags & OptionsOf<typeof RIGHTS_CHECK>;
  return { ...runOptions(flags, texts, ignored), output };
}

/**
 * Reads the arguments after `endpointd run`.
 * @param print where `--help` goes
 * @throws UsageError or HelpShown
 */
export function parseRunFlags(args: readonly string[], print: (text: string) => void): RunOptions {
  const { args: own, ignored } = takeForeignFlags(args, RUN_FLAGS.groups);
  const { options, texts } = readFlags(RUN_FLAGS, own, print);
  return runOptions(options as RunFlags, texts, ignored);
}

function runOptions(flags: RunFlags, flagTexts: RunOptions['flagTexts'], ignoredFlags: readonly string[]): RunOptions {
  const [serving, others] = partOf(SERVING, flags);
  checkServing(serving);
  const {
    kubeconfig,
    master,
    shards,
    shardHeapLimitMb,
    trace,
    traceForMs,
    v,
    loggingFormat,
    controllers,
    leaderElect,
    leaderElectLeaseDurationMs,
    leaderElectRenewDeadlineMs,
    leaderElectRetryPeriodMs,
    leaderElectResourceLock,
    leaderElectResourceName,
    leaderElectResourceNamespace,
    takeOverFrom,
    takeOverAfterMs,
    standby,
    ...rest
  } = others;
  const election = electionOf({
    leaderElect,
    leaderElectLeaseDurationMs,
    leaderElectRenewDeadlineMs,
    leaderElectRetryPeriodMs,
    leaderElectResourceLock,
    leaderElectResourceName,
    leaderElectResourceNamespace,
    takeOverFrom,
    takeOverAfterMs,
    standby,
  });
  const enabled = enabledControllers(controllers);
  if (!enabled.ok)
    throw new UsageError(`invalid argument "${controllers.join(',')}" for --controllers: ${enabled.message}`);
  const controller = {
    ...rest,
    ...enabled.options,
  };
  const observation = { trace, traceForMs, v, loggingFormat };
  const said = { flagTexts, controllers, ignoredFlags };
  return { controller, election, serving, kubeconfig, master, shards, shardHeapLimitMb, ...observation, ...said };
}

/** By client-go's rules for the three times (docs/spec/wire.md "Leases"). @throws UsageError */
function electionOf(flags: OptionsOf<typeof LEADER_ELECTION>): RunOptions['election'] {
  const { takeOverFrom: from, takeOverAfterMs: afterMs } = flags;
  if (!flags.leaderElect) {
    if (from === '') return null;
    throw new UsageError('--take-over-from needs --leader-elect: the Lease remembers that the hand-over is done');
  }
  const takeOver = from === '' ? null : { from, afterMs };
  const leaseDurationMs = flags.leaderElectLeaseDurationMs;
  const renewDeadlineMs = flags.leaderElectRenewDeadlineMs;
  const retryPeriodMs = flags.leaderElectRetryPeriodMs;
  if (leaseDurationMs <= renewDeadlineMs) {
    throw new UsageError('--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline');
  }
  if (renewDeadlineMs <= retryPeriodMs * 1.2) {
    throw new UsageError('--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period');
  }
  const namespace = flags.leaderElectResourceNamespace;
  const name = flags.leaderElectResourceName;
  return { namespace, name, leaseDurationMs, renewDeadlineMs, retryPeriodMs, standby: flags.standby, takeOver };
}

/** The Lease of kube-controller-manager is not to be held: it would stop all its other controllers. */
function leaseName(said: string): string {
  if (said === 'kube-controller-manager') {
    throw new ValueError('That is the Lease of kube-controller-manager: who holds it stops all its controllers.');
  }
  if (/^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(said)) return said;
  throw new ValueError('Allowed: the name of a Lease, such as endpointd.');
}

function url(said: string): string {
  if (said === '') return '';
  const withScheme = said.includes('://') ? said : `http://${said}`;
  const parts = URL.canParse(withScheme) ? new URL(withScheme) : null;
  if (parts !== null && (parts.protocol === 'http:' || parts.protocol === 'https:')) return withScheme;
  throw new ValueError('Allowed: an http or https URL such as https://10.0.0.1:6443.');
}

/** The key of a label, perhaps with a prefix (`example.com/name`), or nothing. */
function labelKey(said: string): string {
  if (said === '' || LABEL_KEY.test(said)) return said;
  throw new ValueError('Allowed: the key of a label, such as example.com/endpoints-by, or nothing.');
}

const LABEL_KEY =
  /^(?:(?=[^/]{1,253}\/)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?(?=.{1,63}$)[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;
