import type { ControllerName, ControllerOptions } from '../options.ts';
import type { Reflector } from '../reflectors/reflector.ts';
import type { EventReasonName } from '../reports/event-reasons.ts';
import type { OutputRecord, ServiceRecord } from '../../kube/types.ts';
import type { MetricName } from '../../metrics/catalogue.ts';
import type { MetricStore } from '../../metrics/store.ts';
import type { Facts, OutputKind, PlannedWrite } from '../../shard/protocol.ts';

/** One controller as data: everything in which it differs from the others. */
export interface Definition<K extends OutputKind = OutputKind> {
  /** The output that it plans. */
  readonly kind: K;
  readonly name: ControllerName;
  /** The name of its queue in metrics, as upstream calls it. */
  readonly queueName: string;
  /** Upstream's metric of its token bucket; null = upstream has no such controller. */
  readonly tokenUse: MetricName | null;
  /** Its names in `--controllers`: its own and upstream's alias (docs/spec/wire.md "Controller names"). */
  readonly flagNames: readonly [string, string];
  limits(options: ControllerOptions): QueueLimits;

  /** The kind of the objects that it writes. */
  readonly writes: 'Endpoints' | 'EndpointSlice';
  /** The label value that marks EndpointSlices as its own; '' = it writes Endpoints. */
  readonly managedBy: string;
  /** Milliseconds until the first repair of an object that somebody else has deleted. */
  readonly recreateMs: number;

  /** The caches that it waits for. */
  caches(options: ControllerOptions): readonly Reflector['resource'][];
  /** The outputs whose objects a planner has to know to plan this one: its own, and the one that it is made from. */
  readonly needs: readonly OutputKind[];
  /** Whether its plans follow the pods of a service. */
  readonly followsPods: boolean;
  /** Whether its plans follow the nodes of these pods: whether the node exists, and its zone. */
  readonly followsNodes: boolean;
  /** Whether a change of the Service concerns it. `before` null = the Service is new. A deletion concerns every one. */
  followsService(before: ServiceRecord | null, after: ServiceRecord, options: ControllerOptions): boolean;

  /** Whether there is something to plan. If not, `fate` says what becomes of the objects that were written before. */
  wants(service: KnownService, options: ControllerOptions): boolean;
  /**
   * Whether a service that is not wanted may have Endpoints to clean up. Slices need no such look: the watch tells of
   * them.
   */
  hasLeftovers(service: KnownService, options: ControllerOptions): boolean;
  /** What becomes of the objects of a service that is not wanted. `record` null = the Service does not exist. */
  fate(record: ServiceRecord | null, options: ControllerOptions): Fate;
  /** Milliseconds until it looks at what a deleted Service has left behind. */
  readonly orphanGraceMs: number;

  /** `source.component` of its Event objects. */
  readonly component: string;
  /** The kind of object that its Event objects are about. */
  readonly eventsAbout: 'Service' | 'Endpoints';
  /** The reason of the Event object about a stuck service. Upstream drops the key of such a service. */
  readonly stuckReason: EventReasonName;
  /** The Event object for a refused write of the service `<namespace>/<name>`, with that message; null = none. */
  failedWrite(write: PlannedWrite, message: string, service: string): PlannedEvent | null;
  /**
   * Makes its report. It lasts as long as the controller runs.
   * @param isCounted whether gauges with upstream's names have their values; those of a standby are 0
   */
  createReport(metrics: MetricStore, isCounted: () => boolean): OutputReport<K>;
}

/** What is known of a service when its controller is chosen; null = there is no such object. */
export interface KnownService {
  readonly record: ServiceRecord | null;
  readonly endpoints: { readonly record: OutputRecord | null };
}

/**
 * `orphaned` is for Endpoints alone: they go if the server confirms that there is no Service, and if they are this
 * controller's own.
 */
export type Fate = 'stay' | 'go' | 'orphaned';

/** How much a controller does at a time, and how long it collects. */
export interface QueueLimits {
  /** The most units that are synced at the same time. */
  readonly concurrent: number;
  /** How long changes of pods are collected. */
  readonly batchPeriodMs: number;
  /** The least time that other writers' changes of its objects are collected; 0 = they are not. */
  readonly objectBatchPeriodMs: number;
}

/**
 * What one output reports beyond what all outputs report: its metrics, and the Event objects that follow from its
 * plans.
 */
export interface OutputReport<K extends OutputKind = OutputKind> {
  /** Keeps sums over all services. The facts of each plan are added, and those of the plan before are taken away. */
  sum(facts: Facts<K>, sign: 1 | -1): void;
  /** A unit was planned, and its writes are to be sent. */
  planned(facts: Facts<K>): void;
  /** The Event objects that follow from a plan. `before`: the facts of the plan before; undefined = there was none. */
  events(facts: Facts<K>, before: Facts | undefined): readonly PlannedEvent[];
  /** A write was applied. */
  applied(verb: PlannedWrite['verb']): void;
  /** A sync has ended, and not of a standby. `facts`: those of its plan; undefined = it failed, or there was none. */
  synced(isSuccess: boolean, seconds: number, facts: Facts<K> | undefined): void;
  /** For the log. */
  fields(facts: Facts<K>): Readonly<Record<string, number>>;
}

export interface PlannedEvent {
  readonly reason: EventReasonName;
  /** In the form that `EVENT_REASONS` expects. */
  readonly detail: string;
}
