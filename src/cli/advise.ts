/** `endpointd advise`: tells from two looks at their metrics what slows the endpoints controllers down. */
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { observe, type Observation, type Own } from '../advise/observation.ts';
import { adviseOn, type Advice, SYNCS_FLAGS } from '../advise/rules.ts';
import { printable } from '../lib/printable.ts';
import { type QueueName, QUEUES, SYNCS_MOST } from '../metrics/program-of.ts';
import { parseMetrics, type Metrics } from '../metrics/text.ts';
import { type Monitor, MonitorError } from '../node/monitor-client.ts';
import { writeReport } from '../node/output.ts';
import { ConfigzError, type Limits, parseLimits } from '../tune/configz.ts';
import { choice, duration, integer, number, parsed, text, WAIT_MS_MAX, within } from './flags/flag-kinds.ts';
import { CONNECTION_FLAGS } from './flags/flags.ts';
import { readFlags, type CommandFlags, type OptionsOf } from './flags/flag-table.ts';
import { MONITOR_FLAGS, monitorOf, monitorUrl, refuseMonitorFlags } from './live/monitor.ts';
import { textTable } from './text-table.ts';
import { StartError, starting, UsageError } from './usage.ts';

const LOOKS = {
  source: {
    kind: parsed('<url>', monitorUrl),
    default: 'https://127.0.0.1:10257',
    help: 'address of kube-controller-manager or endpointd, whose /metrics is read twice',
  },
  ...MONITOR_FLAGS,
  before: { kind: text('<path>'), default: '', help: 'file with the first look at /metrics, in place of --source' },
  after: { kind: text('<path>'), default: '', help: 'file with the second look' },
  interval: {
    kind: duration(1000, WAIT_MS_MAX),
    default: '30s',
    help: 'time between the two looks; two files need it',
  },
} as const;

const STARTED_WITH = 'the value with which the controller was started; without it what /configz of --source says';

const QPS = CONNECTION_FLAGS['kube-api-qps'].kind;

const SETTINGS = {
  'concurrent-endpoint-syncs': { kind: integer(1, 10_000), default: '5', help: STARTED_WITH },
  'concurrent-service-endpoint-syncs': {
    kind: within('concurrent-service-endpoint-syncs', 1, 50),
    default: '5',
    help: STARTED_WITH,
  },
  'mirroring-concurrent-service-endpoint-syncs': {
    kind: within('mirroring-concurrent-service-endpoint-syncs', 1, 50),
    default: '5',
    help: STARTED_WITH,
  },
  'kube-api-qps': {
    kind: { ...QPS, parse: (said: string): number | null => (said === '' ? null : QPS.parse(said)) },
    default: '',
    help: 'the value with which the controller was started; without it what /configz of --source says, and else how often tokens can have run out is not known',
  },
  'max-writes-in-flight': { kind: integer(1, 4096), default: '64', help: `endpointd's; ${STARTED_WITH}` },
  cores: {
    kind: number(0, 4096),
    default: '0',
    help: "cores that the process may use: its container's CPU limit, such as 0.5, if it has one; 0 = the number in its metrics, which is 2 for any smaller limit, and before Kubernetes 1.35 the node's whatever the limit",
  },
} as const;

const OUTPUT = {
  output: { kind: choice('<format>', ['text', 'json']), default: 'text', help: 'how to print the advice', short: 'o' },
} as const;

export const ADVISE_FLAGS = {
  command: 'endpointd advise',
  description:
    'Reads the metrics of a running kube-controller-manager or endpointd twice. Says what slows its endpoints controllers down and which flag would help, or that the metrics do not show it.',
  groups: [
    { title: 'Looks', flags: LOOKS },
    { title: 'Flags with which the controller was started', flags: SETTINGS },
    { title: 'Output', flags: OUTPUT },
  ],
} as const satisfies CommandFlags;

interface AdviseOptions extends OptionsOf<typeof LOOKS & typeof SETTINGS & typeof OUTPUT> {
  /** Names of the flags that the command line has. */
  readonly given: ReadonlySet<string>;
}

/** Reads the arguments after `endpointd advise`. @throws UsageError or HelpShown */
export function parseAdviseFlags(args: readonly string[], print: (text: string) => void): AdviseOptions {
  const { options: read, given } = readFlags(ADVISE_FLAGS, args, print);
  const options = { ...(read as Omit<AdviseOptions, 'given'>), given };
  if ((options.before === '') !== (options.after === '')) {
    throw new UsageError('--before and --after need each other. Allowed: both, or neither.');
  }
  if (options.before !== '') {
    const why = 'is for an address, and --before and --after are files. Allowed: one or the other.';
    refuseMonitorFlags(given, why, ['source']);
  }
  // A file does not say when it was taken, and every figure is a share of that time.
  if (options.before !== '' && !given.has('interval')) {
    throw new UsageError('--before and --after need --interval. Allowed: the time between the two looks.');
  }
  return options;
}

/** What no metric of the program shows. */
function caveatsOf({ program, hasPodQueue, hidesCpuLimit }: Observation, advice: readonly Advice[]): string[] {
  return [
    ...(advice.some(({ verdict, flag }) => verdict === 'syncs' && flag !== '')
      ? [
          'More syncs at the same time help as long as the API server stays as fast: writes that wait in its flow control, or for etcd, look the same here. Its apiserver_flowcontrol_request_wait_duration_seconds and etcd_request_duration_seconds tell them apart.',
        ]
      : []),
    'No metric has the batch period: it comes on top.',
    ...(hidesCpuLimit
      ? [
          'Metrics of kube-controller-manager before 1.35 do not show a CPU limit of its container: if it has one, give it with --cores, or a lack of CPU is not seen.',
        ]
      : []),
    ...(hasPodQueue
      ? ['kube-controller-manager has no metrics of the queue of pods, which comes before these queues.']
      : []),
    'The waits of writes for tokens and their latencies are those of all controllers of the process together.',
    ...(program === 'kube-controller-manager'
      ? [
          'workqueue_retries_total counts every delayed add of kube-controller-manager, so failures are not told from changes of pods.',
        ]
      : []),
  ];
}

/** Returns the exit status. */
export async function advise(args: readonly string[]): Promise<number> {
  const options = parseAdviseFlags(args, (said) => process.stdout.write(said));
  const { before, after, seconds, config } = await looksOf(options);
  const syncs = syncsOf(options, config);
  const inFlight = writesInFlightOf(options, config);
  const cores = options.cores === 0 ? null : options.cores;
  const observed = observe(before, after, seconds, {
    syncs: mapSyncs((name) => syncs[name].count),
    cores,
    qps: mapSyncs(() => options.kubeApiQps ?? ('why' in config ? null : config.qps)),
    writesInFlightMax: inFlight.count,
  });
  if (!observed.ok) throw new StartError(`cannot advise: ${observed.why}`);
  const { observation } = observed;
  const advice = adviseOn(observation);
  const syncsFrom = Object.fromEntries(observation.queues.map(({ name }) => [name, syncs[name].from]));
  const caveats = [
    ...(Object.values(syncsFrom).includes(ASSUMED) ? [assumedCaveat(config)] : []),
    ...(observation.own !== null && inFlight.from === ASSUMED ? [inFlightCaveat(inFlight.count)] : []),
    ...caveatsOf(observation, advice),
  ];
  const report =
    options.output === 'json'
      ? `${JSON.stringify({ observation, syncsFrom, advice, caveats }, null, 2)}\n`
      : textOf(observation, syncsFrom, advice, caveats);
  await starting('write the advice', writeReport(process.stdout, report));
  return 0;
}

const ASSUMED = 'not given: assumed';

/** How many syncs a controller may have at the same time, or writes without an answer, and who says so. */
interface Limit {
  readonly count: number;
  readonly from: 'given' | '/configz' | typeof ASSUMED;
}

function writesInFlightOf({ given, maxWritesInFlight }: AdviseOptions, config: Config): Limit {
  if (given.has('max-writes-in-flight')) return { count: maxWritesInFlight, from: 'given' };
  const told = 'why' in config ? null : config.writesInFlight;
  return told === null ? { count: maxWritesInFlight, from: ASSUMED } : { count: told, from: '/configz' };
}

function syncsOf(options: AdviseOptions, config: Config): Readonly<Record<QueueName, Limit>> {
  const flags = {
    endpoint: ['concurrent-endpoint-syncs', options.concurrentEndpointSyncs],
    endpoint_slice: ['concurrent-service-endpoint-syncs', options.concurrentServiceEndpointSyncs],
    endpoint_slice_mirroring: [
      'mirroring-concurrent-service-endpoint-syncs',
      options.mirroringConcurrentServiceEndpointSyncs,
    ],
  } as const;
  return mapSyncs((name) => {
    const [flag, count] = flags[name];
    if (options.given.has(flag)) return { count, from: 'given' };
    return 'why' in config ? { count, from: ASSUMED } : { count: config.syncs[name], from: '/configz' };
  });
}

function mapSyncs<T>(of: (name: QueueName) => T): Record<QueueName, T> {
  return Object.fromEntries(QUEUES.map((name) => [name, of(name)])) as Record<QueueName, T>;
}

/** What `/configz` tells, or why it does not. */
type Config = Limits | { readonly why: string };

function assumedCaveat(config: Config): string {
  const why = 'why' in config ? config.why : '';
  return `The syncs that the controllers were started with are assumed where no flag gives them: ${why}. With more of them, fewer are busy than it seems.`;
}

function inFlightCaveat(count: number): string {
  return `Endpointd's --max-writes-in-flight is assumed to be ${count}, because neither a flag nor /configz gives it. With fewer, syncs may wait for a place where none seems to be taken.`;
}

interface Looks {
  readonly before: Metrics;
  readonly after: Metrics;
  readonly seconds: number;
  readonly config: Config;
}

/** @throws StartError */
async function looksOf(options: AdviseOptions): Promise<Looks> {
  const { before, after, intervalMs } = options;
  if (before !== '') {
    const [first, second] = [await readLook(before), await readLook(after)];
    return {
      before: first,
      after: second,
      seconds: intervalMs / 1000,
      config: { why: 'files of metrics do not tell them' },
    };
  }
  const monitor = await monitorOf(options.source.replace(/\/metrics\/?$/, ''), options);
  try {
    const first = parseMetrics(await monitor.get('/metrics'));
    const secondsSince = startWatch();
    const config = await configOf(monitor);
    process.stderr.write(`the second look is in ${intervalMs / 1000} s\n`);
    await sleep(intervalMs);
    const second = parseMetrics(await monitor.get('/metrics'));
    return { before: first, after: second, seconds: secondsSince(), config };
  } catch (error) {
    if (error instanceof MonitorError) throw new StartError(printable(error.message), { cause: error });
    throw error;
  } finally {
    await monitor.close();
  }
}

/** More than a leap second. */
const CLOCKS_APART_MS_MAX = 1500;

/**
 * Counts seconds by both clocks. The monotonic one of Linux stands still while the machine sleeps, and the process that
 * is looked at goes on. The other one may be set.
 */
function startWatch(): () => number {
  const from = { ms: performance.now(), wallMs: Date.now() };
  return () => {
    const ms = performance.now() - from.ms;
    const wallMs = Date.now() - from.wallMs;
    if (Math.abs(wallMs - ms) <= CLOCKS_APART_MS_MAX) return ms / 1000;
    const [seconds, wallSeconds] = [ms, wallMs].map((one) => (one / 1000).toFixed(0));
    throw new StartError(
      `cannot advise: between the looks this machine slept, or its clock was set: they are ${seconds} s apart by one of its clocks, and ${wallSeconds} s by the other. Look again.`,
    );
  };
}

/** A look tells much without it, so whatever it answers is no error. */
async function configOf(monitor: Monitor): Promise<Config> {
  try {
    return parseLimits(await monitor.get('/configz'));
  } catch (error) {
    if (error instanceof MonitorError) return { why: printable(error.message) };
    if (error instanceof ConfigzError) return { why: `/configz: ${printable(error.message)}` };
    throw error;
  }
}

async function readLook(path: string): Promise<Metrics> {
  return parseMetrics(await starting(`read ${path}`, readFile(path, 'utf8')));
}

function textOf(
  observation: Observation,
  syncsFrom: Readonly<Record<string, Limit['from']>>,
  advice: readonly Advice[],
  caveats: readonly string[],
): string {
  const { program, seconds, queues, cpu, cores, apiSeconds, throttled, own } = observation;
  const head = ['QUEUE', 'SYNCS', 'BUSY', 'OF', 'WAITING', 'A KEY WAITS', 'A SYNC TAKES'];
  const rows = queues.map(({ name, syncs, busy, syncsMax, waiting, waitSeconds, workSeconds }) => [
    name,
    String(syncs),
    busy.toFixed(2),
    syncsFrom[name] === ASSUMED ? `${syncsMax} (${ASSUMED})` : String(syncsMax),
    waiting.toFixed(2),
    `${(waitSeconds * 1000).toFixed(1)} ms`,
    `${(workSeconds * 1000).toFixed(1)} ms`,
  ]);
  const lines = [
    `${program}, two looks ${seconds.toFixed(0)} s apart: ${cpu.toFixed(2)} of ${cores ?? 'an unknown number of'} cores${threadOf(own)}.`,
    `Writes of the process were answered in ${apiSeconds === null ? 'an unknown time' : `${(apiSeconds * 1000).toFixed(1)} ms`} on average, and waited ${throttled.toFixed(2)} s a second for tokens.`,
    '',
    ...textTable(head, rows),
    '',
    ...advice.flatMap((one) => [`${one.queue}: ${wordsOf(one, program)}`, `  ${one.because}.`]),
    '',
    'Not in these metrics:',
    ...caveats.map((caveat) => `- ${caveat}`),
  ];
  return `${lines.join('\n')}\n`;
}

function threadOf(own: Own | null): string {
  if (own === null) return '';
  const { mainThreadLeast: least, mainThreadMost: most } = own;
  const share = `${Math.round(least * 100)}${most > least ? ` to ${Math.round(most * 100)}` : ''}`;
  return `, its main thread worked ${share} % of the time`;
}

/** client-go gives each controller's client a bucket. */
const ALL_FASTER = ' Every other controller of the process may write faster then, too.';

function wordsOf({ queue, verdict, flag }: Advice, program: Observation['program']): string {
  switch (verdict) {
    case 'tokens':
      return `its writes wait for tokens. Raise ${flag}, and its burst.${program === 'endpointd' ? '' : ALL_FASTER}`;
    case 'syncs':
      return flag === ''
        ? `all its workers are busy, and ${SYNCS_FLAGS[queue]} allows no more than ${SYNCS_MOST[queue]}.`
        : `all its workers are busy. Raise ${flag}.`;
    case 'cpu':
      return 'the process is short of CPU. No flag helps.';
    case 'none':
      return 'no flag would make it faster.';
    case 'cannot tell':
      return 'cannot tell.';
  }
}
