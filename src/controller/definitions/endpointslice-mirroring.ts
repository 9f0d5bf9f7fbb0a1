import { isOptedOut } from '../caches/service-state.ts';
import type { ControllerOptions } from '../options.ts';
import { REPAIR_MS } from '../queues/fights.ts';
import { whyUnmirrored } from '../../core/mirroring/mirrored.ts';
import { MIRROR_MANAGED_BY_VALUE } from '../../kube/names.ts';
import type { ServiceRecord } from '../../kube/types.ts';
import { memo } from '../../lib/memo.ts';
import { counter, histogram, type MetricStore } from '../../metrics/store.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';
import type { Definition, OutputReport } from './definition.ts';
import { addSliceCounts, createSliceCounts } from './slice-counts.ts';

/** Writes the EndpointSlices that mirror Endpoints made by hand. */
export const mirroringDefinition: Definition<'mirror'> = {
  kind: 'mirror',
  name: 'endpointslice-mirroring',
  queueName: 'endpoint_slice_mirroring',
  tokenUse: 'endpoint_slice_mirroring_controller_rate_limiter_use',
  flagNames: ['endpointslice-mirroring-controller', 'endpointslicemirroring'],
  limits: (options) => ({
    concurrent: options.mirroringConcurrentServiceEndpointSyncs,
    batchPeriodMs: 0,
    objectBatchPeriodMs: options.mirroringEndpointsliceUpdatesBatchPeriodMs,
  }),

  writes: 'EndpointSlice',
  managedBy: MIRROR_MANAGED_BY_VALUE,
  recreateMs: REPAIR_MS,

  caches: ({ mirroringZones }) => [
    'endpointslices',
    'endpoints',
    'services',
    ...(mirroringZones ? (['nodes'] as const) : []),
  ],
  needs: ['endpoints', 'mirror'],
  followsPods: false,
  // Only its plans tell on which nodes mirrored endpoints are (`replan.ts`).
  followsNodes: false,
  followsService,

  wants: ({ record, endpoints }, options) => whyUnmirrored(record, endpoints.record, options) === null,
  hasLeftovers: () => false,
  // Slices go when there is nothing left to mirror (docs/spec/endpointslice.md "Mirroring: clean-up").
  fate: () => 'go',
  orphanGraceMs: 0,

  component: 'endpoint-slice-mirroring-controller',
  eventsAbout: 'Endpoints',
  stuckReason: 'MirroredEndpointSlicesStuck',
  failedWrite: () => null,
  createReport,
};

/** Mirroring reads three things of a Service: whether it exists, whether it opts out, and whether it has a selector. */
function followsService(before: ServiceRecord | null, after: ServiceRecord, options: ControllerOptions): boolean {
  if (before === null || (before.selector === null) !== (after.selector === null)) return true;
  return isOptedOut(before, options) !== isOptedOut(after, options);
}

/** docs/spec/endpointslice.md "Metrics". */
function createReport(metrics: MetricStore, isCounted: () => boolean): OutputReport<'mirror'> {
  const added = histogram(metrics, 'endpoint_slice_mirroring_controller_endpoints_added_per_sync');
  const updated = histogram(metrics, 'endpoint_slice_mirroring_controller_endpoints_updated_per_sync');
  const removed = histogram(metrics, 'endpoint_slice_mirroring_controller_endpoints_removed_per_sync');
  const skipped = histogram(metrics, 'endpoint_slice_mirroring_controller_addresses_skipped_per_sync');
  const syncSeconds = histogram(metrics, 'endpoint_slice_mirroring_controller_endpoints_sync_duration');
  const changes = memo((operation: PlannedWrite['verb']) =>
    counter(metrics, 'endpoint_slice_mirroring_controller_changes', { operation }),
  );
  const sums = createSliceCounts(metrics, 'endpoint_slice_mirroring_controller', isCounted);
  return {
    sum: (facts, sign) => addSliceCounts(sums, facts, sign),
    planned(facts) {
      added.observe(facts.added);
      updated.observe(facts.updated);
      removed.observe(facts.removed);
      skipped.observe(facts.skipped);
    },
    events: () => [],
    applied: (verb) => changes(verb).inc(),
    synced: (_isSuccess, seconds) => syncSeconds.observe(seconds),
    fields: ({ endpoints, slices }) => ({ endpoints, slices }),
  };
}
