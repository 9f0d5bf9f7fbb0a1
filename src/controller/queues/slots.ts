/**
 * How many syncs run at once, and which come next (docs/protocols.md "Slots"). A unit holds its slot from
 * `takeWork` to `doneWork`.
 */
import { createLaneShare, type LaneShare } from './lane-share.ts';

export interface Slots {
  /** `--concurrent-*-syncs`. */
  readonly count: number;
  /**
   * The most that chores may hold. One slot is kept for fresh work, unless there is only one, or the chores that hold all
   * others are of the same namespace.
   */
  readonly choreMax: number;
  /**
   * The most that one namespace may hold while another waits: half, rounded up. One that is alone may hold all but one,
   * unless there is only one.
   */
  readonly namespaceMax: number;
  /** Decides whose turn it is when both lanes wait. With a single slot they alternate. */
  readonly share: LaneShare;
  held: number;
  heldByChores: number;
}

export function createSlots(count: number): Slots {
  return {
    count,
    choreMax: Math.max(1, count - 1),
    namespaceMax: Math.ceil(count / 2),
    share: createLaneShare(count === 1 ? 1 : 3),
    held: 0,
    heldByChores: 0,
  };
}
