import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../twin/settings.ts';
import { NEWEST_KUBE_MINOR, OLDEST_KUBE_MINOR } from '../../twin/run.ts';
import { SETTING_FLAGS } from '../../tune/flag-lines.ts';
import { ObjectiveError, parseObjective } from '../../tune/objective.ts';
import { bool, choice, duration, integer, parsed, text, ValueError } from '../flags/flag-kinds.ts';
import { readFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { MONITOR_FLAGS, refuseMonitorFlags } from '../live/monitor.ts';
import { UsageError } from '../usage.ts';
import { BEYOND_UPSTREAM_FLAGS, BOUNDS_FLAGS, CONNECTION_FLAGS, CONTROLLER_FLAGS } from '../flags/flags.ts';

const TUNING = {
  from: {
    kind: text('<recording or profile>'),
    default: 'load',
    help: 'what is played: a file made by endpointd record, or a profile (load, rollout, flap, storm, crowd, huge)',
  },
  controller: {
    kind: choice('<name>', ['endpointd', 'kube-controller-manager']),
    default: 'endpointd',
    help: 'the controller whose flags are chosen',
  },
  'kcm-version': {
    kind: integer(OLDEST_KUBE_MINOR, NEWEST_KUBE_MINOR),
    default: String(NEWEST_KUBE_MINOR),
    help: 'minor version of kube-controller-manager; without it that of --controller-metrics, or the newest',
  },
  nodes: {
    kind: integer(1, 1_000_000),
    default: '100',
    help: 'how many nodes watch the slices; without it the watchers that --apiserver-metrics tells, or the nodes of the recording',
  },
  'endpoints-watchers': { kind: integer(0, 1_000_000), default: '1', help: 'how many clients watch Endpoints' },
  objective: {
    kind: parsed('<text>', objective),
    default: 'p99(add)<=1s, min bytes',
    help: 'limits and one goal over p50, p90, p99, p99.9, later, writes, bytes, cpu and apiserver-cpu',
  },
  seed: { kind: integer(0, 0xffff_ffff), default: '1', help: 'the same seed gives the same answer' },
  cores: {
    kind: integer(1, 1024),
    default: String(DEFAULT_CALIBRATION.cores),
    help: 'cores that the controller may compute on; without it those of the calibration, or of metrics',
  },
  calibration: {
    kind: text('<file>'),
    default: '',
    help: 'file with the times of API server and controller, as --calibrate writes it; a fit on a recording begins at them; without it, times that were measured on two cores',
  },
  calibrate: {
    kind: text('<file>'),
    default: '',
    help: 'write the times that the answer stands on, for a recording those that were fitted to it, and how unsure they are, to this new file; there is none where the answer says why nothing is recommended',
  },
  confirm: {
    kind: bool,
    default: 'false',
    help: "try the best three settings and today's for real, in turns, with an API server and the controller on this machine; KUBEBUILDER_ASSETS names the directory with kube-apiserver and kube-controller-manager",
  },
  'confirm-for': {
    kind: duration(2000),
    default: '30s',
    help: 'length of the part that each run of --confirm plays; the part with the most changes is chosen',
  },
  output: {
    kind: choice('<format>', ['text', 'json', 'html']),
    default: 'text',
    help: 'text for people, JSON, or a page',
    short: 'o',
  },
} as const;

/** Flags that make a prediction surer. */
const KNOWN = {
  configz: {
    kind: text('<file or url>'),
    default: '',
    help: "the controller's /configz with today's flags: a file, or an http or https URL; flags that are given here win",
  },
  'controller-metrics': {
    kind: parsed('<file,file>', scrapes),
    default: '',
    help: 'two files with /metrics of the controller, from the start and the end of the recording: they tell its API latency, CPU, cores and version',
  },
  'apiserver-metrics': {
    kind: parsed('<file,file>', scrapes),
    default: '',
    help: 'two files with /metrics of kube-apiserver, from the start and the end: they tell the latency of these writes, watchers and flow control',
  },
  ...MONITOR_FLAGS,
} as const;

/** Today's flags of the controller. */
const TODAY = {
  'concurrent-endpoint-syncs': CONTROLLER_FLAGS['concurrent-endpoint-syncs'],
  'concurrent-service-endpoint-syncs': CONTROLLER_FLAGS['concurrent-service-endpoint-syncs'],
  'endpoint-updates-batch-period': CONTROLLER_FLAGS['endpoint-updates-batch-period'],
  'endpointslice-updates-batch-period': CONTROLLER_FLAGS['endpointslice-updates-batch-period'],
  'max-endpoints-per-slice': CONTROLLER_FLAGS['max-endpoints-per-slice'],
  'kube-api-qps': {
    ...CONNECTION_FLAGS['kube-api-qps'],
    help: 'requests a second. endpointd: writes of Endpoints and slices, for each enabled controller, in one bucket for all of them. kube-controller-manager: all requests of each controller, which has a bucket of its own; the Event objects of these count too',
  },
  'kube-api-burst': CONNECTION_FLAGS['kube-api-burst'],
  'adaptive-batch-period-max': BEYOND_UPSTREAM_FLAGS['adaptive-batch-period-max'],
  'max-writes-in-flight': BOUNDS_FLAGS['max-writes-in-flight'],
} as const;

export const TUNE_FLAGS = {
  command: 'endpointd tune',
  description:
    "Plays a recording or a profile with a model of the controller: with today's flags, and with some 150 to 300 other settings. Says which flags to set, and how far the prediction was off. Asks nobody but --configz, where that is a URL.",
  groups: [
    { title: 'Tuning', flags: TUNING },
    { title: 'What is known beside the recording', flags: KNOWN },
    { title: "Today's flags of the controller", flags: TODAY },
  ],
} as const satisfies CommandFlags;

type TuningOptions = OptionsOf<typeof TUNING & typeof KNOWN>;

export interface TuneOptions extends TuningOptions {
  readonly today: Settings;
  /** Names of the flags that the command line has. */
  readonly given: ReadonlySet<string>;
}

/**
 * Reads the arguments after `endpointd tune`.
 * @param print where `--help` goes
 * @throws UsageError or HelpShown
 */
export function parseTuneFlags(args: readonly string[], print: (text: string) => void): TuneOptions {
  const { options, given } = readFlags(TUNE_FLAGS, args, print);
  const flags = options as TuningOptions & OptionsOf<typeof TODAY>;
  for (const { name, only = flags.controller } of Object.values(SETTING_FLAGS)) {
    if (given.has(name) && only !== flags.controller)
      throw new UsageError(`--${name} is a flag of ${only}: ${flags.controller} has none such.`);
  }
  if (given.has('kcm-version') && flags.controller !== 'kube-controller-manager')
    throw new UsageError('--kcm-version needs --controller=kube-controller-manager: else no version of it is played.');
  if (!isUrl(flags.configz)) refuseMonitorFlags(given, 'needs --configz with a URL: nothing else is asked for.');
  if (given.has('confirm-for') && !flags.confirm) {
    throw new UsageError('--confirm-for needs --confirm: else nothing is tried for real.');
  }
  const today = {
    endpointSyncs: flags.concurrentEndpointSyncs,
    serviceEndpointSyncs: flags.concurrentServiceEndpointSyncs,
    endpointsBatchMs: flags.endpointUpdatesBatchPeriodMs,
    slicesBatchMs: flags.endpointsliceUpdatesBatchPeriodMs,
    qps: flags.kubeApiQps,
    burst: flags.kubeApiBurst,
    endpointsPerSlice: flags.maxEndpointsPerSlice,
    adaptiveBatchMs: flags.adaptiveBatchPeriodMaxMs,
    inFlight: flags.maxWritesInFlight,
    controllers: DEFAULT_SETTINGS.controllers,
  };
  return { ...flags, today, given };
}

/** Whether `--configz` is an address, and no file. */
export function isUrl(configz: string): boolean {
  return /^https?:/.test(configz);
}

/** The names of two files; null = none are given. */
function scrapes(said: string): readonly [before: string, after: string] | null {
  if (said === '') return null;
  const [before = '', after = '', ...others] = said.split(',');
  if (before !== '' && after !== '' && others.length === 0) return [before, after];
  throw new ValueError('Allowed: two files, the earlier one first: before.txt,after.txt.');
}

function objective(said: string): ReturnType<typeof parseObjective> {
  try {
    return parseObjective(said);
  } catch (error) {
    if (error instanceof ObjectiveError) throw new ValueError(`${error.message}.`);
    throw error;
  }
}
