/**
 * What depends on whether this process leads: which services wait for it, and what each write carries so that none is
 * sent or done when another process may lead.
 */
import type { Sync, Unit } from '../caches/service-state.ts';
import { addWork } from '../queues/workqueue.ts';
import type { Now } from '../event.ts';
import { formatDuration } from '../../lib/duration.ts';
import type { Prng } from '../../lib/prng.ts';
import type { Deadline } from '../../ports/transport.ts';
import type { PlannedWrite } from '../../shard/protocol.ts';
import { createElector, fenceOf, holderOf, isLeader, type ElectionOptions, type Elector } from './elector.ts';

export interface LeadershipOptions extends ElectionOptions {
  /** cold: a standby has no caches, and lists when it takes over. */
  readonly standby: 'warm' | 'cold';
}

export interface Leadership {
  readonly elector: Elector;
  readonly standby: 'warm' | 'cold';
  /** The `timeout` of each write: a write that is sent at the last moment is over before another process leads. */
  readonly writeTimeout: string;
  /** For a standby: units whose last plan had writes, by the monotonic ms of the oldest change behind them. */
  readonly behind: Map<Unit, number>;
  /** Units whose slices have been listed in this leadership before something was made. */
  readonly listed: Set<Unit>;
}

/**
 * A create that the earlier leader sent at its last moment may arrive for so long. It has no precondition, because
 * names of slices are drawn. This is no certain bound: a server or proxy may hold a request for up to a minute.
 */
const LATE_WRITE_MS = 30_000;
const WRITE_TIMEOUT_MS_MIN = 1000;

export function createLeadership({ standby, ...options }: LeadershipOptions, prng: Prng): Leadership {
  const timeoutMs = options.leaseDurationMs - options.renewDeadlineMs - 1000;
  return {
    elector: createElector(options, prng),
    standby,
    writeTimeout: formatDuration(Math.max(timeoutMs, WRITE_TIMEOUT_MS_MIN)),
    behind: new Map(),
    listed: new Set(),
  };
}

/** What a write carries so that none is sent, or done, when another process may lead. */
export function fencedBy(leadership: Leadership | null): { notAfter?: Deadline; query: string } {
  if (leadership === null) return { query: '' };
  return { notAfter: fenceOf(leadership.elector), query: `?timeout=${leadership.writeTimeout}` };
}

/**
 * Whether the unit's slices have to be listed before these writes: a late create of the earlier leader may have made
 * what they make. It says so once for each unit of a leadership.
 */
export function mustListFirst(
  leadership: Leadership | null,
  unit: Unit,
  writes: readonly PlannedWrite[],
  now: Now,
): boolean {
  const phase = leadership?.elector.phase;
  if (leadership === null || phase?.name !== 'leader') return false;
  const isLate = phase.isAfterOther && now.nowMs - phase.since.nowMs < LATE_WRITE_MS;
  if (!isLate || leadership.listed.has(unit)) return false;
  // The name of an Endpoints object is a precondition itself.
  if (unit.controller.kind === 'endpoints' || !writes.some(({ verb }) => verb === 'create')) return false;
  leadership.listed.add(unit);
  return true;
}

/**
 * A sync ends that may have written nothing of what it planned.
 * @param isShadow the process stands by now
 */
export function noteShadowed(leadership: Leadership | null, isShadow: boolean, unit: Unit, sync: Sync, now: Now): void {
  const { shadow } = sync;
  if (leadership === null || shadow === null) return;
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

/** Nothing waits for a unit that is forgotten. */
export function forgetBehind(leadership: Leadership | null, unit: Unit): void {
  leadership?.behind.delete(unit);
  leadership?.listed.delete(unit);
}

/** For a person. */
export function leaderText(leadership: Leadership | null): string {
  if (leadership === null) return 'this process, without a Lease';
  const { elector } = leadership;
  if (isLeader(elector)) return `this process, ${elector.options.identity}`;
  const holder = holderOf(elector);
  return holder === null ? 'nobody, this process stands by' : `${holder}, this process stands by`;
}
