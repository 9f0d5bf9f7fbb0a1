import { SLICE_MANAGED_BY_VALUE } from '../../kube/names.ts';
import { REPAIR_MS } from '../queues/fights.ts';
import type { Definition } from './definition.ts';
import { createSlicesReport } from './endpointslice-report.ts';

/** Writes the EndpointSlices of Services with a selector. */
export const endpointsliceDefinition: Definition<'slices'> = {
  kind: 'slices',
  name: 'endpointslice',
  queueName: 'endpoint_slice',
  isEnabled: ({ slices }) => slices,
  pace: (options) => ({
    concurrent: options.concurrentServiceEndpointSyncs,
    batchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
    objectBatchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
  }),

  writes: 'EndpointSlice',
  managedBy: SLICE_MANAGED_BY_VALUE,
  caches: () => ['endpointslices', 'services', 'nodes', 'pods'],
  recreateMs: REPAIR_MS,

  component: 'endpoint-slice-controller',
  eventsAbout: 'Service',
  stuckReason: 'EndpointSlicesStuck',
  failedWrite: ({ verb, name }, message) => ({
    reason: 'FailedToUpdateEndpointSlices',
    detail: `failed to ${verb} EndpointSlice ${name}: ${message}`,
  }),
  createReport: createSlicesReport,
};
