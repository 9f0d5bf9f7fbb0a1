/**
 * Fresh work goes before chores (start, resync, clean-up): a change must not wait behind thousands of unchanged
 * services. Chores keep a share, because after a restart the stale addresses are among them (docs/protocols.md
 * "Slots").
 */

export type WorkLane = 'fresh' | 'chore';

export interface LaneShare {
  /** While both lanes wait, one chore follows after this many fresh items. */
  readonly freshPerChore: number;
  /** Fresh items taken since the last chore while a chore waited. */
  freshInARow: number;
}

/** The share of writes: at least one token in four is a chore's. */
export const FRESH_WRITES_PER_CHORE = 3;

/**
 * The most writes of a Service at a time while others wait. Most have fewer, and are right sooner if nobody comes in
 * between.
 */
export const TURN_WRITES = 8;

/** The share of the places of writes without an answer that one namespace leaves to others. */
const OTHERS_SHARE = 1 / 8;

/**
 * How many of the places of writes without an answer one namespace may take. Others keep one at least, unless there is
 * only one: writes of a namespace may hang, as behind an admission webhook.
 */
export function placesOfOne(places: number): number {
  return places === 1 ? 1 : places - Math.max(1, Math.floor(places * OTHERS_SHARE));
}

export function createLaneShare(freshPerChore: number): LaneShare {
  return { freshPerChore, freshInARow: 0 };
}

/** Whose turn it is; null when neither lane waits. A caller that uses the turn calls `noteLane` next. */
export function pickLane(share: LaneShare, freshWaits: boolean, choreWaits: boolean): WorkLane | null {
  if (!freshWaits) return choreWaits ? 'chore' : null;
  return choreWaits && share.freshInARow >= share.freshPerChore ? 'chore' : 'fresh';
}

/** Notes a turn that was used. `choreWaits`: a chore waited at that moment. */
export function noteLane(share: LaneShare, taken: WorkLane, choreWaits: boolean): void {
  if (taken === 'chore' || !choreWaits) share.freshInARow = 0;
  else share.freshInARow++;
}
