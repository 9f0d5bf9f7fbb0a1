/** The document and the pictures of the results that the repository keeps. */
import type { BarPlot, Plot } from '../../src/page/plot.ts';
import { growthTables, notRunText, type Growth } from '../growth/report.ts';
import { P99_NOTE } from './basis.ts';
import { plotsOf } from './plots.ts';
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

/** What all tables have in common. */
const PREAMBLE: readonly string[] = [
  '`npm run bench -- peers --results` writes this page from results.json; the last sections are those of `growth`, `sweep`, `coalescing` and of benches that play no scenario. Where a round was taken out by hand, the row of its command says which and why. A command adds its runs: the rounds of a scenario go on as long as program, bench, versions, settings, size and machine are the same, and later runs of another take their place; *loop* is what a fixed loop of arithmetic took when the command began, so commands that differ in it have met the machine in another state. `npm run bench -- peers --list` names all scenarios. [results.json](results.json) has every run and every sample, [results.html](results.html) the same with all plots. [Marks](#marks) has those of all of them; [docs/tune-evidence.md](../docs/tune-evidence.md#the-marks) has those of `tune`, `advise` and `record`.',
  '',
  '- **The server** is kube-apiserver with etcd on the same two cores. etcd does not wait for the disk, everything is allowed, priority and fairness is off, 2,000 requests may be in flight, and the admission of service accounts and taints is off: so latencies are those of the controllers, and lower than in a cluster. `flow-control` has the defaults of the disk and of priority and fairness. Scenarios that say so run on the embedded API server.',
  '- **endpointd** is one process, started as in `deploy/` but for the leader election: without a compile cache and with its secure port. `deploy/` runs two replicas, and the second one has the caches and the watches of the first: it is in the figures of `standby` alone. kube-controller-manager is one process without leader election, too; its standby keeps no caches. Runs of commands that do not say so had a warm cache and no secure port, which saves some 40 ms of CPU at a start.',
  '- **The certificate** of its secure port is made by endpointd at its start, and counts. That of kube-controller-manager is made before, which saves it 0.17 s of CPU at a start: that is no work of its controllers.',
  "- **The echo floor** is a program that answers each event of a pod with two ready-made writes of the same size, and plans and caches nothing: no controller can be cheaper on bare sockets. In runs of before 27 November 2026 it lost a change where kube-apiserver had closed one of its connections, as it does with one that was not used for 32 s. Such a run ended wrong. In runs of commands without *loop* its watch was in JSON and it had none of endpointd's flags of Node: that is another floor.",
  '- **A ratio** is of the medians of the runs, endpointd by kube-controller-manager, with a bootstrap interval over the pairs; of fewer than five pairs it is no more than their range, so nothing is said to count. A p99 and the longest are of all samples of all runs together, their intervals too. *A/A* is the ratio of two runs of the same endpointd in each round; elsewhere endpointd stands for both.',
  `- **A p99** ${P99_NOTE}`,
  '- **Noise** is by how much two runs of the same program differ, in the median, and where there is an A/A pair at least the further bound of its interval. A difference counts if it is beyond the noise and its interval does not hold 1. One in the longest never does, because that is a single sample.',
  '- **A mark** is judged by all runs, and lies *within the noise* if more than one of forty resamples of its rounds is judged otherwise. One run, or few (fewer than five), say no more than what they found. `growth` lies within the noise where its rounds do not agree, and `coalescing` where the interval of a ratio does not tell. The benches at the end keep one run each, and take medians of it.',
  '- **A latency** is from the answer to a change until an independent watcher has the object. A change that was taken back before the controller showed it counts with the time until then, and with 0 if it wants what was shown all along (in runs of before 26 November 2026 it has no sample then). Who is late has more of these, so they make its p50 shorter: where any were taken back, their share and the latencies without those of 0 stand beside it, and without all that were taken back, if the runs have kept that. Runs that ended wrong have no say.',
  '- **A warm-up** is a quarter of the changes of a measure, so `--seconds` makes both longer. Flags that say for how long change no mark; the marks and the scenarios that were measured so say it.',
  '- **A stage** is told by itself. The event of a change often reaches the controller before the load has the answer to the change, and a write often reaches the watcher before the controller has its answer. Planning and writing count whole then, so the stages of a change together may be longer than its latency.',
  "- **CL2's figures** are from the trigger time to the watch, as ClusterLoader2 measures. Trigger times have whole seconds, so of two quick controllers these figures tell no difference.",
];

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
    ...PREAMBLE,
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
