import type { Definition } from './definition.ts';

/** Writes the Endpoints of Services with a selector. */
export const endpointsDefinition: Definition<'endpoints'> = {
  kind: 'endpoints',
  name: 'endpoints',
  component: 'endpoint-controller',
  managedBy: '',
  queueName: 'endpoint',
  isEnabled: ({ endpoints }) => endpoints,
  pace: (options) => ({
    concurrent: options.concurrentEndpointSyncs,
    batchPeriodMs: options.endpointUpdatesBatchPeriodMs,
    objectBatchPeriodMs: 0,
  }),
};
