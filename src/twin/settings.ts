/** What an operator can set, and what it costs on a certain machine: all that a run of the queue model depends on but its story. */

export type Controller = 'endpointd' | 'kube-controller-manager';

export interface Settings {
  /** `--concurrent-endpoint-syncs`. */
  readonly endpointSyncs: number;
  /** `--concurrent-service-endpoint-syncs`. */
  readonly serviceEndpointSyncs: number;
  /** `--endpoint-updates-batch-period`, milliseconds. */
  readonly endpointsBatchMs: number;
  /** `--endpointslice-updates-batch-period`, milliseconds. */
  readonly slicesBatchMs: number;
  /** `--kube-api-qps`: of each controller; 0 or less = no limit. */
  readonly qps: number;
  readonly burst: number;
  /** `--max-endpoints-per-slice`. */
  readonly endpointsPerSlice: number;
  /** `--adaptive-batch-period-max`, milliseconds; 0 = off. endpointd alone has it. */
  readonly adaptiveBatchMs: number;
  /** How many of the three controllers run. endpointd adds up their tokens, kube-controller-manager keeps them apart. */
  readonly controllers: number;
}

/** What both programs do when no flag is given. */
export const DEFAULT_SETTINGS: Settings = {
  endpointSyncs: 5,
  serviceEndpointSyncs: 5,
  endpointsBatchMs: 0,
  slicesBatchMs: 0,
  qps: 20,
  burst: 30,
  endpointsPerSlice: 100,
  adaptiveBatchMs: 0,
  controllers: 3,
};

/** Milliseconds of CPU, but where something else is said. */
export interface Costs {
  /** For each event of a watch of pods and Services: decoding, the cache, and the handlers. */
  readonly intake: number;
  /** For the event of an own write. */
  readonly echo: number;
  /** To find the services of a pod: for each service that is looked at. */
  readonly match: number;
  /** A sync, whatever its size. */
  readonly sync: number;
  /** For each pod that a sync looks through to find its own. */
  readonly scan: number;
  /** For each endpoint of the service. */
  readonly endpoint: number;
  /** To send a write. */
  readonly write: number;
  /** For each byte that is written. */
  readonly writtenByte: number;
  /** To take the answer to a write. */
  readonly reply: number;
}

/** The machine that a controller runs on, and the API server that it talks to. */
export interface Calibration {
  readonly version: 2;
  /** Shared by all processes of the machine. */
  readonly cores: number;
  /** How long the API server takes for a write, from the socket to the answer. Lognormal: median, and p99 over median. */
  readonly apiMs: { readonly median: number; readonly tail: number };
  /** From the API server's acknowledgement until an event is in the controller's process. */
  readonly watchLagMs: number;
  /** What each controller computes is multiplied by this. */
  readonly cpuFactor: number;
  readonly costs: Readonly<Record<Controller, Costs>>;
}

/**
 * Measured on two cores at 2.5 GHz beside a real API server (bench/RESULTS.md): a flip in services of five, in one of
 * 5,000 pods, and 2,000 services of one namespace from nothing.
 */
export const DEFAULT_CALIBRATION: Calibration = {
  version: 2,
  cores: 2,
  apiMs: { median: 3, tail: 4 },
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
