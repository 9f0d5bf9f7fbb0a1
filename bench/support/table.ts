/** What a bench has measured, as the terminal, the document and the page of results show it. */
export interface BenchTable {
  readonly title: string;
  readonly columns: readonly string[];
  /** Each has one cell for each column. */
  readonly rows: readonly (readonly string[])[];
  /** A text below, without its last full stop; '' = none. */
  readonly note: string;
}

/** Columns of equal width. The first is aligned to the left, the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = (line: readonly string[]): string =>
    line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  return [text(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(text)].join('\n');
}
