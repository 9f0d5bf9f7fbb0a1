/**
 * Fresh work goes before chores (start-up, resync, sweep): a change must not wait behind thousands of unchanged
 * services. Chores keep a share, because after a restart they hold the stale addresses (docs/spec/protocols.md
 * "Slots").
 */

export type WorkLane = 'fresh' | 'chore';

export interface LaneShare {
  /** While both lanes wait, one chore follows after this many fresh ones. */
  readonly freshPerChore: number;
  /** How many fresh ones were taken since the last chore, while a chore waited. */
  freshInARow: number;
}

/** The share of writes: at least one token in four is a chore's. */
export const FRESH_WRITES_PER_CHORE = 3;

export function createLaneShare(freshPerChore: number): LaneShare {
  return { freshPerChore, freshInARow: 0 };
}

/** Whose turn it is; null when neither lane waits. The caller follows with `noteLane` when it has used the turn. */
export function pickLane(share: LaneShare, freshWaits: boolean, choreWaits: boolean): WorkLane | null {
  if (!freshWaits) return choreWaits ? 'chore' : null;
  return choreWaits && share.freshInARow >= share.freshPerChore ? 'chore' : 'fresh';
}

/** `choreWaits`: a chore waited when `taken` was taken. */
export function noteLane(share: LaneShare, taken: WorkLane, choreWaits: boolean): void {
  if (taken === 'chore' || !choreWaits) share.freshInARow = 0;
  else share.freshInARow++;
}
