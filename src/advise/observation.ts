/**
 * What two looks at the metrics of a controller tell of the time between them. Only differences of sums and counts are
 * used, because the buckets of these histograms are decades. A workqueue's sums are exact (Little's law): `_sum` of the
 * work time is the integral of the busy workers, and `_sum` of the queue time is the integral of the waiting keys.
 */
import { controllerOf, type QueueName, QUEUES } from '../metrics/controller-of.ts';
import { changesOf } from '../metrics/slice-changes.ts';
import { sumOf, type Metrics } from '../metrics/text.ts';
import { grownBetween, whyNotComparable, type Grown } from '../metrics/two-looks.ts';
import { API_TIMES, apiSecondsOf, TOKEN_WAITS, type Weights, WRITES, type Writes, writesBetween } from './api-times.ts';

/** The process's settings, as far as they are known. */
export interface Settings {
  /** The most syncs at the same time, by queue. */
  readonly syncs: Readonly<Record<QueueName, number>>;
  /** null = the number in the metrics, if they have it. */
  readonly cores: number | null;
}

/** One controller between the looks. */
export interface QueueObservation {
  readonly name: QueueName;
  readonly syncsMax: number;
  /** How many syncs have ended. */
  readonly syncs: number;
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
}

export interface Observation {
  readonly program: 'endpointd' | 'kube-controller-manager';
  readonly seconds: number;
  readonly queues: readonly QueueObservation[];
  /** Seconds per second that writes waited for tokens, in all controllers of the process together. */
  readonly throttled: number;
  /** Mean seconds from a write to its answer, in all controllers together; null = there was no write. */
  readonly apiSeconds: number | null;
  /** How many cores the process used. */
  readonly cpu: number;
  /** null = not known. */
  readonly cores: number | null;
  /** The share of the time in which endpointd's main thread worked; null = the process is not endpointd. */
  readonly mainThread: number | null;
}

export type Observed =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly why: string };

/** @param seconds the time between the looks */
export function observe(before: Metrics, after: Metrics, seconds: number, settings: Settings): Observed {
  const program = controllerOf(after);
  if (typeof program !== 'string') return { ok: false, why: program.why };
  const names = QUEUES.filter((name) => sumOf(after, 'workqueue_work_duration_seconds_count', { name }) !== null);
  if (names.length === 0) return { ok: false, why: `these metrics of ${program} have no queue of its controllers` };
  const why = whyNotComparable(before, after, COUNTERS) ?? whatIsMissing(after, program);
  if (why !== null) return { ok: false, why };
  const difference = grownBetween(before, after);
  const writes = writesBetween(difference, program !== 'endpointd');
  const observation: Observation = {
    program,
    seconds,
    queues: names.map((name) => observeQueue(name, settings.syncs[name], seconds, { difference, after, writes })),
    throttled: WRITES.reduce((sum, verb) => sum + difference(TOKEN_WAITS, { verb }), 0) / seconds,
    apiSeconds: apiSecondsOf(writes, null),
    cpu: difference(CPU) / seconds,
    cores: settings.cores ?? sumOf(after, 'go_sched_gomaxprocs_threads'),
    mainThread: program === 'endpointd' ? difference('endpointd_step_duration_seconds_sum') / seconds : null,
  };
  return { ok: true, observation };
}

const CPU = 'process_cpu_seconds_total';

/** A metric that was filtered out is no 0. null = nothing is missing. */
function whatIsMissing(after: Metrics, program: Observation['program']): string | null {
  // endpointd has waits from its first write on; kube-controller-manager's Lease is a write too.
  const hasWritten = program !== 'endpointd' || after.has('endpointd_writes_total');
  const needed = [
    { metric: CPU, untold: 'whether CPU is short' },
    ...(hasWritten ? [{ metric: TOKEN_WAITS, untold: 'whether writes wait for tokens' }] : []),
    { metric: `${API_TIMES}_sum`, untold: 'how long the API server takes' },
  ];
  const missing = needed.find(({ metric }) => !after.has(metric));
  return missing === undefined ? null : `these metrics lack ${missing.metric}: ${missing.untold} cannot be told`;
}

/** Sums that fall only if the process has been restarted. */
const COUNTERS: readonly string[] = [
  'workqueue_work_duration_seconds_count',
  'workqueue_queue_duration_seconds_count',
  CPU,
];

interface Looks {
  readonly difference: Grown;
  readonly after: Metrics;
  readonly writes: readonly Writes[];
}

function observeQueue(
  name: QueueName,
  syncsMax: number,
  seconds: number,
  { difference, after, writes }: Looks,
): QueueObservation {
  const syncs = difference('workqueue_work_duration_seconds_count', { name });
  const worked = difference('workqueue_work_duration_seconds_sum', { name });
  const taken = difference('workqueue_queue_duration_seconds_count', { name });
  const waited = difference('workqueue_queue_duration_seconds_sum', { name });
  const changes = changesOf(name, difference, after);
  return {
    name,
    syncsMax,
    syncs,
    depth: sumOf(after, 'workqueue_depth', { name }) ?? 0,
    longestSeconds: sumOf(after, 'workqueue_longest_running_processor_seconds', { name }) ?? 0,
    busy: worked / seconds,
    waiting: waited / seconds,
    waitSeconds: taken > 0 ? waited / taken : 0,
    workSeconds: syncs > 0 ? worked / syncs : 0,
    writesPerSync: changes !== null && syncs > 0 ? changes / syncs : null,
    apiSeconds: apiSecondsOf(writes, weightsOf(name, difference, after)),
  };
}

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
