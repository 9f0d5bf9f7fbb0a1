/**
 * What depends on whether this process leads: which services a standby is behind with, and what each write carries so
 * that none is sent or done when another process may lead.
 */
import type { Sync, Unit } from '../caches/service-state.ts';
import { addWork } from '../queues/workqueue.ts';
import { isTurnedAway } from '../writes/write-outcome.ts';
import type { Now } from '../event.ts';
import { formatDuration } from '../../lib/duration.ts';
import type { Prng } from '../../lib/prng.ts';
import type { Deadline, TransportEvent } from '../../ports/transport.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';
import { leaseAnnotation } from '../../kube/lease.ts';
import { createElector, fenceOf, holderOf, type ElectionOptions } from './elector.ts';
import {
  createTakeOver,
  awaitsTakeOver,
  noteDue,
  TOOK_OVER_ANNOTATION,
  type TakeOverHolder,
  type TakeOverOptions,
} from './take-over.ts';

export interface LeadershipOptions extends ElectionOptions {
  /**
   * The holder of the Lease begins to write when this other controller has ceased. Absent or null = it begins at once.
   */
  readonly takeOver?: TakeOverOptions | null;
  /** cold: a standby has no caches, and fills them when it leads. */
  readonly standby: 'warm' | 'cold';
}

export interface Leadership extends TakeOverHolder {
  readonly standby: 'warm' | 'cold';
  /** The `timeout` of a write that is sent at the last moment, so that it is done before another process leads. */
  readonly lastTimeoutMs: number;
  /** Of a standby: units whose last plan had writes, each with the monotonic ms of its oldest change. */
  readonly behind: Map<Unit, number>;
  /** Units whose slices have been listed in this leadership before one was created. */
  readonly listed: Set<Unit>;
  /** Of a leader that does not write yet: how far its caches are; null = it has not looked. */
  catchUp: CatchUp | null;
  /** Monotonic ms at which this process began to write after another controller; -Infinity = it did not. */
  tookOverAtMs: number;
  /** Monotonic ms at which a write was last given up without an answer; -Infinity = every write was answered. */
  unansweredAtMs: number;
  /** The names of the controllers of this process. */
  readonly controllers: string;
  /** The holder with other controllers that the log has last told of, and the monotonic ms of that line. */
  otherTold: { readonly holder: string; readonly atMs: number };
}

/** How far a process that begins to lead is with bringing its caches up to date (`catch-up.ts`). */
export interface CatchUp {
  /** Monotonic ms at which it began. */
  readonly sinceMs: number;
  /** Monotonic ms at which the log tells next that this lasts. */
  tellAtMs: number;
  /** How often silence is still to be looked for, and the monotonic ms of the next look. */
  looksLeft: number;
  lookAtMs: number;
}

/**
 * Its value names the controllers that the holder of the Lease runs. It tells others whether the holder can stand in
 * for them.
 */
const CONTROLLERS_ANNOTATION = 'endpointd/controllers';

/** The flag that helps where two processes run different controllers. */
export const OWN_LEASE = '--leader-elect-resource-name';

/**
 * A create that the leader before has sent at its last moment may arrive within this time. It has no precondition,
 * because the names of slices are drawn at random. The time is no certain bound: a server or a proxy may hold a request
 * for up to a minute.
 */
const LATE_WRITE_MS = 30_000;
const WRITE_TIMEOUT_MS_MIN = 1000;
/** A second less than a write is waited for (`writes.ts`): a 504 tells more than no answer. */
const WRITE_TIMEOUT_MS_MAX = 13_000;
/** A write that waits no longer than this for a connection keeps its timeout. */
const CONNECT_MS = 1000;

/** @param controllers their names */
export function createLeadership(
  { standby, takeOver = null, ...options }: LeadershipOptions,
  controllers: readonly string[],
  prng: Prng,
): Leadership {
  const leftMs = Math.min(options.leaseDurationMs - options.renewDeadlineMs - 1000, WRITE_TIMEOUT_MS_MAX);
  return {
    elector: createElector(options, prng),
    standby,
    lastTimeoutMs: Math.max(leftMs, WRITE_TIMEOUT_MS_MIN),
    behind: new Map(),
    listed: new Set(),
    takeOver: takeOver === null ? null : createTakeOver(takeOver),
    catchUp: null,
    tookOverAtMs: -Infinity,
    unansweredAtMs: -Infinity,
    controllers: controllers.join(','),
    otherTold: { holder: '', atMs: -Infinity },
  };
}

/**
 * Whether this process leaves all writes to the leader, or to the controller that it waits for. It says nothing of
 * objects then.
 */
export function waitsToWrite({ isShadow, leadership }: { isShadow: boolean; leadership: Leadership | null }): boolean {
  return isShadow && leadership !== null;
}

/** The annotations of the Lease while this process holds it. */
export function annotationsOf(leadership: Leadership): Record<string, string> {
  const { controllers, takeOver } = leadership;
  const tells = takeOver !== null && (takeOver.step.name === 'decided' || !awaitsTakeOver(leadership));
  return { [CONTROLLERS_ANNOTATION]: controllers, ...(tells ? { [TOOK_OVER_ANNOTATION]: takeOver.from } : {}) };
}

/**
 * The controllers of another holder of the Lease if they differ from those of this process; '' = they do not, or are
 * not known.
 */
export function otherControllers({ elector, controllers }: Leadership): string {
  if (holderOf(elector) === null) return '';
  const theirs = leaseAnnotation(elector.seen!.lease, CONTROLLERS_ANNOTATION);
  return theirs === controllers ? '' : theirs;
}

/**
 * The deadline and the `timeout` that a write carries, so that it is not sent or done when another process may lead. The
 * sooner after a renewal it is sent, the more time it may have: an API server that is busy lets a request wait for a
 * quarter of its timeout.
 */
export function fencedBy(leadership: Leadership | null, now: Now): { notAfter?: Deadline; query: string } {
  if (leadership === null) return { query: '' };
  const { elector, lastTimeoutMs } = leadership;
  const { renewDeadlineMs, leaseDurationMs } = elector.options;
  const fence = fenceOf(elector);
  const leftMs = Math.min(fence.nowMs - now.nowMs, fence.wallMs - now.wallMs);
  // Where Lease duration and renew deadline are close, writes end before the leadership does.
  const earlierMs = Math.max(0, renewDeadlineMs + lastTimeoutMs - leaseDurationMs);
  const spareMs = Math.min(leftMs - earlierMs - CONNECT_MS, WRITE_TIMEOUT_MS_MAX - lastTimeoutMs);
  const longerMs = Math.max(0, Math.floor(spareMs / 100) * 100);
  const lastMs = earlierMs + longerMs;
  const notAfter = { nowMs: fence.nowMs - lastMs, wallMs: fence.wallMs - lastMs };
  return { notAfter, query: `?timeout=${formatDuration(lastTimeoutMs + longerMs)}` };
}

/** Notes an answer after which the write may still arrive. */
export function noteIfMayArriveLate(leadership: Leadership | null, event: TransportEvent, now: Now): void {
  if (leadership !== null && mayArriveLate(event)) leadership.unansweredAtMs = now.nowMs;
}

/**
 * A server or a proxy that answers 500, 502 or 504 does not know what became of a write, nor a proxy that answers 503. A
 * server that tells of an admission webhook does.
 */
function mayArriveLate(event: TransportEvent): boolean {
  if (event.type === 'failure') return event.mayHaveArrived;
  return event.type === 'response' && event.status >= 500 && !isTurnedAway(event);
}

/** Whether a write without an answer may still arrive: the next leader is not to begin before it. */
export function awaitsLateWrite({ unansweredAtMs }: Leadership, now: Now): boolean {
  return now.nowMs - unansweredAtMs < LATE_WRITE_MS;
}

/**
 * Whether the unit's slices have to be listed before these writes: a create of the leader before may still arrive, or the
 * watch may not have told of it yet. True once for each unit of a leadership, so the caller must list them.
 */
export function takeMustListFirst(
  leadership: Leadership | null,
  unit: Unit,
  writes: readonly PlannedWrite[],
  now: Now,
): boolean {
  const phase = leadership?.elector.phase;
  if (leadership === null || phase?.name !== 'leader') return false;
  const afterOtherMs = phase.isAfterOther ? phase.since.nowMs : leadership.elector.otherSeenMs;
  const isLate = now.nowMs - Math.max(afterOtherMs, leadership.tookOverAtMs) < LATE_WRITE_MS;
  if (!isLate || leadership.listed.has(unit)) return false;
  // An Endpoints object has a fixed name, so a second create of it fails.
  if (unit.controller.kind === 'endpoints' || !writes.some(({ verb }) => verb === 'create')) return false;
  leadership.listed.add(unit);
  return true;
}

/**
 * Notes the end of a sync whose writes may not have been sent.
 * @param isShadow whether the process is a shadow by now
 */
export function noteShadowed(leadership: Leadership | null, isShadow: boolean, unit: Unit, sync: Sync, now: Now): void {
  const { shadow } = sync;
  if (leadership === null || shadow === null) return;
  if (isShadow) noteDue(leadership, unit, sync, now);
  const { behind } = leadership;
  if (shadow.writes.length === 0 && sync.failure === null) {
    behind.delete(unit);
  } else if (isShadow) {
    const changedMs = sync.changedAtMs < 0 ? sync.startedAtMs : sync.changedAtMs;
    behind.set(unit, Math.min(changedMs, behind.get(unit) ?? Infinity));
  } else {
    addWork(unit.controller.queue, unit.item, 'fresh', now.nowMs);
  }
}

/** Whether the unit's last plan had writes that are left to the leader. */
export function isBehind(leadership: Leadership | null, unit: Unit): boolean {
  return leadership?.behind.has(unit) === true;
}

/** Drops a unit that is forgotten. */
export function forgetBehind(leadership: Leadership | null, unit: Unit): void {
  leadership?.behind.delete(unit);
  leadership?.takeOver?.due.delete(unit);
  leadership?.listed.delete(unit);
}
