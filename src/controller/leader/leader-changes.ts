/**
 * What happens when leadership comes and goes. A standby follows the server and plans as a shadow does
 * (`writes/shadow.ts`). So it knows at any time which services the leader has not put right yet. At a failover it
 * writes these first, the oldest change first, and no others.
 */
import type { Now } from '../event.ts';
import { addCheck, addWork } from '../queues/workqueue.ts';
import { recordEvent } from '../reports/event-recorder.ts';
import type { ControllerState } from '../state.ts';
import { takeWriteAnswer } from '../syncs/sync-writes.ts';
import { assert } from '../../lib/assert.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import { abandonLease, endIfLapsed, holderOf, isLeader, onElectorEvent, releaseLease, wakeElector } from './elector.ts';
import { awaitsTakeOver, TOOK_OVER_ANNOTATION, type TakeOver } from './take-over.ts';
import { areWatchesLost } from '../reflectors/reflector-group.ts';
import { stepCatchUp } from './catch-up.ts';
import { giveUpTakeOver, stepTakeOver } from './take-over-steps.ts';
import { awaitsLateWrite, otherControllers, OWN_LEASE, type Leadership } from './leadership.ts';

/** How long the end of the process waits until the Lease is released. */
export const RELEASE_MS_MAX = 2000;
const OTHER_TOLD_EVERY_MS = 3_600_000;

/** Does what is due for the Lease, and before a leader writes. Returns when something is due next, as `step` does. */
export function wakeLeadership(state: ControllerState, now: Now): number {
  const { leadership, hands } = state;
  if (leadership === null) return Infinity;
  // A process that stood still may have lost the Lease: it does not begin to write.
  endIfLapsed(leadership.elector, hands.elector, now);
  const waitingMs = wakeWaiting(state, leadership, now);
  return Math.min(waitingMs, wakeElector(leadership.elector, hands.elector, now));
}

/** Takes the answer to a request for the Lease, or an event of its watch. */
export function onLeaseEvent(state: ControllerState, event: TransportEvent, now: Now): void {
  const { leadership, hands } = state;
  assert(leadership !== null, 'an answer to a request for a Lease that nobody has asked for');
  onElectorEvent(leadership.elector, hands.elector, event, now);
  tellOtherControllers(state, leadership, now);
}

/** Warns of a holder of the Lease with other controllers: while it holds the Lease, this process never writes. */
function tellOtherControllers({ outbox }: ControllerState, leadership: Leadership, now: Now): void {
  const { elector, controllers, otherTold } = leadership;
  const theirs = otherControllers(leadership);
  if (theirs === '') return;
  const holder = holderOf(elector)!;
  if (otherTold.holder === holder && now.nowMs - otherTold.atMs < OTHER_TOLD_EVERY_MS) return;
  leadership.otherTold = { holder, atMs: now.nowMs };
  const { namespace, name } = elector.options;
  outbox.log(
    'warning',
    0,
    'Another process holds the Lease for other controllers: this one never writes while it does',
    {
      lease: `${namespace}/${name}`,
      holder,
      theirs,
      ours: controllers,
      set: OWN_LEASE,
    },
  );
}

/** The process stops: it takes no Lease any more. A leader keeps the Lease until its writes are done, see `drain`. */
export function stopTakingLease(state: ControllerState, now: Now): void {
  const { leadership } = state;
  if (leadership === null) return;
  leadership.elector.isStopping = true;
  if (!isLeader(leadership.elector)) leaveLease(state, true, now);
}

/**
 * Releases or abandons the Lease at the end of the process.
 * @param answered no write is under way; if none before may arrive late, another process may write at once
 */
export function leaveLease({ leadership, hands }: ControllerState, answered: boolean, now: Now): void {
  if (leadership === null) return;
  const leave = answered && !awaitsLateWrite(leadership, now) ? releaseLease : abandonLease;
  leave(leadership.elector, hands.elector, now);
}

/**
 * What a leader that does not write yet waits for: a take-over, then its caches. A take-over that was decided just now has
 * looked through new watches already.
 * @returns as `wakeLeadership`
 */
function wakeWaiting(state: ControllerState, leadership: Leadership, now: Now): number {
  const { takeOver, elector } = leadership;
  // Its own Lease runs out in an outage, too, and where etcd alone stands still the watches stay open.
  const hasLostLease = elector.failing !== '' && !isLeader(elector);
  if (takeOver !== null && (hasLostLease || areWatchesLost(state.hands.reflectors, state.reflectors)))
    takeOver.outageAtMs = now.nowMs;
  if (!state.isShadow || !isLeader(elector) || state.phase === 'stopping') return Infinity;
  if (takeOver !== null && awaitsTakeOver(leadership)) return stepTakeOver(state, leadership, takeOver, now);
  const isFirst = takeOver?.step.name === 'decided';
  const caughtUpMs = isFirst ? -Infinity : stepCatchUp(state, leadership, now);
  if (caughtUpMs > -Infinity) return caughtUpMs;
  if (takeOver !== null) endTakeOver(state, leadership, takeOver, now);
  // The other controller tells nothing of what endpointd leaves out.
  beginWriting(state, leadership, isFirst ? -Infinity : untoldSinceMs(leadership), now);
  return Infinity;
}

function endTakeOver(state: ControllerState, leadership: Leadership, takeOver: TakeOver, now: Now): void {
  const { from: manager, step } = takeOver;
  if (step.name === 'decided') tell(state, leadership, `took over from ${manager}`, now);
  else if (step.name !== 'begun') {
    const message = 'Waits for nobody: the Lease says that endpointd has taken over before';
    state.outbox.log('info', 0, message, { manager, annotation: TOOK_OVER_ANNOTATION });
  }
  takeOver.step = { name: 'begun' };
  takeOver.due.clear();
  leadership.tookOverAtMs = now.nowMs;
}

export function hasLeftLease({ leadership }: ControllerState): boolean {
  return leadership === null || leadership.elector.phase.name === 'released';
}

/**
 * Tells in an Event object that the process holds the Lease. Later in this step it writes, unless it has to wait
 * (`wakeWaiting`).
 */
export function tellLeading(state: ControllerState, now: Now): void {
  tell(state, leadershipOf(state), 'became leader', now);
}

/**
 * Monotonic ms since when the leader before may have told nothing any more. It had the time of a Lease to tell what came
 * up before it was last seen.
 */
function untoldSinceMs({ elector: { otherSeenMs, options } }: Leadership): number {
  return otherSeenMs - options.leaseDurationMs;
}

function beginWriting(state: ControllerState, leadership: Leadership, untoldMs: number, now: Now): void {
  const { isShadow } = state;
  assert(isShadow && isLeader(leadership.elector), 'a process begins to write that writes already, or does not lead');
  state.isShadow = false;
  leadership.catchUp = null;
  const waiting = [...leadership.behind].sort(([, a], [, b]) => a - b);
  leadership.behind.clear();
  leadership.listed.clear();
  if (waiting.length > 0) {
    const oldestMs = Math.round(now.nowMs - waiting[0]![1]);
    state.outbox.log('info', 0, 'Writes first the services that the leader before has not put right', {
      count: waiting.length,
      oldestMs,
    });
  }
  for (const [unit, changedMs] of waiting) {
    unit.changedAtMs = unit.changedAtMs < 0 ? changedMs : Math.min(unit.changedAtMs, changedMs);
    addWork(unit.controller.queue, unit.item, 'fresh', now.nowMs);
  }
  state.reports.beginsToWrite(untoldMs, now);
}

/** The process leads no longer: nothing may be written any more. */
export function endLeading(state: ControllerState, now: Now): void {
  const leadership = leadershipOf(state);
  state.isShadow = true;
  leadership.catchUp = null;
  giveUpTakeOver(leadership, now);
  tell(state, leadership, 'stopped leading', now);
  abortWrites(state, now);
  for (const { queue, stuck } of state.controllers) {
    stuck.clear();
    // Units with changes or writes that were not sent, or have failed, are planned once more, as a shadow. Mere looks
    // keep their time.
    for (let item = queue.processing.first; item !== null; item = item.next) addWork(queue, item, 'fresh', now.nowMs);
    const delayed = queue.delayed.items.filter(({ changedMs, key }) => changedMs >= 0 || key.failures > 0);
    for (const item of delayed) addCheck(queue, item, 'fresh', now.nowMs);
  }
  // Lost while the process stops: a renewal that was not answered may have been done.
  const { isStopping, phase } = leadership.elector;
  if (isStopping && phase.name === 'standby') leaveLease(state, true, now);
}

function leadershipOf({ leadership }: ControllerState): Leadership {
  assert(leadership !== null, 'who elects nobody does not lead');
  return leadership;
}

/** Cancels the writes that are under way. It stays unknown whether they were done. */
function abortWrites(state: ControllerState, now: Now): void {
  for (const [id, purpose] of state.outbox.requests) {
    if (purpose.for !== 'write') continue;
    state.outbox.cancel(id);
    const message = 'aborted, this process leads no longer';
    const event = { type: 'failure', id, kind: 'other', message, mayHaveArrived: true } as const;
    takeWriteAnswer(state, purpose.queued, event, now);
  }
}

function tell({ eventRecorder }: ControllerState, { elector }: Leadership, what: string, now: Now): void {
  const { namespace, name, identity } = elector.options;
  const metadata = elector.seen?.lease.object['metadata'] as { uid?: string } | undefined;
  const involvedObject = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    namespace,
    name,
    uid: metadata?.uid ?? '',
    resourceVersion: elector.seen?.lease.resourceVersion ?? '',
  };
  const event = { component: 'endpointd', involvedObject, type: 'Normal', reason: 'LeaderElection' } as const;
  recordEvent(eventRecorder, { ...event, message: `${identity} ${what}` }, now.nowMs, now.wallMs);
}
