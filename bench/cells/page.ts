/** The page of results: the marks and each cell, made from the data. */
import type { Calibration } from '../../src/twin/settings.ts';
import { median } from '../../src/lib/percentile.ts';
import type { CellRun, World } from './data.ts';
import { type CellMark, type CellResult, cellsForVerdict, type Figure, FIGURES, marksOf, percent } from './marks.ts';
import { heldOutCells, settingsText } from './plan.ts';

export interface WorldResults {
  readonly world: World;
  readonly versions: string;
  readonly calibration: Calibration;
  readonly idleMs: number;
  readonly results: readonly CellResult[];
  /** The runs of the reference cell, by time. */
  readonly references: readonly CellRun[];
}

/** @param flags with which `bench -- cells` makes it */
export function cellsPage(worlds: readonly WorldResults[], flags: string): string {
  return `${[
    '# The queue model beside real processes',
    '',
    `Made by \`npm run bench -- cells ${flags}\` from \`data.json\` beside this file. A cell is one setting under one workload: an API server, the controller and \`endpointd record\` as processes of their own, and one that makes the changes. What is measured is what the recording shows; what is predicted comes from the story of the changes alone, without a look at the run. All runs of a cell play the same story, so they differ by the machine.`,
    '',
    ...worlds.flatMap(worldLines),
  ].join('\n')}\n`;
}

const SERVERS = {
  embedded: 'the embedded API server, which waits 10 ms before each write of the controller',
  kube: 'kube-apiserver and etcd',
} as const;

function worldLines({ world, versions, calibration, idleMs, results, references }: WorldResults): string[] {
  const runs = results.flatMap((result) => result.runs);
  const { apiMs, cpuFactor, watchLagMs } = calibration;
  const marks = marksOf(results, world);
  return [
    `## ${world.controller} on ${SERVERS[world.server]}`,
    '',
    `${results.length} cells, none of them used for calibration. ${sizeText(results)}, from ${runs.map(({ at }) => at).toSorted()[0]}, with ${versions}. The machine had ${runs[0]!.machine.cores} cores; it was busy to ${rangeOf(runs, ({ machine }) => machine.busy, percent)}, at a load of ${rangeOf(runs, ({ machine }) => machine.load, String)}. Changes were sent late by ${rangeOf(runs, ({ latenessMs }) => latenessMs.p99, String)} ms (p99 of a run).`,
    '',
    `Calibrated on four other settings of one workload, with the same times and versions: a write takes ${apiMs.median.toFixed(1)} ms in the median and ${apiMs.tail.toFixed(1)} times that in the p99, CPU ${cpuFactor.toFixed(2)} of the default, the watch lags ${watchLagMs.toFixed(2)} ms. An idle controller shows a change after ${idleMs.toFixed(1)} ms (naive prediction).`,
    '',
    ...markLines(marks, results),
    '',
    ...marks.filter(({ isReached }) => !isReached).flatMap(missLines),
    ...driftLines(references),
    ...flawLines(results),
    'Bold: the p99 is not right by its mark, or another figure is off by more than 25 %.',
    '',
    '| workload | settings | output | p50 measured, ms | p50 predicted, ms | p99 measured, ms | p99 predicted, ms | writes measured | writes predicted | why it has no say |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...results.flatMap(cellLines),
    '',
  ];
}

/** The marks ask for three runs of 60 s after 20 s of each cell. */
const FULL = { repeats: 3, warmUpMs: 20_000, measuredMs: 60_000 };

function sizeText(results: readonly CellResult[]): string {
  const counts = results.map(({ runs }) => runs.length);
  const { warmUpMs, measuredMs } = results[0]!.runs[0]!;
  const isFull = Math.min(...counts) >= FULL.repeats && warmUpMs >= FULL.warmUpMs && measuredMs >= FULL.measuredMs;
  const times = rangeOf(counts, (count) => count, String);
  const often = times === '1' ? 'once' : times === '2' ? 'twice' : `${times} times`;
  const asked = `${FULL.repeats} times, ${FULL.measuredMs / 1000} s after ${FULL.warmUpMs / 1000} s`;
  const size = `Each was run ${often}, for ${measuredMs / 1000} s after ${warmUpMs / 1000} s of warm-up`;
  return isFull ? size : `${size} (the marks ask for ${asked})`;
}

function markLines(marks: readonly CellMark[], results: readonly CellResult[]): string[] {
  const have = results.filter(({ flaw }) => flaw === '').length;
  const isEnough = have >= cellsForVerdict();
  const verdictOf = ({ isReached }: CellMark): string =>
    !isEnough ? 'too few cells' : isReached ? 'reached' : '**not reached**';
  const rows = marks.map((mark) => `| ${mark.what} | ${mark.mark} | ${mark.found} | ${verdictOf(mark)} |`);
  const tooFew = `Too few cells have a say for a verdict: ${have} of ${heldOutCells().length}, and ${cellsForVerdict()} are asked for.`;
  return [
    ...(isEnough ? [] : [tooFew, '']),
    ...(marks.length === 0 ? [] : ['| figure | mark | found | |', '| --- | --- | --- | --- |', ...rows]),
  ];
}

function missLines({ what, misses }: CellMark): string[] {
  const rows = misses.map(({ plan, of: { output, naive, naiveErrors, predicted, errors, measured }, figure }) => {
    const withError = (value: number, error: number): string => `${figureText(figure, value)} (${percent(error)})`;
    const cells = [
      `${figure} of ${output}`,
      withError(naive[figure], naiveErrors[figure]),
      withError(predicted[figure], errors[figure]),
      figureText(figure, measured[figure]),
    ];
    return `| ${plan.workload.name} | ${settingsText(plan.settings)} | ${cells.join(' | ')} |`;
  });
  return [
    `The mark of "${what}" is missed by these cells. In brackets is the error; of the two outputs the larger one counts:`,
    '',
    '| workload | settings | figure | naive | predicted | measured |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ];
}

function figureText(figure: Figure, value: number): string {
  return value.toFixed(figure === 'writes' ? 0 : 1);
}

function repeatabilityText(results: readonly CellResult[]): string {
  const twice = results.filter(({ runs }) => runs.length > 1).length;
  if (twice === 0) return 'Whether a cell is repeatable was not looked at: each was run once.';
  const count = results.filter(({ flaw }) => flaw === 'not repeatable').length;
  return `Of ${twice} cells with several runs ${count} are not repeatable: two runs of the same story differ by more than 30 %.`;
}

function flawLines(results: readonly CellResult[]): string[] {
  const count = (flaw: CellResult['flaw']): number => results.filter((result) => result.flaw === flaw).length;
  return [
    `${count('')} of ${results.length} cells have a say. ${count('disturbed')} were disturbed: the machine was so busy with other work that even the driver sent a hundredth of its changes more than 50 ms late. ${count('too busy')} were measured while the cores were busy to more than 75 %. ${repeatabilityText(results)} A later \`npm run bench -- cells\` runs the disturbed ones again.`,
    '',
  ];
}

function cellLines({ plan, byOutput, flaw }: CellResult): string[] {
  return byOutput.map(({ output, measured, predicted, errors, isTailRight }) => {
    const cells = FIGURES.flatMap((figure) => {
      const isOff = figure === 'p99' ? !isTailRight : errors[figure] > 0.25;
      const text = figureText(figure, predicted[figure]);
      return [figureText(figure, measured[figure]), isOff ? `**${text}**` : text];
    });
    return `| ${plan.workload.name} | ${settingsText(plan.settings)} | ${output} | ${cells.join(' | ')} | ${flaw} |`;
  });
}

/** How the reference cell's figures have drifted over its runs. */
function driftLines(references: readonly CellRun[]): string[] {
  if (references.length < 2) return [];
  const values = references.map(({ measured }) => measured.slices.p50);
  return [
    `Drift: the reference cell was run ${references.length} times with the same story; the p50 of slices was ${values.join(', ')} ms (median ${median(values)} ms).`,
    '',
  ];
}

function rangeOf<T>(runs: readonly T[], of: (run: T) => number, text: (value: number) => string): string {
  const values = runs.map(of);
  const [low, high] = [text(Math.min(...values)), text(Math.max(...values))];
  return low === high ? low : `${low} to ${high}`;
}
