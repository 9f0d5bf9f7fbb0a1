/** The end of a sync: its slot is given back, and what failed is tried again. */
import { nextDelayMs, type FailureClass } from '../queues/backoff.ts';
import type { Now } from '../event.ts';
import { noteShadowed, waitsToWrite } from '../leader/leadership.ts';
import { endRepair } from '../queues/fights.ts';
import { releaseService } from '../caches/services.ts';
import { keyOf, type Failure, type Unit } from '../caches/service-state.ts';
import type { ControllerState } from '../state.ts';
import { isFragmented } from '../caches/replan.ts';
import { addCheck, addWork, doneWork, retryWork } from '../queues/workqueue.ts';
import { assert } from '../../lib/assert.ts';

/** Slices are merged, step by step, in a service that has been quiet for this long. */
const COMPACT_AFTER_MS = 10_000;
/** After so many failures in a row a service is called stuck, unless the class of its error says so at once. */
const STUCK_FAILURES = 6;
/** How long after the first refusal the last try follows in a namespace that is being deleted. */
const NAMESPACE_AGAIN_MS = 60_000;
/**
 * A service that changes is tried again at once, even while it backs off. Some things are waited for all the same: the
 * server's Retry-After, and this time after a failure that costs others something. Such a failure costs a thread, or a
 * token for a write that will be refused. From the second failure in a row on, a write that hung is waited for as
 * long as it hung: so a service whose pods change all the time has a slot for half of the time at most.
 */
const HOLD_MS: Readonly<Partial<Record<FailureClass, number>>> = { poison: 10_000, invalid: 2000, forbidden: 2000 };
/** A write whose answer takes longer hangs. */
const HUNG_MS = 1000;

/** Ends a sync that cannot go on. */
export function fail(state: ControllerState, unit: Unit, failure: Failure, now: Now): void {
  unit.sync!.failure = failure;
  finish(state, unit, now);
}

/**
 * Ends a sync and gives its slot back. A failed unit is tried again after the back-off of its class. It is never
 * dropped.
 */
export function finish(state: ControllerState, unit: Unit, now: Now): void {
  const { controller, service } = unit;
  const sync = unit.sync!;
  assert(!('open' in sync.stage) || sync.stage.open === 0, `${keyOf(service)} is finished with open requests`);
  unit.sync = null;
  doneWork(controller.queue, unit.item, now.nowMs);
  if (sync.failure === null) endRepair(state, unit, now);
  state.reports.synced(unit, sync, now);
  const { failure, shadow } = sync;
  if (shadow !== null) {
    noteShadowed(state.leadership, state.isShadow, unit, sync, now);
    state.outbox.effects.push({ type: 'shadow', plan: { ...shadow, failure: failure?.message ?? null } });
  }
  if (failure === null) {
    unit.failures = 0;
    unit.failuresReached = 0;
    unit.notBeforeMs = -Infinity;
    if (controller.stuck.delete(unit)) {
      state.outbox.log('info', 0, 'Service is no longer stuck', {
        controller: controller.name,
        service: keyOf(service),
      });
    }
    // Where nothing was applied, admission has put everything back: the next plan would be the same.
    if (!sync.isWhole && sync.applied > 0) addWork(controller.queue, unit.item, sync.lane, now.nowMs);
    if (sync.namespaceEnds) tryAgainInTime(unit, now);
    else unit.namespaceEndsUntilMs = -Infinity;
    if (isFragmented(unit)) addCheck(controller.queue, unit.item, 'chore', now.nowMs, COMPACT_AFTER_MS);
    releaseService(state, service);
    return;
  }
  if (sync.changedAtMs >= 0) {
    unit.changedAtMs = sync.changedAtMs;
    unit.watchInSeconds = sync.watchInSeconds;
  }
  const hungMs = sync.answeredMs >= HUNG_MS && unit.failuresReached > 0 ? sync.answeredMs : 0;
  unit.notBeforeMs = now.nowMs + Math.max(HOLD_MS[failure.class] ?? 0, failure.retryAfterMs, hungMs);
  const isUnreached = failure.class === 'unreachable';
  const before = isUnreached ? unit.failures : unit.failuresReached;
  const delayMs = nextDelayMs(failure.class, before, state.prng, Math.max(0, failure.retryAfterMs));
  unit.failures++;
  if (!isUnreached) unit.failuresReached++;
  const isSilent = waitsToWrite(state);
  const expected = isSilent || failure.class === 'conflict';
  // Warnings are written at any verbosity. What lasts is told once, as a stuck service.
  state.outbox.log('info', expected ? 3 : 1, 'Sync failed, retrying', {
    controller: controller.name,
    service: keyOf(service),
    class: failure.class,
    err: failure.message,
    failures: unit.failures,
    retryMs: Math.round(delayMs),
  });
  const hopeless = failure.class === 'invalid' || failure.class === 'poison';
  if (!isSilent && (hopeless || unit.failures >= STUCK_FAILURES)) {
    const announced = controller.stuck.has(unit);
    controller.stuck.set(unit, failure);
    if (!announced) state.reports.stuck(unit, failure, now);
  }
  retryWork(controller.queue, unit.item, sync.lane, now.nowMs, delayMs);
}

/** The namespace may have been made again: of several API servers one may still know that it was being deleted. */
function tryAgainInTime(unit: Unit, now: Now): void {
  if (unit.namespaceEndsUntilMs === -Infinity) unit.namespaceEndsUntilMs = now.nowMs + NAMESPACE_AGAIN_MS;
  const leftMs = unit.namespaceEndsUntilMs - now.nowMs;
  if (leftMs > 0) addCheck(unit.controller.queue, unit.item, 'chore', now.nowMs, leftMs);
}
