/**
 * Whether the cost of a flip stays flat while the cluster grows, except for the bytes that are written. Plain data in
 * and out.
 */
import type { AxisName, Point } from './axes.ts';

export interface GrowthRun extends Point {
  readonly peer: string;
  /** The controller's CPU for one flip, in milliseconds. */
  readonly cpuAFlip: number;
  /** Bytes of the bodies of its writes. */
  readonly bytesAFlip: number;
  readonly writesAFlip: number;
  /** Milliseconds from the pod's frame to the write of the slice. */
  readonly p50: number;
  readonly p99: number;
  /** CPU seconds from an empty state until nothing was left to do. */
  readonly startCpu: number;
  readonly peakMB: number;
  readonly steadyMB: number;
  readonly wrong: readonly string[];
}

/** The cost of a flip as a function of its bytes. */
export interface ByteCost {
  readonly ms: number;
  readonly msAKilobyte: number;
}

export interface Flatness {
  readonly axis: AxisName;
  /** The largest share by which a point is above or below that function. */
  readonly worst: number;
  /** The share by which the last point is above the first, beyond what the bytes of both explain. */
  readonly drift: number;
  /** The factor by which the axis's number grows. */
  readonly grows: number;
  /** Whether no point is off by more than `FLAT_SHARE`, and the drift, or three decades of it, is not more either. */
  readonly flat: boolean;
}

/** The share by which a flip may cost more or less. */
export const FLAT_SHARE = 0.2;
/** The drift may be as large over so many decades of the axis's number. */
const DECADES = 3;

/**
 * The line through all points, by the bytes of a flip, with the smallest relative errors. So large objects do not
 * outweigh the others.
 */
export function byteCost(runs: readonly GrowthRun[]): ByteCost {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (const { cpuAFlip, bytesAFlip } of runs) {
    const [weight, x] = [1 / cpuAFlip ** 2, bytesAFlip / 1000];
    w += weight;
    wx += weight * x;
    wy += weight * cpuAFlip;
    wxx += weight * x * x;
    wxy += weight * x * cpuAFlip;
  }
  const bytes = runs.map(({ bytesAFlip }) => bytesAFlip);
  // If all points write about the same number of bytes, no slope can be told: it would explain any difference.
  const isTold = Math.max(...bytes) > TOLD_FACTOR * Math.min(...bytes);
  const msAKilobyte = isTold ? Math.max(0, (w * wxy - wx * wy) / (w * wxx - wx * wx)) : 0;
  return { ms: (wy - msAKilobyte * wx) / w, msAKilobyte };
}

const TOLD_FACTOR = 4;

/** The share by which a run is above the cost that its bytes explain. */
export function excessOf({ cpuAFlip, bytesAFlip }: GrowthRun, { ms, msAKilobyte }: ByteCost): number {
  return cpuAFlip / (ms + (msAKilobyte * bytesAFlip) / 1000) - 1;
}

/** The flatness of one peer. Wrong runs do not count, and one point alone tells nothing of an axis. */
export function flatnessOf(runs: readonly GrowthRun[]): readonly Flatness[] {
  const right = runs.filter(({ wrong }) => wrong.length === 0);
  const cost = byteCost(right);
  return [...Map.groupBy(right, ({ axis }) => axis)].flatMap(([axis, points]) => {
    const inOrder = points.toSorted((a, b) => a.at - b.at);
    if (inOrder[0]!.at === inOrder.at(-1)!.at) return [];
    const excesses = inOrder.map((run) => excessOf(run, cost));
    const worst = excesses.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
    const drift = (1 + excesses.at(-1)!) / (1 + excesses[0]!) - 1;
    const grows = inOrder.at(-1)!.at / inOrder[0]!.at;
    const drifts = (1 + drift) ** Math.min(1, DECADES / Math.log10(grows)) - 1;
    const flat = Math.abs(worst) <= FLAT_SHARE && Math.abs(drifts) <= FLAT_SHARE;
    return [{ axis, worst, drift, grows, flat }];
  });
}
