import type { ControllerOptions } from '../options.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_MIRROR, OUTPUT_SLICES, type PlannerConfig } from '../../shard/protocol.ts';

/** What every planner of the process is told. */
export function plannerConfigOf(options: ControllerOptions): PlannerConfig {
  const { endpoints, slices, mirroring } = options;
  return {
    tolerateUnreadyEndpointsAnnotation: options.tolerateUnreadyEndpointsAnnotation,
    outputs: (endpoints ? OUTPUT_ENDPOINTS : 0) | (slices ? OUTPUT_SLICES : 0) | (mirroring ? OUTPUT_MIRROR : 0),
    maxEndpointsPerSlice: options.maxEndpointsPerSlice,
    compactSlices: options.compactSlices,
    mirrorEndpointsPerSubsetMax: options.mirroringMaxEndpointsPerSubset,
    mirrorAll: options.mirroringAllEndpoints,
    mirrorZones: options.mirroringZones,
  };
}
