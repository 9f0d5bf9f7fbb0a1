import { readMetric, type MetricStore } from '../../metrics/store.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';
import type { Definition, OutputReport, PlannedEvent } from './definition.ts';

/** Writes the Endpoints of Services with a selector. */
export const endpointsDefinition: Definition<'endpoints'> = {
  kind: 'endpoints',
  name: 'endpoints',
  queueName: 'endpoint',
  isEnabled: ({ endpoints }) => endpoints,
  pace: (options) => ({
    concurrent: options.concurrentEndpointSyncs,
    batchPeriodMs: options.endpointUpdatesBatchPeriodMs,
    objectBatchPeriodMs: 0,
  }),

  writes: 'Endpoints',
  managedBy: '',
  caches: () => ['endpoints', 'services', 'pods'],
  // This object alone says where the service is, so it is repaired nearly at once, as upstream does. The API server
  // deletes Endpoints with their Service: the event of the Service comes by another watch, within this time.
  recreateMs: 50,

  component: 'endpoint-controller',
  eventsAbout: 'Service',
  stuckReason: 'EndpointsStuck',
  failedWrite,
  createReport,
};

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
    planned: () => [],
    applied() {},
    synced() {},
    fields: ({ ready, notReady }) => ({ ready, notReady }),
  };
}
