import { OUTPUT_ENDPOINTS, OUTPUT_MIRROR, OUTPUT_SLICES, type PlannerConfig } from '../../src/shard/protocol.ts';

/** Of a planner of all three outputs, with upstream's limits. */
export const ALL_OUTPUTS: PlannerConfig = {
  tolerateUnreadyEndpointsAnnotation: false,
  outputs: OUTPUT_ENDPOINTS | OUTPUT_SLICES | OUTPUT_MIRROR,
  maxEndpointsPerSlice: 100,
  compactSlices: false,
  mirrorEndpointsPerSubsetMax: 1000,
  mirrorAll: false,
  mirrorZones: false,
};

/** Of a planner that knows of Endpoints alone. */
export const ENDPOINTS_ONLY: PlannerConfig = { ...ALL_OUTPUTS, outputs: OUTPUT_ENDPOINTS };
