import { DEFAULT_CALIBRATION, type Settings } from '../../twin/settings.ts';
import { NEWEST_KUBE_MINOR } from '../../twin/run.ts';
import { ObjectiveError, parseObjective } from '../../tune/objective.ts';
import { choice, integer, parsed, text, ValueError } from '../flags/flag-kinds.ts';
import { parseFlags, type CommandFlags, type OptionsOf } from '../flags/flag-table.ts';
import { BEYOND_UPSTREAM_FLAGS, CONNECTION_FLAGS, CONTROLLER_FLAGS } from '../flags/flags.ts';

const TUNING = {
  from: {
    kind: text('<recording or profile>'),
    default: 'load',
    help: 'what is played: a file that endpointd record has made, or a profile (load, rollout, flap, storm, crowd, huge)',
  },
  controller: {
    kind: choice('<name>', ['endpointd', 'kube-controller-manager']),
    default: 'endpointd',
    help: 'whose flags are chosen',
  },
  'kcm-version': {
    kind: integer(31, NEWEST_KUBE_MINOR),
    default: String(NEWEST_KUBE_MINOR),
    help: 'minor version of kube-controller-manager',
  },
  nodes: { kind: integer(1, 1_000_000), default: '100', help: 'how many nodes watch the slices' },
  'endpoints-watchers': { kind: integer(0, 1_000_000), default: '1', help: 'how many clients watch Endpoints' },
  objective: {
    kind: parsed('<text>', objective),
    default: 'p99(add)<=1s, min bytes',
    help: 'constraints and one goal over p50, p90, p99, p99.9, later, writes, bytes and cpu',
  },
  seed: { kind: integer(0, 0xffff_ffff), default: '1', help: 'the same seed gives the same answer' },
  cores: {
    kind: integer(1, 1024),
    default: String(DEFAULT_CALIBRATION.cores),
    help: 'cores of the machine; a calibration says its own',
  },
  calibration: {
    kind: text('<file>'),
    default: '',
    help: 'what API server and controller take, as --calibrate has written it; without it what was measured on two cores',
  },
  calibrate: {
    kind: text('<file>'),
    default: '',
    help: 'write what was fitted on the recording to this new file',
  },
  output: {
    kind: choice('<format>', ['text', 'json', 'html']),
    default: 'text',
    help: 'text for people, JSON, or a page',
    short: 'o',
  },
} as const;

/** Today's flags of the controller, as it has them. */
const TODAY = {
  'concurrent-endpoint-syncs': CONTROLLER_FLAGS['concurrent-endpoint-syncs'],
  'concurrent-service-endpoint-syncs': CONTROLLER_FLAGS['concurrent-service-endpoint-syncs'],
  'endpoint-updates-batch-period': CONTROLLER_FLAGS['endpoint-updates-batch-period'],
  'endpointslice-updates-batch-period': CONTROLLER_FLAGS['endpointslice-updates-batch-period'],
  'max-endpoints-per-slice': CONTROLLER_FLAGS['max-endpoints-per-slice'],
  'kube-api-qps': CONNECTION_FLAGS['kube-api-qps'],
  'kube-api-burst': CONNECTION_FLAGS['kube-api-burst'],
  'adaptive-batch-period-max': BEYOND_UPSTREAM_FLAGS['adaptive-batch-period-max'],
} as const;

export const TUNE_FLAGS = {
  command: 'endpointd tune',
  description:
    "Predicts what today's flags do on a recording or a profile, tries hundreds of others on it, and says which to set and how far the prediction was off. Asks no cluster.",
  groups: [
    { title: 'Tuning', flags: TUNING },
    { title: "Today's flags of the controller", flags: TODAY },
  ],
} as const satisfies CommandFlags;

export interface TuneOptions extends OptionsOf<typeof TUNING> {
  readonly today: Settings;
}

/**
 * Reads the arguments after `endpointd tune`.
 * @param print where `--help` goes
 * @throws UsageError or HelpShown
 */
export function parseTuneFlags(args: readonly string[], print: (text: string) => void): TuneOptions {
  const flags = parseFlags(TUNE_FLAGS, args, print) as OptionsOf<typeof TUNING & typeof TODAY>;
  const today = {
    endpointSyncs: flags.concurrentEndpointSyncs,
    serviceEndpointSyncs: flags.concurrentServiceEndpointSyncs,
    endpointsBatchMs: flags.endpointUpdatesBatchPeriodMs,
    slicesBatchMs: flags.endpointsliceUpdatesBatchPeriodMs,
    qps: flags.kubeApiQps,
    burst: flags.kubeApiBurst,
    endpointsPerSlice: flags.maxEndpointsPerSlice,
    adaptiveBatchMs: flags.adaptiveBatchPeriodMaxMs,
    controllers: 3,
  };
  return { ...flags, today };
}

function objective(said: string): ReturnType<typeof parseObjective> {
  try {
    return parseObjective(said);
  } catch (error) {
    if (error instanceof ObjectiveError) throw new ValueError(`${error.message}.`);
    throw error;
  }
}
