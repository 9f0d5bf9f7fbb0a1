import { isPlannedFromPods } from '../caches/service-state.ts';
import { SLICE_MANAGED_BY_VALUE } from '../../kube/names.ts';
import { REPAIR_MS } from '../queues/fights.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';
import type { Definition, PlannedEvent } from './definition.ts';
import { fateOfUnselected } from './fate.ts';
import { createSlicesReport } from './endpointslice-report.ts';

/** Writes the EndpointSlices of Services with a selector. */
export const endpointsliceDefinition: Definition<'slices'> = {
  kind: 'slices',
  name: 'endpointslice',
  queueName: 'endpoint_slice',
  tokenUse: 'endpoint_slice_controller_rate_limiter_use',
  flagNames: ['endpointslice-controller', 'endpointslice'],
  limits: (options) => ({
    concurrent: options.concurrentServiceEndpointSyncs,
    batchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
    objectBatchPeriodMs: options.endpointsliceUpdatesBatchPeriodMs,
  }),

  writes: 'EndpointSlice',
  managedBy: SLICE_MANAGED_BY_VALUE,
  recreateMs: REPAIR_MS,

  caches: () => ['endpointslices', 'services', 'nodes', 'pods'],
  needs: ['slices'],
  followsPods: true,
  followsNodes: true,
  followsService: () => true,

  wants: ({ record }, options) => record !== null && isPlannedFromPods(record, options),
  hasLeftovers: () => false,
  // Slices of a deleted Service are left to the garbage collector (docs/spec/endpointslice.md "One sync").
  fate: (record, options) => (record === null ? 'stay' : fateOfUnselected(options)),
  orphanGraceMs: 0,

  component: 'endpoint-slice-controller',
  eventsAbout: 'Service',
  stuckReason: 'EndpointSlicesStuck',
  failedWrite,
  createReport: createSlicesReport,
};

/**
 * Upstream's words. A create has another name at each try. So that is left out, in the server's message too: else each try
 * would be an Event object of its own.
 */
function failedWrite({ verb, name }: PlannedWrite, message: string, service: string): PlannedEvent {
  const generateName = name.slice(0, name.lastIndexOf('-') + 1);
  const what = verb === 'create' ? 'EndpointSlice' : `${name} EndpointSlice`;
  const said = verb === 'create' ? message.replaceAll(name, generateName) : message;
  return {
    reason: 'FailedToUpdateEndpointSlices',
    detail: `failed to ${verb} ${what} for Service ${service}: ${said}`,
  };
}
