import { MIRROR_MANAGED_BY_VALUE } from '../../kube/names.ts';
import type { Definition } from './definition.ts';

/** Writes the EndpointSlices that mirror Endpoints made by hand. */
export const mirroringDefinition: Definition<'mirror'> = {
  kind: 'mirror',
  name: 'endpointslice-mirroring',
  component: 'endpoint-slice-mirroring-controller',
  managedBy: MIRROR_MANAGED_BY_VALUE,
  queueName: 'endpoint_slice_mirroring',
  isEnabled: ({ mirroring }) => mirroring,
  pace: (options) => ({
    concurrent: options.mirroringConcurrentServiceEndpointSyncs,
    batchPeriodMs: 0,
    objectBatchPeriodMs: options.mirroringEndpointsliceUpdatesBatchPeriodMs,
  }),
};
