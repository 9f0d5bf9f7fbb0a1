/**
 * The controller's recorded work, which predictions are compared with and which is never replayed. The ledger of a run
 * has the same fields.
 */
import { placeAbove } from '../lib/sorted.ts';
import { between, type Kinds, type Latencies, latenciesOf, quantile } from '../twin/figures.ts';
import { type Output, OUTPUTS, perOutput, type Sample, type Write } from '../twin/ledger.ts';
import type { Settings } from '../twin/settings.ts';

export interface Evidence {
  readonly samples: Readonly<Record<Output, readonly Sample[]>>;
  readonly writes: Readonly<Record<Output, readonly Write[]>>;
  /** The Services whose objects did not show all of their pods when it began, by number; absent = that is not known. */
  readonly behind?: Readonly<Record<Output, ReadonlySet<number>>>;
}

export function evidenceBetween(evidence: Evidence, fromMs: number, toMs: number): Evidence {
  return {
    ...(evidence.behind === undefined ? {} : { behind: evidence.behind }),
    samples: perOutput((output) => between(evidence.samples[output], fromMs, toMs)),
    writes: perOutput((output) => between(evidence.writes[output], fromMs, toMs)),
  };
}

/** Without the changes that were not shown before `endMs`: a recording that ends then does not have them. */
export function shownBefore({ samples, writes }: Evidence, endMs: number): Evidence {
  return {
    samples: perOutput((output) => samples[output].filter(({ atMs, latencyMs }) => atMs + latencyMs < endMs)),
    writes,
  };
}

/** A leader that ended without giving up its Lease is followed after so long at the earliest. */
const AWAY_MS = 10_000;
/** Others of its first writes come within. */
const BACK_MS = 1000;
/** Fewer are single services that failed. */
const AWAY_CHANGES_MIN = 3;

/**
 * How long the controller wrote nothing at all while changes waited that it showed at once when it was back, milliseconds;
 * 0 = it was never away. So a restart shows, and another leader.
 * @param batchMs how long the controller collects changes by its flags, which is no absence
 */
export function longestAbsence({ samples, writes }: Evidence, batchMs: Readonly<Record<Output, number>>): number {
  const writesAtMs = Float64Array.from(OUTPUTS.flatMap((output) => writes[output].map(({ atMs }) => atMs))).sort();
  const late = OUTPUTS.flatMap((output) =>
    samples[output].filter(({ latencyMs }) => latencyMs >= AWAY_MS + batchMs[output]),
  );
  const away = late.filter(({ atMs, latencyMs }) => {
    const next = writesAtMs[placeAbove(writesAtMs, atMs)] ?? Infinity;
    return next >= atMs + latencyMs - BACK_MS;
  });
  if (away.length < AWAY_CHANGES_MIN) return 0;
  return away.reduce((longest, { latencyMs }) => Math.max(longest, latencyMs), 0);
}

/** The reason not to believe a recording in which the controller was away; null = it was not. */
export function absenceDoubt(evidence: Evidence, settings: Settings): string | null {
  const { endpointsBatchMs, slicesBatchMs, adaptiveBatchMs } = settings;
  const awayMs = longestAbsence(evidence, {
    endpoints: Math.max(endpointsBatchMs, adaptiveBatchMs),
    slices: Math.max(slicesBatchMs, adaptiveBatchMs),
  });
  if (awayMs === 0) return null;
  return `the controller wrote nothing for ${(awayMs / 1000).toFixed(0)} s while changes waited: it was started anew, or another leader took over`;
}

/** A predicted figure beside the measured one. */
export interface Comparison {
  /** Such as `p99`, `p99(add)`, `later(1s)` and `writes`. */
  readonly figure: string;
  readonly output: Output;
  /** `endpoints`: a mean of written objects, by which bytes are corrected. No prediction is refused by it. */
  readonly unit: 'ms' | 'share' | 'count' | 'endpoints';
  readonly predicted: number;
  readonly measured: number;
  /** The error as a share of the measured figure, at least 0; of shares that of the larger one. Infinity = no prediction. */
  readonly error: number;
  /** A difference that is not called off. */
  readonly small: number;
  /** What may be measured by chance, though the prediction is right. */
  readonly chance: { readonly least: number; readonly most: number };
}

const QUANTILES = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
] as const;

/**
 * Compares the figures of outputs that were written during the recording. For an error, latencies below a millisecond count
 * as one.
 * @param smallMs latencies that differ by no more are not called off
 */
export function compare(predicted: Evidence, measured: Evidence, smallMs = 0): Comparison[] {
  const comparisons: Comparison[] = [];
  for (const output of OUTPUTS) {
    if (measured.samples[output].length === 0) continue;
    const [latencies, measuredLatencies] = [predicted, measured].map(({ samples }) =>
      latenciesOf(samples[output], 'any'),
    ) as [Latencies, Latencies];
    for (const [figure, share] of QUANTILES) {
      comparisons.push(compareSorted(figure, { output, share }, latencies, measuredLatencies, smallMs));
    }
    // What others have written shows changes too.
    const written = measured.writes[output].length;
    const writes = predicted.writes[output].length;
    if (written === 0) continue;
    const error = Math.abs(writes / written - 1);
    comparisons.push({
      figure: 'writes',
      output,
      unit: 'count',
      predicted: writes,
      measured: written,
      error,
      small: 0,
      chance: { least: writes, most: writes },
    });
  }
  return comparisons;
}

/** Fewer writes have a mean by chance. */
const SIZED_WRITES_MIN = 20;

/**
 * How many endpoints a written object had on average. What is played begins with full slices. A cluster's are as its history
 * has left them: those of a Service that has shrunk are emptier, and those of before a larger limit are smaller.
 */
export function compareSizes(predicted: Evidence, measured: Evidence): Comparison[] {
  return OUTPUTS.flatMap((output): Comparison[] => {
    const writes = [predicted, measured].map((of) => of.writes[output]);
    if (writes.some(({ length }) => length < SIZED_WRITES_MIN)) return [];
    const [mean, measuredMean] = writes.map(meanEndpoints) as [number, number];
    if (mean === 0 || measuredMean === 0) return [];
    return [
      {
        figure: 'endpoints a write',
        output,
        unit: 'endpoints',
        predicted: mean,
        measured: measuredMean,
        error: Math.abs(mean / measuredMean - 1),
        small: 0,
        chance: { least: mean, most: mean },
      },
    ];
  });
}

function meanEndpoints(writes: readonly Write[]): number {
  return writes.reduce((sum, { endpoints }) => sum + endpoints, 0) / writes.length;
}

/** How many times as many endpoints a written object had as predicted; 1 = too few writes tell. */
export function sizeRatios(sizes: readonly Comparison[]): Record<Output, number> {
  return perOutput((of) => {
    const told = sizes.find(({ output }) => output === of);
    return told === undefined ? 1 : told.measured / told.predicted;
  });
}

export interface QuantileOf {
  readonly output: Output;
  readonly kinds: Kinds;
  readonly share: number;
}

export function compareQuantile(
  figure: string,
  { output, kinds, share }: QuantileOf,
  predicted: Evidence,
  measured: Evidence,
  smallMs: number,
): Comparison {
  const of = ({ samples }: Evidence): Latencies => latenciesOf(samples[output], kinds);
  return compareSorted(figure, { output, share }, of(predicted), of(measured), smallMs);
}

function compareSorted(
  figure: string,
  { output, share }: Omit<QuantileOf, 'kinds'>,
  latencies: Latencies,
  measuredLatencies: Latencies,
  smallMs: number,
): Comparison {
  const [ms, measuredMs] = [quantile(latencies, share), quantile(measuredLatencies, share)];
  const error = latencyError(ms, measuredMs);
  const by = chanceOf(measuredLatencies.length, share);
  const chance = {
    least: quantile(latencies, Math.max(0, share - by)),
    most: quantile(latencies, Math.min(1, share + by)),
  };
  return { figure, output, unit: 'ms', predicted: ms, measured: measuredMs, error, small: smallMs, chance };
}

function latencyError(ms: number, measuredMs: number): number {
  return Number.isNaN(ms) ? Infinity : Math.abs(Math.max(1, ms) / Math.max(1, measuredMs) - 1);
}

/**
 * By how much the share of the changes below a latency may differ by chance between two runs alike: two standard deviations.
 * A p99 of 300 changes is the fourth longest. Where one change of a hundred waits a second longer than all others, as of a
 * kube-controller-manager whose cache is stale, it is 10 ms in one run and a second in the next.
 */
function chanceOf(changes: number, share: number): number {
  return 2 * Math.sqrt((2 * share * (1 - share)) / changes);
}

/**
 * The error by which a prediction is judged: from the nearest of what may be measured by chance, and 0 where that
 * difference is small.
 */
export function errorBeyondChance({ predicted, measured, error, small, chance }: Comparison): number {
  const nearest = Math.min(chance.most, Math.max(chance.least, measured));
  if (Math.abs(nearest - measured) <= small) return 0;
  return nearest === predicted || error === Infinity ? error : latencyError(nearest, measured);
}
