/** The effect of a disturbance on the addresses that clients see, from the changes around it. Plain data in and out. */
import { endOf, type TimedChange } from './stream.ts';

export interface Disturbance {
  /** Milliseconds from the disturbance until the last late change was shown or taken back; 0 = none was late. */
  readonly rightMs: number;
  /** The most addresses that were wrong or missing at one moment. */
  readonly wrongMost: number;
  /** Seconds for which addresses were wrong or missing, summed over all of them. */
  readonly wrongSeconds: number;
}

/** A change that is shown sooner is not late. */
const LATE_MS = 250;

/** The effect on slices, by the changes that are shown or taken back after `fromMs`. */
export function disturbanceOf(changes: readonly TimedChange[], fromMs: number): Disturbance {
  let [untilMs, wrongMs] = [fromMs, 0];
  const edges: (readonly [ms: number, by: 1 | -1])[] = [];
  for (const change of changes) {
    const endMs = endOf(change, 'slices');
    if (Number.isNaN(endMs) || endMs < fromMs) continue;
    const lateMs = Math.max(0, endMs - change.ackedMs);
    wrongMs += lateMs;
    edges.push([endMs - lateMs, 1], [endMs, -1]);
    if (lateMs > LATE_MS) untilMs = Math.max(untilMs, endMs);
  }
  let [wrong, wrongMost] = [0, 0];
  for (const [, by] of edges.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    wrong += by;
    wrongMost = Math.max(wrongMost, wrong);
  }
  return { rightMs: untilMs - fromMs, wrongMost, wrongSeconds: wrongMs / 1000 };
}
