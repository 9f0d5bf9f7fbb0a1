/**
 * What a standby does before it writes as a leader: it opens new watches, and writes nothing until they have told what the
 * old ones may have missed. Its plans are made of what its watches have told, and each watch has a connection of its own.
 * Where the one of pods has fallen silent and the one of slices has not, a standby knows what the leader before has
 * written, and not why. It would take ready pods out of their slices. A list of pods is as old if it was asked for while
 * the leader before still wrote.
 */
import type { Now } from '../event.ts';
import { caughtUpAtMs, openWatchesAgain } from '../reflectors/reflector-group.ts';
import { listOf, type Reflector } from '../reflectors/reflector.ts';
import { listAgain } from '../reflectors/reflector-requests.ts';
import type { ControllerState } from '../state.ts';
import type { CatchUp, Leadership } from './leadership.ts';

/** A new watch that is silent for so long has missed nothing more. Nobody writes meanwhile, so it is short. */
const QUIET_MS = 500;
/**
 * Silence is looked for so many times more, with this pause: events that have come while the process was busy are read
 * between two looks.
 */
const FURTHER_LOOKS = 2;
const LOOK_AGAIN_MS = 25;
const TELL_EVERY_MS = 60_000;

/** Does what is due. Returns when something is due next; -Infinity = the caches are up to date. */
export function stepCatchUp(state: ControllerState, leadership: Leadership, now: Now): number {
  // It leads since its first look at the Lease, so nobody has written since it began to list.
  if (leadership.catchUp === null && !leadership.elector.hasStoodBy) return -Infinity;
  leadership.catchUp ??= {
    sinceMs: now.nowMs,
    tellAtMs: now.nowMs + TELL_EVERY_MS,
    looksLeft: FURTHER_LOOKS,
    lookAtMs: -Infinity,
  };
  const { catchUp } = leadership;
  listFirstAgain(state, catchUp.sinceMs, now);
  openWatchesAgain(state.hands.reflectors, state.reflectors, catchUp.sinceMs, now);
  // One that is refused counts, too: what it has cached is old.
  const filled = state.reflectors.filter(({ synced }) => synced);
  const toldAtMs = filled.map((reflector) => caughtUpAtMs(reflector, QUIET_MS));
  if (toldAtMs.every((atMs) => atMs === -Infinity)) return -Infinity;
  const behind = filled.filter((_, i) => toldAtMs[i]! > now.nowMs);
  if (behind.length === 0) return lookAgain(catchUp, now);
  catchUp.looksLeft = FURTHER_LOOKS;
  tellIfLong(state, catchUp, behind, now);
  return Math.min(catchUp.tellAtMs, ...toldAtMs.filter((atMs) => atMs > now.nowMs));
}

/**
 * Asks for each first list anew that is older than `sinceMs`. It holds up no other controller: those that read the cache do
 * not run before its list is complete.
 */
function listFirstAgain({ hands, reflectors }: ControllerState, sinceMs: number, now: Now): void {
  for (const reflector of reflectors) {
    if (!reflector.synced && listOf(reflector) !== null) listAgain(hands.reflectors, reflector, sinceMs, now);
  }
}

/** Returns as `stepCatchUp` once all watches are silent. */
function lookAgain(catchUp: CatchUp, now: Now): number {
  if (now.nowMs < catchUp.lookAtMs) return catchUp.lookAtMs;
  if (catchUp.looksLeft === 0) return -Infinity;
  catchUp.looksLeft--;
  catchUp.lookAtMs = now.nowMs + LOOK_AGAIN_MS;
  return catchUp.lookAtMs;
}

function tellIfLong({ outbox }: ControllerState, catchUp: CatchUp, behind: readonly Reflector[], now: Now): void {
  if (now.nowMs < catchUp.tellAtMs) return;
  catchUp.tellAtMs = now.nowMs + TELL_EVERY_MS;
  const lost = behind.filter(({ downSinceMs }) => downSinceMs >= 0);
  outbox.log('warning', 0, 'Holds the Lease and writes nothing: its caches are not up to date', {
    behind: namesOf(behind),
    ...(lost.length === 0 ? {} : { lost: namesOf(lost) }),
  });
}

function namesOf(reflectors: readonly Reflector[]): string {
  return reflectors.map(({ resource }) => resource).join(', ');
}
