import type { LeadershipOptions } from '../../controller/leader/leadership.ts';
import type { ControllerOptions, WhichControllers } from '../../controller/options.ts';
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
  WAIT_MS_MAX,
  within,
} from './flag-kinds.ts';
import { partOf, readFlags, type CommandFlags, type OptionsOf } from './flag-table.ts';
import { checkServing, SERVING, type ServingFlags } from './serving-flags.ts';
import { UsageError } from '../usage.ts';

export const CONNECTION_FLAGS = {
  kubeconfig: {
    kind: text('<path>'),
    default: '',
    help: 'kubeconfig with the address and credentials of the API server; without it and --master: in-cluster; credentials in it are read again when they change, its context and its server are those of the start',
  },
  master: {
    kind: parsed('<url>', url),
    default: '',
    help: "address of the API server; overrides the kubeconfig's; without a scheme it is https if the kubeconfig tells of certificates, else http",
  },
  'kube-api-qps': {
    kind: rate(number(0.001, 1e6), 5, 'no limit'),
    default: '20',
    help: 'writes of Endpoints and slices a second, for each enabled controller, in one bucket for all of them; reads, Event objects and the Lease take no token',
  },
  'kube-api-burst': {
    kind: rate(integer(1, 1e6), 10, null),
    default: '30',
    help: 'writes that may be sent at once after a quiet time, for each enabled controller',
  },
  'watch-list': {
    kind: bool,
    default: 'true',
    help: 'stream lists (WatchList); a server that cannot stream, or does not finish, is listed in pages, and each new list tries to stream again',
  },
  'confirm-mass-removal': {
    kind: bool,
    default: 'true',
    help: 'list pods, Services and nodes once more before anything is removed, if a list lacks those of more than half of all ready endpoints and of more than 100',
  },
} as const;

/**
 * Flags that kube-controller-manager has too. Names, defaults, ranges and error texts are kube-controller-manager's.
 */
export const CONTROLLER_FLAGS = {
  controllers: {
    kind: list('<list>'),
    default: '*',
    help: "comma separated names; '*' is all, 'name' enables, '-name' disables",
  },
  'concurrent-endpoint-syncs': {
    kind: integer(1, 10_000),
    default: '5',
    help: 'services whose Endpoints are synced at the same time: from planning to the answer of the last write; one namespace never has the last of several',
  },
  'endpoint-updates-batch-period': {
    kind: period(0, 0),
    default: '0s',
    help: 'how long pod changes of a service are collected before its Endpoints are synced',
  },
  'concurrent-service-endpoint-syncs': {
    kind: within('concurrent-service-endpoint-syncs', 1, 50),
    default: '5',
    help: 'services whose EndpointSlices are synced at the same time; one namespace never has the last of several',
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
    help: 'Endpoints mirrored at the same time; one namespace never has the last of several',
  },
  'mirroring-endpointslice-updates-batch-period': {
    kind: period(0, 0),
    default: '0s',
    help: 'how long changes of mirrored EndpointSlices by others are collected before the slices are put right',
  },
  'mirroring-max-endpoints-per-subset': {
    kind: within('mirroring-max-endpoints-per-subset', 1, 1000),
    default: '1000',
    help: 'the most addresses of one subset that are mirrored, both families together; the others are left out',
  },
  'min-resync-period': {
    kind: period(0, 1000),
    default: '12h',
    help: 'every service is planned again after a random time between once and twice this; 0 for never',
  },
} as const;

/** Names, defaults and rules are those of kube-controller-manager's flags. Only the name of the Lease differs. */
const LEADER_ELECTION = {
  'leader-elect': {
    kind: bool,
    default: 'true',
    help: 'write only while holding a Lease; one of several processes with the same Lease writes, the others stand by',
  },
  'leader-elect-lease-duration': {
    kind: duration(2000),
    default: '15s',
    help: 'how long a standby waits after the last renewal that it saw; whole seconds',
  },
  'leader-elect-renew-deadline': {
    kind: duration(1),
    default: '10s',
    help: 'how long the holder writes after it sent its last confirmed renewal',
  },
  'leader-elect-retry-period': {
    kind: duration(1),
    default: '2s',
    help: 'time between two renewals, and between two tries of a standby that cannot watch the Lease',
  },
  'leader-elect-resource-lock': {
    kind: choice('<kind>', ['leases']),
    default: 'leases',
    help: 'kind of the object that serves as the lock',
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
    help: 'take-over without a gap: hold the Lease, but write nothing while the controller of this name in managedFields, such as kube-controller-manager, still writes',
  },
  'take-over-after': {
    kind: duration(1000),
    default: '30s',
    help: 'this process begins to write when a write was due for so long and that controller has written nothing meanwhile',
  },
  standby: {
    kind: choice('<kind>', ['warm', 'cold']),
    default: 'warm',
    help: 'warm: a standby keeps its caches and plans up to date, and takes over at once; cold: a standby costs nothing, and lists when it takes over',
  },
} as const;

export const BOUNDS_FLAGS = {
  shards: {
    kind: integer(0, 64),
    default: '0',
    help: 'worker threads that plan; 0 plans on the main thread',
  },
  'shard-heap-limit': {
    kind: mebibytes(32, 65_536),
    default: '512',
    help: 'MiB of the old generation in the heap of one of these threads; one that needs more is replaced',
  },
  'shard-deadline': {
    kind: duration(100),
    default: '30s',
    help: 'one of these threads that has not answered for this long is replaced',
  },
  'max-batch-bytes': {
    kind: integer(65_536, 2 ** 30),
    default: '16777216',
    help: 'the most bytes of one batch for a shard; a service that needs more is reported as stuck',
  },
  'max-writes-in-flight': {
    kind: integer(1, 4096),
    default: '64',
    help: 'the most writes that wait for an answer at a time; one namespace has at most seven eighths of them',
  },
  'event-queue-size': {
    kind: integer(1, 1_000_000),
    default: '1000',
    help: 'the most Event objects that wait to be sent; further ones are dropped and counted',
  },
} as const;

const OBSERVATION = {
  'journal-size': {
    kind: integer(0, 100_000),
    default: '4096',
    help: 'how many of the last changes are kept, with where they spent their time, for /debug/endpointd and `explain`; 0 = none',
  },
  trace: {
    kind: text('<path>'),
    default: '',
    help: 'file to write a trace of the first --trace-for to, in the format of Chrome tracing and Perfetto',
  },
  'trace-for': {
    kind: duration(100, WAIT_MS_MAX),
    default: '30s',
    help: 'how long to trace; the file is written at the end of this time, or when endpointd stops earlier',
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

/**
 * Capabilities that users of upstream ask for and that upstream lacks. Each changes what others may rely on, so none is
 * on by default.
 */
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
    help: 'merge EndpointSlices with the same ports if all their endpoints fit in half as many slices; a few at a time, and only in services whose pods have not changed for 10s; without it slices stay half empty',
    costs:
      'every proxy reads a write of the slice that takes endpoints in and a delete of each slice that goes; more slices again when the service grows',
  },
  'clean-up-unselected': {
    kind: bool,
    default: 'false',
    help: 'when a Service loses its selector or becomes an ExternalName, delete those of its EndpointSlices and Endpoints that are labelled as managed by these controllers, and do not mirror these Endpoints; without it they stay, as upstream',
    costs: 'somebody who removed the selector to keep the endpoints as they were finds them gone',
  },
  'opt-out-label': {
    kind: parsed('<key>', labelKey),
    default: '',
    help: 'neither write nor delete the objects of Services that have this label, whatever its value',
    costs: 'the objects of these Services are right only if somebody else keeps them right',
  },
  'adaptive-batch-period-max': {
    kind: duration(0),
    default: '0s',
    help: 'collect, for longer and longer up to this time, the pods of a service that become ready no further apart than this; the first pod after a pause does not wait, and neither does a pod that goes; works for Endpoints and EndpointSlices whose batch period is shorter',
    costs: 'the last pod of a roll-out shows later, by up to this time',
  },
  'kubelet-shutdown-is-termination': {
    kind: bool,
    default: 'false',
    help: 'pods that their kubelet terminates (condition DisruptionTarget, reason TerminationByKubelet) count as terminating although they have no deletionTimestamp yet; without it they stay ready until their condition Ready changes',
    costs: 'these pods leave the ready endpoints some seconds before their readiness changes',
  },
  'tolerate-unready-endpoints-annotation': {
    kind: bool,
    default: 'false',
    help: 'honour service.alpha.kubernetes.io/tolerate-unready-endpoints, which upstream dropped in 1.24',
    costs: 'Services that still have it publish pods that are not ready, in Endpoints and slices',
  },
} as const;

/** The API server's address: flags of every command that reads a cluster. */
export const SERVER_FLAGS = { kubeconfig: CONNECTION_FLAGS.kubeconfig, master: CONNECTION_FLAGS.master } as const;

/** The flags of `run` that decide what is planned. */
export const PLANNING_FLAGS = {
  controllers: CONTROLLER_FLAGS.controllers,
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
    'Keeps the Endpoints and EndpointSlices of every Service right. Where kube-controller-manager has a flag, its name, default and meaning are the same here.',
  groups: [
    { title: 'Connection', flags: CONNECTION_FLAGS },
    { title: 'Controllers', flags: CONTROLLER_FLAGS },
    { title: 'Leader election', flags: LEADER_ELECTION },
    { title: 'Shards and bounds', flags: BOUNDS_FLAGS },
    { title: 'Serving', flags: SERVING },
    { title: 'Observation', flags: OBSERVATION },
    { title: 'Beyond upstream', flags: BEYOND_UPSTREAM_FLAGS },
  ],
} as const satisfies CommandFlags;

type RunFlags = OptionsOf<
  typeof CONNECTION_FLAGS &
    typeof CONTROLLER_FLAGS &
    typeof LEADER_ELECTION &
    typeof BOUNDS_FLAGS &
    typeof SERVING &
    typeof OBSERVATION &
    typeof BEYOND_UPSTREAM_FLAGS
>;

/** The options of `endpointd run`, by the names of its flags. */
export interface RunOptions extends Pick<
  RunFlags,
  'kubeconfig' | 'master' | 'shards' | 'shardHeapLimitMb' | 'trace' | 'traceForMs' | 'v' | 'loggingFormat'
> {
  readonly controller: ControllerOptions;
  readonly serving: ServingFlags;
  /** The text of each flag's value by the flag's name. */
  readonly flagTexts: Readonly<Record<string, string>>;
  /** Names and patterns of `--controllers`. */
  readonly controllers: readonly string[];
  /** Flags of kube-controller-manager without a meaning here, with their dashes. */
  readonly ignoredFlags: readonly string[];
  /** null = the process writes without a Lease. */
  readonly election: Omit<LeadershipOptions, 'identity'> | null;
}

export const VERIFICATION = {
  output: {
    kind: choice('<format>', ['text', 'json', 'html']),
    default: 'text',
    help: 'text, JSON with all differences, or one self-contained HTML page',
    short: 'o',
  },
  watch: {
    kind: duration(0),
    default: '0s',
    help: 'go on for so long after the first look; what a running controller has put right by then does not count',
  },
  timeout: {
    kind: duration(1000),
    default: '1m',
    help: 'give up if for so long no list came further than ever before and, once all is listed, nothing was planned; or if at the end second looks have read nothing for so long',
  },
} as const;

const VERIFY_FLAGS = {
  command: 'endpointd verify',
  description:
    'Says what endpointd with these flags would write into a cluster. Writes nothing. Takes the flags of endpointd run. Exit status: 0 = it would write nothing, 1 = something, 2 = could not tell.',
  groups: [{ title: 'Verification', flags: VERIFICATION }, ...RUN_FLAGS.groups],
} as const satisfies CommandFlags;

/** The options of `endpointd verify`, by the names of its flags. */
export interface VerifyOptions extends RunOptions {
  readonly output: 'text' | 'json' | 'html';
  readonly watchMs: number;
  readonly timeoutMs: number;
}

/**
 * Reads the arguments after `endpointd verify`.
 * @param print takes the text of `--help`
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
    'Asks the API server whether the user of the kubeconfig has all rights that endpointd needs with these flags. Takes the flags of endpointd run. Exit status: 0 = the user has them, 1 = rights are missing, 2 = could not tell.',
  groups: [{ title: 'Output', flags: RIGHTS_CHECK }, ...RUN_FLAGS.groups],
} as const satisfies CommandFlags;

/** The options of `endpointd check-rights`, by the names of its flags. */
export interface CheckRightsOptions extends RunOptions {
  readonly output: 'text' | 'json';
}

/**
 * Reads the arguments after `endpointd check-rights`.
 * @param print takes the text of `--help`
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
 * @param print takes the text of `--help`
 * @throws UsageError or HelpShown
 */
export function parseRunFlags(args: readonly string[], print: (text: string) => void): RunOptions {
  const { args: own, ignored } = takeForeignFlags(args, RUN_FLAGS.groups);
  const { options, texts } = readFlags(RUN_FLAGS, own, print);
  return runOptions(options as RunFlags, texts, ignored);
}

function runOptions(flags: RunFlags, flagTexts: RunOptions['flagTexts'], ignoredFlags: readonly string[]): RunOptions {
  const [serving, besideServing] = partOf(SERVING, flags);
  checkServing(serving);
  const [electing, others] = partOf(LEADER_ELECTION, besideServing);
  const { kubeconfig, master, shards, shardHeapLimitMb, trace, traceForMs, v, loggingFormat, controllers, ...rest } =
    others;
  const election = electionOf(electing);
  const controller = {
    ...rest,
    ...runningControllers(controllers),
    // Where the loop can look at a deadline, a planner on its own thread does not hang.
    shardDeadlineMs: shards === 0 ? Infinity : rest.shardDeadlineMs,
  };
  const observation = { trace, traceForMs, v, loggingFormat };
  const said = { flagTexts, controllers, ignoredFlags };
  return { controller, election, serving, kubeconfig, master, shards, shardHeapLimitMb, ...observation, ...said };
}

/** @throws UsageError */
export function runningControllers(controllers: readonly string[]): WhichControllers {
  const enabled = enabledControllers(controllers);
  if (enabled.ok) return enabled.options;
  throw new UsageError(`invalid argument "${controllers.join(',')}" for --controllers: ${enabled.message}`);
}

/** Checks the three times by client-go's rules (docs/spec/wire.md "Leases") and one more. @throws UsageError */
function electionOf(flags: OptionsOf<typeof LEADER_ELECTION>): RunOptions['election'] {
  const { takeOverFrom: from, takeOverAfterMs: afterMs } = flags;
  if (!flags.leaderElect) {
    if (from === '') return null;
    throw new UsageError('--take-over-from needs --leader-elect: the Lease remembers that the take-over is done');
  }
  const takeOver = from === '' ? null : { from, afterMs };
  // The Lease has whole seconds, so others wait for so long.
  const leaseDurationMs = Math.floor(flags.leaderElectLeaseDurationMs / 1000) * 1000;
  const renewDeadlineMs = flags.leaderElectRenewDeadlineMs;
  const retryPeriodMs = flags.leaderElectRetryPeriodMs;
  if (leaseDurationMs <= renewDeadlineMs) {
    throw new UsageError('--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline');
  }
  if (renewDeadlineMs <= retryPeriodMs * 1.2) {
    throw new UsageError('--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period');
  }
  // The last second of a Lease is the time of its last write (`fencedBy`). The rest lasts until a renewal is answered.
  if (leaseDurationMs - 1000 <= retryPeriodMs * 1.2) {
    throw new UsageError(
      '--leader-elect-lease-duration must be more than 1s longer than 1.2 times --leader-elect-retry-period',
    );
  }
  const namespace = flags.leaderElectResourceNamespace;
  const name = flags.leaderElectResourceName;
  return { namespace, name, leaseDurationMs, renewDeadlineMs, retryPeriodMs, standby: flags.standby, takeOver };
}

/** Refuses the Lease of kube-controller-manager: who holds it stops all controllers of kube-controller-manager. */
function leaseName(said: string): string {
  if (said === 'kube-controller-manager') {
    throw new ValueError(
      'The Lease kube-controller-manager is not allowed: who holds it stops all controllers of kube-controller-manager.',
    );
  }
  if (/^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(said)) return said;
  throw new ValueError('Allowed: the name of a Lease, such as endpointd.');
}

function url(said: string): string {
  if (said === '') return '';
  const withScheme = said.includes('://') ? said : `http://${said}`;
  const parts = URL.canParse(withScheme) ? new URL(withScheme) : null;
  if (parts !== null && (parts.protocol === 'http:' || parts.protocol === 'https:')) return said;
  throw new ValueError('Allowed: an http or https URL such as https://10.0.0.1:6443.');
}

/** The key of a label, perhaps with a prefix (`example.com/name`), or ''. */
function labelKey(said: string): string {
  if (said === '' || LABEL_KEY.test(said)) return said;
  throw new ValueError('Allowed: the key of a label, such as example.com/endpoints-by, or nothing.');
}

const LABEL_KEY =
  /^(?:(?=[^/]{1,253}\/)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?(?=.{1,63}$)[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;
