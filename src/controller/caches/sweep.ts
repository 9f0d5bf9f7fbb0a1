/** Chores that come by time: the look at every service and every leftover after the start, and the resync. */
import type { Now } from '../event.ts';
import { stopFollowingEndpoints, stopFollowingSlices } from './objects.ts';
import { allServices, ensureUnit, getUnit, releaseService } from './services.ts';
import type { ServiceState, Controller, Unit } from './service-state.ts';
import type { ControllerState } from '../state.ts';
import { fateOfObjects, hasWork, isWanted, needsEndpoints } from './unit.ts';
import { addCheck, addWork } from '../queues/workqueue.ts';
import { nextFloat } from '../../lib/prng.ts';

/** The caches of a controller are filled: all of its services and all leftovers go through the chores lane once. */
export function startSweep(state: ControllerState, controller: Controller, now: Now): void {
  for (const service of allServices(state)) {
    const unit = unitToSweep(state, service, controller);
    if (unit !== null) {
      addWork(controller.queue, unit.item, 'chore', now.nowMs);
      state.reports.due(unit);
    }
    // No unit plans from these Endpoints. They are read when one does.
    else if (controller.needs.includes('endpoints') && !service.units.some(plansFromEndpoints))
      stopFollowingEndpoints(service);
    releaseService(state, service);
  }
}

function plansFromEndpoints(unit: Unit): boolean {
  return needsEndpoints(unit) && isWanted(unit);
}

function unitToSweep(state: ControllerState, service: ServiceState, controller: Controller): Unit | null {
  if (hasWork(controller, service)) return ensureUnit(service, controller);
  const unit = getUnit(service, controller.kind);
  if (unit === undefined) return null;
  if (fateOfObjects(unit) === 'go') return unit;
  // The unit is not planned. If it is one day, its slices are listed first.
  if (controller.writes === 'EndpointSlice') stopFollowingSlices(state, unit);
  return null;
}

/** Sets the next resync. As in upstream's shared informers its period is drawn once from [period, 2 periods). */
export function scheduleResync(state: ControllerState, now: Now): void {
  const { minResyncPeriodMs } = state.options;
  state.resyncAtMs = minResyncPeriodMs > 0 ? now.nowMs + minResyncPeriodMs * (1 + nextFloat(state.prng)) : Infinity;
}

export function resyncIfDue(state: ControllerState, now: Now): void {
  if (now.nowMs < state.resyncAtMs) return;
  for (const { units } of allServices(state)) {
    for (const { controller, item } of units) {
      if (controller.running) addCheck(controller.queue, item, 'chore', now.nowMs);
    }
  }
  scheduleResync(state, now);
}
