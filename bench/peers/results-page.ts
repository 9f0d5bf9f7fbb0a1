/** The last full run as the repository keeps it: data, and the document and pictures made from them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { plotSvg, type BarPlot, type Plot } from '../../src/page/plot.ts';
import { shapeText } from '../growth/axes.ts';
import { growthTables, type Growth, type GrowthTable } from '../growth/report.ts';
import { plotsOf } from './plots.ts';
import { peersPage, factsOf } from './report-page.ts';
import { compareAll, notRun, pooledP99, RESULTS_FORMAT, type Comparison, type Results } from './results.ts';
import { marksByScenario } from './scenarios.ts';
import { headOf, rowTexts } from './text.ts';

const BENCH = new URL('../', import.meta.url);
const IMAGES = new URL('../../docs/images/', import.meta.url);
/** The scenario whose latencies the pictures show. */
const PICTURED = 'churn';

/** Writes bench/results.json and what is made from it. */
export function writeResults(results: Results): void {
  writeFileSync(new URL('results.json', BENCH), `${JSON.stringify(results)}\n`);
  writeFileSync(new URL('results.html', BENCH), peersPage(results));
  const comparisons = compareAll(results, marksByScenario());
  writeFileSync(
    new URL('RESULTS.md', BENCH),
    [resultsText(results, comparisons), ...growthText(lastGrowth())].join('\n'),
  );
  mkdirSync(IMAGES, { recursive: true });
  for (const { name, plot } of pictures(results, comparisons)) {
    writeFileSync(new URL(`${name}.svg`, IMAGES), `${plotSvg(plot, true)}\n`);
  }
}

/** The data of the last `growth --results`; null = there are none. */
function lastGrowth(): Growth | null {
  const file = new URL('growth.json', BENCH);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Growth) : null;
}

/** @throws Error unless one file is named */
export function writeResultsOf([path, ...more]: readonly string[]): Promise<void> {
  if (path === undefined || more.length > 0) throw new Error('npm run bench -- results FILE: one file was expected');
  const results = JSON.parse(readFileSync(path, 'utf8')) as Results;
  if (results.format !== RESULTS_FORMAT) throw new Error(`${path} is of an older bench, which kept less: run it again`);
  writeResults(results);
  return Promise.resolve();
}

interface Picture {
  readonly name: string;
  readonly plot: Plot;
}

/** The pictures in README. */
function pictures(results: Results, comparisons: readonly Comparison[]): Picture[] {
  const churn = comparisons.find(({ scenario }) => scenario.name === PICTURED);
  const latency = churn === undefined ? undefined : plotsOf(churn, results.runs).find(({ kind }) => kind === 'lines');
  return [
    {
      name: 'bench-cpu',
      plot: sharesPlot(comparisons, 'controllerCpu', 'CPU of endpointd by that of kube-controller-manager'),
    },
    ...(latency === undefined ? [] : [{ name: 'bench-latency', plot: latency }]),
  ];
}

function sharesPlot(comparisons: readonly Comparison[], figure: string, title: string): BarPlot {
  const groups = comparisons.flatMap(({ scenario, rows, marks, base, subject }) => {
    const row = rows.find((each) => each.figure === figure);
    // Of 30 scenarios no picture can be read.
    const isShown = marks.length > 0 && base === 'kube-controller-manager' && subject === 'endpointd';
    if (row === undefined || !isShown || !Number.isFinite(row.ratio.value)) return [];
    const { value, low, high } = row.ratio;
    return [{ name: scenario.name, values: [value * 100], ranges: [[low * 100, high * 100] as const] }];
  });
  return { kind: 'bars', title, y: { label: '%', scale: 'linear' }, series: [title], groups };
}

function growthSection({ title, note, columns, rows }: GrowthTable): string[] {
  return [`### ${title}`, '', ...tableText(columns, rows), '', `${note}.`, ''];
}

export function growthText(growth: Growth | null): string[] {
  if (growth === null) return [];
  const { command, commit, startedAt, notRun: left } = growth;
  return [
    '## growth',
    '',
    `What a flip costs while one number of the cluster grows: \`${command}\`, commit ${commit}, ${startedAt}. [growth.html](growth.html) has the plots.`,
    '',
    ...growthTables(growth).flatMap(growthSection),
    ...(left.length === 0 ? [] : [`Not run: ${left.map(({ shape }) => shapeText(shape)).join('; ')}.`, '']),
  ];
}

export function resultsText(results: Results, comparisons: readonly Comparison[]): string {
  const marks = comparisons.flatMap((comparison) => comparison.marks);
  const facts = factsOf(results).map(({ name, value }) => [name, name === 'command' ? `\`${value}\`` : value]);
  return [
    '# Results',
    '',
    'The last run that was kept, of the scenarios in its command, as `npm run bench -- peers --results` wrote it: nothing here is written by hand. `npm run bench -- peers --list` names all scenarios. A ratio is of the medians of the runs, endpointd by kube-controller-manager, with a bootstrap interval over the pairs. *Noise* is by how much runs of the same program differ; a difference counts beyond it. Runs that ended wrong have no say. [results.json](results.json) has every run and every sample, [results.html](results.html) the same with all plots.',
    '',
    ...tableText(['', ''], facts),
    '',
    '## Marks',
    '',
    ...tableText(
      ['scenario', 'mark', 'measured', 'verdict'],
      marks.map(({ scenario, what, got, verdict }) => [scenario, what, got, verdict]),
    ),
    '',
    ...notRun(results).flatMap(({ name, what }) => [`Not run, for want of time: ${name} (${what}).`, '']),
    ...comparisons.flatMap((comparison) => [...scenarioText(comparison, results), '']),
  ].join('\n');
}

function scenarioText(comparison: Comparison, { runs }: Results): string[] {
  const { scenario, wrong, peers } = comparison;
  const p99s = peers.flatMap((peer) => {
    const { count, ms } = pooledP99(runs, scenario.name, peer, 'slices');
    return count === 0 ? [] : [`${peer} ${ms.toFixed(1)} ms of ${count}`];
  });
  const peaks = peers.flatMap((peer) => {
    const run = runs.find((each) => each.scenario === scenario.name && each.peer === peer);
    return run === undefined || run.peakStep === '' ? [] : [`${peer}: ${run.peakStep}`];
  });
  const threads = peers.flatMap((peer) => threadsText(comparison, runs, peer));
  return [
    `## ${scenario.name}`,
    '',
    `${scenario.what[0]!.toUpperCase()}${scenario.what.slice(1)}.`,
    '',
    ...tableText(headOf(comparison), rowTexts(comparison)),
    ...(p99s.length === 0
      ? []
      : ['', `From the change to the slice, p99 of all samples of all runs: ${p99s.join(', ')}.`]),
    ...(peaks.length === 0 ? [] : ['', `Memory was highest at the step: ${peaks.join(', ')}.`]),
    ...(threads.length === 0 ? [] : ['', `CPU by thread: ${threads.join('; ')}.`]),
    ...wrong.map((each) => `\nWRONG: ${each}`),
  ];
}

const THREADS_MAX = 5;

/** The busiest threads in the first right run. */
function threadsText({ scenario }: Comparison, runs: Results['runs'], peer: string): string[] {
  const run = runs.find((each) => each.scenario === scenario.name && each.peer === peer && each.wrong.length === 0);
  if (run === undefined || peer !== 'endpointd') return [];
  const busiest = Object.entries(run.threads)
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, THREADS_MAX)
    .map(([name, seconds]) => `${name} ${seconds.toFixed(2)} s`);
  return [`${peer} ${busiest.join(', ')}`];
}

function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)];
}
