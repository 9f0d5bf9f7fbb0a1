/** Chores that come by time: the look at every service and every leftover after the start, and the resync. */
import type { Now } from './event.ts';
import { isPlanned } from './service-state.ts';
import { allServices, releaseService } from './services.ts';
import type { ControllerState } from './state.ts';
import { addWork } from './workqueue.ts';
import { nextFloat } from '../lib/prng.ts';

/** All caches are filled: every service, and every Endpoints object without one, goes through the chores lane once. */
export function startSweep(state: ControllerState, now: Now): void {
  for (const service of allServices(state)) {
    if (service.record === null) {
      if (service.output.record === null) releaseService(state, service);
      else addWork(state.queue, service.item, 'chore', now.nowMs);
    } else if (isPlanned(service.record)) {
      addWork(state.queue, service.item, 'chore', now.nowMs);
    } else {
      // Not ours to plan: its object is read again should the Service get a selector.
      service.output.content = null;
      service.output.known = service.output.record === null;
    }
  }
  scheduleResync(state, now);
}

/** Upstream's shared informers deliver every Service again after a time drawn once from [period, 2 periods). */
function scheduleResync(state: ControllerState, now: Now): void {
  const { minResyncPeriodMs } = state.options;
  state.resyncAtMs = minResyncPeriodMs > 0 ? now.nowMs + minResyncPeriodMs * (1 + nextFloat(state.prng)) : Infinity;
}

export function resyncIfDue(state: ControllerState, now: Now): void {
  if (state.phase !== 'running' || now.nowMs < state.resyncAtMs) return;
  for (const service of allServices(state)) addWork(state.queue, service.item, 'chore', now.nowMs);
  scheduleResync(state, now);
}
