/**
 * Fresh work goes before chores (start-up, resync, sweep), for a change must not wait behind thousands of unchanged
 * services; but chores keep a share, for after a restart it is they who hold the stale addresses
 * (docs/spec/protocols.md "Slots").
 */

export type WorkLane = 'fresh' | 'chore';

export interface LaneShare {
  /** While both lanes wait, one chore follows after this many fresh ones. */
  readonly freshPerChore: number;
  /** Taken since a chore was, while one waited. */
  freshInARow: number;
}

/** Writes: at least one token in four is a chore's. */
export const FRESH_WRITES_PER_CHORE = 3;

export function createLaneShare(freshPerChore: number): LaneShare {
  return { freshPerChore, freshInARow: 0 };
}

/** Whose turn it is; null when neither waits. Follow with `noteLane` when that turn was used. */
export function pickLane(share: LaneShare, freshWaits: boolean, choreWaits: boolean): WorkLane | null {
  if (!freshWaits) return choreWaits ? 'chore' : null;
  return choreWaits && share.freshInARow >= share.freshPerChore ? 'chore' : 'fresh';
}

/** `choreWaits`: one waited when `taken` was. */
export function noteLane(share: LaneShare, taken: WorkLane, choreWaits: boolean): void {
  if (taken === 'chore' || !choreWaits) share.freshInARow = 0;
  else share.freshInARow++;
}
