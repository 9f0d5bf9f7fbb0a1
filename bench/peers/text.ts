/** Comparisons as text: what a terminal shows, and the tables of the page and of RESULTS.md. */
import type { Ratio } from '../support/statistics.ts';
import { table } from '../support/table.ts';
import type { Comparison, Row } from './results.ts';
import { ratioText } from './scenario.ts';
import { FIGURES } from './window.ts';

export function comparisonText(comparison: Comparison): string {
  const { scenario, wrong } = comparison;
  const lines = [`\n${scenario.name}: ${scenario.what}`, table(headOf(comparison), rowTexts(comparison))];
  for (const each of wrong) lines.push(`WRONG: ${each}`);
  for (const { what, got, verdict } of comparison.marks) lines.push(`mark: ${what}: ${got}: ${verdict}`);
  return lines.join('\n');
}

export function headOf({ peers, runs, base, subject }: Comparison): string[] {
  const names = peers.map((peer) => `${peer} (${runs[peer]})`);
  return base === subject ? ['', ...names] : ['', ...names, 'ratio', '95 %', 'noise', 'counts'];
}

export function rowTexts({ peers, rows, base, subject }: Comparison): string[][] {
  return rows.map((row) => {
    const { title, digits } = FIGURES[row.figure]!;
    const values = peers.map((peer) => valueText(row.medians[peer]!, digits));
    return base === subject ? [title, ...values] : [title, ...values, ...ratioTexts(row)];
  });
}

function ratioTexts({ ratio, noise, counts }: Row): string[] {
  const known = Number.isFinite(ratio.value);
  return [
    ratioText(ratio.value),
    intervalText(ratio),
    Number.isNaN(noise) ? '' : `x ${noise.toFixed(2)}`,
    known && !Number.isNaN(noise) ? (counts ? 'yes' : 'no') : '',
  ];
}

function intervalText({ low, high }: Ratio): string {
  return Number.isFinite(low) && Number.isFinite(high) ? `${ratioText(low)} to ${ratioText(high)}` : '';
}

function valueText(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}
