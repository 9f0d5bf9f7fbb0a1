/** The handles through which the controllers count, and the gauges that are read from their state when asked. */
import type { Controller, ControllerName } from './controllers.ts';
import { exposeEventRecorder, exposeTokenBucket, exposeWorkQueue } from './machine-metrics.ts';
import type { ControllerState } from './state.ts';
import { allServices, allSlices } from './services.ts';
import { oldestChangeMs } from './workqueue.ts';
import { pauseSecondsLeft } from './write-pause.ts';
import type { SliceSums } from './facts.ts';
import { allNodes } from '../core/node-table.ts';
import { podCount } from '../core/selector-index.ts';
import {
  counter,
  histogram,
  readMetric,
  readSeries,
  type Counter,
  type HistogramHandle,
  type MetricStore,
} from '../metrics/store.ts';

export type Stage = 'watch_in' | 'queue' | 'plan' | 'throttle' | 'write' | 'total';
type Verb = 'create' | 'update' | 'delete';

/** What all controllers count together. */
export interface Instruments {
  rateLimiter(method: string): HistogramHandle;
  problems(kind: string): Counter;
  watchRestarts(resource: string): Counter;
  historyResets(resource: string): Counter;
  decodeErrors(resource: string): Counter;
  shardRestarts(shard: number): Counter;
  shardBatches(shard: number): Counter;
  planSeconds(shard: number): HistogramHandle;
  readonly massRemovals: Counter;
  readonly conflicts: Counter;
  readonly foreignEdits: Counter;
  readonly orphansKept: Counter;
  readonly quarantines: Counter;
}

/** What each controller counts. */
export interface ControllerInstruments {
  stage(stage: Stage): HistogramHandle;
  syncs(result: string): Counter;
  writes(verb: Verb, result: string): Counter;
  writeBytes(verb: Verb): Counter;
  /** Of the endpointslice controller alone (docs/spec/endpointslice.md "Metrics"). */
  readonly slices: SliceInstruments | null;
  /** Of the mirroring controller alone. */
  readonly mirror: MirrorInstruments | null;
}

export interface SliceInstruments {
  readonly added: HistogramHandle;
  readonly removed: HistogramHandle;
  changes(verb: Verb): Counter;
  changedPerSync(topology: 'Auto' | 'Disabled', trafficDistribution: string): HistogramHandle;
  syncs(result: 'success' | 'error'): Counter;
}

export interface MirrorInstruments {
  readonly added: HistogramHandle;
  readonly updated: HistogramHandle;
  readonly removed: HistogramHandle;
  readonly skipped: HistogramHandle;
  readonly syncSeconds: HistogramHandle;
  changes(verb: Verb): Counter;
}

/** Looked up by labels once, by key from then on. */
function kept<K, H>(lookUp: (key: K) => H): (key: K) => H {
  const handles = new Map<K, H>();
  return (key) => {
    let handle = handles.get(key);
    if (handle === undefined) handles.set(key, (handle = lookUp(key)));
    return handle;
  };
}

/** `host`: of the API server, as upstream's label has it. */
export function createInstruments(store: MetricStore, host: string): Instruments {
  return {
    rateLimiter: kept((verb) => histogram(store, 'rest_client_rate_limiter_duration_seconds', { verb, host })),
    problems: (kind) => counter(store, 'endpointd_problems_total', { kind }),
    watchRestarts: (resource) => counter(store, 'endpointd_watch_restarts_total', { resource }),
    historyResets: (resource) => counter(store, 'endpointd_history_resets_total', { resource }),
    decodeErrors: (resource) => counter(store, 'endpointd_decode_errors_total', { resource }),
    shardRestarts: (shard) => counter(store, 'endpointd_shard_restarts_total', { shard: String(shard) }),
    shardBatches: kept((shard) => counter(store, 'endpointd_shard_batches_total', { shard: String(shard) })),
    planSeconds: kept((shard) => histogram(store, 'endpointd_shard_plan_duration_seconds', { shard: String(shard) })),
    massRemovals: counter(store, 'endpointd_mass_removals_total'),
    conflicts: counter(store, 'endpointd_write_conflicts_total'),
    foreignEdits: counter(store, 'endpointd_foreign_edits_total'),
    orphansKept: counter(store, 'endpointd_orphans_kept_total'),
    quarantines: counter(store, 'endpointd_quarantines_total'),
  };
}

export function createControllerInstruments(store: MetricStore, controller: ControllerName): ControllerInstruments {
  return {
    stage: kept((stage) => histogram(store, 'endpointd_pod_change_duration_seconds', { controller, stage })),
    syncs: kept((result) => counter(store, 'endpointd_syncs_total', { controller, result })),
    writes: (verb, result) => counter(store, 'endpointd_writes_total', { controller, verb, result }),
    writeBytes: kept((verb) => counter(store, 'endpointd_write_bytes_total', { controller, verb })),
    slices: controller === 'endpointslice' ? createSliceInstruments(store) : null,
    mirror: controller === 'endpointslice-mirroring' ? createMirrorInstruments(store) : null,
  };
}

function createSliceInstruments(store: MetricStore): SliceInstruments {
  return {
    added: histogram(store, 'endpoint_slice_controller_endpoints_added_per_sync'),
    removed: histogram(store, 'endpoint_slice_controller_endpoints_removed_per_sync'),
    changes: kept((operation) => counter(store, 'endpoint_slice_controller_changes', { operation })),
    changedPerSync: (topology, traffic_distribution) =>
      histogram(store, 'endpoint_slice_controller_endpointslices_changed_per_sync', { topology, traffic_distribution }),
    syncs: kept((result) => counter(store, 'endpoint_slice_controller_syncs', { result })),
  };
}

function createMirrorInstruments(store: MetricStore): MirrorInstruments {
  return {
    added: histogram(store, 'endpoint_slice_mirroring_controller_endpoints_added_per_sync'),
    updated: histogram(store, 'endpoint_slice_mirroring_controller_endpoints_updated_per_sync'),
    removed: histogram(store, 'endpoint_slice_mirroring_controller_endpoints_removed_per_sync'),
    skipped: histogram(store, 'endpoint_slice_mirroring_controller_addresses_skipped_per_sync'),
    syncSeconds: histogram(store, 'endpoint_slice_mirroring_controller_endpoints_sync_duration'),
    changes: kept((operation) => counter(store, 'endpoint_slice_mirroring_controller_changes', { operation })),
  };
}

/** Registers what is read from the state each time the metrics are asked for. */
export function readState(store: MetricStore, state: ControllerState): void {
  exposeTokenBucket(store, state.tokens, state.options);
  exposeEventRecorder(store, state.recorder);
  readMetric(store, 'endpointd_oldest_unwritten_change_seconds', {}, (nowMs) => oldestChangeSeconds(state, nowMs));
  readMetric(store, 'endpointd_write_pause_seconds', {}, (nowMs) => pauseSecondsLeft(state.pause, nowMs));
  for (const controller of state.controllers) readController(store, state, controller);

  readSeries(store, 'endpointd_stuck_service', function* () {
    for (const { name, stuck } of state.controllers) {
      for (const [{ service }, failureClass] of stuck) {
        const labels = { controller: name, namespace: service.namespace, service: service.name, class: failureClass };
        yield { labels, value: 1 };
      }
    }
  });
  readMetric(store, 'endpointd_services_truncated', {}, () => state.sums.truncatedServices);
  readMetric(store, 'endpointd_addresses_truncated', {}, () => state.sums.truncatedAddresses);
  readMetric(store, 'endpointd_services_waiting_for_node', {}, () => state.sums.waitingForNode);

  readSeries(store, 'endpointd_watch_up', function* () {
    for (const { resource, downSinceMs } of state.reflectors) {
      yield { labels: { resource }, value: downSinceMs < 0 ? 1 : 0 };
    }
  });
  readSeries(store, 'endpointd_shard_services', () => {
    const counts = state.shards.map(() => 0);
    for (const { shard, inPlanner } of allServices(state)) if (inPlanner) counts[shard]!++;
    return counts.map((value, shard) => ({ labels: { shard: String(shard) }, value }));
  });
  readSeries(store, 'endpointd_cache_objects', () => {
    const counts = { pods: podCount(state.index), services: 0, endpoints: 0, endpointslices: 0, nodes: 0 };
    for (const { record, endpoints } of allServices(state)) {
      if (record !== null) counts.services++;
      if (endpoints.record !== null) counts.endpoints++;
    }
    for (const { record } of allSlices(state)) if (record !== null) counts.endpointslices++;
    for (const _ of allNodes(state.nodes)) counts.nodes++;
    return state.reflectors.map(({ resource }) => ({ labels: { resource }, value: counts[resource] }));
  });
}

function oldestChangeSeconds({ controllers }: ControllerState, nowMs: number): number {
  const changes = controllers.map(({ queue }) => oldestChangeMs(queue)).filter((changedMs) => changedMs >= 0);
  return changes.length === 0 ? 0 : (nowMs - Math.min(...changes)) / 1000;
}

function readController(store: MetricStore, state: ControllerState, { name, queue, stuck }: Controller): void {
  const labels = { controller: name };
  exposeWorkQueue(store, queue);
  readMetric(store, 'endpointd_services', { ...labels, state: 'known' }, () => state.serviceCount);
  readMetric(store, 'endpointd_services', { ...labels, state: 'syncing' }, () => queue.processing.length);
  readMetric(store, 'endpointd_services', { ...labels, state: 'stuck' }, () => stuck.size);
  const { slices, mirror, trafficDistribution } = state.sums;
  if (name === 'endpointslice') {
    readSliceSums(store, 'endpoint_slice_controller', slices);
    readSeries(store, 'endpoint_slice_controller_services_count_by_traffic_distribution', function* () {
      for (const [value, count] of trafficDistribution) yield { labels: { traffic_distribution: value }, value: count };
    });
  } else if (name === 'endpointslice-mirroring') readSliceSums(store, 'endpoint_slice_mirroring_controller', mirror);
}

function readSliceSums(
  store: MetricStore,
  prefix: 'endpoint_slice_controller' | 'endpoint_slice_mirroring_controller',
  sums: SliceSums,
): void {
  readMetric(store, `${prefix}_endpoints_desired`, {}, () => sums.endpoints);
  readMetric(store, `${prefix}_num_endpoint_slices`, {}, () => sums.slices);
  readMetric(store, `${prefix}_desired_endpoint_slices`, {}, () => sums.slicesDesired);
}
