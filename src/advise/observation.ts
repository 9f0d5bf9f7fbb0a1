/**
 * What two looks at the metrics of a controller tell of the time between them. Only differences of sums and counts are
 * used, because the buckets of these histograms are decades. A workqueue's sums are exact (Little's law): `_sum` of the
 * work time is the integral of the busy workers, and `_sum` of the queue time is the integral of the waiting keys.
 */
import {
  kubeMinorIn,
  ledAt,
  type Program,
  programOf,
  type QueueName,
  QUEUES,
  showsCpuLimit,
} from '../metrics/program-of.ts';
import { type Refused, refusedOf } from '../metrics/refusals.ts';
import { changesOf } from '../metrics/slice-changes.ts';
import { samplesOf, sumOf, type Metrics, type Sample } from '../metrics/text.ts';
import { grownBetween, whyNotComparable, whyNotWhole, type Grown } from '../metrics/two-looks.ts';
import { API_TIMES, apiSecondsOf, TOKEN_WAITS, type Weights, WRITES, type Writes, writesBetween } from './api-times.ts';

/** The process's settings, as far as they are known. */
export interface Settings {
  /** The most syncs at the same time, by queue. */
  readonly syncs: Readonly<Record<QueueName, number>>;
  /** null = the number in the metrics, if they have it. */
  readonly cores: number | null;
  /**
   * `--kube-api-qps`, by controller. Each of kube-controller-manager's has a bucket of its own, endpointd's share one of
   * their sum. Below 0 = no write waits for a token; null = not known.
   */
  readonly qps: Readonly<Record<QueueName, number | null>>;
  /** endpointd's `--max-writes-in-flight`. */
  readonly writesInFlightMax: number;
}

/** One controller between the looks. */
export interface QueueObservation {
  readonly name: QueueName;
  readonly syncsMax: number;
  /** How many syncs have ended. */
  readonly syncs: number;
  /** How many keys were added: those that a worker took, and as many as wait more than at the first look. */
  readonly added: number;
  /** How many keys were added by changes of pods, or after a failure; of kube-controller-manager alone. */
  readonly delayedAdds: number;
  /** How many keys waited at the second look. */
  readonly depth: number;
  /** For how long the oldest sync had run at the second look. */
  readonly longestSeconds: number;
  /** How many of `syncsMax` workers were busy on average. */
  readonly busy: number;
  /** How many keys waited on average. */
  readonly waiting: number;
  /** Mean seconds that a key waited. `workSeconds`: mean seconds of a sync. */
  readonly waitSeconds: number;
  readonly workSeconds: number;
  /** Writes per sync; null = no metric has them, and one is assumed. */
  readonly writesPerSync: number | null;
  /**
   * Mean seconds from a write to its answer, of all controllers together, weighted by verb as this one writes; null =
   * there was no write.
   */
  readonly apiSeconds: number | null;
  /**
   * The largest share of the time in which the controller's own bucket can have been empty. While it is, tokens come as
   * often as QPS says, so that share is at most what was taken of what it could have given. null = not known.
   */
  readonly emptyShareMost: number | null;
  /** The least share of what the bucket gives by QPS that was taken. null = not known. */
  readonly takenShareLeast: number | null;
}

export interface Observation {
  readonly program: Program;
  readonly seconds: number;
  readonly queues: readonly QueueObservation[];
  /** Seconds per second that writes waited for tokens, in all controllers of the process together. */
  readonly throttled: number;
  /** How many writes of the process the API server has refused, by code. Nothing waits for a refused read. */
  readonly refused: Refused;
  /** Mean seconds from a write to its answer, in all controllers together; null = there was no write. */
  readonly apiSeconds: number | null;
  /** How many cores the process used. */
  readonly cpu: number;
  /** The most that the process may have; null = not known. */
  readonly cores: number | null;
  /**
   * The fewest, by Go's number of threads: a CPU limit is rounded up, and to at least 2 (runtime.GOMAXPROCS of Go 1.25).
   * Limits below 1 are not told from it.
   */
  readonly coresLeast: number | null;
  /** Whether the process may have far fewer cores, by a CPU limit that its metrics do not show and nobody has given. */
  readonly hidesCpuLimit: boolean;
  /** Whether changes of pods go through a queue without metrics before these queues: in kube-controller-manager from 1.35 on. */
  readonly hasPodQueue: boolean;
  /** What only endpointd has; null = the process is another. */
  readonly own: Own | null;
}

/** endpointd between the looks. */
export interface Own {
  /** The least and the largest share of the time in which the main thread may have worked. */
  readonly mainThreadLeast: number;
  readonly mainThreadMost: number;
  /** Whether its metrics have the event loop's time, which they learn once a second: a short look may have nothing of it. */
  readonly hasLoop: boolean;
  /** Mean seconds that a write waited for its token. */
  readonly tokenSeconds: number;
  /** How many writes had no answer yet, on average, and the most that may be so. */
  readonly writesInFlight: number;
  readonly writesInFlightMax: number;
}

export type Observed =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly why: string };

/** @param seconds the time between the looks */
export function observe(before: Metrics, after: Metrics, seconds: number, settings: Settings): Observed {
  const program = programOf(after);
  if (typeof program !== 'string') return { ok: false, why: program.why };
  const names = QUEUES.filter((name) => sumOf(after, 'workqueue_work_duration_seconds_count', { name }) !== null);
  if (names.length === 0) return { ok: false, why: `these metrics of ${program} have no queue of its controllers` };
  const why =
    whyNotComparable(before, after, COUNTERS) ??
    whoElseLed(before, after, program) ??
    whatIsMissing(after, 'these metrics lack', program, names, settings) ??
    whyNotWhole(before, after) ??
    whatIsMissing(before, 'the first look lacks', program, names, settings);
  if (why !== null) return { ok: false, why };
  const difference = grownBetween(before, after);
  const writes = writesBetween(difference, program !== 'endpointd');
  const cpu = difference(CPU) / seconds;
  const threads = sumOf(after, 'go_sched_gomaxprocs_threads');
  const observation: Observation = {
    program,
    seconds,
    queues: names.map((name) =>
      observeQueue(name, settings.syncs[name], seconds, {
        difference,
        before,
        after,
        writes,
        bucket: bucketOf(name, program, names, settings),
      }),
    ),
    throttled: tokenWaitsOf(difference) / seconds,
    refused: refusedOf((code) => WRITES.reduce((sum, method) => sum + difference(REQUESTS, { code, method }), 0)),
    apiSeconds: apiSecondsOf(writes, null),
    cpu,
    cores: settings.cores ?? threads,
    coresLeast: settings.cores ?? (threads === null ? null : Math.max(1, threads - 1)),
    hidesCpuLimit: settings.cores === null && !showsCpuLimit(after),
    hasPodQueue: program !== 'endpointd' && (kubeMinorIn(after) ?? POD_QUEUE_MINOR) >= POD_QUEUE_MINOR,
    own:
      program === 'endpointd'
        ? {
            ...mainThreadOf(difference, seconds, cpu),
            hasLoop: after.has(`${LOOP}_count`),
            tokenSeconds: tokenSecondsOf(difference),
            writesInFlight: writes.reduce((sum, one) => sum + one.seconds, 0) / seconds,
            writesInFlightMax: settings.writesInFlightMax,
          }
        : null,
  };
  if (!areFinite(observation)) return { ok: false, why: 'a figure of these metrics is no finite number' };
  return { ok: true, observation };
}

/** Whether all numbers in it are finite. */
function areFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(areFinite);
}

/** A process that begins to lead syncs everything, and one that stands by writes nothing: neither is what it does else. */
function whoElseLed(before: Metrics, after: Metrics, program: Observation['program']): string | null {
  const led = ledAt(before, after, program);
  if (led === null || (led.before && led.after)) return null;
  return led.before === led.after
    ? `this ${program} stands by: its leader is the one to ask`
    : `this ${program} led at one of the looks alone: look again while one process leads`;
}

/** The minor version of kube-controller-manager that brought the queue of pods. */
const POD_QUEUE_MINOR = 35;

const CPU = 'process_cpu_seconds_total';
const REQUESTS = 'rest_client_requests_total';
/** The share of the time in which the event loop of Node worked, observed once in each of equal spans. */
const LOOP = 'nodejs_eventloop_utilization_histogram';

/** Steps are only a part of what the main thread does: bytes are read and sent outside of them. */
function mainThreadOf(
  difference: Grown,
  seconds: number,
  cpu: number,
): Pick<Own, 'mainThreadLeast' | 'mainThreadMost'> {
  const steps = difference('endpointd_step_duration_seconds_sum') / seconds;
  const spans = difference(`${LOOP}_count`);
  const loop = spans > 0 ? difference(`${LOOP}_sum`) / spans : null;
  const mainThreadLeast = Math.max(steps, loop ?? 0);
  return { mainThreadLeast, mainThreadMost: Math.max(mainThreadLeast, loop ?? Math.min(1, cpu)) };
}

function tokenWaitsOf(difference: Grown): number {
  return WRITES.reduce((sum, verb) => sum + difference(TOKEN_WAITS, { verb }), 0);
}

function tokenSecondsOf(difference: Grown): number {
  const writes = difference('endpointd_writes_total');
  return writes > 0 ? tokenWaitsOf(difference) / writes : 0;
}

/** A metric on which an answer rests. */
interface Needed {
  readonly metric: string;
  /** Which series count; absent = all. `whose`: those, for people. */
  readonly counts?: (labels: Sample['labels']) => boolean;
  readonly whose?: string;
  readonly untold: string;
}

const ofWrites = {
  counts: ({ verb }: Sample['labels']): boolean => WRITES.some((one) => one === verb),
  whose: ' of writes',
};

/** A metric that was filtered out is no 0. null = nothing is missing. @param lacks the begin of the answer */
function whatIsMissing(
  look: Metrics,
  lacks: string,
  program: Observation['program'],
  names: readonly QueueName[],
  { qps }: Settings,
): string | null {
  // endpointd has waits from its first write on; kube-controller-manager's Lease is a write too.
  const hasWritten = program !== 'endpointd' || look.has('endpointd_writes_total');
  // Without a limit kube-controller-manager never has this metric.
  const hasTokens = !Object.values(qps).some((allowed) => allowed !== null && allowed < 0);
  const needsWaits = hasWritten && (program === 'endpointd' || hasTokens);
  const latency = { ...(hasWritten ? ofWrites : {}), untold: 'how long the API server takes' };
  const needed: Needed[] = [
    { metric: CPU, untold: 'whether CPU is short' },
    ...(needsWaits ? [{ metric: TOKEN_WAITS, ...ofWrites, untold: 'whether writes wait for tokens' }] : []),
    { metric: `${API_TIMES}_sum`, ...latency },
    { metric: `${API_TIMES}_count`, ...latency },
    {
      metric: REQUESTS,
      counts: ({ code }) => code !== undefined,
      whose: ' with a code',
      untold: 'whether the API server refuses requests',
    },
    ...names.flatMap(neededOfQueue),
  ];
  const missing = needed.find(
    ({ metric, counts = () => true }) => !samplesOf(look, metric).some(({ labels }) => counts(labels)),
  );
  if (missing === undefined) return null;
  const { metric, whose = '', untold } = missing;
  return `${lacks} ${metric}${look.has(metric) ? whose : ''}: ${untold} cannot be told`;
}

function neededOfQueue(queue: QueueName): Needed[] {
  const series = { counts: ({ name }: Sample['labels']) => name === queue, whose: ` of ${queue}` };
  return [
    { metric: 'workqueue_work_duration_seconds_sum', ...series, untold: 'how long syncs take' },
    { metric: 'workqueue_queue_duration_seconds_sum', ...series, untold: 'how long keys wait' },
    { metric: 'workqueue_queue_duration_seconds_count', ...series, untold: 'how many keys wait' },
    { metric: 'workqueue_depth', ...series, untold: 'how many keys wait' },
    { metric: 'workqueue_longest_running_processor_seconds', ...series, untold: 'whether a sync hangs' },
  ];
}

/** Sums that fall only if the process has been restarted. */
const COUNTERS: readonly string[] = [
  'workqueue_work_duration_seconds_count',
  'workqueue_queue_duration_seconds_count',
  CPU,
];

interface Looks {
  readonly difference: Grown;
  readonly before: Metrics;
  readonly after: Metrics;
  readonly writes: readonly Writes[];
  readonly bucket: Bucket;
}

interface Bucket {
  /** Whether all controllers of the process take tokens of it. */
  readonly isShared: boolean;
  /** null = not known. */
  readonly qps: number | null;
}

/** endpointd's controllers put their QPS together. */
function bucketOf(
  name: QueueName,
  program: Observation['program'],
  names: readonly QueueName[],
  { qps }: Settings,
): Bucket {
  if (program !== 'endpointd') return { isShared: false, qps: qps[name] };
  const known = names.flatMap((one) => qps[one] ?? []);
  return { isShared: true, qps: known.length === names.length ? known.reduce((sum, each) => sum + each, 0) : null };
}

function observeQueue(
  name: QueueName,
  syncsMax: number,
  seconds: number,
  { difference, before, after, writes, bucket }: Looks,
): QueueObservation {
  const syncs = difference('workqueue_work_duration_seconds_count', { name });
  const worked = difference('workqueue_work_duration_seconds_sum', { name });
  const taken = difference('workqueue_queue_duration_seconds_count', { name });
  const waited = difference('workqueue_queue_duration_seconds_sum', { name });
  const changes = changesOf(name, difference, after);
  const depth = depthOf(after, name);
  return {
    name,
    syncsMax,
    syncs,
    added: Math.max(0, taken + depth - depthOf(before, name)),
    delayedAdds: difference('workqueue_retries_total', { name }),
    depth,
    longestSeconds: sumOf(after, 'workqueue_longest_running_processor_seconds', { name }) ?? 0,
    busy: worked / seconds,
    waiting: waited / seconds,
    waitSeconds: taken > 0 ? waited / taken : 0,
    workSeconds: syncs > 0 ? worked / syncs : 0,
    writesPerSync: changes !== null && syncs > 0 ? changes / syncs : null,
    apiSeconds: apiSecondsOf(writes, weightsOf(name, difference, after)),
    // endpointd tells its waits for tokens.
    emptyShareMost: bucket.isShared
      ? null
      : shareOf(tokensMostOf(name === 'endpoint' ? syncs : changes, difference), bucket, seconds),
    takenShareLeast: shareOf(bucket.isShared ? difference('endpointd_writes_total') : changes, bucket, seconds),
  };
}

function depthOf(look: Metrics, name: QueueName): number {
  return sumOf(look, 'workqueue_depth', { name }) ?? 0;
}

function shareOf(tokens: number | null, { qps }: Bucket, seconds: number): number | null {
  if (tokens === null || qps === null) return null;
  return qps < 0 ? 0 : Math.min(1, tokens / (qps * seconds));
}

/**
 * The most tokens that a controller can have taken: one for each of its writes, and for each that failed or became an
 * Event object, which no metric tells by controller.
 * @param own its writes, at most; null = not known. A sync writes Endpoints once.
 */
function tokensMostOf(own: number | null, difference: Grown): number | null {
  if (own === null) return null;
  const events = ['POST', 'PATCH'].reduce((sum, method) => sum + difference(REQUESTS, { method }), 0);
  const failed = ['PUT', 'DELETE'].reduce(
    (sum, method) =>
      sum +
      SUCCESSES.reduce((rest, code) => rest - difference(REQUESTS, { method, code }), difference(REQUESTS, { method })),
    0,
  );
  return own + events + failed;
}

/** What the API server answers to writes that it has made. */
const SUCCESSES = ['200', '201', '202'];

/**
 * How often a controller makes each kind of write. No metric has those of Endpoints: a change of a Service's pods is of
 * the same kind for its slices. null = nothing was written.
 */
function weightsOf(name: QueueName, difference: Grown, after: Metrics): Weights | null {
  const of = (operation: string): number =>
    changesOf(name === 'endpoint' ? 'endpoint_slice' : name, difference, after, { operation }) ?? 0;
  const weights = { POST: of('create'), PUT: of('update'), DELETE: of('delete') };
  return WRITES.some((verb) => weights[verb] > 0) ? weights : null;
}
