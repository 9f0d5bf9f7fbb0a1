/**
 * The table of services, their units and their slices. A key has an entry as long as it has a Service or any object.
 */
import type { ServiceState, Controller, Unit, ObjectState } from './service-state.ts';
import { forgetBehind } from '../leader/leadership.ts';
import type { ControllerState } from '../state.ts';
import { createUnit } from './unit.ts';
import type { WorkItem } from '../queues/workqueue.ts';
import { createPlannerView, isInPlanner } from '../syncs/planner-view.ts';
import { noteFacts } from './replan.ts';
import { serviceKey } from '../../kube/key.ts';
import { fnv1a32 } from '../../lib/hash.ts';
import type { OutputKind } from '../../shard/protocol.ts';

export function getService(state: ControllerState, namespace: string, name: string): ServiceState | undefined {
  return state.services.get(namespace)?.get(name);
}

export function ensureService(state: ControllerState, namespace: string, name: string): ServiceState {
  let names = state.services.get(namespace);
  if (names === undefined) state.services.set(namespace, (names = new Map()));
  let service = names.get(name);
  if (service === undefined) {
    service = createService(namespace, name, fnv1a32(serviceKey(namespace, name)) % state.shards.length);
    names.set(name, service);
    state.serviceCount++;
  }
  return service;
}

function createObject(service: ServiceState, unit: Unit | null, name: string): ObjectState {
  return {
    name,
    service,
    unit,
    record: null,
    open: 0,
    sent: null,
    held: null,
    expected: null,
    wroteAtSeconds: 0,
    deletedUid: '',
  };
}

const NO_UNITS: readonly Unit[] = [];

function createService(namespace: string, name: string, shard: number): ServiceState {
  const service: Omit<ServiceState, 'endpoints'> & { endpoints: null } = {
    namespace,
    name,
    shard,
    record: null,
    // Filled below. A field that is added to an object later takes more memory.
    endpoints: null,
    units: NO_UNITS,
    view: createPlannerView(),
    batchesLost: 0,
    orphanReported: '',
  };
  // Service and object refer to each other, so one of them is incomplete for a moment.
  const complete = service as unknown as ServiceState;
  return Object.assign(service, { endpoints: createObject(complete, null, name) });
}

export function getUnit(service: ServiceState, kind: OutputKind): Unit | undefined {
  // There are at most a few units: a search is faster than any index.
  return service.units.find(({ controller }) => controller.kind === kind);
}

export function ensureUnit(service: ServiceState, controller: Controller): Unit {
  let unit = getUnit(service, controller.kind);
  if (unit === undefined) {
    unit = createUnit(controller, service);
    // A copy, because an array that has grown keeps room for 16 more.
    service.units = [...service.units, unit].slice();
  }
  return unit;
}

/** The controller that writes the Endpoints objects; undefined = it does not run in this process. */
export function endpointsController({ controllers }: ControllerState): Controller | undefined {
  return controllers.find(({ kind }) => kind === 'endpoints');
}

/** Whether the service is known to have objects of the output. */
export function hasObjects({ endpoints, units }: ServiceState, kind: OutputKind): boolean {
  if (kind === 'endpoints') return endpoints.record !== null;
  return units.some(({ controller, slices }) => controller.kind === kind && slices !== null);
}

/**
 * The state of our slice with that name. It stays after the slice is gone while an answer or event is still to come.
 */
export function getSlice(state: ControllerState, namespace: string, name: string): ObjectState | undefined {
  return state.slices.get(namespace)?.get(name);
}

export function ensureSlice(state: ControllerState, unit: Unit, name: string): ObjectState {
  let object = unit.slices?.get(name);
  if (object === undefined) {
    object = createObject(unit.service, unit, name);
    (unit.slices ??= new Map()).set(name, object);
  }
  const { namespace } = unit.service;
  let names = state.slices.get(namespace);
  if (names === undefined) state.slices.set(namespace, (names = new Map()));
  // Another unit may own the name by now.
  const found = names.get(name);
  if (found === undefined || found.record === null) names.set(name, object);
  return object;
}

/** Gives the slice to the unit, whoever had it before. */
export function claimSlice(state: ControllerState, unit: Unit, name: string): ObjectState {
  const object = ensureSlice(state, unit, name);
  state.slices.get(unit.service.namespace)!.set(name, object);
  return object;
}

/** Forgets a slice that does not exist, once no answer or event can come for it. */
export function releaseSlice(state: ControllerState, object: ObjectState): void {
  const { unit, name, record, open, held, deletedUid } = object;
  if (unit === null || record !== null || open > 0 || held !== null || deletedUid !== '') return;
  dropExpected(state, object);
  state.conflicted.delete(object);
  if (unit.slices?.delete(name) === true && unit.slices.size === 0) unit.slices = null;
  const names = state.slices.get(unit.service.namespace);
  if (names?.get(name) !== object) return;
  names.delete(name);
  if (names.size === 0) state.slices.delete(unit.service.namespace);
}

export function dropExpected(state: ControllerState, object: ObjectState): void {
  if (object.expected === null) return;
  object.expected = null;
  state.echoesExpected--;
}

/** Every slice of the tables, including those that do not exist any more. */
export function* allSlices(state: ControllerState): Iterable<ObjectState> {
  for (const names of state.slices.values()) yield* names.values();
}

function isIdle(item: WorkItem<Unit>): boolean {
  return (
    item.waiting === null && item.processing === null && item.freshDueMs === Infinity && item.choreDueMs === Infinity
  );
}

/** The unit is not planned any more. */
export function forgetFacts({ replan, reports }: ControllerState, unit: Unit): void {
  const { facts } = unit;
  if (facts === undefined) return;
  noteFacts(replan, unit, undefined);
  reports.unplanned(unit, facts);
}

/** Forgets a service that nothing refers to any more. */
export function releaseService(state: ControllerState, service: ServiceState): void {
  const { record, endpoints, view } = service;
  if (record !== null || endpoints.record !== null || endpoints.deletedUid !== '' || isInPlanner(view)) return;
  for (const { sync, slices, item } of service.units) if (sync !== null || slices !== null || !isIdle(item)) return;
  for (const unit of service.units) {
    unit.controller.stuck.delete(unit);
    forgetBehind(state.leadership, unit);
    forgetFacts(state, unit);
    state.reports.released(unit);
  }
  dropExpected(state, service.endpoints);
  state.conflicted.delete(service.endpoints);
  state.missedEndpoints.delete(service.endpoints);
  const names = state.services.get(service.namespace);
  if (names?.get(service.name) !== service) return;
  names.delete(service.name);
  if (names.size === 0) state.services.delete(service.namespace);
  state.serviceCount--;
}

export function* allServices(state: ControllerState): Iterable<ServiceState> {
  for (const names of state.services.values()) yield* names.values();
}
