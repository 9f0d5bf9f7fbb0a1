/** What the main thread keeps of one object that a controller writes: metadata only, the content lives in the planner. */
import type { ServiceState } from './service-state.ts';
import type { Unit } from './unit.ts';
import type { OutputRecord } from '../kube/types.ts';
import type { ObjectBytes } from '../shard/protocol.ts';

export interface OutputState {
  readonly name: string;
  readonly service: ServiceState;
  /** Who writes this slice; null = it is the Endpoints object: written by one controller, read by another. */
  readonly unit: Unit | null;
  /** The newest state of the object that is known of the server; null = it does not exist. */
  record: OutputRecord | null;
  /** Newest content that the planner was not yet told of. */
  content: ObjectBytes | null;
  /** The object was deleted and the planner was not yet told. */
  gone: boolean;
  /** Endpoints: the planner's `stored` is `record`, or will be once `content` or `gone` is handed over. */
  known: boolean;
  /** Endpoints: only a GET tells what the server holds: a reply was lost, or a conflict. Of slices see `Unit.known`. */
  uncertain: boolean;
  /** Own requests about the object under way, its GET too; while there is one, watch events of the object are held. */
  inFlight: number;
  /** The body of the write under way; null = none was sent. */
  sent: Uint8Array | null;
  /** The newest held watch event. */
  held: HeldEvent | null;
  /** An applied write whose echo on the watch has not been compared with it yet. */
  expected: ExpectedEcho | null;
  /** uid of the object that an own write has deleted, until the watch says so too: what it still tells of it is no news. */
  deletedUid: string;
}

/** A state of the object as the watch or a list tells it. */
export interface HeldEvent {
  readonly resourceVersion: string;
  /** Of a list its version: it speaks of all that happened up to there. Of a watch event `resourceVersion`. */
  readonly upTo: string;
  /** null = deleted, as `content`. */
  readonly record: OutputRecord | null;
  readonly content: ObjectBytes | typeof AS_SENT | null;
}

/** Beyond its metadata the object is what was just written: it is not kept, for the planner has it. */
export const AS_SENT = 'as-sent';

/** What the watch must bring back for an own write, unless the server (admission) changed it. */
export interface ExpectedEcho {
  readonly resourceVersion: string;
  /** The request body. */
  readonly body: Uint8Array;
}

export function createOutput(service: ServiceState, unit: Unit | null, name: string): OutputState {
  return {
    name,
    service,
    unit,
    record: null,
    content: null,
    gone: false,
    known: true,
    uncertain: false,
    inFlight: 0,
    sent: null,
    held: null,
    expected: null,
    deletedUid: '',
  };
}
