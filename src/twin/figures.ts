/** The figures of a run that an operator asks for. */
import { percentileOfSorted } from '../lib/percentile.ts';
import { placeAbove, placeFrom } from '../lib/sorted.ts';
import type { Encoding } from '../recording/sizes.ts';
import { type ChangeKind, type Ledger, type Output, OUTPUTS, perOutput, type Sample } from './ledger.ts';

/** Latencies in milliseconds, sorted. */
export type Latencies = Float64Array;

/** `add` changes, `remove` changes, or both. */
export type Kinds = ChangeKind | 'any';

export function latenciesOf(samples: readonly Sample[], kinds: Kinds): Latencies {
  const values = new Float64Array(samples.length);
  let count = 0;
  for (const { kind, latencyMs } of samples) if (kinds === 'any' || kind === kinds) values[count++] = latencyMs;
  return values.subarray(0, count).sort();
}

/** The smallest value that at least `share` (in [0, 1]) of all do not exceed; NaN = there are none. */
export function quantile(sorted: Latencies, share: number): number {
  return percentileOfSorted(sorted, share);
}

/** The share of changes that took longer, in [0, 1]. */
export function shareLater(sorted: Latencies, thanMs: number): number {
  return sorted.length === 0 ? 0 : (sorted.length - placeAbove(sorted, thanMs)) / sorted.length;
}

export function writesOf({ writes }: Ledger, outputs: readonly Output[] = OUTPUTS): number {
  return outputs.reduce((sum, output) => sum + writes[output].length, 0);
}

/** The bytes of the written objects, as one watcher of these outputs gets them. */
export function bytesOf({ writes, sizes }: Ledger, outputs: readonly Output[], encoding: Encoding): number {
  return outputs.reduce((sum, output) => {
    const { base, each } = sizes[output][encoding];
    return writes[output].reduce((all, { endpoints }) => all + base + each * endpoints, sum);
  }, 0);
}

/** The controller's CPU in milliseconds. */
export function cpuOf({ cpu }: Ledger): number {
  return cpu.reduce((sum, { ms }) => sum + ms, 0);
}

export const WRITES_BY_MS = 10_000;

/**
 * Writes of both outputs per second, in each ten seconds of the story. What is left of the story belongs to its last ten
 * seconds: alone it would be a hill or a hole of a few writes. Writes after the story have no time.
 */
export function writesByTime({ writes }: Ledger, durationMs: number): number[] {
  const counts = new Array<number>(Math.max(1, Math.floor(durationMs / WRITES_BY_MS))).fill(0);
  const last = counts.length - 1;
  for (const output of OUTPUTS) {
    for (const { atMs } of writes[output]) {
      if (atMs < durationMs) counts[Math.min(last, Math.floor(atMs / WRITES_BY_MS))]!++;
    }
  }
  const lastMs = durationMs - last * WRITES_BY_MS;
  return counts.map((count, time) => (1000 * count) / (time === last ? lastMs : WRITES_BY_MS));
}

/** What is from `fromMs` on and before `toMs`. */
export function between<T extends { readonly atMs: number }>(all: readonly T[], fromMs: number, toMs: number): T[] {
  return all.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
}

/** A part of a run, from `fromMs` on and before `toMs`, in milliseconds since the start. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * For each span a run in which only what is within it has happened. Changes that nothing has shown stay. The run is put
 * in order once, because a day has thousands of spans.
 */
export function runsBetween(ledger: Ledger, spans: readonly Span[]): Ledger[] {
  return runsOfParts(ledger, spans, (all) => partsOf(all, spans));
}

/** @param cut for each span what of these is within it */
export function runsOfParts(
  ledger: Ledger,
  spans: readonly Span[],
  cut: <T extends { readonly atMs: number }>(all: readonly T[]) => T[][],
): Ledger[] {
  const samples = perOutput((output) => cut(ledger.samples[output]));
  const unshown = perOutput((output) => cut(ledger.unshown[output]));
  const writes = perOutput((output) => cut(ledger.writes[output]));
  const cpu = cut(ledger.cpu);
  return spans.map((_, i) => ({
    ...ledger,
    samples: perOutput((output) => samples[output][i]!),
    unshown: perOutput((output) => unshown[output][i]!),
    writes: perOutput((output) => writes[output][i]!),
    cpu: cpu[i]!,
  }));
}

/** For each span what is within it, in the order of time. */
function partsOf<T extends { readonly atMs: number }>(all: readonly T[], spans: readonly Span[]): T[][] {
  const ordered = all.toSorted((a, b) => a.atMs - b.atMs);
  const times = Float64Array.from(ordered, ({ atMs }) => atMs);
  return spans.map(({ fromMs, toMs }) => ordered.slice(placeFrom(times, fromMs), placeFrom(times, toMs)));
}

/** A run in which only what is in these parts has happened. */
export function runOf(ledger: Ledger, parts: readonly Ledger[]): Ledger {
  return {
    ...ledger,
    samples: perOutput((output) => parts.flatMap(({ samples }) => samples[output])),
    unshown: perOutput((output) => parts.flatMap(({ unshown }) => unshown[output])),
    writes: perOutput((output) => parts.flatMap(({ writes }) => writes[output])),
    cpu: parts.flatMap(({ cpu }) => cpu),
  };
}
