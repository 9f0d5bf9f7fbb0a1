/** What the main thread keeps of one Service key: its inputs' versions, its Endpoints object, its units of work. */
import type { ControllerOptions } from './options.ts';
import type { OutputState } from './output-state.ts';
import type { Unit } from './unit.ts';
import { selectsPods } from '../core/selects-pods.ts';
import { serviceKey } from '../kube/key.ts';
import { labelsGet } from '../kube/labels.ts';
import type { ServiceRecord } from '../kube/types.ts';
import type { Ack } from '../shard/protocol.ts';

export interface ServiceState {
  readonly namespace: string;
  readonly name: string;
  readonly shard: number;
  /** null = the Service does not exist (its objects may). */
  record: ServiceRecord | null;
  /** The Endpoints object of the same key. */
  readonly endpoints: OutputState;
  /** One for each controller that has ever had something to do with the service. */
  units: readonly Unit[];

  /** Version of the inputs that the planner has; 0 = none, so the next entry is a full snapshot. */
  plannerVersion: number;
  /** The planner knows the service at all (inputs or a stored object), so it must be told when it is gone. */
  inPlanner: boolean;
  specChanged: boolean;
  /** Names of pods that changed since the last entry; null = none. Not kept while a full snapshot is due anyway. */
  changedPods: Set<string> | null;
  /** For the planner, with the next entry; null = none. */
  acks: Ack[] | null;
  /** Bits: outputs that wait to be planned with the next entry. */
  asked: number;
  /** Bits: outputs of entries without an answer. */
  planning: number;
  /** Batches that were lost while this service was alone in them. */
  deaths: number;
  /** It was in a lost batch: planned alone until it has been planned once. */
  suspect: boolean;
  /** uid of the orphaned Endpoints that was reported, so that it is reported once. */
  orphanReported: string;
}

/** `<namespace>/<name>`. Not kept: 80 bytes each, and seldom asked for. */
export function keyOf(service: ServiceState): string {
  return serviceKey(service.namespace, service.name);
}

/** Whether Endpoints and slices of the Service are this controller's to keep. */
export function isPlanned(record: ServiceRecord, options: ControllerOptions): boolean {
  return selectsPods(record) && !isOptedOut(record, options);
}

/** Somebody else cares for the Service: its objects are neither written nor deleted (D40). */
export function isOptedOut({ labels }: ServiceRecord, { optOutLabel }: ControllerOptions): boolean {
  return optOutLabel !== '' && labelsGet(labels, optOutLabel) !== undefined;
}
