/** The kept marks and tables of benches that play no scenario, and where they were measured. */
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

/** Which benches have kept no tables; '' = all have kept some. */
export function withoutTables(all: readonly BenchMarks[]): string {
  const names = all.flatMap(({ bench, tables = [] }) => (tables.length === 0 ? [bench] : []));
  return names.length === 0 ? '' : `Of ${names.join(', ')} the last run has kept no table`;
}

/** The runs, and a section for each table. */
export function otherBenchesSections(all: readonly BenchMarks[]): Section[] {
  if (all.length === 0) return [];
  const runs: Section = {
    title: 'Other benches',
    tone: 'plain',
    note: ['The last runs of the benches that play no scenario', withoutTables(all)].filter(Boolean).join('. '),
    table: { columns: RUN_COLUMNS, rows: runRows(all) },
  };
  const tables = all.flatMap(({ bench, tables: kept = [] }) =>
    kept.map(({ title, note, columns, rows }): Section => ({
      title: `${bench}: ${title}`,
      tone: 'plain',
      note,
      table: { columns, rows },
    })),
  );
  return [runs, ...tables];
}
