/** The settings that a sweep tries, and what it has measured of them. Plain data in and out. */
import { createPrng, nextInt } from '../../src/lib/prng.ts';

export interface Cell {
  /** `--concurrent-*-syncs` of both controllers. */
  readonly syncs: number;
  /** Of both, as the flags take it, such as `500ms`. */
  readonly batch: string;
  readonly qps: number;
}

export interface Grid {
  readonly syncs: readonly number[];
  readonly batch: readonly string[];
  readonly qps: readonly number[];
}

/** One run of one peer in one cell: a line of the kept data. */
export interface SweepRun extends Cell {
  readonly scenario: string;
  readonly size: string;
  readonly seed: number;
  readonly peer: string;
  /** Of the program that ran: a commit of endpointd, or a version of kube-controller-manager. */
  readonly program: string;
  readonly startedAt: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

export type RunKey = Pick<SweepRun, 'scenario' | 'size' | 'seed' | 'peer' | 'program'> & Cell;

/** In an order that the seed decides, so that a machine that changes meanwhile favours no setting. */
export function cellsOf({ syncs, batch, qps }: Grid, seed: number): Cell[] {
  const cells = syncs.flatMap((s) => batch.flatMap((b) => qps.map((q): Cell => ({ syncs: s, batch: b, qps: q }))));
  const prng = createPrng(seed);
  for (let i = cells.length - 1; i > 0; i--) {
    const j = nextInt(prng, i + 1);
    [cells[i], cells[j]] = [cells[j]!, cells[i]!];
  }
  return cells;
}

export function keyText({ scenario, size, seed, peer, program, syncs, batch, qps }: RunKey): string {
  return JSON.stringify([scenario, size, seed, peer, program, syncs, batch, qps]);
}

/** The last run of each key that was right; what was wrong is tried again. */
export function doneKeys(runs: readonly SweepRun[]): Set<string> {
  return new Set(runs.filter(({ wrong }) => wrong.length === 0).map(keyText));
}

/** A line that was cut off by the end of a run is passed over. */
export function parseRuns(text: string): SweepRun[] {
  const runs: SweepRun[] = [];
  for (const line of text.split('\n')) {
    if (!line.startsWith('{') || !line.endsWith('}')) continue;
    try {
      runs.push(JSON.parse(line) as SweepRun);
    } catch {
      // It was being written when the machine stopped.
    }
  }
  return runs;
}

/**
 * Those that no other beats in both figures, the smaller the better, in the order of the first.
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
