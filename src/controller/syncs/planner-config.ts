import type { ControllerOptions } from '../options.ts';
import { OUTPUT_KINDS, type PlannerConfig } from '../../shard/protocol.ts';

/** What every planner of the process is told. */
export function plannerConfigOf(options: ControllerOptions): PlannerConfig {
  return {
    outputs: OUTPUT_KINDS.filter((kind) => options[kind]),
    tolerateUnreadyEndpointsAnnotation: options.tolerateUnreadyEndpointsAnnotation,
    maxEndpointsPerSlice: options.maxEndpointsPerSlice,
    compactSlices: options.compactSlices,
    mirroringMaxEndpointsPerSubset: options.mirroringMaxEndpointsPerSubset,
    mirroringAllEndpoints: options.mirroringAllEndpoints,
    mirroringZones: options.mirroringZones,
  };
}
