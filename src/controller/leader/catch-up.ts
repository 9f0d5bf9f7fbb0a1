/**
 * What a standby does before it writes as a leader: it opens new watches, and writes nothing until they run. Its plans are
 * made of what its watches have told, and each watch has a connection of its own. Where the one of pods has fallen silent
 * and the one of slices has not, a standby knows what the leader before has written, and not why. It would take ready pods
 * out of their slices.
 */
import type { Now } from '../event.ts';
import { openWatchesAgain } from '../reflectors/reflector-group.ts';
import type { ControllerState } from '../state.ts';
import type { Leadership } from './leadership.ts';

/**
 * Within this time a new watch has brought the events that an old one has missed. They come first, at once after the
 * headers. Nobody writes meanwhile, so it is short.
 */
const SETTLE_MS = 500;
/** A process that leads so soon after its lists, or before them, has nothing to catch up with. */
const NEW_LIST_MS = 2000;
const TELL_EVERY_MS = 60_000;

/** Does what is due. Returns when something is due next; -Infinity = the caches are up to date. */
export function stepCatchUp(state: ControllerState, leadership: Leadership, now: Now): number {
  const filled = state.reflectors.filter(({ synced }) => synced);
  if (leadership.catchUp === null) {
    if (filled.every(({ listedAtMs }) => now.nowMs < listedAtMs + NEW_LIST_MS)) return -Infinity;
    openWatchesAgain(state.hands.reflectors, state.reflectors, now);
    leadership.catchUp = { settledAtMs: Infinity, tellAtMs: now.nowMs + TELL_EVERY_MS };
  }
  const { catchUp } = leadership;
  const lost = filled.filter(({ downSinceMs }) => downSinceMs >= 0);
  if (lost.length > 0) catchUp.settledAtMs = Infinity;
  else if (catchUp.settledAtMs === Infinity) catchUp.settledAtMs = now.nowMs + SETTLE_MS;
  if (now.nowMs >= catchUp.settledAtMs) return -Infinity;
  if (now.nowMs >= catchUp.tellAtMs) {
    catchUp.tellAtMs = now.nowMs + TELL_EVERY_MS;
    state.outbox.log('warning', 0, 'Holds the Lease and writes nothing: its caches are not up to date', {
      lost: lost.map(({ resource }) => resource).join(', '),
    });
  }
  return Math.min(catchUp.settledAtMs, catchUp.tellAtMs);
}
