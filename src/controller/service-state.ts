/** What the main thread keeps of one Service key: its inputs' versions, its Endpoints object, its sync under way. */
import type { FailureClass } from './backoff.ts';
import type { WorkItem } from './workqueue.ts';
import { serviceKey } from '../kube/key.ts';
import type { OutputRecord, ServiceRecord } from '../kube/types.ts';
import type { Ack, ObjectBytes, PlannedWrite, ServiceFacts } from '../shard/protocol.ts';

export interface ServiceState {
  readonly namespace: string;
  readonly name: string;
  readonly shard: number;
  /** null = the Service does not exist (its Endpoints may). */
  record: ServiceRecord | null;
  /** In the work queue of the endpoints controller. */
  readonly item: WorkItem<ServiceState>;
  readonly output: OutputState;

  /** Version of the inputs that the planner has; 0 = none, so the next entry is a full snapshot. */
  plannerVersion: number;
  /** The planner knows the service at all (inputs or a stored object), so it must be told when it is gone. */
  inPlanner: boolean;
  specChanged: boolean;
  /** Names of pods that changed since the last entry; null = none. Not kept while a full snapshot is due anyway. */
  changedPods: Set<string> | null;
  /** For the planner, with the next entry; null = none. */
  acks: Ack[] | null;

  sync: Sync | null;
  /** Failed syncs in a row, of whatever class: errors that alternate do not start from the shortest wait each time. */
  failures: number;
  /** Batches that were lost while this service was alone in them. */
  deaths: number;
  /** After a failure that another try will hardly mend: no sync before, whatever changes. Monotonic ms. */
  notBeforeMs: number;
  /** It was in a lost batch: planned alone until it has been planned once. */
  suspect: boolean;
  facts: ServiceFacts | undefined;
  /** uid of the orphaned Endpoints that was reported, so that it is reported once. */
  orphanReported: string;
  /** Monotonic ms of the earliest pod change that no successful sync covers yet; -1 = none. */
  changedAtMs: number;
}

/** The Endpoints object of a key as the main thread sees it: metadata only, the content lives in the planner. */
export interface OutputState {
  /** The newest state of the object that is known of the server; null = it does not exist. */
  record: OutputRecord | null;
  /** Newest content that the planner was not yet told of. */
  content: ObjectBytes | null;
  /** The planner's `stored` is `record`, or will be once `content` or `gone` is handed over. */
  known: boolean;
  /** The object was deleted and the planner was not yet told. */
  gone: boolean;
  /** Only a GET of the whole object tells what the server holds: a reply was lost, or a conflict. */
  uncertain: boolean;
  /** Own requests about the object under way, its GET too; while there is one, watch events of the object are held. */
  inFlight: number;
  /** The newest held watch event. */
  held: HeldEvent | null;
  /** An applied write whose echo on the watch has not been compared with it yet. */
  expected: ExpectedEcho | null;
  /** Foreign edits in a row without a quiet minute, for the delay of the repair. */
  foreignEdits: number;
  foreignEditAtMs: number;
}

/** A state of the object as the watch or a list tells it. */
export interface HeldEvent {
  readonly resourceVersion: string;
  /** null = deleted, as `content`. */
  readonly record: OutputRecord | null;
  readonly content: ObjectBytes | null;
}

/** What the watch must bring back for an own write, unless the server (admission) changed it. */
export interface ExpectedEcho {
  readonly resourceVersion: string;
  /** The request body. */
  readonly body: Uint8Array;
}

export type SyncStage = 'reading' | 'planning' | 'writing' | 'confirming' | 'deleting';

/** One service of one controller between its hand-over and the last answer. It holds a slot. */
export interface Sync {
  stage: SyncStage;
  readonly startedAtMs: number;
  /** `changedAtMs` at the hand-over. */
  readonly changedAtMs: number;
  readonly chore: boolean;
  /** Planned writes of phase 2, while phase 1 runs. */
  later: PlannedWrite[];
  /** Writes queued or without an answer. */
  open: number;
  /** The worst that happened so far. */
  failure: Failure | null;
  /** Writes that were applied. */
  applied: number;
}

/** Why a sync failed, with what follows from it. */
export interface Failure {
  readonly class: FailureClass;
  readonly message: string;
  readonly retryAfterMs: number;
}

/** `<namespace>/<name>`. Not kept: 80 bytes each, and seldom asked for. */
export function keyOf(service: ServiceState): string {
  return serviceKey(service.namespace, service.name);
}

/** Upstream leaves the Endpoints of all others alone (spec/endpoints.md 6, steps 3 and 4). */
export function isPlanned(record: ServiceRecord): boolean {
  return record.selector !== null && record.type !== 'ExternalName';
}
