/** The figures of a run that an operator asks for. */
import { percentileOfSorted } from '../lib/percentile.ts';
import { placeAbove } from '../lib/sorted.ts';
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

/** Writes of both outputs in each ten seconds. */
export function writesByTime({ writes }: Ledger): number[] {
  const counts: number[] = [];
  for (const output of OUTPUTS) {
    for (const { atMs } of writes[output]) {
      const time = Math.floor(atMs / WRITES_BY_MS);
      while (counts.length <= time) counts.push(0);
      counts[time]!++;
    }
  }
  return counts;
}

/** What is from `fromMs` on and before `toMs`. */
export function between<T extends { readonly atMs: number }>(all: readonly T[], fromMs: number, toMs: number): T[] {
  return all.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
}

/** A run in which only what is from `fromMs` on and before `toMs` has happened. Changes that nothing has shown stay. */
export function runBetween(ledger: Ledger, fromMs: number, toMs: number): Ledger {
  return {
    ...ledger,
    samples: perOutput((output) => between(ledger.samples[output], fromMs, toMs)),
    hidden: perOutput((output) => between(ledger.hidden[output], fromMs, toMs)),
    writes: perOutput((output) => between(ledger.writes[output], fromMs, toMs)),
    cpu: between(ledger.cpu, fromMs, toMs),
  };
}

/** A run in which all has happened so much later. */
export function runMoved(ledger: Ledger, byMs: number): Ledger {
  const moved = <T extends { readonly atMs: number }>(one: T): T => Object.assign({}, one, { atMs: one.atMs + byMs });
  return {
    ...ledger,
    samples: perOutput((output) => ledger.samples[output].map(moved)),
    hidden: perOutput((output) => ledger.hidden[output].map(moved)),
    writes: perOutput((output) => ledger.writes[output].map(moved)),
    cpu: ledger.cpu.map(moved),
  };
}

/** A run in which only what is in these parts has happened. */
export function runOf(ledger: Ledger, parts: readonly Ledger[]): Ledger {
  return {
    ...ledger,
    samples: perOutput((output) => parts.flatMap(({ samples }) => samples[output])),
    hidden: perOutput((output) => parts.flatMap(({ hidden }) => hidden[output])),
    writes: perOutput((output) => parts.flatMap(({ writes }) => writes[output])),
    cpu: parts.flatMap(({ cpu }) => cpu),
  };
}
