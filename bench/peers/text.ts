/** Comparisons as text: what a terminal shows, and the tables of the page and of RESULTS.md. */
import { PAIRS_FOR_INTERVAL, type Ratio } from '../support/statistics.ts';
import { table } from '../support/table.ts';
import { type Comparison, pooledP99, type Row, type RunRecord } from './results.ts';
import { ENDPOINTD, ratioText } from './scenario.ts';
import { FIGURES } from './window.ts';

export function comparisonText(comparison: Comparison): string {
  const { scenario, wrong } = comparison;
  const lines = [`\n${scenario.name}: ${scenario.what}`, table(headOf(comparison), rowTexts(comparison))];
  for (const each of wrong) lines.push(`WRONG: ${each}`);
  for (const { what, got, verdict } of comparison.marks) lines.push(`mark: ${what}: ${got}: ${verdict}`);
  return lines.join('\n');
}

export function headOf({ peers, runs, base, subject }: Comparison): string[] {
  const names = peers.map((peer) => `${peer} (${runsText(runs[peer]!)})`);
  const pairs = Math.min(runs[base]!.right, runs[subject]!.right);
  const interval = pairs < PAIRS_FOR_INTERVAL ? 'range of pairs' : '95 %';
  return base === subject ? ['', ...names] : ['', ...names, 'ratio', interval, 'noise', 'counts'];
}

function runsText({ all, right }: Comparison['runs'][string]): string {
  return right === all ? String(all) : `${right} of ${all} right`;
}

export function rowTexts({ peers, rows, base, subject }: Comparison): string[][] {
  return rows.map((row) => {
    const { title, digits } = FIGURES[row.figure]!;
    const values = peers.map((peer) => valueText(row.medians[peer]!, digits));
    // A ratio to what is shown as 0 tells nothing.
    const isShown = Number(row.medians[base]!.toFixed(digits)) !== 0;
    if (base === subject) return [title, ...values];
    return [title, ...values, ...(isShown ? ratioTexts(row) : ['-', '', '', ''])];
  });
}

function ratioTexts({ ratio, noise, counts }: Row): string[] {
  const known = Number.isFinite(ratio.value);
  return [
    ratioText(ratio.value),
    intervalText(ratio),
    Number.isNaN(noise) ? '' : `x ${noise.toFixed(2)}`,
    known && !Number.isNaN(noise) ? counts : '',
  ];
}

function intervalText({ low, high }: Ratio): string {
  return Number.isFinite(low) && Number.isFinite(high) ? `${ratioText(low)} to ${ratioText(high)}` : '';
}

export function valueText(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}

const THREADS_MAX = 5;

/** What no row of the table has, one sentence each without its full stop. */
export function remarksOf({ scenario, peers }: Comparison, runs: readonly RunRecord[]): string[] {
  const own = runs.filter((run) => run.scenario === scenario.name && run.wrong.length === 0);
  const p99s = peers.flatMap((peer) => {
    const { count, ms } = pooledP99(own, scenario.name, peer, 'slices');
    return count === 0 ? [] : [`${peer} ${ms.toFixed(1)} ms of ${count}`];
  });
  const peaks = peers.flatMap((peer) => {
    const run = own.find((each) => each.peer === peer);
    return run === undefined || run.peakStep === '' ? [] : [`${peer}: ${run.peakStep}`];
  });
  const first = own.find(({ peer }) => peer === ENDPOINTD);
  const threads = first === undefined ? '' : busiestThreads(first);
  return [
    ...(p99s.length === 0
      ? []
      : [`From the change to the slice, p99 of all samples of all right runs: ${p99s.join(', ')}`]),
    ...(peaks.length === 0 ? [] : [`Memory was highest at the step: ${peaks.join(', ')}`]),
    ...(threads === '' ? [] : [`CPU by thread: ${ENDPOINTD} ${threads}`]),
  ];
}

function busiestThreads({ threads }: RunRecord): string {
  return Object.entries(threads)
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, THREADS_MAX)
    .map(([name, seconds]) => `${name} ${seconds.toFixed(2)} s`)
    .join(', ');
}
