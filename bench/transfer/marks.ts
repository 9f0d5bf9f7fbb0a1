/** Compares what was predicted of another setting with what it has shown, and tells whether the marks are reached. */
import { median } from '../../src/lib/percentile.ts';
import { BUSY_MAX, isDisturbed, type Mark, percent } from '../cells/marks.ts';
import type { Pair, Prediction, TransferRun } from './data.ts';
import { FIGURES } from './plan.ts';

/** A pair with both of its runs. */
export interface TransferResult {
  readonly pair: Pair;
  readonly from: TransferRun;
  readonly to: TransferRun;
  /** Why the pair does not count: a run of it was disturbed, or its machine too busy. '' = it counts. */
  readonly flaw: '' | 'disturbed' | 'too busy';
}

export function flawOf(runs: readonly TransferRun[]): TransferResult['flaw'] {
  if (runs.some(isDisturbed)) return 'disturbed';
  return runs.some(({ world, machine }) => world.server === 'kube' && machine.busy > BUSY_MAX) ? 'too busy' : '';
}

type Figure = (typeof FIGURES)[number];

/** Whether the prediction is within `ERROR_MAX` of what was measured. */
export function isNear({ values }: Prediction, { measured }: TransferRun, { name }: Figure): boolean {
  return Math.abs(values[name] / measured[name] - 1) <= ERROR_MAX;
}

/** Whether what was measured is at most the bound. */
export function isHeld({ bounds }: Prediction, { measured }: TransferRun, { name }: Figure): boolean {
  return measured[name] <= bounds[name];
}

/** The largest error with which `tune` recommends anything. */
const ERROR_MAX = 0.3;
const NEAR_SHARE_MIN = 0.8;
/** What an upper 90 % bound promises. */
const HELD_SHARE_MIN = 0.9;
const ANSWERED_SHARE_MIN = 0.75;
/** If fewer of the pairs count, there is no verdict. */
const SAY_SHARE_MIN = 0.8;

/** How many of the figures are near, and under their bounds. */
export interface Tally {
  readonly figures: number;
  readonly near: number;
  readonly held: number;
  /** The median of bound over prediction: a bound far away is held and says nothing. NaN = there are no figures. */
  readonly width: number;
}

/** @param by changes: those of the recording that `tune` was given, or those of the run that is predicted */
export function tallyOf(
  results: readonly TransferResult[],
  by: 'predicted' | 'byItsChanges',
  figures: readonly Figure[] = FIGURES,
): Tally {
  const widths: number[] = [];
  let [near, held] = [0, 0];
  for (const { pair, to } of results) {
    const prediction = pair[by];
    if (prediction === null) continue;
    for (const figure of figures) {
      widths.push(prediction.bounds[figure.name] / prediction.values[figure.name]);
      if (isNear(prediction, to, figure)) near++;
      if (isHeld(prediction, to, figure)) held++;
    }
  }
  return { figures: widths.length, near, held, width: median(widths) };
}

export function countedOf(results: readonly TransferResult[]): TransferResult[] {
  return results.filter(({ flaw }) => flaw === '');
}

/** @param pairs how many there should be. [] = too few of them count */
export function transferMarks(results: readonly TransferResult[], pairs: number): Mark[] {
  const counted = countedOf(results);
  if (counted.length === 0 || counted.length < SAY_SHARE_MIN * pairs) return [];
  const { figures, near, held } = tallyOf(counted, 'predicted');
  const recordings = [...Map.groupBy(counted, ({ from }) => from).values()];
  const answered = recordings.filter(([first]) => first!.pair.predicted !== null).length;
  return [
    markOf('predicted', `within ${percent(ERROR_MAX)} of what is measured`, near, figures, NEAR_SHARE_MIN, 'figures'),
    markOf('upper bounds', 'what is measured lies under them', held, figures, HELD_SHARE_MIN, 'figures'),
    markOf('answers', 'the recording is not refused', answered, recordings.length, ANSWERED_SHARE_MIN, 'recordings'),
  ];
}

function markOf(what: string, claim: string, found: number, of: number, least: number, noun: string): Mark {
  return {
    what,
    mark: `${claim}, in ${percent(least)} of the ${noun}`,
    found: of === 0 ? `of no ${noun}` : `${found} of ${of} ${noun}, ${percent(found / of)}`,
    isReached: of > 0 && found >= least * of,
  };
}
