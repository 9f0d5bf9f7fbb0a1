import { printable } from '../lib/printable.ts';

/**
 * Lines of cells in columns, as kubectl prints them. Control characters are shown as escapes, and an empty cell as a
 * dash.
 */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [head, ...rows.map((row) => row.map((cell) => (cell === '' ? '-' : printable(cell))))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
