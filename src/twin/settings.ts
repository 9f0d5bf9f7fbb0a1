/**
 * The settings that an operator can choose, and their costs on a machine. With its story they determine a run of the
 * queue model.
 */

import type { Program } from '../metrics/program-of.ts';
import type { Output } from './ledger.ts';

export interface Settings {
  /** `--concurrent-endpoint-syncs`. */
  readonly endpointSyncs: number;
  /** `--concurrent-service-endpoint-syncs`. */
  readonly serviceEndpointSyncs: number;
  /** `--endpoint-updates-batch-period`, milliseconds. */
  readonly endpointsBatchMs: number;
  /** `--endpointslice-updates-batch-period`, milliseconds. */
  readonly slicesBatchMs: number;
  /** `--kube-api-qps` of each controller; 0 or less = no limit. */
  readonly qps: number;
  readonly burst: number;
  /** `--max-endpoints-per-slice`. */
  readonly endpointsPerSlice: number;
  /** `--adaptive-batch-period-max`, milliseconds; 0 = off. Only endpointd has it. */
  readonly adaptiveBatchMs: number;
  /** `--max-writes-in-flight` of all controllers together. Only endpointd has it. */
  readonly inFlight: number;
  /**
   * How many of the three controllers run, as far as that is told: the story tells which of them wrote. endpointd sums their
   * tokens; in kube-controller-manager each has its own.
   */
  readonly controllers: number;
}

/** The defaults of both programs. */
export const DEFAULT_SETTINGS: Settings = {
  endpointSyncs: 5,
  serviceEndpointSyncs: 5,
  endpointsBatchMs: 0,
  slicesBatchMs: 0,
  qps: 20,
  burst: 30,
  endpointsPerSlice: 100,
  adaptiveBatchMs: 0,
  inFlight: 64,
  controllers: 3,
};

/** Milliseconds of CPU, unless something else is said. */
export interface Costs {
  /** For each event of a watch of pods and Services: decoding, the cache, and the handlers. */
  readonly intake: number;
  /** For the event of an own write. */
  readonly echo: number;
  /** For each Service that is compared with a pod, to find the pod's Services. */
  readonly match: number;
  /** For each sync, whatever its size. */
  readonly sync: number;
  /** For each pod that a sync looks through to find its own. */
  readonly scan: number;
  /** For each endpoint of the service. */
  readonly endpoint: number;
  /** For each write that is sent. */
  readonly write: number;
  /** For each written byte. */
  readonly writtenByte: number;
  /** For each answer to a write. */
  readonly reply: number;
}

/** The machine of a controller, and the API server to which it talks. */
export interface Calibration {
  readonly version: 3;
  /** The cores that the controller computes on. What the API server computes meanwhile is within its times. */
  readonly cores: number;
  /**
   * The API server's time for the write of an object without endpoints, from the socket to the answer. Lognormal: median, and
   * p99 over median.
   */
  readonly apiMs: { readonly median: number; readonly tail: number };
  /** What each endpoint of the written object adds to that time, as a share of it. */
  readonly apiEach: Readonly<Record<Output, number>>;
  /** From the API server's acknowledgement until the event is in the controller's process. */
  readonly watchLagMs: number;
  /** A factor for all costs of the controllers. */
  readonly cpuFactor: number;
  readonly costs: Readonly<Record<Program, Costs>>;
}

/**
 * Measured on two cores at 2.5 GHz beside a real API server (2026-11-22): flips in services of five pods and in one of
 * 5,000, and 2,000 services of one namespace from nothing. What endpoints add is by `npm run bench -- object-size`
 * (2026-11-25).
 */
export const DEFAULT_CALIBRATION: Calibration = {
  version: 3,
  cores: 2,
  apiMs: { median: 3, tail: 4 },
  apiEach: { endpoints: 0.003, slices: 0.007 },
  watchLagMs: 1,
  cpuFactor: 1,
  costs: {
    endpointd: {
      intake: 0.1,
      echo: 0.1,
      match: 0,
      sync: 0.1,
      scan: 0,
      endpoint: 0.0004,
      write: 0.35,
      writtenByte: 0.000_006,
      reply: 0.15,
    },
    'kube-controller-manager': {
      intake: 0.2,
      echo: 0.2,
      match: 0.0003,
      sync: 0.5,
      scan: 0.001,
      endpoint: 0.02,
      write: 0.85,
      writtenByte: 0.000_035,
      reply: 0.15,
    },
  },
};
