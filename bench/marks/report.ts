/** The kept marks of benches that play no scenario, and where they were measured. */
import type { Section } from '../../src/page/page.ts';
import type { BenchMarks } from './data.ts';
import { type MarkResult, runsText } from './mark-result.ts';

export function keptMarks(all: readonly BenchMarks[]): MarkResult[] {
  return all.flatMap(({ bench, marks, endedAt }) =>
    marks.map(({ what, got, verdict, rounds }): MarkResult => ({
      by: bench,
      what,
      got,
      verdict,
      runs: runsText(rounds, endedAt),
    })),
  );
}

export const RUN_COLUMNS: readonly string[] = ['bench', 'commit', 'when (UTC)', 'machine'];

export function runRows(all: readonly BenchMarks[]): string[][] {
  return all.map(({ bench, commit, endedAt, machine }) => [
    bench,
    commit,
    endedAt,
    `${machine['processor']}, ${machine['cores']} cores, ${machine['kernel']}`,
  ]);
}

export function otherBenchesSection(all: readonly BenchMarks[]): Section {
  return {
    title: 'Other benches',
    tone: 'plain',
    note: 'The runs that the marks of a start, of planners on threads and of a small PUT are of',
    table: { columns: RUN_COLUMNS, rows: runRows(all) },
  };
}
