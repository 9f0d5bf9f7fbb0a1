import { printable } from '../lib/printable.ts';

/**
 * Lines of cells in columns, as kubectl prints them. Characters that steer a terminal are shown as escapes, and an
 * empty cell is a dash.
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
