/** Marks and tables of benches that play no scenario. bench/marks.json keeps those of the last run of each bench. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { BenchTable } from '../support/table.ts';
import type { Verdict } from './mark-result.ts';

export interface BenchMark {
  /** With its limit: "CPU until the first list request <= 250 ms". */
  readonly what: string;
  /** What was measured, with its unit. */
  readonly got: string;
  readonly verdict: Verdict;
  /** How many rounds that is of. */
  readonly rounds: number;
}

export interface BenchMarks {
  /** As the menu of benches names it, with the flag that makes it another measurement. */
  readonly bench: string;
  readonly commit: string;
  /** ISO 8601, to the minute. */
  readonly endedAt: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly marks: readonly BenchMark[];
  /** Absent = the run is of a bench that kept none. */
  readonly tables?: readonly BenchTable[];
}

const KEPT = new URL('../marks.json', import.meta.url);

/** Of all benches, by name; [] = none has kept any. */
export function readMarks(): readonly BenchMarks[] {
  return existsSync(KEPT) ? (JSON.parse(readFileSync(KEPT, 'utf8')) as BenchMarks[]) : [];
}

/** In the place of those that the bench had before. */
export function keepMarks(own: BenchMarks): void {
  const others = readMarks().filter(({ bench }) => bench !== own.bench);
  const all = [...others, own].toSorted((a, b) => (a.bench < b.bench ? -1 : 1));
  writeFileSync(KEPT, `${JSON.stringify(all, null, 2)}\n`);
}
