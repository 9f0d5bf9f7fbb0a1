/** Comparisons as text: what a terminal shows, and the tables of the page and of RESULTS.md. */
import { median } from '../../src/lib/percentile.ts';
import { PAIRS_FOR_INTERVAL, type Ratio } from '../support/statistics.ts';
import { table } from '../support/table.ts';
import { type Basis, fewText } from './basis.ts';
import { type Comparison, pooled, type Row, type RunRecord } from './results.ts';
import { ENDPOINTD_AGAIN, ratioText } from './scenario.ts';
import { FIGURES } from './window.ts';

export function comparisonText(comparison: Comparison): string {
  const { scenario, wrong } = comparison;
  const lines = [`\n${scenario.name}: ${scenario.what}`, table(headOf(comparison), rowTexts(comparison))];
  for (const each of wrong) lines.push(`WRONG: ${each}`);
  for (const { what, got, verdict } of comparison.marks) lines.push(`mark: ${what}: ${got}: ${verdict}`);
  return lines.join('\n');
}

export function headOf({ peers, rows, runs, base, subject }: Comparison): string[] {
  const names = peers.map((peer) => `${peer} (${runsText(runs[peer]!)})`);
  const pairs = Math.max(0, ...rows.map(({ ratio }) => ratio.pairs));
  const interval = pairs < PAIRS_FOR_INTERVAL ? 'range of pairs' : '95 %';
  if (base === subject) return ['', ...names];
  const again = peers.includes(ENDPOINTD_AGAIN) ? ['A/A'] : [];
  return ['', ...names, 'ratio', interval, ...again, 'noise', 'counts'];
}

function runsText({ all, right }: Comparison['runs'][string]): string {
  return right === all ? String(all) : `${right} of ${all} right`;
}

export function rowTexts({ peers, rows, base, subject }: Comparison): string[][] {
  return rows.map((row) => {
    const { title, digits } = FIGURES[row.figure]!;
    const values = peers.map((peer) => valueText(row.values[peer]!, digits, row.bases[peer]!));
    if (base === subject) return [title, ...values];
    // A ratio to what is shown as 0 tells nothing.
    const isShown = Number(row.values[base]!.toFixed(digits)) !== 0;
    return [title, ...values, ...ratioTexts(row).map((text, i) => (isShown ? text : i === 0 ? '-' : ''))];
  });
}

function ratioTexts({ ratio, again, noise, counts }: Row): string[] {
  const known = Number.isFinite(ratio.value);
  return [
    ratioText(ratio.value),
    intervalText(ratio),
    ...(again === null ? [] : [againText(again)]),
    Number.isNaN(noise) ? '' : `x ${noise.toFixed(2)}`,
    known && !Number.isNaN(noise) ? counts : '',
  ];
}

function againText(again: Ratio): string {
  const interval = intervalText(again);
  return interval === '' ? ratioText(again.value) : `${ratioText(again.value)} (${interval})`;
}

function intervalText({ low, high }: Ratio): string {
  return Number.isFinite(low) && Number.isFinite(high) ? `${ratioText(low)} to ${ratioText(high)}` : '';
}

/** @param basis what a p99 rests on */
export function valueText(value: number, digits: number, basis: Basis | null): string {
  if (Number.isNaN(value)) return '-';
  const range = basis?.range?.map((own) => own.toFixed(digits)).join(' to ');
  return [value.toFixed(digits), range === undefined ? '' : `[${range}]`, fewText(basis)].filter(Boolean).join(' ');
}

const THREADS_MAX = 5;
/** A tick of the kernel. */
const SHOWN_SECONDS = 0.01;

/** What no row of the table has, one sentence each without its full stop. */
export function remarksOf(comparison: Comparison, runs: readonly RunRecord[]): string[] {
  const { scenario, peers, settings, seconds } = comparison;
  const own = runs.filter((run) => run.scenario === scenario.name && run.wrong.length === 0);
  const countsOf = (kind: 'slices' | 'isolated'): string =>
    peers
      .flatMap((peer) => {
        const count = pooled(own, scenario.name, peer, kind).length;
        return count === 0 ? [] : [`${peer} ${count}`];
      })
      .join(', ');
  const [samples, quiet] = [countsOf('slices'), countsOf('isolated')];
  const runsOf = (peer: string): readonly RunRecord[] => own.filter((run) => run.peer === peer);
  const peaks = peers.flatMap((peer) => {
    const step = mostFrequent(runsOf(peer).map(({ peakStep }) => peakStep));
    return step === '' ? [] : [`${peer}: ${step}`];
  });
  const threads = peers.flatMap((peer) => {
    const busiest = busiestThreads(runsOf(peer));
    return busiest === '' ? [] : [`${peer} ${busiest}`];
  });
  return [
    ...judgeRemark(comparison),
    ...(seconds === null
      ? []
      : [
          `Changes were made for ${seconds} s, by --seconds=${seconds}, after a warm-up of a quarter as many where the scenario has one`,
        ]),
    ...(settings.length === 0 ? [] : [`Settings of the scenario, as they were in force: ${settings.join(', ')}`]),
    ...(samples === ''
      ? []
      : [
          `Samples from the change to the slice, of all right runs: ${samples}${quiet === '' ? '' : `; of the quiet side: ${quiet}`}`,
        ]),
    ...(peaks.length === 0 ? [] : [`Memory was highest at the step: ${peaks.join(', ')}`]),
    ...(threads.length === 0 ? [] : [`CPU by thread, medians: ${threads.join('; ')}`]),
  ];
}

/** Why times have no ratio. */
function judgeRemark({ endsAtJudge, peers, rows }: Comparison): string[] {
  const [load, wall] = ['loadCpu', 'wall'].map((name) => rows.find(({ figure }) => figure === name));
  if (!endsAtJudge || load === undefined || wall === undefined) return [];
  const shares = peers.flatMap((peer) => {
    const share = load.values[peer]! / wall.values[peer]!;
    return Number.isFinite(share) ? [`${(100 * share).toFixed(0)} % beside ${peer}`] : [];
  });
  return [
    `Judge and load share one thread, and the measure ends when the judge has found all right. Of the wall time it was at work for ${shares.join(' and ')}: so the wall time and the time until all was right are mostly the bench's own, and have no ratio`,
  ];
}

/** '' = there are none. */
function mostFrequent(texts: readonly string[]): string {
  const groups = [...Map.groupBy(texts, (text) => text)].toSorted((a, b) => b[1].length - a[1].length);
  return groups[0]?.[0] ?? '';
}

/** A run in which a thread has used nothing does not name it. */
function busiestThreads(runs: readonly RunRecord[]): string {
  const names = new Set(runs.flatMap(({ threads }) => Object.keys(threads)));
  return [...names]
    .map((name) => ({ name, seconds: median(runs.map(({ threads }) => threads[name] ?? 0)) }))
    .toSorted((a, b) => b.seconds - a.seconds)
    .filter(({ seconds }, i) => i < THREADS_MAX && seconds >= SHOWN_SECONDS)
    .map(({ name, seconds }) => `${name} ${seconds.toFixed(2)} s`)
    .join(', ');
}
