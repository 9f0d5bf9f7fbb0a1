/** The document and the pictures of the results that the repository keeps. */
import type { BarPlot, Plot } from '../../src/page/plot.ts';
import { growthTables, notRunText, type Growth } from '../growth/report.ts';
import { plotsOf } from './plots.ts';
import { READING_NOTES } from './reading-notes.ts';
import { commandsOf, factsOf, MARK_COLUMNS, markRow } from './report-page.ts';
import { notRun, type Comparison, type Results } from './results.ts';
import { plural } from '../../src/lib/figures.ts';
import { type Sweep, sweepTable } from '../sweep/report.ts';
import { COLUMNS, type Coalescing, coalescingNotes, coalescingTable } from '../coalescing/report.ts';
import type { BenchMarks } from '../marks/data.ts';
import type { MarkResult } from '../marks/mark-result.ts';
import { RUN_COLUMNS, runRows, withoutTables } from '../marks/report.ts';
import type { BenchTable } from '../support/table.ts';
import { headOf, remarksOf, rowTexts, valueText } from './text.ts';
import { FIGURES } from './window.ts';

/** The scenario whose latencies the pictures show. */
const PICTURED = 'churn';

interface Picture {
  readonly name: string;
  readonly plot: Plot;
}

/** The pictures in README. */
export function pictures(results: Results, comparisons: readonly Comparison[]): Picture[] {
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

function benchTable({ title, note, columns, rows }: BenchTable): string[] {
  return [`### ${title}`, '', ...tableText(columns, rows), '', ...(note === '' ? [] : [`${note}.`, ''])];
}

export function growthText(growth: Growth | null): string[] {
  if (growth === null) return [];
  const { command, commit, startedAt, machine, notRun: left } = growth;
  return [
    '## growth',
    '',
    `What a flip costs while one number of the cluster grows: \`${command}\`, commit ${commit}, ${startedAt}, on ${machineText(machine)}. Where the flips are few, the p99 is the longest of them. All points have 20 namespaces, so along the axes of pods and of services the namespaces grow with the cluster: kube-controller-manager's rise there is theirs, because it looks through all Services of a pod's namespace, and through all pods of a Service's. [growth.html](growth.html) has the plots.`,
    '',
    ...growthTables(growth).flatMap(benchTable),
    ...(left.length === 0 ? [] : [`Not run: ${left.map(notRunText).join('; ')}.`, '']),
  ];
}

function machineText({ processor, cores, kernel }: Growth['machine']): string {
  return `${processor}, ${cores} cores, ${kernel}`;
}

/** All settings of both controllers in one scenario. */
export function sweepSection(sweep: Sweep | null): string[] {
  if (sweep === null) return [];
  const { command, commit, scenario, machine } = sweep;
  const { columns, rows, notes } = sweepTable(sweep);
  return [
    '## sweep',
    '',
    `Syncs, batch period and QPS in the scenario ${scenario}, one run of each setting: \`${command}\`, commit ${commit}, on ${machineText(machine)}. [sweep.html](sweep.html) has the plots.`,
    '',
    ...tableText(columns, rows),
    '',
    ...notes.flatMap((note) => [`${note}.`, '']),
  ];
}

/** What settings of endpointd that collect changes save, and cost. */
export function coalescingSection(coalescing: Coalescing | null): string[] {
  if (coalescing === null) return [];
  const { command, commit, startedAt, machine, runs, note } = coalescing;
  const rounds = [...Map.groupBy(runs, ({ scenario }) => scenario).values()].map(
    (of) => new Set(of.map(({ round }) => round)).size,
  );
  const fewest = plural(Math.min(...rounds), 'round');
  return [
    '## coalescing',
    '',
    `Settings of endpointd beside kube-controller-manager, at least ${fewest} of each scenario, ratios of medians with their intervals: \`${command}\`, commit ${commit}, ${startedAt}, on ${machineText(machine)}.${note === undefined ? '' : ` ${note}`}`,
    '',
    ...tableText(COLUMNS, coalescingTable(coalescing)),
    '',
    ...coalescingNotes(coalescing).flatMap((line) => [line, '']),
  ];
}

/** Where the benches that play no scenario have run, and a section for each that has kept tables. */
export function otherBenchesText(all: readonly BenchMarks[]): string[] {
  if (all.length === 0) return [];
  const missing = withoutTables(all);
  return [
    '## Other benches',
    '',
    'The last runs of the benches that play no scenario: `npm run bench -- BENCH --results` measures each anew. [docs/account.md](../docs/account.md) says what stands in the way of those that are not reached.',
    '',
    ...tableText(RUN_COLUMNS, runRows(all), '---'),
    '',
    ...(missing === '' ? [] : [`${missing}.`, '']),
    ...all.flatMap(({ bench, tables = [] }) =>
      tables.length === 0 ? [] : [`## ${bench}`, '', ...tables.flatMap(benchTable)],
    ),
  ];
}

/** The figures of the summary. */
const SUMMED = ['controllerCpu', 'sumCpu', 'slicesP50', 'slicesP99', 'writes', 'peakMB'];

/** The most important figures of all scenarios, of the base and of the subject of each comparison. */
function summaryText(comparisons: readonly Comparison[]): string[] {
  const rowOf = ({ scenario: { name }, rows, base }: Comparison): string[] => [
    `[${name}](#${name})`,
    ...SUMMED.map((figure) => {
      const row = rows.find((each) => each.figure === figure);
      if (row === undefined) return '';
      const { digits } = FIGURES[figure]!;
      const theirs = valueText(row.values[base]!, digits, row.bases[base]!);
      return `${theirs} -> ${valueText(row.subject, digits, row.subjectBasis)}`;
    }),
  ];
  return [
    '## Summary',
    '',
    `Medians, and p99s of all samples, of kube-controller-manager, then of endpointd; of \`net\` all controllers in one, then endpointd beside the rest; of \`journal\` without it, then with it.`,
    '',
    ...tableText(
      ['scenario', ...SUMMED.map((figure) => FIGURES[figure]!.title)],
      comparisons.filter(({ base, subject }) => base !== subject).map(rowOf),
    ),
    '',
  ];
}

const INTRODUCTION =
  '`npm run bench -- peers --results` writes this page from results.json; the last sections are those of `growth`, `sweep`, `coalescing` and of benches that play no scenario. Where a round was taken out by hand, the row of its command says which and why. A command adds its runs: the rounds of a scenario go on as long as program, bench, versions, settings, size and machine are the same, and later runs of another take their place; *loop* is what a fixed loop of arithmetic took when the command began, so commands that differ in it have met the machine in another state. `npm run bench -- peers --list` names all scenarios. [results.json](results.json) has every run and every sample, [results.html](results.html) the same with all plots. [Marks](#marks) has those of all of them; [docs/tune-evidence.md](../docs/tune-evidence.md#the-marks) has those of `tune`, `advise` and `record`.';

/** @param others marks of other benches */
export function resultsText(
  results: Results,
  comparisons: readonly Comparison[],
  others: readonly MarkResult[] = [],
): string {
  const marks = [...comparisons.flatMap((comparison) => comparison.marks), ...others];
  const facts = factsOf(results).map(({ name, value }) => [name, value]);
  const commands = commandsOf(results);
  return [
    '# Results',
    '',
    INTRODUCTION,
    '',
    ...READING_NOTES.map(({ about, text }) => `- **${about}** ${text}`),
    '',
    ...tableText(
      commands.columns,
      commands.rows.map((row) => row.with(0, `\`${row[0]}\``)),
      '---',
    ),
    '',
    ...tableText(['', ''], facts, '---'),
    '',
    '## Marks',
    '',
    ...tableText(MARK_COLUMNS, marks.map(markRow), '---'),
    '',
    ...summaryText(comparisons),
    ...notRun(results).flatMap(({ name, what }) => [`Not run, for want of time: ${name} (${what}).`, '']),
    ...comparisons.flatMap((comparison) => [...scenarioText(comparison, results), '']),
  ].join('\n');
}

function scenarioText(comparison: Comparison, { runs }: Results): string[] {
  const { scenario, wrong } = comparison;
  return [
    `## ${scenario.name}`,
    '',
    `${scenario.what[0]!.toUpperCase()}${scenario.what.slice(1)}.`,
    '',
    ...tableText(headOf(comparison), rowTexts(comparison)),
    ...remarksOf(comparison, runs).map((remark) => `\n${remark}.`),
    ...wrong.map((each) => `\nWRONG: ${each}`),
  ];
}

/** Figures are to the right. @param align of the columns behind the first */
function tableText(head: readonly string[], rows: readonly (readonly string[])[], align = '---:'): string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : align))), ...rows.map(line)];
}
