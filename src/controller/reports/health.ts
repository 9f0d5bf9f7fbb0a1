/** The answers of the health endpoints, from the state alone. A controller with a dead watch is not ready. */
import type { Now } from '../event.ts';
import type { Elector } from '../leader/elector.ts';
import { leaderText } from './role.ts';
import type { ControllerState } from '../state.ts';
import { describeAge } from '../reflectors/stream-life.ts';

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Why it is not ready, or how it is. May be ''. */
  readonly message: string;
}

/** A watch that is down for less than this, because it is being opened again, does not count. */
const WATCH_DOWN_MS_MAX = 15_000;

/** For so long requests for the Lease may fail. */
const LEASE_FAILING_MS_MAX = 30_000;

/**
 * Ready: every cache was filled once, every watch runs or has been down for a moment only, and the Lease can be read and
 * written. So a roll-out with wrong credentials, or without the rights to list, watch and hold the Lease, goes no further than
 * its first replica. A cold standby has no caches to fill.
 */
export function readiness(state: ControllerState, nowMs: number): HealthCheck[] {
  const { leadership } = state;
  return [...cacheChecks(state, nowMs), ...(leadership === null ? [] : [leaseCheck(leadership.elector, nowMs)])];
}

function leaseCheck({ seen, failing, failingSinceMs }: Elector, nowMs: number): HealthCheck {
  const failingMs = failing === '' ? 0 : nowMs - failingSinceMs;
  const ok = seen !== null && failingMs <= LEASE_FAILING_MS_MAX;
  // The server's own words are for the log: anybody may read this page.
  const message =
    failing !== ''
      ? `cannot be read or written for ${Math.round(failingMs / 1000)} s: see the log`
      : ok
        ? ''
        : 'not read yet';
  return { name: 'lease', ok, message };
}

function cacheChecks(state: ControllerState, nowMs: number): HealthCheck[] {
  const checks = state.reflectors.map((reflector): HealthCheck => {
    const name = `watch-${reflector.resource}`;
    if (!reflector.synced) return { name, ok: false, message: 'not listed yet' };
    const { phase, downSinceMs } = reflector;
    if (downSinceMs < 0) {
      return { name, ok: true, message: phase.name === 'watching' ? describeAge(phase.life, nowMs) : '' };
    }
    const downMs = nowMs - downSinceMs;
    return { name, ok: downMs <= WATCH_DOWN_MS_MAX, message: `no watch for ${Math.round(downMs / 1000)} s` };
  });
  if (state.reflectors.length === 0 && state.leadership?.standby === 'cold') {
    return [{ name: 'controller', ok: true, message: `without caches: ${leaderText(state.leadership)}` }];
  }
  const running = state.phase === 'running';
  return [{ name: 'controller', ok: running, message: running ? whoLeads(state) : state.phase }, ...checks];
}

/** For so long after its Lease has run out a process may still believe that it leads, as upstream. */
const LAPSED_MS_MAX = 20_000;

/**
 * Alive: every process that answers is, except a leader whose Lease ran out long ago. Such a leader should have ended
 * by itself, so only a restart helps. A watch that is down is no reason: a restart would not bring it back.
 */
export function liveness({ leadership }: ControllerState, { nowMs }: Pick<Now, 'nowMs'>): HealthCheck[] {
  if (leadership === null) return [];
  const { phase, options } = leadership.elector;
  const sinceMs = phase.name === 'leader' ? nowMs - phase.confirmed.nowMs : 0;
  const ok = sinceMs <= options.leaseDurationMs + LAPSED_MS_MAX;
  const lease = `${options.namespace}/${options.name}`;
  const message = ok ? '' : `leads, but has not renewed the Lease ${lease} for ${Math.round(sinceMs / 1000)} s`;
  return [{ name: 'leaderElection', ok, message }];
}

/** A standby is as ready as a leader, so the page says which of them this is. '' = there is no Lease. */
function whoLeads({ leadership }: ControllerState): string {
  return leadership === null ? '' : leaderText(leadership);
}
