/** Whether there is anything to plan for a unit, and what becomes of its objects if not. */
import type { Fate } from '../definitions/definition.ts';
import { isOptedOut, type ServiceState, type Controller, type ObjectState, type Unit } from './service-state.ts';
import { createWorkItem } from '../queues/workqueue.ts';
import { needsRead } from '../syncs/planner-view.ts';
import type { OutputKind } from '../../shard/protocol.ts';

export function createUnit(controller: Controller, service: ServiceState): Unit {
  const unit: Omit<Unit, 'item'> & { item: null } = {
    controller,
    service,
    // Filled below. A field that is added to an object later takes more memory.
    item: null,
    slices: null,
    listingSlices: false,
    sync: null,
    failures: 0,
    failuresReached: 0,
    namespaceEndsUntilMs: -Infinity,
    notBeforeMs: -Infinity,
    fight: null,
    pace: null,
    changedAtMs: -1,
    watchInSeconds: -1,
    facts: undefined,
  };
  // Unit and item refer to each other, so one of them is incomplete for a moment.
  const complete = unit as unknown as Unit;
  return Object.assign(unit, { item: createWorkItem(complete, service.namespace) });
}

/** Whether the controller has something to plan for the service. */
export function wantsService(controller: Controller, service: ServiceState): boolean {
  return controller.wants(service, controller.options);
}

/** Whether the controller has something to plan or to clean up for the service. */
export function hasWork(controller: Controller, service: ServiceState): boolean {
  return wantsService(controller, service) || controller.hasLeftovers(service, controller.options);
}

/**
 * Whether the unit has something to plan. If not, `fateOfObjects` says what becomes of the objects that it has written.
 */
export function isWanted({ controller, service }: Unit): boolean {
  return wantsService(controller, service);
}

/** What becomes of the objects of a unit that is not wanted. */
export function fateOfObjects({ controller, service: { record } }: Unit): Fate {
  if (record !== null && isOptedOut(record, controller.options)) return 'stay';
  return controller.fate(record, controller.options);
}

/** Whether the unit plans from the Endpoints object: it writes that object, or makes its output from it. */
export function needsEndpoints({ controller }: Unit): boolean {
  return controller.needs.includes('endpoints');
}

/** Whether the planner lacks objects of the unit that only the server can tell. */
export function mustRead(unit: Unit): boolean {
  return unit.controller.needs.some((kind) => needsRead(unit.service.view, kind));
}

/** Whether the object is the Endpoints object; else it is a slice, and belongs to the unit that writes it. */
export function isEndpoints({ unit }: ObjectState): boolean {
  return unit === null;
}

/** The output that the object belongs to. */
export function kindOf(object: ObjectState): OutputKind {
  return isEndpoints(object) ? 'endpoints' : object.unit!.controller.kind;
}

/**
 * Whether the unit's planner waits for acks. It does so from the moment a plan comes until the last of its writes is
 * answered.
 */
export function awaitsAcks({ sync }: Unit): boolean {
  return sync !== null && sync.stage.name === 'writing';
}
