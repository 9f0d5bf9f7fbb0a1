/** The start of a verification. It ends when every controller that can run has planned every service once. */
import type { Controller } from '../controller/caches/service-state.ts';
import { workDepth } from '../controller/queues/workqueue.ts';
import { listOf, type Reflector } from '../controller/reflectors/reflector.ts';
import type { ControllerName } from '../controller/options.ts';
import type { ControllerState } from '../controller/state.ts';

/** The controller's caches whose list the server refuses, or does not know. */
function refusedCaches(state: ControllerState, controller: Controller): Reflector['resource'][] {
  const refused = new Set(state.reflectors.filter((one) => one.refused && !one.synced).map(({ resource }) => resource));
  return controller.caches(state.options).filter((resource) => refused.has(resource));
}

/** How many services wait for their plan, or are being planned. */
function servicesLeft({ queue }: Controller): number {
  return workDepth(queue) + queue.slots.held;
}

/** Whether every controller has planned all of its services, or waits for a list that the server refuses. */
export function isLookComplete(state: ControllerState): boolean {
  return state.controllers.every((controller) => {
    if (!controller.running) return refusedCaches(state, controller).length > 0;
    return servicesLeft(controller) === 0;
  });
}

/** The controllers that have services left to plan, and how many. Those that wait for a list are not among them. */
export function unplanned(state: ControllerState): { name: ControllerName; services: number }[] {
  return state.controllers
    .filter(({ running }) => running)
    .map((controller) => ({ name: controller.name, services: servicesLeft(controller) }))
    .filter(({ services }) => services > 0);
}

/** A text that changes as long as the look makes progress. */
export function lookProgress(state: ControllerState, plans: number): string {
  const objects = state.reflectors.map((one) => `${listOf(one)?.progress.objects ?? ''}${one.synced ? 's' : ''}`);
  return `${plans} ${state.serviceCount} ${objects.join()}`;
}
