/** The figures of a run that an operator asks for. */
import { placeAbove } from '../lib/sorted.ts';
import type { Encoding } from '../recording/sizes.ts';
import { type ChangeKind, type Ledger, type Output, OUTPUTS, type Sample } from './ledger.ts';

/** Latencies in milliseconds, sorted. */
export type Latencies = Float64Array;

/** `add` changes, `remove` changes, or both. */
export type Kinds = ChangeKind | 'any';

const BLOCK_MS = 300_000;

export function latenciesOf(samples: readonly Sample[], kinds: Kinds): Latencies {
  const values = new Float64Array(samples.length);
  let count = 0;
  for (const { kind, latencyMs } of samples) if (kinds === 'any' || kind === kinds) values[count++] = latencyMs;
  return values.subarray(0, count).sort();
}

/** The smallest value that at least `share` (in [0, 1]) of all do not exceed; NaN = there are none. */
export function quantile(sorted: Latencies, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/**
 * The largest quantile of the five-minute blocks with at least 100 changes, or of all changes if there is no such
 * block.
 */
export function worstQuantile(samples: readonly Sample[], kinds: Kinds, share: number): number {
  const blocks = Map.groupBy(samples, ({ atMs }) => Math.floor(atMs / BLOCK_MS));
  let worst = Number.NaN;
  for (const block of blocks.values()) {
    const sorted = latenciesOf(block, kinds);
    if (sorted.length >= BLOCK_SAMPLES_MIN)
      worst = Number.isNaN(worst) ? quantile(sorted, share) : Math.max(worst, quantile(sorted, share));
  }
  return Number.isNaN(worst) ? quantile(latenciesOf(samples, kinds), share) : worst;
}

const BLOCK_SAMPLES_MIN = 100;

/** The share of changes that took longer, in [0, 1]. */
export function shareLater(sorted: Latencies, thanMs: number): number {
  return sorted.length === 0 ? 0 : (sorted.length - placeAbove(sorted, thanMs)) / sorted.length;
}

export function writesOf({ written }: Ledger, outputs: readonly Output[] = OUTPUTS): number {
  return outputs.reduce((sum, output) => sum + written[output].writes, 0);
}

/** The bytes of the written objects, as one watcher of these outputs gets them. */
export function bytesOf({ written, sizes }: Ledger, outputs: readonly Output[], encoding: Encoding): number {
  return outputs.reduce((sum, output) => {
    const { base, each } = sizes[output][encoding];
    return sum + base * written[output].writes + each * written[output].endpoints;
  }, 0);
}

export const WRITES_BY_MS = 10_000;

/** Writes of both outputs in each ten seconds. */
export function writesByTime({ writesAtMs }: Ledger): number[] {
  const counts: number[] = [];
  for (const output of OUTPUTS) {
    for (const atMs of writesAtMs[output]) {
      const time = Math.floor(atMs / WRITES_BY_MS);
      while (counts.length <= time) counts.push(0);
      counts[time]!++;
    }
  }
  return counts;
}
