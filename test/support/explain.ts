import type { ExplainConfig } from '../../src/core/explain/service.ts';

/** As `endpointd explain` has it without flags. */
export const EXPLAIN_CONFIG: ExplainConfig = {
  maxEndpointsPerSlice: 100,
  tolerateUnreadyEndpointsAnnotation: false,
  compactSlices: false,
  optOutLabel: '',
  cleanUpUnselected: false,
  kubeletShutdownIsTermination: false,
  notRun: { endpoints: '', slices: '', mirror: '' },
  mirror: { endpointsPerSubsetMax: 1000, all: false },
};
