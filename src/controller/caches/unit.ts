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
  return controller.wants(service, controller.options);
}

/** What becomes of the objects of a unit that is not wanted. */
export function fateOfObjects({ controller, service: { record } }: Unit): Fate {
  if (record !== null && isOptedOut(record, controller.options)) return 'stay';
  return controller.fate(record, controller.options);
}

/** The unit plans from the Endpoints object, be it as what it writes or as what it is made from. */
export function readsEndpoints({ controller }: Unit): boolean {
  return controller.reads.includes('endpoints');
}

/** Whether only the server can tell what the planner has to know of the unit's objects. */
export function mustRead(unit: Unit): boolean {
  return unit.controller.reads.some((kind) => needsRead(unit.service.view, kind));
}

/** The output that the object belongs to. */
export function kindOf({ unit }: ObjectState): OutputKind {
  return unit === null ? 'endpoints' : unit.controller.kind;
}

/** Whether the planner waits for acks: from the hand-over of a plan to the last answer to its writes. */
export function awaitsAcks({ sync }: Unit): boolean {
  return sync !== null && sync.stage.name === 'writing';
}
