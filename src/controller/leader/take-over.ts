/**
 * Leadership comes and goes. A standby follows the server and plans as a shadow does (`writes/shadow.ts`). So it knows
 * at any time which services the leader has not put right yet. When it takes over it writes those first, the oldest
 * change first, and no others.
 */
import type { Now } from '../event.ts';
import { addWork } from '../queues/workqueue.ts';
import { recordEvent } from '../reports/event-recorder.ts';
import type { ControllerState } from '../state.ts';
import { onWriteDone } from '../syncs/sync.ts';
import { onWriteAnswered } from '../writes/writes.ts';
import type { TransportEvent } from '../../ports/transport.ts';
import { abandonLease, onElectorEvent, releaseLease, wakeElector, type ElectorHands } from './elector.ts';
import type { Leadership } from './leadership.ts';

/** Lists and watches, where that has not begun. */
export type OpenCaches = (state: ControllerState, now: Now) => void;

/** How long the end of the process waits for the Lease to be given back. */
export const RELEASE_MS_MAX = 2000;

/** Does what is due for the Lease. Returns when something is due next, as `step`. */
export function wakeLeadership(state: ControllerState, openCaches: OpenCaches, now: Now): number {
  const { leadership } = state;
  return leadership === null
    ? Infinity
    : wakeElector(leadership.elector, electorHands(state, leadership, openCaches), now);
}

/** Takes the answer to a request for the Lease, or what its watch brings. */
export function onLeaseEvent(state: ControllerState, openCaches: OpenCaches, event: TransportEvent, now: Now): void {
  const leadership = state.leadership!;
  onElectorEvent(leadership.elector, electorHands(state, leadership, openCaches), event, now);
}

/** At the end of the process. @param answered every write has its answer, so another one may write at once */
export function leaveLease(state: ControllerState, openCaches: OpenCaches, answered: boolean, now: Now): void {
  const { leadership } = state;
  if (leadership === null) return;
  const leave = answered ? releaseLease : abandonLease;
  leave(leadership.elector, electorHands(state, leadership, openCaches), now);
}

export function hasLeftLease({ leadership }: ControllerState): boolean {
  return leadership === null || leadership.elector.phase.name === 'released';
}

function electorHands(state: ControllerState, leadership: Leadership, openCaches: OpenCaches): ElectorHands {
  return {
    send: (request) => state.outbox.send({ for: 'lease', isWatch: request.stream }, request),
    cancel: (id) => state.outbox.cancel(id),
    log: state.outbox.log,
    begin(now) {
      begin(state, leadership, now);
      openCaches(state, now);
    },
    end: (now) => end(state, leadership, now),
  };
}

function begin(state: ControllerState, leadership: Leadership, now: Now): void {
  state.isShadow = false;
  tell(state, leadership, 'became leader', now);
  const waiting = [...leadership.behind].sort(([, a], [, b]) => a - b);
  leadership.behind.clear();
  leadership.listed.clear();
  if (waiting.length > 0) {
    const oldestMs = Math.round(now.nowMs - waiting[0]![1]);
    state.outbox.log('info', 0, 'Took over services that the leader before has not put right', {
      count: waiting.length,
      oldestMs,
    });
  }
  for (const [unit, changedMs] of waiting) {
    unit.changedAtMs = unit.changedAtMs < 0 ? changedMs : Math.min(unit.changedAtMs, changedMs);
    addWork(unit.controller.queue, unit.item, 'fresh', now.nowMs);
  }
  state.reports.leads(now);
}

function end(state: ControllerState, leadership: Leadership, now: Now): void {
  state.isShadow = true;
  tell(state, leadership, 'stopped leading', now);
  abortWrites(state, now);
  for (const { queue, stuck } of state.controllers) {
    stuck.clear();
    // What these have not written yet is planned once more, as a shadow.
    for (let item = queue.processing.first; item !== null; item = item.next) addWork(queue, item, 'fresh', now.nowMs);
  }
}

/** Nobody waits for the answers any more, so it is unknown whether the writes were done. */
function abortWrites(state: ControllerState, now: Now): void {
  for (const [id, purpose] of state.outbox.requests) {
    if (purpose.for !== 'write') continue;
    state.outbox.cancel(id);
    const message = 'aborted, this process leads no longer';
    const event = { type: 'failure', id, kind: 'other', message, mayHaveArrived: true } as const;
    onWriteDone(
      state,
      purpose.queued,
      onWriteAnswered(state.writes, state.hands.writes, purpose.queued, event, now),
      now,
    );
  }
}

function tell({ recorder }: ControllerState, { elector }: Leadership, what: string, now: Now): void {
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
  recordEvent(recorder, { ...event, message: `${identity} ${what}` }, now.nowMs, now.wallMs);
}
