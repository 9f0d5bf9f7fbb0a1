/**
 * The whole state of the controller as one plain object, part by part. The state of one service is in
 * `service-state.ts`.
 */
import type { EventRecorder } from './reports/event-recorder.ts';
import type { EventPurpose } from './reports/event-requests.ts';
import type { Instruments } from './reports/instruments.ts';
import type { Journal } from './reports/journal.ts';
import type { Reports } from './reports/reports.ts';
import type { ElectorHands } from './leader/elector.ts';
import type { Leadership } from './leader/leadership.ts';
import type { StepOutbox } from './outbox.ts';
import type { ControllerOptions } from './options.ts';
import type { WriteHands, WritePurpose, Writes } from './writes/writes.ts';
import type { Reflector, ReflectorHands, ReflectorPurpose } from './reflectors/reflector.ts';
import type { Replan } from './caches/replan.ts';
import type { ServiceState, Controller, ObjectState, Unit } from './caches/service-state.ts';
import type { ShardView } from './syncs/planner-view.ts';
import type { NodeTable } from '../core/node-table.ts';
import type { SelectorIndex } from '../core/selector-index.ts';
import type { Interner } from '../lib/interner.ts';
import type { Prng } from '../lib/prng.ts';
import type { OutputKind } from '../shard/protocol.ts';

export interface ControllerState {
  readonly options: ControllerOptions;
  readonly prng: Prng;
  readonly interner: Interner;
  readonly instruments: Instruments;
  readonly outbox: StepOutbox<Purpose>;
  readonly hands: Hands;

  phase: 'starting' | 'running' | 'stopping' | 'stopped';
  /** Monotonic ms at which a stop ends, even if writes are still without an answer. */
  stopByMs: number;
  /** Monotonic ms by which the Lease is released or given up; Infinity = it is still held. */
  releaseByMs: number;

  /** The controllers that run in this process. */
  readonly controllers: readonly Controller[];
  /** Empty before the start. */
  reflectors: readonly Reflector[];
  /** Monotonic ms at which the first lists were asked for; Infinity = none has been. */
  cachesOpenedAtMs: number;
  /** The pods, and which services select them. */
  readonly index: SelectorIndex<ServiceState>;
  /** The nodes, and which pods are on them. Only slices need them. */
  readonly nodes: NodeTable;
  /** namespace -> name -> state, for every Service and every object of ours. */
  readonly services: Map<string, Map<string, ServiceState>>;
  serviceCount: number;
  /** How many of them have a Service that exists. */
  existingServices: number;
  /** namespace -> name -> state, for every EndpointSlice of ours. */
  readonly slices: Map<string, Map<string, ObjectState>>;
  readonly shards: ShardState[];
  nextBatchId: number;
  readonly writes: Writes;
  /** No Endpoints and no slices are written (`writes/shadow.ts`). */
  isShadow: boolean;
  /** null = the process writes without holding a Lease. */
  readonly leadership: Leadership | null;
  readonly eventRecorder: EventRecorder;
  readonly reports: Reports;
  readonly journal: Journal;
  readonly replan: Replan;
  /**
   * Objects whose write was refused with 409, each with the version that was known then. An object stays here until the
   * watch tells another state of it, or it is read.
   */
  readonly conflicted: Map<ObjectState, string>;
  /** Endpoints that a list lacked. What mirrors them goes only when the server itself has said that they are gone. */
  readonly missedEndpoints: Set<ObjectState>;
  /** The uids of slices with our label and without the name of a Service that the log has told of since the last list. */
  readonly namelessTold: Set<string>;
  /** How many objects have `expected` set. */
  echoesExpected: number;
  /** Monotonic ms of the next resync. */
  resyncAtMs: number;
  /** Monotonic ms at which a standby plans what is due; Infinity = nothing is. */
  standbyPlansAtMs: number;
}

/** What is given to the parts that do not know the whole state. */
export interface Hands {
  readonly reflectors: ReflectorHands;
  readonly writes: WriteHands;
  readonly elector: ElectorHands;
}

/** Why a request was sent. It decides who takes the answer. */
export type Purpose = ReflectorPurpose | WritePurpose | ReadPurpose | EventPurpose | { readonly for: 'lease' };

export type ReadPurpose =
  | { readonly for: 'read-endpoints' | 'read-slices' | 'confirm-orphan'; readonly unit: Unit }
  | { readonly for: 'look-for-slice'; readonly unit: Unit; readonly name: string };

/** What is on its way to one planner and back (`shard-batches.ts`). */
export interface ShardState {
  /** Services whose entry goes out with the next batch. Bounded by the concurrent syncs. */
  queued: ServiceState[];
  /** Services from lost batches. They are planned alone, one after the other. */
  suspects: ServiceState[];
  /** What its planner has been told that concerns all services of the shard. */
  readonly view: ShardView;
  readonly inFlight: Map<number, BatchInFlight>;
  /** The shard was told to end, and the event of its loss is awaited. */
  ending: boolean;
}

export interface BatchInFlight {
  readonly awaited: readonly AwaitedEntry[];
  readonly postedAtMs: number;
  /** By how much its deadline was put off, because the process stood still when it came; 0 = it was not. */
  graceMs: number;
}

/** One entry of a batch: the service, and the outputs that were asked for. */
export interface AwaitedEntry {
  readonly service: ServiceState;
  readonly outputs: readonly OutputKind[];
}
