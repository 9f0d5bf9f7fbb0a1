/**
 * What the main thread keeps of one Service key: its inputs' versions, its objects, and its units of work, each of one
 * controller. They refer to each other, so they stand together.
 */
import type { ControllerPace, Definition, OutputReport } from '../definitions/definition.ts';
import type { ControllerOptions } from '../options.ts';
import type { WorkQueue, WorkItem } from '../queues/workqueue.ts';
import type { ControllerInstruments } from '../reports/instruments.ts';
import type { FailureClass } from '../queues/backoff.ts';
import type { Shadow } from '../writes/shadow.ts';
import type { Pace } from '../queues/batch-pace.ts';
import type { PlannerView } from '../syncs/planner-view.ts';
import { isOptedOut as hasLabel, whyUnplanned } from '../../core/selects-pods.ts';
import { serviceKey } from '../../kube/key.ts';
import type { ServiceRecord, OutputRecord } from '../../kube/types.ts';
import type { Facts, PlannedWrite, ObjectBytes } from '../../shard/protocol.ts';
import type { CpuShares } from '../../core/slices/cpu-shares.ts';

export interface ServiceState {
  readonly namespace: string;
  readonly name: string;
  readonly shard: number;
  /** null = the Service does not exist. Its objects may. */
  record: ServiceRecord | null;
  /** The Endpoints object of the same key. */
  readonly endpoints: ObjectState;
  /** One unit for each controller that has ever had something to do with the service. */
  units: readonly Unit[];

  /** What its planner has been told. */
  readonly view: PlannerView;
  /** How many batches were lost while this service was alone in them. */
  deaths: number;
  /** It was in a lost batch, so it is planned alone until it has been planned once. */
  suspect: boolean;
  /** uid of the orphaned Endpoints that was reported, so that it is reported once. */
  orphanReported: string;
}

/** A controller that runs in this process (`controllers.ts`). */
export interface Controller extends Definition, ControllerPace {
  readonly options: ControllerOptions;
  readonly queue: WorkQueue<Unit>;
  readonly instruments: ControllerInstruments;
  readonly report: OutputReport;
  /** The caches that it reads are filled, so it works. */
  running: boolean;
  /** Units that cannot be brought up to date, with the class of their last failure. */
  readonly stuck: Map<Unit, Failure>;
}

/** The unit of work: one service of one controller. */
export interface Unit {
  readonly controller: Controller;
  readonly service: ServiceState;
  readonly item: WorkItem<Unit>;
  /** Its slices by name: those that exist, and those of which an answer or an event is awaited. */
  slices: Map<string, ObjectState> | null;
  /** The list of its slices is under way, so their watch events are held. */
  reading: boolean;

  sync: Sync | null;
  /** Failed syncs in a row, of whatever class: errors that alternate do not start from the shortest wait each time. */
  failures: number;
  /**
   * No sync before this time, whatever changes, because the last failure will hardly be mended by another try.
   * Monotonic ms.
   */
  notBeforeMs: number;
  /** The fight with whoever else writes its objects; null = nobody ever did, as almost everywhere. */
  fight: Fight | null;
  /** The pace of its pods' changes; null = the batch period does not adapt, or no pod has changed. */
  pace: Pace | null;
  /** Monotonic ms of the earliest pod change that no successful sync covers yet; -1 = none. */
  changedAtMs: number;
  /** How long that change took from the pod's Ready transition, in whole seconds, until it was seen; -1 = not known. */
  watchInSeconds: number;
  /** What its last plan said; undefined = there was no plan, or the service is not planned any more. */
  facts: Facts | undefined;
}

/** One unit between its hand-over and the last answer. It holds a slot of its controller. */
export interface Sync {
  stage: SyncStage;
  readonly startedAtMs: number;
  /** `changedAtMs` at the hand-over. */
  readonly changedAtMs: number;
  readonly chore: boolean;
  /** `Replan.moves` at the hand-over. */
  readonly nodeMoves: number;
  /** `Replan.shares` at the hand-over. */
  readonly shares: CpuShares | null;
  /** The failure that another try may mend soonest, of those that happened so far: it tells what is left. */
  failure: Failure | null;
  /** How many writes were applied. */
  applied: number;
  /** null = the writes are sent. */
  readonly shadow: Shadow | null;
  /** This and all below is for the journal alone: monotonic ms, or ms; -1 = it has not come to that. */
  postedAtMs: number;
  plannedAtMs: number;
  /** The longest wait of a write for its turn, and for its answer. */
  throttledMs: number;
  answeredMs: number;
  /** `Unit.watchInSeconds` at the hand-over. */
  readonly watchInSeconds: number;
}

/** What a sync does now, and what it needs for that and for nothing else. */
export type SyncStage =
  /** `open`: how many reads have no answer. */
  | { readonly name: 'reading'; open: number }
  | { readonly name: 'planning' }
  /** `open`: how many writes are queued or without an answer. `later`: planned writes of later phases. */
  | { readonly name: 'writing'; open: number; later: readonly PlannedWrite[] }
  /** The server is asked whether the Service of an orphan exists. */
  | { readonly name: 'confirming' }
  /** What nobody plans any more is deleted. `open`: as in writing. */
  | { readonly name: 'deleting'; open: number };

export type StageOf<Name extends SyncStage['name']> = Extract<SyncStage, { readonly name: Name }>;

/** Why a sync failed, with what follows from it. */
export interface Failure {
  readonly class: FailureClass;
  readonly message: string;
  readonly retryAfterMs: number;
}

/** One object that a controller writes. Only its metadata is here; the content lives in the planner. */
export interface ObjectState {
  readonly name: string;
  readonly service: ServiceState;
  /**
   * The unit that writes this slice; null = it is the Endpoints object, which one controller writes and another reads.
   */
  readonly unit: Unit | null;
  /** The newest state of the object that is known of the server; null = it does not exist. */
  record: OutputRecord | null;
  /**
   * How many own requests about the object are under way, its GET included. While there is one, watch events of the
   * object are held.
   */
  inFlight: number;
  /** The body of the write under way; null = none was sent. */
  sent: Uint8Array | null;
  /** The newest held watch event. */
  held: HeldEvent | null;
  /** An applied write whose echo on the watch has not been compared with it yet. */
  expected: ExpectedEcho | null;
  /** When the last own write was applied: seconds since the epoch; 0 = never. */
  wroteAtSeconds: number;
  /**
   * uid of the object that an own write has deleted, until the watch says so too. What the watch still tells of it is
   * no news.
   */
  deletedUid: string;
}

/** A state of the object as the watch or a list tells it. */
export interface HeldEvent {
  readonly resourceVersion: string;
  /** The version up to which the teller speaks: of a list its own, of a watch event `resourceVersion`. */
  readonly upTo: string;
  /** null = deleted, as `content`. */
  readonly record: OutputRecord | null;
  readonly content: ObjectBytes | typeof AS_SENT | null;
}

/** Beyond its metadata the object is what was just written. It is not kept, because the planner has it. */
export const AS_SENT = 'as-sent';

/** What the watch must bring back for an own write, unless the server (admission) changed it. */
export interface ExpectedEcho {
  readonly resourceVersion: string;
  /** The request body. */
  readonly body: Uint8Array;
}

/**
 * What others have done to the objects of one unit. Each unit has one from the first time on; it goes with the Service.
 */
export interface Fight {
  readonly serviceUid: string;
  readonly rounds: Readonly<Record<Damage, Rounds>>;
  /** Changes that the next repair is queued for, by who made them (`writer-name.ts`); null = none. */
  writers: Map<string, number> | null;
}

/**
 * One kind of damage, over and over. All that happens between two repairs is one round, however many objects it
 * concerns.
 */
export interface Rounds {
  /** How many repairs have begun without a quiet minute between them. */
  count: number;
  /** When the last repair began. Monotonic ms. */
  repairedAtMs: number;
  /** The next repair is queued. */
  open: boolean;
}

/**
 * missing: an object was deleted. wrong: its content was changed. altered: admission has changed or undone our own
 * write. Then nobody else has written, so another try will hardly end otherwise.
 */
export type Damage = 'missing' | 'wrong' | 'altered';

/** `<namespace>/<name>`. It is not kept, because it takes 80 bytes and is seldom asked for. */
export function keyOf(service: ServiceState): string {
  return serviceKey(service.namespace, service.name);
}

/** Whether Endpoints and slices of the Service are this controller's to keep. */
export function isPlanned(record: ServiceRecord, options: ControllerOptions): boolean {
  return whyUnplanned(record, options.optOutLabel) === null;
}

/** Whether somebody else cares for the Service: its objects are then neither written nor deleted (D40). */
export function isOptedOut(record: ServiceRecord, { optOutLabel }: ControllerOptions): boolean {
  return hasLabel(record, optOutLabel);
}
