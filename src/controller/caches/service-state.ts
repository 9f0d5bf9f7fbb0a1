/**
 * What the main thread keeps of one Service key: its record, its objects, and one unit for each controller. These types
 * refer to each other, so they stand together.
 */
import type { Definition, OutputReport, QueueLimits } from '../definitions/definition.ts';
import type { ControllerOptions } from '../options.ts';
import type { WorkLane } from '../queues/lane-share.ts';
import type { WorkQueue, WorkItem } from '../queues/workqueue.ts';
import type { ControllerInstruments } from '../reports/instruments.ts';
import type { FailureClass } from '../queues/backoff.ts';
import type { Shadow } from '../writes/shadow-plan.ts';
import type { Pace } from '../queues/batch-pace.ts';
import type { PlannerView } from '../syncs/planner-view.ts';
import { hasOptOutLabel, whyUnplanned } from '../../core/selects-pods.ts';
import { serviceKey } from '../../kube/key.ts';
import type { ServiceRecord, OutputRecord } from '../../kube/types.ts';
import type { Facts, PlannedWrite, ObjectBytes } from '../../shard/protocol.ts';
import type { CpuShares } from '../../core/slices/cpu-shares.ts';

export interface ServiceState {
  readonly namespace: string;
  readonly name: string;
  readonly shard: number;
  /** null = the Service does not exist. Its objects may still exist. */
  record: ServiceRecord | null;
  /** The Endpoints object of the same key. */
  readonly endpoints: ObjectState;
  /** One unit for each controller that has ever had something to do for the service. */
  units: readonly Unit[];

  /** What its planner has been told. */
  readonly view: PlannerView;
  /** How many batches with this service were lost since one was answered with results. */
  batchesLost: number;
  /** uid of the orphaned Endpoints that were reported. They are reported once. */
  orphanReported: string;
}

/** A controller that runs in this process (`controllers.ts`). */
export interface Controller extends Definition, QueueLimits {
  readonly options: ControllerOptions;
  readonly queue: WorkQueue<Unit>;
  readonly instruments: ControllerInstruments;
  readonly report: OutputReport;
  /** The caches that it reads are filled, so it takes work. */
  running: boolean;
  /** Units that cannot be brought up to date, each with its last failure. */
  readonly stuck: Map<Unit, Failure>;
}

/** The unit of work: one service of one controller. */
export interface Unit {
  readonly controller: Controller;
  readonly service: ServiceState;
  readonly item: WorkItem<Unit>;
  /** Its slices by name: those that exist, and those with an answer or event still to come. */
  slices: Map<string, ObjectState> | null;
  /** The list of its slices is under way, so their watch events are held. */
  listingSlices: boolean;

  sync: Sync | null;
  /** Failed syncs in a row, of any class. So errors that alternate do not start at the shortest wait each time. */
  failures: number;
  /**
   * The same without those of class `unreachable`. They decide the wait after any other class: a refusal that comes after
   * an outage is the first of its kind.
   */
  failuresReached: number;
  /**
   * Until when the unit is tried again although its namespace is being deleted; -Infinity = the last sync that did not fail
   * did not find it so. Monotonic ms.
   */
  namespaceEndsUntilMs: number;
  /**
   * Monotonic ms before which the unit is not synced, whatever changes: the last failure will hardly be mended by
   * another try.
   */
  notBeforeMs: number;
  /** The fight with another writer of its objects; null = there never was one, as in almost every service. */
  fight: Fight | null;
  /** The pace of its pods' changes; null = the batch period is fixed, or no pod has changed yet. */
  pace: Pace | null;
  /**
   * Monotonic ms of the earliest pod change that no successful sync covers yet; -1 = none. After a failover it may be the
   * start of the first sync whose writes were left to the leader before.
   */
  changedAtMs: number;
  /** Whole seconds from the pod's Ready transition until that change was seen; -1 = not known. */
  watchInSeconds: number;
  /** What its last plan said; undefined = there was no plan, or the service is not planned any more. */
  facts: Facts | undefined;
}

/** One unit from the moment its queue hands it out until the last answer. It holds a slot of its controller. */
export interface Sync {
  stage: SyncStage;
  readonly startedAtMs: number;
  /** `changedAtMs` when the queue handed the unit out. */
  readonly changedAtMs: number;
  /** The lane that its queue handed the unit out from. */
  readonly lane: WorkLane;
  /** `Replan.nodeChanges` when the queue handed the unit out. */
  readonly nodeChanges: number;
  /** `Replan.shares` when the queue handed the unit out. */
  readonly shares: CpuShares | null;
  /**
   * Of the failures so far, the one that another try may mend soonest, with the longest Retry-After of all. It decides
   * the wait.
   */
  failure: Failure | null;
  /** Why the server could not say what has become of a slice that is missing; null = it was not asked, or has said it. */
  unlooked: Failure | null;
  /** How many writes were applied. */
  applied: number;
  /** Whether the plan was whole. If not, another sync follows this one. */
  isWhole: boolean;
  /** Whether a create was refused because the namespace is being deleted. */
  namespaceEnds: boolean;
  /** null = the writes are sent. */
  readonly shadow: Shadow | null;
  /**
   * These last ones are for metrics and journal (`reports/stages.ts`). Monotonic ms, or a duration in ms; -1 = the sync has
   * not come that far.
   */
  postedAtMs: number;
  plannedAtMs: number;
  /** The longest that one of its writes waited for its turn, and the longest that one waited for its answer. */
  throttledMs: number;
  answeredMs: number;
  /** `Unit.watchInSeconds` when the queue handed the unit out. */
  readonly watchInSeconds: number;
}

/** What a sync is doing, with the data that only this stage needs. */
export type SyncStage =
  /** `open`: reads without an answer. */
  | { readonly name: 'reading'; open: number }
  | { readonly name: 'planning' }
  /**
   * `open`: writes that are queued or without an answer. `later`: planned writes of later phases. `blockedFamilies`: the
   * families of writes that were not applied. What waits there would take away what nobody has added. `endedFamilies`:
   * those of which nothing more is sent. A write that was withdrawn or undone fails no sync.
   */
  | {
      readonly name: 'writing';
      open: number;
      later: readonly PlannedWrite[];
      blockedFamilies: readonly string[];
      endedFamilies: readonly string[];
    }
  /** The server is asked whether the Service of an orphan exists, or whether a slice that is missing lives on. */
  | { readonly name: 'confirming' }
  /** Objects are deleted that no unit plans any more. `open`: as in writing. */
  | { readonly name: 'deleting'; open: number };

export type StageOf<Name extends SyncStage['name']> = Extract<SyncStage, { readonly name: Name }>;

/** Why a sync failed, and when the server allows another try. */
export interface Failure {
  readonly class: FailureClass;
  readonly message: string;
  /** How long the server wants no other try; -1 = it does not say. */
  readonly retryAfterMs: number;
}

/** One object that a controller writes. Only its metadata is kept here. Its content is in the planner. */
export interface ObjectState {
  readonly name: string;
  readonly service: ServiceState;
  /** The unit that writes this slice; null = the Endpoints object, which one controller writes and another reads. */
  readonly unit: Unit | null;
  /** The newest known state of the object; null = it does not exist. */
  record: OutputRecord | null;
  /**
   * Own writes of the object that are queued or unanswered, and GETs of it that are unanswered. While there are any, its
   * watch events are held.
   */
  open: number;
  /** The body of the write that is under way; null = none was sent. */
  sent: Uint8Array | null;
  /** The newest watch event that is held. */
  held: SeenState | null;
  /** The echo that is awaited for an applied write; null = it has come, or none was awaited. */
  expected: ExpectedEcho | null;
  /** When the last own write was applied: seconds since the epoch; 0 = never. */
  wroteAtSeconds: number;
  /**
   * uid of the object that an own write has deleted, until the watch tells of it too. Whatever the watch tells of that
   * uid before is old.
   */
  deletedUid: string;
}

/** A state of the object as the watch or a list tells it. */
export interface SeenState {
  readonly resourceVersion: string;
  /** The version up to which it speaks: a list's own version, or the `resourceVersion` of a watch event. */
  readonly upTo: string;
  /** null = deleted, as `content`. */
  readonly record: OutputRecord | null;
  readonly content: ObjectBytes | typeof AS_SENT | null;
}

/**
 * Except for its metadata the object is as it was just written. Its content is not kept, because the planner has it.
 */
export const AS_SENT = 'as-sent';

/** What the watch brings back after an own write, unless admission has changed it. */
export interface ExpectedEcho {
  readonly resourceVersion: string;
  /** The request body. */
  readonly body: Uint8Array;
}

/**
 * What other writers have done to the objects of one unit. It is made at the first such change and goes with the
 * Service.
 */
export interface Fight {
  readonly serviceUid: string;
  readonly rounds: Readonly<Record<Damage, Rounds>>;
  /** Changes that the queued repair will undo, counted by writer (`writer-name.ts`); null = none. */
  writers: Map<string, number> | null;
  /** The same, of the repair that has begun. It is told when it is done; null = none. */
  repairing: Map<string, number> | null;
  /** The slice that went missing last, if the server was not asked since what has become of it; '' = none. */
  lost: string;
  /** The slice that was taken last; null = none was. */
  taken: Taken | null;
}

/** A slice that was given other labels than those by which its unit finds it. It lives on, and was replaced or will be. */
export interface Taken {
  readonly name: string;
  /** For the failure of the unit. */
  readonly why: string;
  /** Until when the unit makes no slices. Monotonic ms. */
  readonly heldUntilMs: number;
  /** How many times slices were taken, each less than five minutes after the end of the hold before. */
  readonly times: number;
}

/**
 * Damage of one kind that comes again and again. Everything between two repairs is one round, however many objects it
 * concerns.
 */
export interface Rounds {
  /** How many repairs have begun without a quiet minute in between, but those that came long before their time. */
  count: number;
  /** When the last repair began. Monotonic ms. */
  repairedAtMs: number;
  /** The next repair is queued. */
  isQueued: boolean;
}

/**
 * missing: an object was deleted. wrong: its content was changed. altered: admission has changed or undone an own
 * write. Then nobody else writes, so another try will hardly end otherwise.
 */
export type Damage = 'missing' | 'wrong' | 'altered';

/** `<namespace>/<name>`. It is not kept: it would take 80 bytes and is seldom asked for. */
export function keyOf(service: ServiceState): string {
  return serviceKey(service.namespace, service.name);
}

/**
 * Whether the endpoints and the endpointslice controller plan the Service, from the pods that it selects. Of any other
 * Service the mirroring controller may plan slices.
 */
export function isPlannedFromPods(record: ServiceRecord, options: ControllerOptions): boolean {
  return whyUnplanned(record, options.optOutLabel) === null;
}

/** Whether the Service opts out (D40): its objects are then neither written nor deleted. */
export function isOptedOut(record: ServiceRecord, { optOutLabel }: ControllerOptions): boolean {
  return hasOptOutLabel(record, optOutLabel);
}
