import type { OutputKind, PlannerConfig } from '../shard/protocol.ts';

/** The options of `endpointd run`, checked and in plain units. The defaults are in `cli/flags/flags.ts`. */
export interface ControllerOptions extends WhichControllers, Omit<PlannerConfig, 'outputs'> {
  readonly concurrentEndpointSyncs: number;
  readonly endpointUpdatesBatchPeriodMs: number;
  readonly concurrentServiceEndpointSyncs: number;
  readonly endpointsliceUpdatesBatchPeriodMs: number;
  readonly mirroringConcurrentServiceEndpointSyncs: number;
  /** Delays only the reactions to slice events, as upstream. */
  readonly mirroringEndpointsliceUpdatesBatchPeriodMs: number;
  /**
   * Whether the objects written for a Service are deleted, and not mirrored, when the Service loses its selector or
   * becomes an ExternalName.
   */
  readonly cleanUpUnselected: boolean;
  /**
   * The longest that changes of a service's pods are collected while they keep arriving; 0 = the batch period is fixed.
   */
  readonly adaptiveBatchPeriodMaxMs: number;
  /** Whether pods that their kubelet is ending count as terminating before they have a deletionTimestamp. */
  readonly kubeletShutdownIsTermination: boolean;
  /** Services with this label are left alone, whatever its value; '' = there is no such label. */
  readonly optOutLabel: string;
  /**
   * Requests a second of one controller. The shared bucket multiplies it by the enabled controllers
   * (docs/protocols.md "The token bucket"). -1 = no limit.
   */
  readonly kubeApiQps: number;
  readonly kubeApiBurst: number;
  /** 0 = no resync. */
  readonly minResyncPeriodMs: number;
  /** The most writes without an answer at a time, over all services. */
  readonly maxWritesInFlight: number;
  /** The most bytes in one batch to a shard. A service whose snapshot alone is bigger is refused (stuck). */
  readonly maxBatchBytes: number;
  /** Milliseconds after which a shard that has not answered a batch is ended; Infinity = it is waited for. */
  readonly shardDeadlineMs: number;
  /** The most Event objects that wait to be recorded. Further ones are dropped and counted. */
  readonly eventQueueSize: number;
  /** Changes that the journal holds; 0 = there is none. */
  readonly journalSize: number;
  /**
   * Whether a list that would take away most ready endpoints is confirmed by second lists before anything is removed.
   */
  readonly confirmMassRemoval: boolean;
  /** False = never ask for WatchList streaming, always page. */
  readonly watchList: boolean;
}

/** Which controllers run, by what they write. */
export type WhichControllers = Readonly<Record<OutputKind, boolean>>;

/** Also the value of the label `controller` in metrics. */
export type ControllerName = 'endpoints' | 'endpointslice' | 'endpointslice-mirroring';
