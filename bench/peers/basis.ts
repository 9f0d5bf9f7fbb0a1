/** Of how many changes a p99 is. Plain data in and out. */
import { percentile } from '../../src/lib/percentile.ts';
import type { RunResult } from './stage.ts';
import type { RunSamples } from './window.ts';

export interface Basis {
  readonly changes: number;
  /** `each run`: it is the median of the runs' own p99s. `each run at most`: only the number of writes is kept. */
  readonly of: 'all runs' | 'each run' | 'each run at most';
  /** The lowest and the highest of the runs' own p99s; null = there is one run. Absent = it is not of all samples together. */
  readonly range?: readonly [low: number, high: number] | null;
}

type Told = Pick<RunResult, 'figures' | 'samples'>;

/** A p99 of fewer changes turns on a few of them. */
const P99_CHANGES_MIN = 10_000;

/** What follows on the words "A p99". */
export const FEW_NOTE = `of fewer than ${P99_CHANGES_MIN.toLocaleString('en-US')} changes has their number in brackets`;

/** The same where there are p99s that are no sample of all runs together. */
export const P99_NOTE = `${FEW_NOTE}. Behind one that is of all samples of several runs together, the lowest and the highest of the runs' own p99s are in square brackets: where they are far apart, it is the tail of one run. The p99s of stages and of CL2 are medians of the runs' own, so there the number is that of a run; of CL2 only the number of writes is kept, and a write without a trigger time has no sample.`;

/** The quantiles that are made of the samples of all runs, so that none is beyond the longest. */
export const POOLED: Readonly<Record<string, { readonly kind: keyof RunSamples; readonly share: number }>> = {
  endpointsP99: { kind: 'endpoints', share: 0.99 },
  endpointsMax: { kind: 'endpoints', share: 1 },
  slicesP99: { kind: 'slices', share: 0.99 },
  slicesMax: { kind: 'slices', share: 1 },
  wrongP99: { kind: 'wrong', share: 0.99 },
  shownP99: { kind: 'shown', share: 0.99 },
  isolatedP99: { kind: 'isolated', share: 0.99 },
};

/** @param runs all have the figure; null = it is no p99, there are no runs, or what it is of was not kept */
export function basisOf(runs: readonly Told[], figure: string): Basis | null {
  if (!figure.endsWith('P99') || runs.length === 0) return null;
  const pool = POOLED[figure];
  if (pool !== undefined) {
    const kept = runs.flatMap(({ samples }) => (samples[pool.kind] === undefined ? [] : [samples[pool.kind]!]));
    if (kept.length < runs.length) return null;
    return {
      changes: kept.reduce((sum, { length }) => sum + length, 0),
      of: 'all runs',
      range: rangeOf(kept, pool.share),
    };
  }
  const [counted, of] = figure.startsWith('stage')
    ? (['stageChanges', 'each run'] as const)
    : ([figure.replace('Cl2P99', 'Writes'), 'each run at most'] as const);
  const counts = runs.flatMap(({ figures }) => figures[counted] ?? []);
  return counts.length < runs.length ? null : { changes: Math.min(...counts), of };
}

function rangeOf(runs: readonly (readonly number[])[], share: number): Basis['range'] {
  const own = runs.filter(({ length }) => length > 0).map((samples) => percentile(samples, share));
  return own.length < 2 ? null : [Math.min(...own), Math.max(...own)];
}

/** The number of the changes where they are few; '' = they are many, or not known. */
export function fewText(basis: Basis | null): string {
  if (basis === null || !(basis.changes < P99_CHANGES_MIN)) return '';
  const { changes, of } = basis;
  return of === 'all runs' ? `(${changes})` : `(${of === 'each run' ? '' : '<= '}${changes} a run)`;
}
