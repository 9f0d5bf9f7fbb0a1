/** The page of results, made from the kept data: the marks, and each pair with what was predicted, bounded and measured. */
import { formatDuration } from '../../src/lib/duration.ts';
import { OUTPUTS } from '../../src/twin/ledger.ts';
import type { World } from '../cells/data.ts';
import { type Mark, percent } from '../cells/marks.ts';
import { settingsText } from '../cells/plan.ts';
import { isSameRun, type Prediction, readTransfer, type TransferData, type TransferRun } from './data.ts';
import { countedOf, flawOf, isHeld, isNear, tallyOf, transferMarks, type TransferResult } from './marks.ts';
import { CHOICES, FIGURES, TRANSFER_WORKLOADS } from './plan.ts';

/** The page that the repository keeps. */
export function keptTransferPage(): string {
  return transferPage(readTransfer(new URL('data.json', import.meta.url)));
}

export function transferPage(data: TransferData): string {
  const measurements = [...Map.groupBy(data.runs, measurementText).values()];
  return `${[
    '# The setting that was predicted, set for real',
    '',
    'Made by `npm run bench -- transfer --report` from `data.json` beside this file. A run is one setting under one workload: an API server, the controller and `endpointd record` as processes of their own, and one that makes the changes. The recording begins after the warm-up, while changes come. For each two settings A and B of a workload, `tune` is given the recording under A with the flags of A, as a command line gives them, and predicts B with its upper 90 % bound, by the functions and the draws of the command. Then the recording under B is measured. Each run has a story of its own, of the same workload: B is another time of the same cluster, as it is for an operator.',
    '',
    '| name | settings |',
    '| --- | --- |',
    ...CHOICES.map(({ name, settings }) => `| ${name} | ${settingsText(settings)} |`),
    '',
    'Latencies are of additions. Of a recording under B count the changes that it shows; `tune` counts those too that nothing has shown, with their wait. Each run begins with slices that are packed by its own limit, those of an operator by the one before. The marks, settings and workloads were committed before the first run.',
    '',
    ...(measurements.length === 0 ? ['Nothing was run yet.', ''] : measurements.flatMap((runs) => lines(data, runs))),
  ]
    .join('\n')
    .trimEnd()}\n`;
}

function measurementText({ world, warmUpMs, measuredMs, benchSeed }: TransferRun): string {
  return `${worldText(world)}: ${formatDuration(measuredMs)} after ${formatDuration(warmUpMs)} of warm-up, seed ${benchSeed}`;
}

function worldText({ server, controller }: World): string {
  return `${controller} on ${server === 'kube' ? 'kube-apiserver and etcd' : 'the embedded API server'}`;
}

/** Of each cell the last run, with the versions of the last one of all. */
function lastRuns(all: readonly TransferRun[]): TransferRun[] {
  const { versions } = all.at(-1)!;
  const own = all.filter((run) => run.versions === versions);
  return [...Map.groupBy(own, ({ cell }) => cell).values()].map((runs) => runs.at(-1)!);
}

function resultsOf({ pairs }: TransferData, runs: readonly TransferRun[]): TransferResult[] {
  return pairs.flatMap((pair) => {
    const [from, to] = [pair.from, pair.to].map((id) => runs.find((run) => isSameRun(run, id)));
    return from === undefined || to === undefined ? [] : [{ pair, from, to, flaw: flawOf([from, to]) }];
  });
}

/** In the full bench. */
const PAIRS = TRANSFER_WORKLOADS.length * CHOICES.length * (CHOICES.length - 1);

function lines(data: TransferData, all: readonly TransferRun[]): string[] {
  const runs = lastRuns(all);
  const results = resultsOf(data, runs);
  const counted = countedOf(results);
  const marks = transferMarks(results, PAIRS);
  const refused = [...new Set(results.filter(({ pair }) => pair.predicted === null).map(({ from }) => from))];
  const [first] = runs as [TransferRun];
  const programs = [...new Set([...runs, ...results.map(({ pair }) => pair)].map(({ commit }) => commit))];
  return [
    `## ${measurementText(first)}`,
    '',
    `${runs.length} runs from ${runs.map(({ at }) => at).toSorted()[0]}, with ${first.versions}; recorded and predicted by ${programs.join(', ')}. The machine had ${first.machine.cores} cores; it was busy to ${rangeOf(runs, ({ machine }) => machine.busy, percent)}. Changes were sent late by ${rangeOf(runs, ({ latenessMs }) => latenessMs.p99, String)} ms (p99 of a run).`,
    '',
    `${counted.length} of ${results.length} pairs have a say; ${PAIRS} were asked for. ${results.filter(({ flaw }) => flaw === 'disturbed').length} were disturbed: the driver sent a hundredth of the changes of a run more than 50 ms late. Of ${results.filter(({ flaw }) => flaw === 'too busy').length} the cores were busy to more than 75 %. A later \`npm run bench -- transfer\` repeats disturbed runs.`,
    '',
    ...(marks.length === 0 ? ['Too few pairs have a say for a verdict.'] : markLines(marks)),
    '',
    ...(tallyOf(counted, 'predicted').figures === 0 ? [] : tallyLines(counted)),
    ...(refused.length === 0 ? [] : refusedLines(results, refused)),
    'Milliseconds, and writes a second: predicted (bound) measured. Bold: a prediction that is off by more than 30 %, and a bound below what was measured.',
    '',
    `| workload | today | set | output | ${['p50', 'p99', 'writes'].join(' | ')} | why it has no say |`,
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...results.flatMap(pairLines),
    '',
  ];
}

function markLines(marks: readonly Mark[]): string[] {
  const rows = marks.map(
    ({ what, mark, found, isReached }) =>
      `| ${what} | ${mark} | ${found} | ${isReached ? 'reached' : '**not reached**'} |`,
  );
  return ['| | mark | found | |', '| --- | --- | --- | --- |', ...rows];
}

function tallyLines(counted: readonly TransferResult[]): string[] {
  const rows = [
    ...FIGURES.map((figure) => ({ name: figure.name, figures: [figure] })),
    { name: 'all', figures: FIGURES },
  ];
  return [
    'The changes of another time differ too. So the same fit has also predicted B with the changes that came under B; what is off then is the model.',
    '',
    '| figure | figures | within 30 % | bounds held | bound over prediction, median | by the changes under B: within 30 % | bounds held |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows.map(({ name, figures }) => {
      const [predicted, own] = [tallyOf(counted, 'predicted', figures), tallyOf(counted, 'byItsChanges', figures)];
      return `| ${name} | ${predicted.figures} | ${predicted.near} | ${predicted.held} | ${predicted.width.toFixed(2)} | ${own.near} | ${own.held} |`;
    }),
    '',
  ];
}

function refusedLines(results: readonly TransferResult[], refused: readonly TransferRun[]): string[] {
  return [
    'Recordings that `tune` refused:',
    '',
    ...refused.map((run) => `- ${run.cell}: ${results.find(({ from }) => from === run)!.pair.refusals.join('; ')}.`),
    '',
  ];
}

function pairLines({ pair, from, to, flaw }: TransferResult): string[] {
  const names = [from.workload, from.choice, to.choice];
  return OUTPUTS.map((output) => {
    const figures = FIGURES.filter((figure) => figure.output === output);
    const cells = figures.map((figure) => figureText(pair.predicted, to, figure));
    return `| ${[...names, output, ...cells, flaw].join(' | ')} |`;
  });
}

function figureText(prediction: Prediction | null, to: TransferRun, figure: (typeof FIGURES)[number]): string {
  const measured = to.measured[figure.name].toFixed(1);
  if (prediction === null) return `refused; ${measured}`;
  const [value, bound] = [prediction.values, prediction.bounds].map((of) => of[figure.name].toFixed(1));
  const near = isNear(prediction, to, figure) ? value : `**${value}**`;
  return `${near} (${isHeld(prediction, to, figure) ? bound : `**${bound}**`}) ${measured}`;
}

function rangeOf<T>(runs: readonly T[], of: (run: T) => number, text: (value: number) => string): string {
  const values = runs.map(of);
  const [low, high] = [text(Math.min(...values)), text(Math.max(...values))];
  return low === high ? low : `${low} to ${high}`;
}
