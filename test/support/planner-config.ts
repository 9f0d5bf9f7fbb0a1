import { OUTPUT_ENDPOINTS, type PlannerConfig } from '../../src/shard/protocol.ts';

/** Of a planner that knows of Endpoints alone. */
export const ENDPOINTS_ONLY: PlannerConfig = {
  tolerateUnreadyAnnotation: false,
  outputs: OUTPUT_ENDPOINTS,
  endpointsPerSliceMax: 100,
  mirrorEndpointsPerSubsetMax: 1000,
  mirrorAll: false,
};
