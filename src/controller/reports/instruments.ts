/** The handles through which the controllers count. */
import type { ControllerName } from '../options.ts';
import { counter, histogram, type Counter, type HistogramHandle, type MetricStore } from '../../metrics/store.ts';

export type Stage = 'watch_in' | 'queue' | 'plan' | 'throttle' | 'write' | 'total';
type Verb = 'create' | 'update' | 'delete';

/** What all controllers count together. */
export interface Instruments {
  rateLimiter(method: string): HistogramHandle;
  problems(kind: string): Counter;
  foreignEdits(manager: string): Counter;
  watchRestarts(resource: string): Counter;
  historyResets(resource: string): Counter;
  decodeErrors(resource: string): Counter;
  shardRestarts(shard: number): Counter;
  shardBatches(shard: number): Counter;
  planSeconds(shard: number): HistogramHandle;
  readonly massRemovals: Counter;
  readonly conflicts: Counter;
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
    foreignEdits: (manager) => counter(store, 'endpointd_foreign_edits_total', { manager }),
    watchRestarts: (resource) => counter(store, 'endpointd_watch_restarts_total', { resource }),
    historyResets: (resource) => counter(store, 'endpointd_history_resets_total', { resource }),
    decodeErrors: (resource) => counter(store, 'endpointd_decode_errors_total', { resource }),
    shardRestarts: (shard) => counter(store, 'endpointd_shard_restarts_total', { shard: String(shard) }),
    shardBatches: kept((shard) => counter(store, 'endpointd_shard_batches_total', { shard: String(shard) })),
    planSeconds: kept((shard) => histogram(store, 'endpointd_shard_plan_duration_seconds', { shard: String(shard) })),
    massRemovals: counter(store, 'endpointd_mass_removals_total'),
    conflicts: counter(store, 'endpointd_write_conflicts_total'),
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
