/** What concerns several reflectors at once: a history that went back, and lists that other lists have to confirm. */
import {
  isBraked,
  judgeRemovals,
  judgeWithout,
  noteListBegins,
  type Brake,
  type BrakeHands,
  type Judgement,
} from './brake.ts';
import { createOutages } from './outages.ts';
import type { Reflector, ReflectorHands, Removal } from './reflector.ts';
import { listAgain, noteRestart, resumeWatch, retry } from './reflector-requests.ts';
import type { Now } from '../event.ts';
import { compareResourceVersions } from '../../kube/resource-version.ts';

/** Makes the hands of all reflectors that share the brake. */
export function reflectorHands(
  own: Pick<ReflectorHands, 'outbox' | 'prng' | 'metrics' | 'firstListEnds'>,
  brake: Brake,
  brakeHands: BrakeHands,
): ReflectorHands {
  const hands: ReflectorHands = {
    ...own,
    outages: createOutages(),
    listBegins: (reflector) => noteListBegins(brake, brakeHands, reflector),
    listEnds: (reflector, removal, now) => removeMissed(brake, brakeHands, hands, reflector, removal, now),
    listRefused(reflector, now) {
      carryOut(brake, hands, judgeWithout(brake, brakeHands, reflector), now);
    },
    wentBack: (reflector, now) => listOthersAgain(hands, brakeHands.reflectors(), reflector, now),
  };
  return hands;
}

/** Removes what the list has missed, unless the brake wants it confirmed first. Returns whether no list follows. */
function removeMissed(
  brake: Brake,
  brakeHands: BrakeHands,
  hands: ReflectorHands,
  reflector: Reflector,
  removal: Removal | null,
  now: Now,
): boolean {
  if (!isBraked(brake, reflector)) {
    if (removal !== null) reflector.target.removeUnmarked(removal.marks, removal.upTo, now);
    return true;
  }
  if (removal !== null) brake.removals.set(reflector, removal);
  return carryOut(brake, hands, judgeRemovals(brake, brakeHands, reflector), now);
}

/** Returns whether no list follows. */
function carryOut(brake: Brake, hands: ReflectorHands, judgement: Judgement, now: Now): boolean {
  const { removals } = brake;
  switch (judgement) {
    case 'wait':
      return true;
    case 'remove':
      for (const [{ target }, { marks, upTo }] of removals) target.removeUnmarked(marks, upTo, now);
      removals.clear();
      return true;
    case 'list-again':
      for (const one of brake.awaited ?? []) {
        retry(hands, one, 'list', 'what a list has missed is to be confirmed', now);
      }
      return false;
  }
}

/** An own write, sent at `sentAtMs`, has shown that history went back: all reflectors list again. */
export function onWrittenInThePast(
  hands: ReflectorHands,
  reflectors: readonly Reflector[],
  reflector: Reflector,
  sentAtMs: number,
  now: Now,
): void {
  listAgain(hands, reflector, sentAtMs, now);
  listOthersAgain(hands, reflectors, reflector, now);
}

/**
 * Lists all others again too, because etcd is restored as a whole. Own writes that follow may take the version past
 * what another reflector had reached before that one lists again: its next list would be no sign any more, and its
 * watch would miss what lies between.
 */
function listOthersAgain(
  hands: ReflectorHands,
  reflectors: readonly Reflector[],
  reflector: Reflector,
  now: Now,
): void {
  for (const other of reflectors) if (other !== reflector) listAgain(hands, other, -Infinity, now);
}

/** Every cache that is not refused follows its resource: nothing is listed or opened anew just now. */
export function areWatchesUp(reflectors: readonly Reflector[]): boolean {
  return reflectors.every(({ synced, refused, downSinceMs }) => refused || (synced && downSinceMs < 0));
}

/** Every watch is lost at once: the API server is out of reach. */
export function areWatchesLost({ outages }: ReflectorHands, reflectors: readonly Reflector[]): boolean {
  return reflectors.length > 0 && reflectors.every((reflector) => outages.losses.has(reflector));
}

/**
 * Monotonic ms at which a watch counts as one that has told what the watch before it may have missed; -Infinity = it does
 * already, Infinity = it does not run. What was missed comes first. All of it has come with the version that the check
 * before the watch has found, or with a later one. That version may be another resource's, so a watch that is silent for
 * `quietMs` has told all, too. After a list nothing was missed.
 */
export function caughtUpAtMs(reflector: Reflector, quietMs: number): number {
  const { phase, downSinceMs, resourceVersion, foundVersion } = reflector;
  if (downSinceMs >= 0 || phase.name !== 'watching') return Infinity;
  const isReached = compareResourceVersions(resourceVersion, foundVersion) >= 0;
  return isReached ? -Infinity : phase.life.lastFrameAtMs + quietMs;
}

/**
 * Opens a new watch, with a check before it, in place of each one whose check or list was asked for before `sinceMs`. It
 * brings what a silent stream may have missed. A reflector that has no watch just now has its turn in a later call.
 */
export function openWatchesAgain(
  hands: ReflectorHands,
  reflectors: readonly Reflector[],
  sinceMs: number,
  now: Now,
): void {
  for (const reflector of reflectors) {
    if (reflector.phase.name !== 'watching' || reflector.askedAtMs >= sinceMs) continue;
    noteRestart(hands, reflector, now);
    resumeWatch(hands, reflector, now);
  }
}
