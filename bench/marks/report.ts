/** The kept marks of benches that play no scenario, as a table. */
import type { Section } from '../../src/page/page.ts';
import { type BenchMarks, verdictOf } from './data.ts';

export const MARK_COLUMNS: readonly string[] = [
  'bench',
  'mark',
  'measured',
  'verdict',
  'commit',
  'when (UTC)',
  'machine',
];

export function markRows(all: readonly BenchMarks[]): string[][] {
  return all.flatMap(({ bench, marks, commit, endedAt, machine }) =>
    marks.map((mark) => [
      bench,
      mark.what,
      mark.got,
      verdictOf(mark),
      commit,
      endedAt,
      `${machine['processor']}, ${machine['cores']} cores`,
    ]),
  );
}

export function marksSection(all: readonly BenchMarks[]): Section {
  return {
    title: 'Marks of other benches',
    tone: 'plain',
    note: 'What a start, planners on threads and a small PUT cost. The bench of each row measures it',
    table: { columns: MARK_COLUMNS, rows: markRows(all) },
  };
}
