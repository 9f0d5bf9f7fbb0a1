import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { ControllerOptions } from '../controller/options.ts';
import { enabledControllers } from './controllers.ts';
import { add, asText, bool, duration, integer, labelKey, number, or, parseWith, within } from './flag-values.ts';
import { UsageError } from './usage.ts';

/** What `endpointd run` is told. */
export interface RunOptions {
  readonly controller: ControllerOptions;
  /** Path of a kubeconfig; empty = none. */
  readonly kubeconfig: string;
  /** URL of the API server that overrides the kubeconfig's; empty = none. */
  readonly master: string;
  /** Worker threads; 0 = planners inline on the main thread. */
  readonly shards: number;
  /** Old generation of one shard's heap, MiB. */
  readonly shardHeapLimitMb: number;
  /** Where metrics and health are served; null = nowhere. */
  readonly metricsAddress: BindAddress | null;
  /** klog's `-v`. */
  readonly verbosity: number;
  readonly loggingFormat: 'text' | 'json';
}

export interface BindAddress {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
}

interface RawFlags {
  kubeconfig: string;
  master: string;
  controllers: string[];
  concurrentEndpointSyncs: number;
  endpointUpdatesBatchPeriod: number;
  concurrentServiceEndpointSyncs: number;
  endpointsliceUpdatesBatchPeriod: number;
  maxEndpointsPerSlice: number;
  compactSlices: boolean;
  mirroringConcurrentServiceEndpointSyncs: number;
  mirroringEndpointsliceUpdatesBatchPeriod: number;
  mirroringMaxEndpointsPerSubset: number;
  mirroringAllEndpoints: boolean;
  mirroringZones: boolean;
  cleanUpUnselected: boolean;
  optOutLabel: string;
  kubeletShutdownIsTermination: boolean;
  adaptiveBatchPeriodMax: number;
  kubeApiQps: number;
  kubeApiBurst: number;
  minResyncPeriod: number;
  v: number;
  loggingFormat: 'text' | 'json';
  metricsBindAddress: BindAddress | 'off';
  shards: number;
  shardHeapLimit: number;
  shardDeadline: number;
  maxBatchBytes: number;
  maxWritesInFlight: number;
  eventQueueSize: number;
  watchList: boolean;
  confirmMassRemoval: boolean;
  tolerateUnreadyEndpointsAnnotation: boolean;
}

/**
 * One core is the main thread's, the others plan; beyond four threads nothing is gained, since planning costs less than
 * the main thread's own share of a change. On one or two cores a thread costs more than it saves: 2,000 services of 5
 * pods from nothing took 2.2 to 2.7 s of CPU inline and 3.0 to 4.0 s with one thread, for the wake-ups of each batch.
 */
export function shardsDefault(cores: number): number {
  return cores <= 2 ? 0 : Math.min(cores - 1, 4);
}

/**
 * Reads the arguments after `endpointd run`.
 * @param print where `--help` goes
 * @throws UsageError or HelpShown
 */
export function parseRunFlags(args: readonly string[], print: (text: string) => void): RunOptions {
  const command = runCommand();
  parseWith(command, args, print);
  return toRunOptions(command.opts<RawFlags>());
}

function toRunOptions(flags: RawFlags): RunOptions {
  const enabled = enabledControllers(flags.controllers);
  if (!enabled.ok)
    throw new UsageError(`invalid argument "${flags.controllers.join(',')}" for --controllers: ${enabled.message}`);
  return {
    controller: {
      endpoints: enabled.names.has('endpoints-controller'),
      slices: enabled.names.has('endpointslice-controller'),
      mirroring: enabled.names.has('endpointslice-mirroring-controller'),
      concurrentEndpointSyncs: flags.concurrentEndpointSyncs,
      endpointUpdatesBatchPeriodMs: flags.endpointUpdatesBatchPeriod,
      concurrentServiceEndpointSyncs: flags.concurrentServiceEndpointSyncs,
      endpointSliceUpdatesBatchPeriodMs: flags.endpointsliceUpdatesBatchPeriod,
      endpointsPerSliceMax: flags.maxEndpointsPerSlice,
      compactSlices: flags.compactSlices,
      mirroringConcurrentSyncs: flags.mirroringConcurrentServiceEndpointSyncs,
      mirroringBatchPeriodMs: flags.mirroringEndpointsliceUpdatesBatchPeriod,
      mirroringEndpointsPerSubsetMax: flags.mirroringMaxEndpointsPerSubset,
      mirroringAll: flags.mirroringAllEndpoints,
      mirroringZones: flags.mirroringZones,
      cleanUpUnselected: flags.cleanUpUnselected,
      optOutLabel: flags.optOutLabel,
      kubeletEnds: flags.kubeletShutdownIsTermination,
      adaptiveBatchPeriodMsMax: flags.adaptiveBatchPeriodMax,
      kubeApiQps: flags.kubeApiQps,
      kubeApiBurst: flags.kubeApiBurst,
      minResyncPeriodMs: flags.minResyncPeriod,
      tolerateUnreadyAnnotation: flags.tolerateUnreadyEndpointsAnnotation,
      writesInFlightMax: flags.maxWritesInFlight,
      batchBytesMax: flags.maxBatchBytes,
      shardDeadlineMs: flags.shardDeadline,
      eventQueueMax: flags.eventQueueSize,
      watchList: flags.watchList,
      confirmMassRemoval: flags.confirmMassRemoval,
    },
    kubeconfig: flags.kubeconfig,
    master: flags.master,
    shards: flags.shards,
    shardHeapLimitMb: flags.shardHeapLimit,
    metricsAddress: flags.metricsBindAddress === 'off' ? null : flags.metricsBindAddress,
    verbosity: flags.v,
    loggingFormat: flags.loggingFormat,
  };
}

function runCommand(): Command {
  const command = new Command('endpointd run')
    .description(
      'Keeps the Endpoints and EndpointSlices of every Service right. Flags are those of kube-controller-manager where it has them.',
    )
    .usage('[--flag=value ...]');

  command.optionsGroup('Connection:');
  add(
    command,
    '--kubeconfig <path>',
    'kubeconfig with the address and credentials of the API server; without it and --master: in-cluster',
    asText,
    '',
  );
  add(command, '--master <url>', "address of the API server; overrides the kubeconfig's", url, '');
  add(
    command,
    '--kube-api-qps <number>',
    'requests a second to the API server, for each enabled controller; -1 = no limit',
    or(['-1'], -1, 'no limit', number(0.001, 1e6)),
    20,
  );
  add(
    command,
    '--kube-api-burst <n>',
    'requests that may be sent at once above --kube-api-qps, for each enabled controller',
    integer(1, 1e6),
    30,
  );
  add(
    command,
    '--watch-list [bool]',
    'stream the initial lists where the server can (WatchList), instead of paging',
    bool,
    true,
  );
  add(
    command,
    '--confirm-mass-removal [bool]',
    'when a list of pods or Services lacks those of more than half of all ready endpoints, and of more than 100, list both once more before anything is removed',
    bool,
    true,
  );

  command.optionsGroup('Controllers:');
  command.addOption(
    new Option('--controllers <list>', "comma separated names; '*' is all, 'name' enables, '-name' disables")
      .argParser((text: string, before: string[] | undefined) => [
        ...(before === DEFAULT_CONTROLLERS ? [] : (before ?? [])),
        ...text.split(','),
      ])
      .default(DEFAULT_CONTROLLERS, '*'),
  );
  add(
    command,
    '--concurrent-endpoint-syncs <n>',
    'services whose Endpoints are synced at the same time: from planning to the answer of the last write',
    integer(1, 10_000),
    5,
  );
  add(
    command,
    '--endpoint-updates-batch-period <duration>',
    'how long pod changes of a service are collected before its Endpoints are synced',
    duration(0),
    0,
    '0s',
  );
  sliceFlags(command);
  mirroringFlags(command);
  add(
    command,
    '--min-resync-period <duration>',
    'every service is planned again after once to twice this time; 0 = never',
    or(['0', '0s'], 0, 'never', duration(1000)),
    43_200_000,
    '12h',
  );
  add(
    command,
    '--tolerate-unready-endpoints-annotation [bool]',
    'honour service.alpha.kubernetes.io/tolerate-unready-endpoints, which upstream dropped in 1.24',
    bool,
    false,
  );

  beyondUpstreamFlags(command);

  command.optionsGroup('Shards and bounds:');
  add(
    command,
    '--shards <n>',
    'worker threads that plan; 0 plans on the main thread. The default is one less than the cores, at most 4; 0 on up to two cores',
    integer(0, 64),
    shardsDefault(availableParallelism()),
  );
  add(
    command,
    '--shard-heap-limit <MiB>',
    'old generation of the heap of one shard; a shard beyond it is replaced',
    integer(32, 65_536),
    512,
  );
  add(
    command,
    '--shard-deadline <duration>',
    'a shard that has not answered for this long is replaced',
    duration(100),
    30_000,
    '30s',
  );
  add(
    command,
    '--max-batch-bytes <n>',
    'most bytes handed to a shard at once; a service bigger than this is reported as stuck',
    integer(65_536, 2 ** 30),
    16 * 2 ** 20,
  );
  add(command, '--max-writes-in-flight <n>', 'most writes without an answer at a time', integer(1, 4096), 64);
  add(
    command,
    '--event-queue-size <n>',
    'most events waiting to be recorded; further ones are dropped and counted',
    integer(1, 1_000_000),
    1000,
  );

  command.optionsGroup('Observation:');
  add(
    command,
    '--metrics-bind-address <host:port>',
    "plain HTTP for /metrics, /healthz, /livez and /readyz; '0' turns it off",
    bindAddress,
    { host: '127.0.0.1', port: 10_267 },
    '127.0.0.1:10267',
  );
  add(
    command,
    '-v, --v <n>',
    'verbosity of the log: 0 = what an operator must know, 2 = each sync, 4 = each write',
    integer(0, 10),
    0,
  );
  command.addOption(
    new Option('--logging-format <format>', 'format of the log').choices(['text', 'json']).default('text'),
  );
  command.helpOption('-h, --help', 'this text');
  return command;
}

/** Names, defaults, ranges and the words of an error are upstream's (docs/spec/endpointslice.md "Flags"). */
function sliceFlags(command: Command): void {
  add(
    command,
    '--concurrent-service-endpoint-syncs <n>',
    'services whose EndpointSlices are synced at the same time',
    within('concurrent-service-endpoint-syncs', 1, 50),
    5,
  );
  add(
    command,
    '--endpointslice-updates-batch-period <duration>',
    'how long pod changes of a service are collected before its EndpointSlices are synced',
    duration(0),
    0,
    '0s',
  );
  add(
    command,
    '--max-endpoints-per-slice <n>',
    'most endpoints in one EndpointSlice',
    within('max-endpoints-per-slice', 1, 1000),
    100,
  );
}

function mirroringFlags(command: Command): void {
  add(
    command,
    '--mirroring-concurrent-service-endpoint-syncs <n>',
    'Endpoints mirrored at the same time',
    within('mirroring-concurrent-service-endpoint-syncs', 1, 50),
    5,
  );
  add(
    command,
    '--mirroring-endpointslice-updates-batch-period <duration>',
    'how long changes of mirrored EndpointSlices by others are collected before they are put right',
    duration(0),
    0,
    '0s',
  );
  add(
    command,
    '--mirroring-max-endpoints-per-subset <n>',
    'most addresses that are mirrored of one subset, both families together; further ones are left out',
    within('mirroring-max-endpoints-per-subset', 1, 1000),
    1000,
  );
  add(
    command,
    '--mirroring-all-endpoints [bool]',
    'mirror addresses above --mirroring-max-endpoints-per-subset into further slices, where upstream leaves them out',
    bool,
    false,
  );
  add(
    command,
    '--mirroring-zones [bool]',
    'mirrored endpoints have the zone of the node that their nodeName names, where upstream gives them none',
    bool,
    false,
  );
}

/** What users of upstream ask for and do not get: each changes what others may rely on, so none is on by itself. */
function beyondUpstreamFlags(command: Command): void {
  command.optionsGroup('Beyond upstream:');
  add(
    command,
    '--clean-up-unselected [bool]',
    'when a Service loses its selector or becomes an ExternalName, delete its EndpointSlices and Endpoints that are labelled as managed by these controllers, and do not mirror such Endpoints; without it they stay, as upstream',
    bool,
    false,
  );
  add(
    command,
    '--compact-slices [bool]',
    'merge EndpointSlices with the same ports when all their endpoints fit in half of them, a few at a time, in services whose pods have not changed for 10s; without it they stay half empty',
    bool,
    false,
  );
  add(
    command,
    '--adaptive-batch-period-max <duration>',
    'collect pod changes of a service for longer and longer, from 0s up to this, while they keep arriving no further apart than this; for Endpoints and EndpointSlices, where it is longer than their batch period',
    duration(0),
    0,
    '0s',
  );
  add(
    command,
    '--kubelet-shutdown-is-termination [bool]',
    'pods that their kubelet is ending (condition DisruptionTarget, reason TerminationByKubelet) count as terminating before they have a deletionTimestamp; without it they stay ready until their condition Ready changes',
    bool,
    false,
  );
  add(
    command,
    '--opt-out-label <key>',
    'leave Services alone that have this label, whatever its value: their objects are neither written nor deleted; empty = none',
    labelKey,
    '',
  );
}

/** Compared by identity: a first --controllers replaces the default, further ones add to it, as in upstream's flag. */
const DEFAULT_CONTROLLERS: string[] = ['*'];

function url(text: string): string {
  const withScheme = text.includes('://') ? text : `http://${text}`;
  const parsed = URL.canParse(withScheme) ? new URL(withScheme) : null;
  if (parsed !== null && (parsed.protocol === 'http:' || parsed.protocol === 'https:')) return withScheme;
  throw new InvalidArgumentError('Allowed: an http or https URL such as https://10.0.0.1:6443.');
}

/** `host:port`, `:port`, `[v6]:port`; `0` = off. */
function bindAddress(text: string): BindAddress | 'off' {
  if (text === '0' || text === '') return 'off';
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = match === null ? Number.NaN : Number(match[3]);
  if (match !== null && port <= 65_535) return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
  throw new InvalidArgumentError('Allowed: host:port, [IPv6]:port, :port for all addresses, or 0 for none.');
}
