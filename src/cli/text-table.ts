import { printable } from '../lib/printable.ts';

/**
 * Lines of cells in columns, as kubectl prints them. Control characters are shown as escapes, and an empty cell as a
 * dash.
 */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [head, ...rows.map((row) => row.map((cell) => (cell === '' ? '-' : printable(cell))))];
  // One by one: the arguments of a call are limited, and rows are not.
  const widths = head.map(() => 0);
  for (const row of cells) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
