import type { PlannerConfig } from '../../src/shard/protocol.ts';

/** Of a planner of all three outputs, with upstream's limits. */
export const ALL_OUTPUTS: PlannerConfig = {
  tolerateUnreadyEndpointsAnnotation: false,
  outputs: ['endpoints', 'slices', 'mirror'],
  maxEndpointsPerSlice: 100,
  compactSlices: false,
  mirroringMaxEndpointsPerSubset: 1000,
  mirroringAllEndpoints: false,
  mirroringZones: false,
};

/** Of a planner that knows of Endpoints alone. */
export const ENDPOINTS_ONLY: PlannerConfig = { ...ALL_OUTPUTS, outputs: ['endpoints'] };
