/**
 * `--adaptive-batch-period-max`: the first pod of a service that becomes ready is planned at once. While more keep
 * arriving, they are collected for longer and longer, up to that bound. So a roll-out costs a service one write in that
 * time instead of one for each pod (D36). What takes an address away is never collected.
 */
import type { PodEffect } from '../../core/pod-effect.ts';

export interface Pace {
  /** How long changes are collected after the first one that waits. */
  periodMs: number;
  /** Monotonic ms at which the last pod became ready. */
  addedAtMs: number;
}

/** The first period above zero, as a share of the bound. Each further one is twice as long. */
const FIRST_STEP = 1 / 16;

export function createPace(): Pace {
  return { periodMs: 0, addedAtMs: -Infinity };
}

/**
 * Notes a change of a pod, and says for how many milliseconds changes are collected. Pods keep arriving as long as no
 * pause between two is longer than the bound. After such a pause the periods begin at zero again.
 * @param isFirst no other change waits to be planned
 */
export function collectForMs(
  pace: Pace,
  effect: PodEffect,
  isFirst: boolean,
  nowMs: number,
  periodMsMax: number,
): number {
  if (effect === 'removes') return 0;
  const hasPaused = nowMs - pace.addedAtMs > periodMsMax;
  if (effect === 'other') return hasPaused ? 0 : pace.periodMs;
  pace.addedAtMs = nowMs;
  if (hasPaused) pace.periodMs = 0;
  // The wait that the first collected change was given stays.
  else if (isFirst) pace.periodMs = Math.min(periodMsMax, Math.max(pace.periodMs * 2, periodMsMax * FIRST_STEP));
  return pace.periodMs;
}
