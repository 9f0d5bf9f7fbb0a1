/** The handles through which the controllers count. */
import type { ControllerName } from '../options.ts';
import { memo } from '../../lib/memo.ts';
import { counter, histogram, type Counter, type HistogramHandle, type MetricStore } from '../../metrics/store.ts';
import type { Stage } from './stages.ts';

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
}

/** `host`: the API server's, as in upstream's label. */
export function createInstruments(store: MetricStore, host: string): Instruments {
  return {
    rateLimiter: memo((verb) => histogram(store, 'rest_client_rate_limiter_duration_seconds', { verb, host })),
    problems: (kind) => counter(store, 'endpointd_problems_total', { kind }),
    foreignEdits: (manager) => counter(store, 'endpointd_foreign_edits_total', { manager }),
    watchRestarts: (resource) => counter(store, 'endpointd_watch_restarts_total', { resource }),
    historyResets: (resource) => counter(store, 'endpointd_history_resets_total', { resource }),
    decodeErrors: (resource) => counter(store, 'endpointd_decode_errors_total', { resource }),
    shardRestarts: (shard) => counter(store, 'endpointd_shard_restarts_total', { shard: String(shard) }),
    shardBatches: memo((shard) => counter(store, 'endpointd_shard_batches_total', { shard: String(shard) })),
    planSeconds: memo((shard) => histogram(store, 'endpointd_shard_plan_duration_seconds', { shard: String(shard) })),
    massRemovals: counter(store, 'endpointd_mass_removals_total'),
    conflicts: counter(store, 'endpointd_write_conflicts_total'),
    orphansKept: counter(store, 'endpointd_orphans_kept_total'),
    quarantines: counter(store, 'endpointd_quarantines_total'),
  };
}

export function createControllerInstruments(store: MetricStore, controller: ControllerName): ControllerInstruments {
  const writesOf = memo((verb: Verb) =>
    memo((result: string) => counter(store, 'endpointd_writes_total', { controller, verb, result })),
  );
  return {
    stage: memo((stage) => histogram(store, 'endpointd_pod_change_duration_seconds', { controller, stage })),
    syncs: memo((result) => counter(store, 'endpointd_syncs_total', { controller, result })),
    writes: (verb, result) => writesOf(verb)(result),
    writeBytes: memo((verb) => counter(store, 'endpointd_write_bytes_total', { controller, verb })),
  };
}
