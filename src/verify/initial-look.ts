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

/** How far the look has come at most. */
export interface LookProgress {
  /** The most objects that any try of the list has told; Infinity = a list was complete. */
  readonly objects: Map<Reflector['resource'], number>;
  plans: number;
  /** Monotonic ms at which it last came further than ever before. */
  atMs: number;
}

export function createLookProgress(nowMs: number): LookProgress {
  return { objects: new Map(), plans: 0, atMs: nowMs };
}

/**
 * Notes whether the look has come further. A list that is tried again has to pass what its best try has told, or a
 * server that fails slowly would never be given up. Plans count only while no list is awaited: as long as pods change
 * there are new ones, and they bring no list nearer.
 */
export function noteLookProgress(progress: LookProgress, state: ControllerState, plans: number, nowMs: number): void {
  for (const reflector of state.reflectors) {
    const objects = reflector.synced ? Infinity : (listOf(reflector)?.progress.objects ?? 0);
    if (objects <= (progress.objects.get(reflector.resource) ?? 0)) continue;
    progress.objects.set(reflector.resource, objects);
    progress.atMs = nowMs;
  }
  const isListed = state.reflectors.every(({ synced, refused }) => synced || refused);
  if (!isListed || plans === progress.plans) return;
  progress.plans = plans;
  progress.atMs = nowMs;
}
