/**
 * Whether the cost of a flip stays flat while the cluster grows, except for the bytes that are written. Plain data in
 * and out.
 */
import { median } from '../../src/lib/percentile.ts';
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

/** The rounds of one point and peer: of each figure the median of those that ended right, NaN = none did. */
export interface MergedRun extends GrowthRun {
  /** How many rounds ended right. */
  readonly rounds: number;
  /** The `cpuAFlip` of the lowest and the highest of them. */
  readonly cpuRange: Range;
}

type Range = readonly [low: number, high: number];

export interface Flatness {
  readonly axis: AxisName;
  /** The largest share by which a point is above or below that function. */
  readonly worst: number;
  /** The same of the rounds that are lowest and highest at their points. */
  readonly furthest: { readonly at: number; readonly share: number };
  /** The share by which the last point is above the first, beyond what the bytes of both explain. */
  readonly drift: number;
  /** The same of the lowest round of the last by the highest of the first, and the other way round. */
  readonly driftRange: Range;
  /**
   * Of neighbours that write the same number of bytes, those whose costs are furthest apart: no line has to explain these
   * bytes. null = there are none.
   */
  readonly step: Step | null;
  /** The axis's number at the first and the last point. */
  readonly ends: Range;
  /** Of the point with the fewest. */
  readonly rounds: number;
  readonly verdict: FlatnessVerdict;
}

export interface Step {
  readonly between: Range;
  /** The share by which the second one costs more. */
  readonly share: number;
  /** The same of the lowest round of the second by the highest of the first, and the other way round. */
  readonly range: Range;
}

/**
 * `flat`: no round of any point is off by more than `FLAT_SHARE`, and the drift, or three decades of it, is not more either,
 * whichever rounds are taken. `not flat`: all rounds of a point are, or the drift is whichever are taken. One round shows no
 * noise, so there the points themselves are judged.
 */
export type FlatnessVerdict = 'flat' | 'not flat' | 'within the noise' | 'flat in one round' | 'not flat in one round';

/** The share by which a flip may cost more or less. */
export const FLAT_SHARE = 0.2;
/** The drift may be as large over so many decades of the axis's number. */
const DECADES = 3;

/**
 * The line through all points, by the bytes of a flip, with the smallest relative errors. So large objects do not
 * outweigh the others.
 */
export function byteCost(runs: readonly Pick<GrowthRun, 'cpuAFlip' | 'bytesAFlip'>[]): ByteCost {
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

/** The share by which a cost is above the one that its bytes explain. */
export function excessOf(cpuAFlip: number, bytesAFlip: number, { ms, msAKilobyte }: ByteCost): number {
  return cpuAFlip / (ms + (msAKilobyte * bytesAFlip) / 1000) - 1;
}

const MERGED = ['cpuAFlip', 'bytesAFlip', 'writesAFlip', 'p50', 'p99', 'startCpu', 'peakMB', 'steadyMB'] as const;

/** One run for each point and peer. */
export function merged(runs: readonly GrowthRun[]): MergedRun[] {
  const groups = Map.groupBy(runs, ({ axis, at, peer }) => `${axis} ${at} ${peer}`);
  return [...groups.values()].map((same) => {
    const right = same.filter(({ wrong }) => wrong.length === 0);
    const medians = MERGED.map((figure) => [figure, median(right.map((run) => run[figure]))] as const);
    const costs = right.map(({ cpuAFlip }) => cpuAFlip);
    const more = {
      wrong: same.flatMap(({ wrong }) => wrong),
      rounds: right.length,
      cpuRange: [Math.min(...costs), Math.max(...costs)] as const,
    };
    return Object.assign({}, same[0]!, Object.fromEntries(medians), more);
  });
}

/** The flatness of one peer. Wrong runs do not count, and one point alone tells nothing of an axis. */
export function flatnessOf(runs: readonly MergedRun[]): readonly Flatness[] {
  const right = runs.filter(({ rounds }) => rounds > 0);
  const cost = byteCost(right);
  return [...Map.groupBy(right, ({ axis }) => axis)].flatMap(([axis, points]) => {
    const inOrder = points.toSorted((a, b) => a.at - b.at);
    const [first, last] = [inOrder[0]!, inOrder.at(-1)!];
    if (first === last) return [];
    const excess = ({ bytesAFlip }: MergedRun, cpuAFlip: number): number => excessOf(cpuAFlip, bytesAFlip, cost);
    const drift = (from: number, to: number): number => (1 + excess(last, to)) / (1 + excess(first, from)) - 1;
    const ranges = inOrder.map((run): Range => [excess(run, run.cpuRange[0]), excess(run, run.cpuRange[1])]);
    const furthest = inOrder
      .flatMap(({ at }, i) => ranges[i]!.map((share) => ({ at, share })))
      .reduce((a, b) => (Math.abs(b.share) > Math.abs(a.share) ? b : a));
    const found = {
      worst: inOrder.map((run) => excess(run, run.cpuAFlip)).reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0),
      drift: drift(first.cpuAFlip, last.cpuAFlip),
      step: stepOf(inOrder),
      driftRange: [drift(first.cpuRange[1], last.cpuRange[0]), drift(first.cpuRange[0], last.cpuRange[1])] as const,
      ends: [first.at, last.at] as const,
      rounds: Math.min(...inOrder.map(({ rounds }) => rounds)),
    };
    return [{ axis, furthest, ...found, verdict: verdictOf(found, ranges) }];
  });
}

/** By how much two numbers of bytes that are the same may differ: names and versions have more digits. */
const SAME_BYTES = 0.01;

function stepOf(inOrder: readonly MergedRun[]): Step | null {
  const steps = inOrder.slice(1).flatMap((run, i): Step[] => {
    const before = inOrder[i]!;
    if (Math.abs(run.bytesAFlip / before.bytesAFlip - 1) > SAME_BYTES) return [];
    const [[low, high], [lowBefore, highBefore]] = [run.cpuRange, before.cpuRange];
    return [
      {
        between: [before.at, run.at],
        share: run.cpuAFlip / before.cpuAFlip - 1,
        range: [low / highBefore - 1, high / lowBefore - 1],
      },
    ];
  });
  return steps.toSorted((a, b) => Math.abs(b.share) - Math.abs(a.share))[0] ?? null;
}

/** @param ranges by how much the lowest and the highest round of each point are off */
function verdictOf(
  { worst, drift, driftRange, ends: [first, last], rounds }: Omit<Flatness, 'axis' | 'furthest' | 'step' | 'verdict'>,
  ranges: readonly Range[],
): FlatnessVerdict {
  const overDecades = (share: number): number => (1 + share) ** Math.min(1, DECADES / Math.log10(last / first)) - 1;
  const isFlat = (share: number): boolean => Math.abs(share) <= FLAT_SHARE;
  if (rounds < 2) return isFlat(worst) && isFlat(overDecades(drift)) ? 'flat in one round' : 'not flat in one round';
  const all = [...ranges, driftRange.map(overDecades) as unknown as Range];
  if (all.every(([low, high]) => isFlat(low) && isFlat(high))) return 'flat';
  return all.some(([low, high]) => low > FLAT_SHARE || high < -FLAT_SHARE) ? 'not flat' : 'within the noise';
}
