/** Whether what a flip costs stays flat while the cluster grows, up to the bytes that are written. Plain data in and out. */
import type { AxisName, Point } from './axes.ts';

export interface GrowthRun extends Point {
  readonly peer: string;
  /** CPU milliseconds of the controller a flip. */
  readonly cpuAFlip: number;
  /** Of the bodies that it wrote. */
  readonly bytesAFlip: number;
  readonly writesAFlip: number;
  /** Milliseconds from the pod's frame to the write of the slice. */
  readonly p50: number;
  readonly p99: number;
  /** Until nothing was left to do, from nothing known. */
  readonly startCpu: number;
  readonly peakMB: number;
  readonly steadyMB: number;
  readonly wrong: readonly string[];
}

/** What a flip costs by its bytes alone. */
export interface ByteCost {
  readonly ms: number;
  readonly msAKilobyte: number;
}

export interface Flatness {
  readonly axis: AxisName;
  /** The largest share by which a point is above or below what its bytes alone explain. */
  readonly worst: number;
  /** The factor by which the axis grows. */
  readonly grows: number;
  readonly flat: boolean;
}

/** A flip may cost so much more or less. */
export const FLAT_SHARE = 0.2;

/**
 * The line through all points, by the bytes of a flip, with the smallest relative errors: those of the largest objects do not
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
  // Where all write about as much there is no slope to be told: it would explain whatever differs.
  const isTold = Math.max(...bytes) > TOLD_FACTOR * Math.min(...bytes);
  const msAKilobyte = isTold ? Math.max(0, (w * wxy - wx * wy) / (w * wxx - wx * wx)) : 0;
  return { ms: (wy - msAKilobyte * wx) / w, msAKilobyte };
}

const TOLD_FACTOR = 4;

/** By how much a run is above what its bytes explain, as a share. */
export function excessOf({ cpuAFlip, bytesAFlip }: GrowthRun, { ms, msAKilobyte }: ByteCost): number {
  return cpuAFlip / (ms + (msAKilobyte * bytesAFlip) / 1000) - 1;
}

/** Of one peer; runs that were wrong have no say. */
export function flatnessOf(runs: readonly GrowthRun[]): readonly Flatness[] {
  const right = runs.filter(({ wrong }) => wrong.length === 0);
  const cost = byteCost(right);
  return [...Map.groupBy(right, ({ axis }) => axis)].map(([axis, points]) => {
    const worst = points.map((run) => excessOf(run, cost)).reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
    const steps = points.map(({ at }) => at);
    return { axis, worst, grows: Math.max(...steps) / Math.min(...steps), flat: Math.abs(worst) <= FLAT_SHARE };
  });
}
