/** The settings of a sweep, and their measured runs. Plain data in and out. */
import { createPrng, shuffled } from '../../src/lib/prng.ts';

export interface Cell {
  /** `--concurrent-*-syncs` of both controllers. */
  readonly syncs: number;
  /** The batch period of both controllers in the flag's syntax, such as `500ms`. */
  readonly batch: string;
  readonly qps: number;
}

export interface Grid {
  readonly syncs: readonly number[];
  readonly batch: readonly string[];
  readonly qps: readonly number[];
}

/** One run of one peer in one cell. It is a line of the kept data. */
export interface SweepRun extends Cell {
  readonly scenario: string;
  readonly size: string;
  readonly seed: number;
  readonly peer: string;
  /** What was measured, and where, as `measuredText`. */
  readonly program: string;
  /** The kind of API server. */
  readonly server: string;
  readonly startedAt: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

export type RunKey = Pick<SweepRun, 'scenario' | 'size' | 'seed' | 'peer' | 'program' | 'server'> & Cell;

/** The cells in an order drawn by the seed, so that a machine that changes meanwhile favours no setting. */
export function cellsOf({ syncs, batch, qps }: Grid, seed: number): Cell[] {
  const cells = syncs.flatMap((s) => batch.flatMap((b) => qps.map((q): Cell => ({ syncs: s, batch: b, qps: q }))));
  return shuffled(cells, createPrng(seed));
}

export function keyText({ scenario, size, seed, peer, program, server, syncs, batch, qps }: RunKey): string {
  return JSON.stringify([scenario, size, seed, peer, program, server, syncs, batch, qps]);
}

/**
 * What runs have to have in common to stand beside each other, whichever controller they are of. The API server and its
 * etcd are part of both.
 */
export function measuredText(
  program: string,
  versions: Readonly<Record<string, string>>,
  machine: Readonly<Record<string, string>>,
): string {
  return [program, ...Object.values(versions), ...Object.values(machine)].join(', ');
}

/** The keys that have a right run. Cells with wrong runs are tried again. */
export function doneKeys(runs: readonly SweepRun[]): Set<string> {
  return new Set(runs.filter(({ wrong }) => wrong.length === 0).map(keyText));
}

/** Parses kept runs. A line that is cut off is skipped. */
export function parseRuns(text: string): SweepRun[] {
  const runs: SweepRun[] = [];
  for (const line of text.split('\n')) {
    if (!line.startsWith('{') || !line.endsWith('}')) continue;
    try {
      runs.push(JSON.parse(line) as SweepRun);
    } catch {
      // The run has ended while it wrote this line.
    }
  }
  return runs;
}

/**
 * The runs that no other run beats in both figures, in the order of the first figure. Smaller figures are better.
 * @param of the two figures of a run
 */
export function frontier<T>(runs: readonly T[], of: (run: T) => readonly [number, number]): T[] {
  const kept: T[] = [];
  let least = Infinity;
  for (const run of runs.toSorted((a, b) => of(a)[0] - of(b)[0] || of(a)[1] - of(b)[1])) {
    if (of(run)[1] >= least) continue;
    least = of(run)[1];
    kept.push(run);
  }
  return kept;
}
