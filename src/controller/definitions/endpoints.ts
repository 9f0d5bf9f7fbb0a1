import { isOptedOut, isPlannedFromPods } from '../caches/service-state.ts';
import type { ControllerOptions } from '../options.ts';
import { isOwnEndpoints } from '../../core/mirroring/mirrored.ts';
import { readMetric, type MetricStore } from '../../metrics/store.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';
import type { Definition, KnownService, OutputReport, PlannedEvent } from './definition.ts';
import { fateOfUnselected } from './fate.ts';

/** Writes the Endpoints of Services with a selector. */
export const endpointsDefinition: Definition<'endpoints'> = {
  kind: 'endpoints',
  name: 'endpoints',
  queueName: 'endpoint',
  tokenUse: 'endpoint_controller_rate_limiter_use',
  flagNames: ['endpoints-controller', 'endpoint'],
  limits: (options) => ({
    concurrent: options.concurrentEndpointSyncs,
    batchPeriodMs: options.endpointUpdatesBatchPeriodMs,
    objectBatchPeriodMs: 0,
  }),

  writes: 'Endpoints',
  managedBy: '',
  // A Service is unreachable without this object, so it is repaired nearly at once, as upstream does. The API server
  // deletes Endpoints with their Service. The event of that deletion comes by another watch, within this time.
  recreateMs: 50,

  caches: () => ['endpoints', 'services', 'pods'],
  needs: ['endpoints'],
  followsPods: true,
  followsNodes: false,
  followsService: () => true,

  wants: ({ record }, options) => record !== null && isPlannedFromPods(record, options),
  hasLeftovers,
  fate(record, options) {
    if (record === null) return 'orphaned';
    return fateOfUnselected(options);
  },
  // The API server deletes the Endpoints itself (docs/spec/endpoints.md "What the API server does itself"). The event
  // of that deletion is awaited for so long.
  orphanGraceMs: 2000,

  component: 'endpoint-controller',
  eventsAbout: 'Service',
  stuckReason: 'EndpointsStuck',
  failedWrite,
  createReport,
};

/** Endpoints without a Service, or of a Service that is not planned any more. */
function hasLeftovers({ record, endpoints }: KnownService, options: ControllerOptions): boolean {
  if (endpoints.record === null) return false;
  if (record === null) return true;
  if (!options.cleanUpUnselected || isPlannedFromPods(record, options) || isOptedOut(record, options)) return false;
  return isOwnEndpoints(endpoints.record);
}

function failedWrite({ verb }: PlannedWrite, message: string): PlannedEvent | null {
  switch (verb) {
    case 'create':
      return { reason: 'FailedToCreateEndpoint', detail: message };
    case 'update':
      return { reason: 'FailedToUpdateEndpoint', detail: message };
    case 'delete':
      return null;
  }
}

function createReport(metrics: MetricStore): OutputReport<'endpoints'> {
  const sums = { services: 0, addresses: 0 };
  readMetric(metrics, 'endpointd_services_truncated', {}, () => sums.services);
  readMetric(metrics, 'endpointd_addresses_truncated', {}, () => sums.addresses);
  return {
    sum({ truncated }, sign) {
      sums.addresses += sign * truncated;
      if (truncated > 0) sums.services += sign;
    },
    planned() {},
    events: () => [],
    applied() {},
    synced() {},
    fields: ({ ready, notReady }) => ({ ready, notReady }),
  };
}
