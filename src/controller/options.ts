/** What `endpointd run` is told, checked and in plain units. Defaults: `cli/flags.ts`. */
export interface ControllerOptions {
  /** Which controllers run. */
  readonly endpoints: boolean;
  readonly slices: boolean;
  readonly mirroring: boolean;
  readonly concurrentEndpointSyncs: number;
  readonly endpointUpdatesBatchPeriodMs: number;
  readonly concurrentServiceEndpointSyncs: number;
  readonly endpointsliceUpdatesBatchPeriodMs: number;
  readonly maxEndpointsPerSlice: number;
  /** Slices of services that have shrunk are merged. */
  readonly compactSlices: boolean;
  readonly mirroringConcurrentServiceEndpointSyncs: number;
  /** Delays reactions to slice events only, as upstream. */
  readonly mirroringEndpointsliceUpdatesBatchPeriodMs: number;
  readonly mirroringMaxEndpointsPerSubset: number;
  /** Addresses above that maximum go into further slices instead of being left out. */
  readonly mirroringAllEndpoints: boolean;
  /** Mirrored endpoints have the zone of the node that they name. */
  readonly mirroringZones: boolean;
  /** What was written for a Service that has lost its selector, or become an ExternalName, is deleted, not mirrored. */
  readonly cleanUpUnselected: boolean;
  /**
   * The longest that the changes of a service's pods are collected while they keep arriving; 0 = that period is fixed.
   */
  readonly adaptiveBatchPeriodMaxMs: number;
  /** Pods that their kubelet is ending count as terminating before they have a deletionTimestamp. */
  readonly kubeletShutdownIsTermination: boolean;
  /** Services that have this label are left alone, whatever its value; '' = there is no such label. */
  readonly optOutLabel: string;
  /**
   * Of one controller; the shared bucket multiplies by the enabled controllers (docs/spec/protocols.md "The token
   * bucket"). -1 = no limit.
   */
  readonly kubeApiQps: number;
  readonly kubeApiBurst: number;
  /** 0 = no resync. */
  readonly minResyncPeriodMs: number;
  readonly tolerateUnreadyEndpointsAnnotation: boolean;
  /** Most writes without an answer at a time, over all services. */
  readonly maxWritesInFlight: number;
  /** Most bytes in one batch to a shard; a service whose snapshot alone is bigger is refused (stuck). */
  readonly maxBatchBytes: number;
  /** Milliseconds after which a shard that has not answered a batch is ended. */
  readonly shardDeadlineMs: number;
  /** Most events waiting to be recorded; further ones are dropped and counted. */
  readonly eventQueueSize: number;
  /** Changes that the journal holds; 0 = there is none. */
  readonly journalSize: number;
  /** A list that would take away most ready endpoints is confirmed by second lists before anything is removed. */
  readonly confirmMassRemoval: boolean;
  /** False = never ask for WatchList streaming, always page. */
  readonly watchList: boolean;
}

/** Also the value of the label `controller` in metrics. */
export type ControllerName = 'endpoints' | 'endpointslice' | 'endpointslice-mirroring';
