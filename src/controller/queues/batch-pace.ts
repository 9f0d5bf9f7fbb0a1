/**
 * `--adaptive-batch-period-max`: a first change of a pod is planned at once; while further ones keep arriving they are
 * collected, for longer and longer up to the bound, so that a roll-out costs a service one write in that time and not
 * one for each pod (D36).
 */
export interface Pace {
  /** How long the changes are collected that come together with the last one. */
  periodMs: number;
  /** Monotonic ms of the last change. */
  changedAtMs: number;
}

/** The first period that is not zero, as a part of the bound; it doubles from there. */
const FIRST_STEP = 1 / 16;

export function createPace(): Pace {
  return { periodMs: 0, changedAtMs: -Infinity };
}

/**
 * A pod has changed. Changes keep arriving as long as none lets the bound pass; after that all begins again.
 * @param isFirst no other change waits to be planned
 * @returns how long to wait for more, in milliseconds
 */
export function noteChange(pace: Pace, isFirst: boolean, nowMs: number, periodMsMax: number): number {
  const gapMs = nowMs - pace.changedAtMs;
  pace.changedAtMs = nowMs;
  // What is collected already does not wait longer than it was to.
  if (!isFirst) return pace.periodMs;
  pace.periodMs =
    gapMs > periodMsMax ? 0 : Math.min(periodMsMax, Math.max(pace.periodMs * 2, periodMsMax * FIRST_STEP));
  return pace.periodMs;
}
