import { SLICE_MANAGED_BY_VALUE } from '../../kube/names.ts';
import type { Definition } from './definition.ts';

/** Writes the EndpointSlices of Services with a selector. */
export const endpointsliceDefinition: Definition<'slices'> = {
  kind: 'slices',
  name: 'endpointslice',
  component: 'endpoint-slice-controller',
  managedBy: SLICE_MANAGED_BY_VALUE,
  queueName: 'endpoint_slice',
  isEnabled: ({ slices }) => slices,
  pace: (options) => ({
    concurrent: options.concurrentServiceEndpointSyncs,
    batchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
    objectBatchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
  }),
};
