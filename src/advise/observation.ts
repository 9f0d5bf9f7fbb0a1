/**
 * What two looks at the metrics of a controller tell of the time between them. Only differences of sums and counts are
 * used: buckets of these histograms are decades. A workqueue's sums are exact: `_sum` of the time worked is the integral of
 * the workers that were busy, and `_sum` of the time waited that of the keys that waited (Little's law).
 */
import { samplesOf, sumOf, type Metrics } from '../metrics/text.ts';
import { grownBetween, whyNotComparable, type Grown } from '../metrics/two-looks.ts';

export type QueueName = 'endpoint' | 'endpoint_slice' | 'endpoint_slice_mirroring';

/** What the process was started with, as far as it is known. */
export interface Settings {
  /** Of each controller: syncs at the same time. */
  readonly syncs: Readonly<Record<QueueName, number>>;
  /** Null = as the metrics say, if they do. */
  readonly cores: number | null;
}

/** One controller, between the looks. */
export interface QueueObservation {
  readonly name: QueueName;
  readonly syncsMax: number;
  /** Syncs that ended. */
  readonly syncs: number;
  /** Keys that waited at the second look. */
  readonly depth: number;
  /** Workers busy on average, of `syncsMax`. */
  readonly busy: number;
  /** Keys waiting on average. */
  readonly waiting: number;
  /** Mean seconds of a key in the queue, and of a sync. */
  readonly waitSeconds: number;
  readonly workSeconds: number;
  /** Writes for each sync; null = no metric tells, and one is assumed. */
  readonly writesPerSync: number | null;
}

export interface Observation {
  readonly program: 'endpointd' | 'kube-controller-manager';
  readonly seconds: number;
  readonly queues: readonly QueueObservation[];
  /** Seconds a second that requests waited for tokens: of all controllers of the process together. */
  readonly throttled: number;
  /** Mean seconds of a write until its answer: of all controllers together; null = there was none. */
  readonly apiSeconds: number | null;
  /** Cores that the process used. */
  readonly cpu: number;
  /** Null = not told. */
  readonly cores: number | null;
  /** Of endpointd: the share of the time in which its main thread worked; null = it is not endpointd. */
  readonly mainThread: number | null;
}

export type Observed =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly why: string };

const QUEUES: readonly QueueName[] = ['endpoint', 'endpoint_slice', 'endpoint_slice_mirroring'];
const WRITES = ['PUT', 'POST', 'DELETE', 'PATCH'];
const CHANGES: Readonly<Partial<Record<QueueName, string>>> = {
  endpoint_slice: 'endpoint_slice_controller_changes',
  endpoint_slice_mirroring: 'endpoint_slice_mirroring_controller_changes',
};

/** @param seconds between the looks */
export function observe(before: Metrics, after: Metrics, seconds: number, settings: Settings): Observed {
  const names = QUEUES.filter((name) => sumOf(after, 'workqueue_work_duration_seconds_count', { name }) !== null);
  if (names.length === 0) {
    return { ok: false, why: 'these are the metrics of something else: no queue of these controllers is in them' };
  }
  const why = whyNotComparable(before, after, COUNTERS);
  if (why !== null) return { ok: false, why };
  const difference = grownBetween(before, after);
  const observation: Observation = {
    program: after.has('endpointd_build_info') ? 'endpointd' : 'kube-controller-manager',
    seconds,
    queues: names.map((name) => observeQueue(name, difference, after, seconds, settings)),
    throttled: difference('rest_client_rate_limiter_duration_seconds_sum') / seconds,
    apiSeconds: apiSecondsOf(difference, !after.has('endpointd_build_info')),
    cpu: difference('process_cpu_seconds_total') / seconds,
    cores: settings.cores ?? sumOf(after, 'go_sched_gomaxprocs_threads'),
    mainThread: after.has('endpointd_build_info') ? difference('endpointd_step_duration_seconds_sum') / seconds : null,
  };
  return { ok: true, observation };
}

/** Sums that only a new process lets fall. */
const COUNTERS: readonly string[] = [
  'workqueue_work_duration_seconds_count',
  'workqueue_queue_duration_seconds_count',
  'process_cpu_seconds_total',
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

/** client-go counts the wait for a token as part of a request (rest/request.go of 0.36), endpointd does not. */
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
