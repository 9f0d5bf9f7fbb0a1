/** The unit of work: one service of one controller. What a sync of it is, and when there is anything to plan. */
import type { FailureClass } from './backoff.ts';
import type { Pace } from './batch-pace.ts';
import type { Controller } from './controllers.ts';
import type { Fight } from './fights.ts';
import type { ControllerOptions } from './options.ts';
import type { OutputState } from './output-state.ts';
import { isOptedOut, isPlanned, type ServiceState } from './service-state.ts';
import { createWorkItem, type WorkItem } from './workqueue.ts';
import { shouldMirror, type MirrorFacts } from '../core/mirroring/plan.ts';
import type { CpuShares } from '../core/slices/cpu-shares.ts';
import type { SlicesFacts } from '../core/slices/facts.ts';
import { labelsGet } from '../kube/labels.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../kube/names.ts';
import type { OutputRecord } from '../kube/types.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_MIRROR, type EndpointsFacts, type PlannedWrite } from '../shard/protocol.ts';

export interface Unit {
  readonly controller: Controller;
  readonly service: ServiceState;
  readonly item: WorkItem<Unit>;
  /** Its slices by name: those that exist, and those of which the planner must still be told that they do not. */
  slices: Map<string, OutputState> | null;
  /** Those of `slices` that the planner has to be told of. */
  news: Set<OutputState> | null;
  /** The planner knows all `slices`, or will when it is told the news; else they are listed before the next plan. */
  known: boolean;
  /** The news are all that there is: the planner forgets what it held. */
  relisted: boolean;
  /** That list is under way: watch events of its slices are held. */
  reading: boolean;

  sync: Sync | null;
  /** Failed syncs in a row, of whatever class: errors that alternate do not start from the shortest wait each time. */
  failures: number;
  /** After a failure that another try will hardly mend: no sync before, whatever changes. Monotonic ms. */
  notBeforeMs: number;
  /** With who else writes its objects; null = nobody ever did, as almost everywhere. */
  fight: Fight | null;
  /** Of its pods' changes; null = the batch period does not adapt, or no pod has changed. */
  pace: Pace | null;
  /** Monotonic ms of the earliest pod change that no successful sync covers yet; -1 = none. */
  changedAtMs: number;
  /** What its last plan said; undefined = there was none, or the service is not planned any more. */
  facts: EndpointsFacts | SlicesFacts | MirrorFacts | undefined;
}

export type SyncStage = 'reading' | 'planning' | 'writing' | 'confirming' | 'deleting';

/** One unit between its hand-over and the last answer. It holds a slot of its controller. */
export interface Sync {
  stage: SyncStage;
  readonly startedAtMs: number;
  /** `changedAtMs` at the hand-over. */
  readonly changedAtMs: number;
  readonly chore: boolean;
  /** `MirrorZones.changes` at the hand-over. */
  readonly zoneChanges: number;
  /** `ControllerState.shares` at the hand-over. */
  readonly shares: CpuShares | null;
  /** Planned writes of phase 2, while phase 1 runs. */
  later: PlannedWrite[];
  /** Writes queued or without an answer; while reading, reads without one. */
  open: number;
  /** Of those that happened so far the one that another try may mend soonest: that one tells what is left. */
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

export function createUnit(controller: Controller, service: ServiceState): Unit {
  const unit: Omit<Unit, 'item'> & { item: null } = {
    controller,
    service,
    // Filled below: a field that is added to an object later takes more room.
    item: null,
    slices: null,
    news: null,
    known: true,
    relisted: false,
    reading: false,
    sync: null,
    failures: 0,
    notBeforeMs: -Infinity,
    fight: null,
    pace: null,
    changedAtMs: -1,
    facts: undefined,
  };
  // Each refers to the other, so one of them is incomplete for a moment.
  const complete = unit as unknown as Unit;
  return Object.assign(unit, { item: createWorkItem(complete, service.namespace) });
}

/** Whether there is anything to plan; if not, what the unit has written before is cleaned up or left alone. */
export function isWanted({ controller, service }: Unit): boolean {
  return controller.output === OUTPUT_MIRROR
    ? isMirrored(service, controller.options)
    : service.record !== null && isPlanned(service.record, controller.options);
}

/**
 * Endpoints made by hand for a Service without a selector, of whatever type (docs/spec/endpointslice.md "Mirroring:
 * events", "Mirroring: sync").
 */
export function isMirrored({ record, endpoints }: ServiceState, options: ControllerOptions): boolean {
  if (record === null || record.selector !== null || endpoints.record === null) return false;
  if (isOptedOut(record, options)) return false;
  // They are what is left of a Service with a selector, and about to go (D7).
  if (options.cleanUpUnselected && isOwnEndpoints(endpoints.record)) return false;
  return shouldMirror(endpoints.record.labels, endpoints.record.leaderElection);
}

/** Upstream's label says that the endpoints controller has made them; such as elect leaders are never its own. */
export function isOwnEndpoints({ labels, leaderElection }: OutputRecord): boolean {
  return !leaderElection && labelsGet(labels, MANAGED_BY_LABEL) === MANAGED_BY_VALUE;
}

/**
 * Endpoints without a Service, or of one that is not to be planned any more: they may be this controller's leftovers.
 */
export function hasLeftovers(service: ServiceState, options: ControllerOptions): boolean {
  const isOrphan = service.record === null && service.endpoints.record !== null;
  return isOrphan || isLeftBehind(service, options);
}

/** Whether a Service that is not to be planned has Endpoints of ours that are to go. */
export function isLeftBehind({ record, endpoints }: ServiceState, options: ControllerOptions): boolean {
  if (!options.cleanUpUnselected || record === null || endpoints.record === null) return false;
  return !isPlanned(record, options) && !isOptedOut(record, options) && isOwnEndpoints(endpoints.record);
}

/**
 * What is to become of the objects of a unit that is not wanted. 'orphaned': of Endpoints without a Service, gone if
 * the server confirms that and they are this controller's own. Slices of a deleted Service are left to the garbage
 * collector, those that mirror nothing any more go (docs/spec/endpointslice.md "One sync", "Mirroring: clean-up"), and
 * what a Service that is not to be planned any more leaves behind stays as upstream leaves it, unless a flag asks for
 * its removal (D7 and D8).
 */
export function fateOfObjects({ controller, service: { record } }: Unit): 'stay' | 'go' | 'orphaned' {
  if (record !== null && isOptedOut(record, controller.options)) return 'stay';
  if (controller.output === OUTPUT_MIRROR) return 'go';
  if (record === null) return controller.output === OUTPUT_ENDPOINTS ? 'orphaned' : 'stay';
  return controller.options.cleanUpUnselected ? 'go' : 'stay';
}

/** Between the hand-over of a plan and the last answer to its writes the planner waits for acks. */
export function awaitsAcks({ sync }: Unit): boolean {
  return sync !== null && sync.stage === 'writing';
}
