/**
 * `--adaptive-batch-period-max`: the first change of a pod is planned at once. While changes keep arriving, they are
 * collected for longer and longer, up to that bound. So a roll-out costs a service one write in that time instead of
 * one for each pod (D36).
 */
export interface Pace {
  /** How long changes are collected after the last one came. */
  periodMs: number;
  /** Monotonic ms of the last change. */
  changedAtMs: number;
}

/** The first period above zero, as a share of the bound. Each further one is twice as long. */
const FIRST_STEP = 1 / 16;

export function createPace(): Pace {
  return { periodMs: 0, changedAtMs: -Infinity };
}

/**
 * Notes that a pod has changed. Changes keep arriving as long as no pause between two is longer than the bound. After
 * such a pause the periods begin at zero again.
 * @param isFirst no other change waits to be planned
 * @returns how long to wait for more, in milliseconds
 */
export function noteChange(pace: Pace, isFirst: boolean, nowMs: number, periodMsMax: number): number {
  const gapMs = nowMs - pace.changedAtMs;
  pace.changedAtMs = nowMs;
  // The wait that the first collected change was given stays.
  if (!isFirst) return pace.periodMs;
  pace.periodMs =
    gapMs > periodMsMax ? 0 : Math.min(periodMsMax, Math.max(pace.periodMs * 2, periodMsMax * FIRST_STEP));
  return pace.periodMs;
}
