/** The handles through which the controller counts, and the gauges that are read from its state when asked. */
import { exposeEventRecorder, exposeTokenBucket, exposeWorkQueue } from './machine-metrics.ts';
import type { ControllerState } from './state.ts';
import { allServices } from './services.ts';
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

export interface Instruments {
  stage(stage: Stage): HistogramHandle;
  syncs(result: string): Counter;
  writes(verb: string, result: string): Counter;
  writeBytes(verb: string): Counter;
  rateLimiter(method: string): HistogramHandle;
  problems(kind: string): Counter;
  watchRestarts(resource: string): Counter;
  decodeErrors(resource: string): Counter;
  shardRestarts(shard: number): Counter;
  shardBatches(shard: number): Counter;
  planSeconds(shard: number): HistogramHandle;
  readonly conflicts: Counter;
  readonly foreignEdits: Counter;
  readonly orphansKept: Counter;
  readonly quarantines: Counter;
}

const controller = 'endpoints';

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
    stage: kept((stage) => histogram(store, 'endpointd_pod_change_duration_seconds', { controller, stage })),
    syncs: kept((result) => counter(store, 'endpointd_syncs_total', { controller, result })),
    writes: (verb, result) => counter(store, 'endpointd_writes_total', { controller, verb, result }),
    writeBytes: kept((verb) => counter(store, 'endpointd_write_bytes_total', { controller, verb })),
    rateLimiter: kept((verb) => histogram(store, 'rest_client_rate_limiter_duration_seconds', { verb, host })),
    problems: (kind) => counter(store, 'endpointd_problems_total', { kind }),
    watchRestarts: (resource) => counter(store, 'endpointd_watch_restarts_total', { resource }),
    decodeErrors: (resource) => counter(store, 'endpointd_decode_errors_total', { resource }),
    shardRestarts: (shard) => counter(store, 'endpointd_shard_restarts_total', { shard: String(shard) }),
    shardBatches: kept((shard) => counter(store, 'endpointd_shard_batches_total', { shard: String(shard) })),
    planSeconds: kept((shard) => histogram(store, 'endpointd_shard_plan_duration_seconds', { shard: String(shard) })),
    conflicts: counter(store, 'endpointd_write_conflicts_total'),
    foreignEdits: counter(store, 'endpointd_foreign_edits_total'),
    orphansKept: counter(store, 'endpointd_orphans_kept_total'),
    quarantines: counter(store, 'endpointd_quarantines_total'),
  };
}

/** Registers what is read from the state each time the metrics are asked for. */
export function readState(store: MetricStore, state: ControllerState): void {
  const { queue } = state;
  exposeWorkQueue(store, queue);
  exposeTokenBucket(store, state.tokens, state.options);
  exposeEventRecorder(store, state.recorder);

  readMetric(store, 'endpointd_services', { controller, state: 'known' }, () => state.serviceCount);
  readMetric(store, 'endpointd_services', { controller, state: 'syncing' }, () => queue.processing.length);
  readMetric(store, 'endpointd_services', { controller, state: 'stuck' }, () => state.stuck.size);
  readSeries(store, 'endpointd_stuck_service', function* () {
    for (const [service, failureClass] of state.stuck) {
      yield {
        labels: { controller, namespace: service.namespace, service: service.name, class: failureClass },
        value: 1,
      };
    }
  });
  readMetric(store, 'endpointd_services_truncated', {}, () => state.truncatedServices);
  readMetric(store, 'endpointd_addresses_truncated', {}, () => state.truncatedAddresses);

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
    let services = 0;
    let endpoints = 0;
    for (const { record, output } of allServices(state)) {
      if (record !== null) services++;
      if (output.record !== null) endpoints++;
    }
    const counts = { pods: podCount(state.index), services, endpoints };
    return Object.entries(counts).map(([resource, value]) => ({ labels: { resource }, value }));
  });
}
