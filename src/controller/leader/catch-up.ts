/**
 * What a standby does before it writes as a leader: it opens new watches, and writes nothing until they have told what the
 * old ones may have missed. Its plans are made of what its watches have told, and each watch has a connection of its own.
 * Where the one of pods has fallen silent and the one of slices has not, a standby knows what the leader before has
 * written, and not why. It would take ready pods out of their slices.
 */
import type { Now } from '../event.ts';
import { caughtUpAtMs, openWatchesAgain } from '../reflectors/reflector-group.ts';
import type { Reflector } from '../reflectors/reflector.ts';
import type { ControllerState } from '../state.ts';
import type { Leadership } from './leadership.ts';

/** A new watch that is silent for so long has missed nothing more. Nobody writes meanwhile, so it is short. */
const QUIET_MS = 500;
/** A process that leads so soon after its lists, or before them, has nothing to catch up with. */
const NEW_LIST_MS = 2000;
const TELL_EVERY_MS = 60_000;

/** Does what is due. Returns when something is due next; -Infinity = the caches are up to date. */
export function stepCatchUp(state: ControllerState, leadership: Leadership, now: Now): number {
  const filled = state.reflectors.filter(({ synced }) => synced);
  if (leadership.catchUp === null) {
    if (filled.every(({ listedAtMs }) => now.nowMs < listedAtMs + NEW_LIST_MS)) return -Infinity;
    leadership.catchUp = { sinceMs: now.nowMs, tellAtMs: now.nowMs + TELL_EVERY_MS };
  }
  const { catchUp } = leadership;
  openWatchesAgain(state.hands.reflectors, state.reflectors, catchUp.sinceMs, now);
  // One that is refused counts, too: what it has cached is old.
  const behind = filled.filter((reflector) => caughtUpAtMs(reflector, QUIET_MS) > now.nowMs);
  if (behind.length === 0) return -Infinity;
  if (now.nowMs >= catchUp.tellAtMs) {
    catchUp.tellAtMs = now.nowMs + TELL_EVERY_MS;
    const lost = behind.filter(({ downSinceMs }) => downSinceMs >= 0);
    state.outbox.log('warning', 0, 'Holds the Lease and writes nothing: its caches are not up to date', {
      behind: namesOf(behind),
      ...(lost.length === 0 ? {} : { lost: namesOf(lost) }),
    });
  }
  return Math.min(catchUp.tellAtMs, ...behind.map((reflector) => caughtUpAtMs(reflector, QUIET_MS)));
}

function namesOf(reflectors: readonly Reflector[]): string {
  return reflectors.map(({ resource }) => resource).join(', ');
}
