/**
 * What two looks at the metrics of a controller tell of the time between them. Only differences of sums and counts are
 * used, because the buckets of these histograms are decades. A workqueue's sums are exact (Little's law): `_sum` of the
 * work time is the integral of the busy workers, and `_sum` of the queue time is the integral of the waiting keys.
 */
import { controllerOf, type QueueName, QUEUES } from '../metrics/controller-of.ts';
import { samplesOf, sumOf, type Metrics } from '../metrics/text.ts';
import { grownBetween, whyNotComparable, type Grown } from '../metrics/two-looks.ts';

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
  /** How many of `syncsMax` workers were busy on average. */
  readonly busy: number;
  /** How many keys waited on average. */
  readonly waiting: number;
  /** Mean seconds that a key waited. `workSeconds`: mean seconds of a sync. */
  readonly waitSeconds: number;
  readonly workSeconds: number;
  /** Writes per sync; null = no metric has them, and one is assumed. */
  readonly writesPerSync: number | null;
}

export interface Observation {
  readonly program: 'endpointd' | 'kube-controller-manager';
  readonly seconds: number;
  readonly queues: readonly QueueObservation[];
  /** Seconds per second that requests waited for tokens, in all controllers of the process together. */
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

const WRITES = ['PUT', 'POST', 'DELETE', 'PATCH'];
const CHANGES: Readonly<Partial<Record<QueueName, string>>> = {
  endpoint_slice: 'endpoint_slice_controller_changes',
  endpoint_slice_mirroring: 'endpoint_slice_mirroring_controller_changes',
};

/** @param seconds the time between the looks */
export function observe(before: Metrics, after: Metrics, seconds: number, settings: Settings): Observed {
  const program = controllerOf(after);
  if (typeof program !== 'string') return { ok: false, why: program.why };
  const names = QUEUES.filter((name) => sumOf(after, 'workqueue_work_duration_seconds_count', { name }) !== null);
  const why = whyNotComparable(before, after, COUNTERS);
  if (why !== null) return { ok: false, why };
  if (!after.has(CPU)) return { ok: false, why: `these metrics lack ${CPU}: whether CPU is short cannot be told` };
  const difference = grownBetween(before, after);
  const observation: Observation = {
    program,
    seconds,
    queues: names.map((name) => observeQueue(name, difference, after, seconds, settings)),
    throttled: difference('rest_client_rate_limiter_duration_seconds_sum') / seconds,
    apiSeconds: apiSecondsOf(difference, program !== 'endpointd'),
    cpu: difference(CPU) / seconds,
    cores: settings.cores ?? sumOf(after, 'go_sched_gomaxprocs_threads'),
    mainThread: program === 'endpointd' ? difference('endpointd_step_duration_seconds_sum') / seconds : null,
  };
  return { ok: true, observation };
}

const CPU = 'process_cpu_seconds_total';

/** Sums that fall only if the process has been restarted. */
const COUNTERS: readonly string[] = [
  'workqueue_work_duration_seconds_count',
  'workqueue_queue_duration_seconds_count',
  CPU,
];

function observeQueue(
  name: QueueName,
  difference: Grown,
  after: Metrics,
  seconds: number,
  settings: Settings,
): QueueObservation {
  const syncs = difference('workqueue_work_duration_seconds_count', { name });
  const worked = difference('workqueue_work_duration_seconds_sum', { name });
  const taken = difference('workqueue_queue_duration_seconds_count', { name });
  const waited = difference('workqueue_queue_duration_seconds_sum', { name });
  const changes = CHANGES[name];
  const tells = changes !== undefined && samplesOf(after, changes).length > 0;
  return {
    name,
    syncsMax: settings.syncs[name],
    syncs,
    depth: sumOf(after, 'workqueue_depth', { name }) ?? 0,
    busy: worked / seconds,
    waiting: waited / seconds,
    waitSeconds: taken > 0 ? waited / taken : 0,
    workSeconds: syncs > 0 ? worked / syncs : 0,
    writesPerSync: tells && syncs > 0 ? difference(changes) / syncs : null,
  };
}

/** client-go counts the wait for a token as part of a request (rest/request.go of 0.36). endpointd does not. */
function apiSecondsOf(difference: Grown, hasTokenWaits: boolean): number | null {
  let count = 0;
  let sum = 0;
  for (const verb of WRITES) {
    count += difference('rest_client_request_duration_seconds_count', { verb });
    sum += difference('rest_client_request_duration_seconds_sum', { verb });
    if (hasTokenWaits) sum -= difference('rest_client_rate_limiter_duration_seconds_sum', { verb });
  }
  return count > 0 ? Math.max(0, sum) / count : null;
}
