/** Whether there is anything to plan for a unit, and what becomes of its objects if not. */
import type { ControllerOptions } from '../options.ts';
import {
  isOptedOut,
  isPlanned,
  type ServiceState,
  type Controller,
  type OutputState,
  type Unit,
} from './service-state.ts';
import { createWorkItem } from '../queues/workqueue.ts';
import { needsRead } from '../syncs/planner-view.ts';
import { isOwnEndpoints, whyUnmirrored } from '../../core/mirroring/mirrored.ts';
import { OUTPUT_ENDPOINTS, OUTPUT_MIRROR, type OutputKind } from '../../shard/protocol.ts';

export function createUnit(controller: Controller, service: ServiceState): Unit {
  const unit: Omit<Unit, 'item'> & { item: null } = {
    controller,
    service,
    // It is filled below: a field that is added to an object later takes more room.
    item: null,
    slices: null,
    reading: false,
    sync: null,
    failures: 0,
    notBeforeMs: -Infinity,
    fight: null,
    pace: null,
    changedAtMs: -1,
    watchInSeconds: -1,
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

export function isMirrored({ record, endpoints }: ServiceState, options: ControllerOptions): boolean {
  return whyUnmirrored(record, endpoints.record, options) === null;
}

/**
 * Endpoints without a Service, or of a Service that is not to be planned any more: they may be this controller's
 * leftovers.
 */
export function hasLeftovers(service: ServiceState, options: ControllerOptions): boolean {
  const isOrphan = service.record === null && service.endpoints.record !== null;
  return isOrphan || isLeftBehind(service, options);
}

/** Whether a Service that is not to be planned has Endpoints of ours that must go. */
export function isLeftBehind({ record, endpoints }: ServiceState, options: ControllerOptions): boolean {
  if (!options.cleanUpUnselected || record === null || endpoints.record === null) return false;
  return !isPlanned(record, options) && !isOptedOut(record, options) && isOwnEndpoints(endpoints.record);
}

/**
 * What becomes of the objects of a unit that is not wanted. `orphaned`: Endpoints without a Service go if the server
 * confirms that and they are this controller's own. Slices of a deleted Service are left to the garbage collector.
 * Slices that mirror nothing any more go (docs/spec/endpointslice.md "One sync", "Mirroring: clean-up"). What a Service
 * leaves behind that is not to be planned any more stays as upstream leaves it, unless a flag asks for its removal (D7
 * and D8).
 */
export function fateOfObjects({ controller, service: { record } }: Unit): 'stay' | 'go' | 'orphaned' {
  if (record !== null && isOptedOut(record, controller.options)) return 'stay';
  if (controller.output === OUTPUT_MIRROR) return 'go';
  if (record === null) return controller.output === OUTPUT_ENDPOINTS ? 'orphaned' : 'stay';
  return controller.options.cleanUpUnselected ? 'go' : 'stay';
}

const SOURCES: Readonly<Record<OutputKind, readonly OutputKind[]>> = {
  endpoints: ['endpoints'],
  slices: ['slices'],
  mirror: ['endpoints', 'mirror'],
};

/** The outputs whose objects the planner has to know when it plans the unit: what it writes, and what it mirrors. */
export function sourcesOf({ controller }: Unit): readonly OutputKind[] {
  return SOURCES[controller.kind];
}

/** Whether only the server can tell what the planner has to know of the unit's objects. */
export function mustRead(unit: Unit): boolean {
  return sourcesOf(unit).some((kind) => needsRead(unit.service.view, kind));
}

/** The output that the object belongs to. */
export function kindOf({ unit }: OutputState): OutputKind {
  return unit === null ? 'endpoints' : unit.controller.kind;
}

/** Whether the planner waits for acks: from the hand-over of a plan to the last answer to its writes. */
export function awaitsAcks({ sync }: Unit): boolean {
  return sync !== null && sync.stage === 'writing';
}
