/**
 * Every metric that the controller serves, as data. The runtime's own metrics (`process_*`, `nodejs_*`) come beside
 * these.
 *
 * Names, labels and buckets without the prefix `endpointd_` are upstream's, so that existing dashboards and alerts work
 * (docs/spec/endpoints.md "Metrics", docs/spec/endpointslice.md "Metrics"). Label `controller`: `endpoints`,
 * `endpointslice` or `endpointslice-mirroring`. Upstream's `workqueue_retries_total` counts every delayed add; here it
 * counts retries.
 */
import { exponentialBounds } from '../lib/histogram.ts';

export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labelNames: readonly string[];
  /** Histograms: upper bounds, ascending. Others: empty. */
  readonly bounds: readonly number[];
}

/** 10 ns to 10 s, as upstream's workqueue_*. */
export const WORKQUEUE_BOUNDS: readonly number[] = exponentialBounds(1e-8, 10, 10);
const REST_CLIENT_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60] as const;
const REST_CLIENT_BYTES = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216] as const;
/** 1 ms to 131 s: from a change on an idle cluster to one behind a start-up. */
const STAGE_SECONDS = exponentialBounds(0.001, 2, 18);
/** Upstream's bounds for the counts of one sync. */
const COUNT_PER_SYNC = exponentialBounds(2, 2, 15);
const MIRROR_SYNC_SECONDS = exponentialBounds(0.001, 2, 15);
/** Prometheus' defaults, which are made for seconds. Upstream counts writes in them, and dashboards expect it. */
const CHANGES_PER_SYNC = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
/** 10 us to 2.6 s. */
const STEP_SECONDS = exponentialBounds(0.00001, 4, 10);

export const CATALOGUE = [
  gauge('workqueue_depth', 'Keys that wait for a free slot: neither delayed nor being synced', ['name']),
  counter('workqueue_adds_total', 'Keys that began to wait; adds of a key that waits already do not count', ['name']),
  histogram(
    'workqueue_queue_duration_seconds',
    'From the time a key was due until it was taken',
    ['name'],
    WORKQUEUE_BOUNDS,
  ),
  histogram(
    'workqueue_work_duration_seconds',
    'From the time a key was taken until it was done',
    ['name'],
    WORKQUEUE_BOUNDS,
  ),
  gauge('workqueue_unfinished_work_seconds', 'Sum of the ages of all syncs that run', ['name']),
  gauge('workqueue_longest_running_processor_seconds', 'Age of the sync that has run the longest', ['name']),
  counter('workqueue_retries_total', 'Keys that were added again after a failure', ['name']),

  counter('rest_client_requests_total', 'HTTP requests to the API server', ['code', 'method', 'host']),
  histogram(
    'rest_client_request_duration_seconds',
    'From sending a request until its answer was read',
    ['verb', 'host'],
    REST_CLIENT_SECONDS,
  ),
  histogram('rest_client_request_size_bytes', 'Size of request bodies', ['verb', 'host'], REST_CLIENT_BYTES),
  histogram('rest_client_response_size_bytes', 'Size of response bodies', ['verb', 'host'], REST_CLIENT_BYTES),
  histogram(
    'rest_client_rate_limiter_duration_seconds',
    'Time that a missing token alone held a write back; a pause, or the wait for a place among the writes in flight, does not count',
    ['verb', 'host'],
    REST_CLIENT_SECONDS,
  ),

  gauge(
    'endpoint_controller_rate_limiter_use',
    'Used share of the token bucket for writes, 0 to 1; a metric of Kubernetes before 1.26',
  ),
  gauge(
    'endpoint_slice_controller_rate_limiter_use',
    'The same token bucket under the name of the EndpointSlice controller; a metric of Kubernetes before 1.26',
  ),
  gauge(
    'endpoint_slice_mirroring_controller_rate_limiter_use',
    'The same token bucket under the name of the EndpointSliceMirroring controller; a metric of Kubernetes before 1.26',
  ),

  histogram(
    'endpoint_slice_controller_endpoints_added_per_sync',
    'Endpoints newly placed by a sync, for each address family',
    [],
    COUNT_PER_SYNC,
  ),
  histogram(
    'endpoint_slice_controller_endpoints_removed_per_sync',
    'Endpoints dropped by a sync, for each address family',
    [],
    COUNT_PER_SYNC,
  ),
  gauge('endpoint_slice_controller_endpoints_desired', 'Endpoints that there should be, over all services'),
  gauge('endpoint_slice_controller_num_endpoint_slices', 'Slices of all services'),
  gauge(
    'endpoint_slice_controller_desired_endpoint_slices',
    'Fewest slices that would do; a service has at least one for each address family',
  ),
  gauge(
    'endpoint_slice_controller_services_count_by_traffic_distribution',
    'Services by the value of spec.trafficDistribution that is in effect',
    ['traffic_distribution'],
  ),
  counter('endpoint_slice_controller_changes', 'Writes of slices that succeeded; deprecated in Kubernetes 1.38', [
    'operation',
  ]),
  counter(
    'endpoint_slice_controller_changes_total',
    'Writes of slices that succeeded; the name from Kubernetes 1.38 on',
    ['operation'],
  ),
  histogram(
    'endpoint_slice_controller_endpointslices_changed_per_sync',
    'Writes of one successful sync, for each address family',
    ['topology', 'traffic_distribution'],
    CHANGES_PER_SYNC,
  ),
  counter('endpoint_slice_controller_syncs', 'Syncs of services by how they ended: success or error', ['result']),

  histogram(
    'endpoint_slice_mirroring_controller_endpoints_added_per_sync',
    'Endpoints newly mirrored by a sync',
    [],
    COUNT_PER_SYNC,
  ),
  histogram(
    'endpoint_slice_mirroring_controller_endpoints_updated_per_sync',
    'Mirrored endpoints changed by a sync',
    [],
    COUNT_PER_SYNC,
  ),
  histogram(
    'endpoint_slice_mirroring_controller_endpoints_removed_per_sync',
    'Mirrored endpoints dropped by a sync',
    [],
    COUNT_PER_SYNC,
  ),
  histogram(
    'endpoint_slice_mirroring_controller_addresses_skipped_per_sync',
    'Addresses that a sync left out: invalid, or above the limit',
    [],
    COUNT_PER_SYNC,
  ),
  histogram(
    'endpoint_slice_mirroring_controller_endpoints_sync_duration',
    'Seconds from the start of a sync until its last answer',
    [],
    MIRROR_SYNC_SECONDS,
  ),
  gauge('endpoint_slice_mirroring_controller_endpoints_desired', 'Mirrored endpoints that there should be'),
  gauge('endpoint_slice_mirroring_controller_num_endpoint_slices', 'Mirrored slices'),
  gauge('endpoint_slice_mirroring_controller_desired_endpoint_slices', 'Fewest mirrored slices that would do'),
  counter('endpoint_slice_mirroring_controller_changes', 'Writes of mirrored slices that succeeded', ['operation']),

  histogram(
    'endpointd_pod_change_duration_seconds',
    'Time that changes spend in each stage, of those that were written: watch_in (of all pods, from the Ready transition, in whole seconds, until it is seen), queue (batch period included), batch_wait (until the batch leaves for the shard, reads included), plan, throttle, write; total is from seen to written',
    ['controller', 'stage'],
    STAGE_SECONDS,
  ),
  counter(
    'endpointd_syncs_total',
    'Syncs of services by how they ended: written, unchanged, or the class of the failure; what a standby plans is none',
    ['controller', 'result'],
  ),
  counter('endpointd_writes_total', 'Writes of objects by verb and how they ended', ['controller', 'verb', 'result']),
  counter('endpointd_write_bytes_total', 'Bytes of request bodies of writes', ['controller', 'verb']),
  gauge(
    'endpointd_oldest_unwritten_change_seconds',
    'Age of the oldest change of an input, or damage by somebody else, that is seen and not yet written; services that are stuck as invalid, forbidden or poison do not count; 0 = there is none, or this process stands by',
  ),
  gauge(
    'endpointd_write_pause_seconds',
    'Seconds left of the pause of all writes that the API server has asked for; 0 = there is none',
  ),
  gauge('leader_election_master_status', '1 = this process holds the Lease, 0 = it stands by', ['name']),
  counter('leader_election_slowpath_total', 'Renewals of the Lease that met another version of it', ['name']),
  gauge(
    'endpointd_standby_services_behind',
    'Of a process that stands by: services, for each controller, that the leader has not put right yet; those that are being deleted do not count',
  ),
  gauge(
    'endpointd_take_over_waiting',
    '1 = this process holds the Lease and writes nothing, because the manager of `--take-over-from` may still write',
    ['manager'],
  ),
  gauge(
    'endpointd_take_over_longest_due_seconds',
    'Of a process that waits to take over: for how long a planned write has been due, the longest of all; 0 = nothing is due',
  ),
  counter(
    'endpointd_write_conflicts_total',
    'Writes answered 409: somebody else had written the object, or made one of its name; what somebody has deleted (404) does not count',
  ),
  counter(
    'endpointd_foreign_edits_total',
    'Changes and deletions by somebody else of objects that these controllers write, by field manager: ten names at most, then `other`; `admission`; `unknown` where the object does not tell, as after a deletion',
    ['manager'],
  ),
  counter(
    'endpointd_orphans_kept_total',
    'Endpoints without a Service that were left alone, because these controllers have not made them',
  ),
  counter('endpointd_problems_total', 'Parts of objects that planning had to leave out, by kind', ['kind']),

  gauge('endpointd_services', 'Services by state', ['controller', 'state']),
  gauge(
    'endpointd_services_waiting_for_node',
    'Services with pods that are left out of the slices because their node is not known',
  ),
  gauge(
    'endpointd_stuck_service',
    'A service that cannot be brought up to date (1), with the class of its failure; of at most 256 at a time, endpointd_services has their number',
    ['controller', 'namespace', 'service', 'class'],
  ),
  gauge('endpointd_services_truncated', 'Services with more addresses than one object may hold'),
  gauge('endpointd_addresses_truncated', 'Addresses that are cut off because an object may not hold more'),
  counter('endpointd_quarantines_total', 'Services that were set aside because planning them ended a shard'),

  gauge(
    'endpointd_missing_rights',
    'Rights that the flags need and the API server did not give at the last look: a second after the start, and every 30 s while something is missing or refused',
    [],
  ),
  gauge(
    'endpointd_client_certificate_expiration_timestamp_seconds',
    'End of the client certificate with which the API server is asked, in seconds since the epoch; absent without one',
  ),
  gauge('endpointd_client_certificate_lifetime_seconds', 'How long that client certificate is valid altogether'),
  gauge(
    'endpointd_serving_certificate_expiration_timestamp_seconds',
    'End of the certificate of `--secure-port`, in seconds since the epoch; absent without that port',
  ),
  gauge('endpointd_serving_certificate_lifetime_seconds', 'How long that serving certificate is valid altogether'),
  gauge('endpointd_watch_up', 'The watch of a resource runs (1) or not (0)', ['resource']),
  counter('endpointd_watch_restarts_total', 'Watches that ended and were begun again, for whatever reason', [
    'resource',
  ]),
  counter(
    'endpointd_history_resets_total',
    'Times that the history of a resource went back, as it does when etcd is restored: its cache was replaced',
    ['resource'],
  ),
  counter(
    'endpointd_mass_removals_total',
    'Times that a list took most ready endpoints away, after second lists had said the same',
  ),
  counter(
    'endpointd_decode_errors_total',
    'Objects or streams from the API server that could not be read, or ended within a frame',
    ['resource'],
  ),
  gauge('endpointd_cache_objects', 'Objects in the cache of a resource', ['resource']),

  counter('endpointd_shard_restarts_total', 'Threads of a shard that were lost and replaced', ['shard']),
  counter('endpointd_shard_batches_total', 'Batches handed to a shard', ['shard']),
  histogram(
    'endpointd_shard_plan_duration_seconds',
    'From handing a batch to a shard until its plans came back',
    ['shard'],
    STAGE_SECONDS,
  ),
  gauge('endpointd_shard_services', 'Services that the planner of a shard keeps state of', ['shard']),
  gauge('endpointd_shard_heap_bytes', "Used heap of a shard's thread; absent with --shards=0", ['shard']),

  counter(
    'endpointd_events_total',
    'Event objects by what became of them: sent, suppressed (over the budget of their object), dropped (queue full), failed',
    ['result'],
  ),
  histogram('endpointd_step_duration_seconds', 'Time of one step of the main thread', [], STEP_SECONDS),
  counter(
    'endpointd_log_dropped_lines_total',
    'Lines of the log that were not written, because the buffer was full or a write failed',
  ),
  counter('endpointd_log_write_errors_total', 'Writes of the log that failed'),
  counter(
    'endpointd_metric_series_refused_total',
    'Label sets beyond the bound of their metric, counted in series `other`',
  ),
  gauge(
    'endpointd_heap_limit_bytes',
    'Bound of the heap of the main thread, whose use is nodejs_heap_size_used_bytes: V8 ends the process when it is full',
  ),
  gauge('endpointd_build_info', 'Always 1; the labels tell what runs', ['version', 'node']),
] as const satisfies readonly MetricSpec[];

export type MetricName = (typeof CATALOGUE)[number]['name'];

function counter<const N extends string>(name: N, help: string, labelNames: readonly string[] = []) {
  return { name, help, type: 'counter' as const, labelNames, bounds: [] };
}

function gauge<const N extends string>(name: N, help: string, labelNames: readonly string[] = []) {
  return { name, help, type: 'gauge' as const, labelNames, bounds: [] };
}

function histogram<const N extends string>(
  name: N,
  help: string,
  labelNames: readonly string[],
  bounds: readonly number[],
) {
  return { name, help, type: 'histogram' as const, labelNames, bounds };
}
