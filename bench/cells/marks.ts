/** Compares measured figures with predicted ones, and tells whether the marks are reached. */
import { fit, FITTED, type Fitted } from '../../src/tune/back-test.ts';
import { OUTPUTS, type Output, perOutput } from '../../src/twin/ledger.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import type { Calibration } from '../../src/twin/settings.ts';
import { median } from '../../src/lib/percentile.ts';
import { type CellTimes, storyOf } from './cell-times.ts';
import type { CellRun, World } from './data.ts';
import { calibrationCells, type CellPlan, heldOutCells } from './plan.ts';
import { predict, predictCpu, predictNaively, type Predictions } from './predict.ts';

export interface CellResult {
  readonly plan: CellPlan;
  readonly runs: readonly CellRun[];
  readonly byOutput: readonly OutputResult[];
  /**
   * Why the cell does not count: the machine has delayed even the driver, a machine with a real API server was busier than
   * `BUSY_MAX`, or the runs differ by more than `REPEATABLE`. '' = it counts.
   */
  readonly flaw: '' | 'disturbed' | 'too busy' | 'not repeatable';
}

export interface OutputResult {
  readonly output: Output;
  /** The medians of the runs. */
  readonly measured: Readonly<Record<Figure, number>>;
  readonly predicted: Readonly<Record<Figure, number>>;
  /** Predicted without a model. */
  readonly naive: Readonly<Record<Figure, number>>;
  readonly errors: Readonly<Record<Figure, number>>;
  readonly naiveErrors: Readonly<Record<Figure, number>>;
  /** Whether the measured p99 is between the predicted p98.5 and p99.5, or the predicted p99 is within a quarter of the measured one. */
  readonly isTailRight: boolean;
  /** Whether the controller is saturated in both, or in neither. */
  readonly isSaturationRight: boolean;
}

export type Figure = 'p50' | 'p99' | 'writes';
export const FIGURES: readonly Figure[] = ['p50', 'p99', 'writes'];
/** The p90 of a run varies less than its p99, so both tell the tail. */
const FITTED_TO = ['p50', 'p90', 'p99', 'writes'] as const;
type FittedFigure = (typeof FITTED_TO)[number];

const REPEATABLE = 0.3;
export const BUSY_MAX = 0.75;
/** If the driver sends one of a hundred changes later than this, the machine is too busy with other work. */
const LATE_MS_MAX = 50;
const TAIL_ERROR_MAX = 0.25;
/** A saturated controller takes at least so many times as long as an idle one, without the batch period. */
const SATURATED = 3;

/** Whether other work of the machine has spoiled the run. */
export function isDisturbed({ latenessMs }: Pick<CellRun, 'latenessMs'>): boolean {
  return latenessMs.p99 > LATE_MS_MAX;
}

/** The undisturbed runs; all runs if each was disturbed. */
function steadyOf(runs: readonly CellRun[]): readonly CellRun[] {
  const steady = runs.filter((run) => !isDisturbed(run));
  return steady.length > 0 ? steady : runs;
}

const PREDICTED = new Map<string, Predictions>();

/** What the model says of a cell. It is played once, since pages with more or fewer of its runs show the same. */
function predictedOf(
  plan: Pick<CellPlan, 'workload' | 'settings'>,
  seed: number,
  { warmUpMs, measuredMs }: CellTimes,
  controller: Program,
  calibration: Calibration,
): Predictions {
  const { workload, settings } = plan;
  const times = { warmUpMs, measuredMs };
  const key = JSON.stringify([workload, settings, seed, times, controller, calibration]);
  const known = PREDICTED.get(key);
  if (known !== undefined) return known;
  const made = predict(storyOf(plan, seed, times), controller, settings, calibration, times);
  PREDICTED.set(key, made);
  return made;
}

/**
 * @param all at least one run, all of the same story; disturbed runs count only if there is no other
 * @param idleMs see `predictNaively`
 */
export function resultOf(
  plan: CellPlan,
  all: readonly CellRun[],
  { controller, server }: World,
  calibration: Calibration,
  idleMs: number,
): CellResult {
  const runs = steadyOf(all);
  const [first] = runs as readonly [CellRun];
  const prediction = predictedOf(plan, first.seed, first, controller, calibration);
  const naive = predictNaively(storyOf(plan, first.seed, first), plan.settings, idleMs, first);
  const byOutput = OUTPUTS.map((output): OutputResult => {
    const measured = mediansOf(runs.map((run) => run.measured[output]));
    const predicted = prediction[output];
    const errors = errorsOf(predicted, measured);
    const batchMs = output === 'endpoints' ? plan.settings.endpointsBatchMs : plan.settings.slicesBatchMs;
    const isSaturated = ({ p50 }: Readonly<Record<Figure, number>>): boolean => p50 > batchMs + SATURATED * idleMs;
    const isBetween = measured.p99 >= predicted.p985 && measured.p99 <= predicted.p995;
    return {
      output,
      measured,
      predicted,
      naive: naive[output],
      errors,
      naiveErrors: errorsOf(naive[output], measured),
      isTailRight: isBetween || errors.p99 <= TAIL_ERROR_MAX,
      isSaturationRight: isSaturated(predicted) === isSaturated(measured),
    };
  });
  const isTooBusy = server === 'kube' && median(runs.map(({ machine }) => machine.busy)) > BUSY_MAX;
  const isRepeatable = OUTPUTS.every((output) =>
    FIGURES.every((figure) => {
      const values = runs.map((run) => run.measured[output][figure]);
      return Math.max(...values) <= Math.min(...values) * (1 + REPEATABLE);
    }),
  );
  const flaw = runs.every(isDisturbed) ? 'disturbed' : isTooBusy ? 'too busy' : isRepeatable ? '' : 'not repeatable';
  return { plan, runs, byOutput, flaw };
}

/** What a calibration is fitted to: of each of its cells the runs that were not disturbed, or the cells that have none. */
export function calibrationRuns(
  runs: readonly CellRun[],
): { readonly runs: readonly (readonly [CellPlan, CellRun])[] } | { readonly missing: readonly string[] } {
  const cells = calibrationCells().map((plan) => ({
    plan,
    own: runs.filter((run) => run.cell === plan.name && !isDisturbed(run)),
  }));
  const missing = cells.filter(({ own }) => own.length === 0).map(({ plan }) => plan.name);
  if (missing.length > 0) return { missing };
  return { runs: cells.flatMap(({ plan, own }) => own.map((run) => [plan, run] as const)) };
}

/** The median of a controller that waits for nothing: of the first cell of calibration. */
export function idleMsOf(cells: readonly (readonly [CellPlan, CellRun])[]): number {
  const [idle] = calibrationCells();
  const own = cells.filter(([plan]) => plan.name === idle!.name);
  return median(own.map(([, { measured }]) => measured.slices.p50));
}

/**
 * How much it costs the fit to move the watch lag. Flips hardly tell it from the latency of a write, so without a cost the
 * fit ends where it is 0 or far too long, with a greater loss than it has near its start.
 */
const LAG_PRIOR = 0.1;

/** Fits the model's numbers of the machine to the medians of the cells' runs. */
export function calibrate(
  cells: readonly (readonly [CellPlan, CellRun])[],
  { controller }: World,
  start: Calibration,
): Calibration {
  // All runs of a cell play one story, so it is predicted once.
  const played = [...Map.groupBy(cells, ([plan]) => plan)].map(([plan, pairs]) => {
    const runs = pairs.map(([, run]) => run);
    const [times] = runs as [CellRun];
    const measured = perOutput((output) => mediansOf(runs.map((run) => run.measured[output])));
    return { plan, times, story: storyOf(plan, times.seed, times), measured };
  });
  const lossOf = (calibration: Calibration): number => {
    let loss = LAG_PRIOR * Math.log(calibration.watchLagMs / start.watchLagMs) ** 2;
    for (const { plan, times, story, measured } of played) {
      const predictions = predict(story, controller, plan.settings, calibration, times);
      for (const output of OUTPUTS) {
        for (const figure of FITTED_TO) {
          loss += Math.log(predictions[output][figure] / measured[output][figure]) ** 2;
        }
      }
    }
    return loss;
  };
  const isHeld = ({ name }: Fitted): boolean =>
    // endpointd does not wait for its own events, so its lag cannot be told from the latency of a write.
    name === 'CPU' || (name === 'watch lag' && controller === 'endpointd');
  const cpuFactor = start.cpuFactor * cpuRatio(cells, controller, start);
  return fit(
    { ...start, cpuFactor },
    lossOf,
    FITTED.filter((one) => !isHeld(one)),
  );
}

/**
 * The CPU that the processes used, over what the model uses. Latencies do not tell the CPU of a write from the API server's
 * time for it, so the CPU is not fitted to them.
 */
function cpuRatio(
  cells: readonly (readonly [CellPlan, CellRun])[],
  controller: Program,
  calibration: Calibration,
): number {
  let [usedMs, predictedMs] = [0, 0];
  for (const [plan, run] of cells) {
    const story = storyOf(plan, run.seed, run);
    predictedMs += predictCpu(story, controller, plan.settings, calibration);
    usedMs += run.machine.controllerCpu * story.durationMs;
  }
  return usedMs / predictedMs;
}

function mediansOf(values: readonly Readonly<Record<FittedFigure, number>>[]): Record<FittedFigure, number> {
  const of = (figure: FittedFigure): number => median(values.map((one) => one[figure]));
  return { p50: of('p50'), p90: of('p90'), p99: of('p99'), writes: of('writes') };
}

function errorsOf(
  predicted: Readonly<Record<Figure, number>>,
  measured: Readonly<Record<Figure, number>>,
): Record<Figure, number> {
  const of = (figure: Figure): number => Math.abs(predicted[figure] / measured[figure] - 1);
  return { p50: of('p50'), p99: of('p99'), writes: of('writes') };
}

export interface Mark {
  readonly what: string;
  readonly mark: string;
  readonly found: string;
  readonly isReached: boolean;
}

/** A figure by which a cell misses a mark. */
export interface Miss {
  readonly plan: CellPlan;
  readonly of: OutputResult;
  readonly figure: Figure;
}

export interface CellMark extends Mark {
  /** Of cells that count; there may be some though the mark is reached. */
  readonly misses: readonly Miss[];
}

/**
 * The largest median error in each world. The embedded server follows a given law, so its mark is lower than that of a
 * real server.
 */
const MEDIAN_ERROR_MAX = { embedded: 0.1, endpointd: 0.15, 'kube-controller-manager': 0.2 } as const;
const ERROR_MAX = 0.25;
const TAIL_SHARE_MIN = 0.8;
const NAIVE_ERROR_MIN = 0.2;
const NAIVE_CELLS_MIN = 8;
/** If fewer of the held-out cells count, there is no verdict. */
const SAY_SHARE_MIN = 0.8;

/** How many cells have to count for a verdict. */
export function cellsForVerdict(): number {
  return Math.ceil(SAY_SHARE_MIN * heldOutCells().length);
}

/** What the cells that count say, however few they are; [] = none does. */
export function marksOf(results: readonly CellResult[], world: World): CellMark[] {
  const counted = results.filter(({ flaw }) => flaw === '');
  if (counted.length === 0) return [];
  const medianMax = MEDIAN_ERROR_MAX[world.server === 'embedded' ? 'embedded' : world.controller];
  const marks = (['p50', 'writes'] as const).map((figure): CellMark => {
    const errors = counted.map(({ byOutput }) => Math.max(...byOutput.map(({ errors: of }) => of[figure])));
    const [middleError, worst] = [median(errors), Math.max(...errors)];
    const isEmbedded = world.server === 'embedded';
    return {
      what: figure,
      mark: `median error at most ${percent(medianMax)}${isEmbedded ? `, each at most ${percent(ERROR_MAX)}` : ''}`,
      found: `median ${percent(middleError)}, worst ${percent(worst)}`,
      isReached: middleError <= medianMax && (!isEmbedded || worst <= ERROR_MAX),
      misses: missesOf(counted, figure, ({ errors: of }) => of[figure] > medianMax),
    };
  });
  const right = counted.filter(({ byOutput }) => byOutput.every(({ isTailRight }) => isTailRight)).length;
  marks.push({
    what: 'p99',
    mark: `between the predicted p98.5 and p99.5, or within ${percent(TAIL_ERROR_MAX)}, in ${percent(TAIL_SHARE_MIN)} of the cells`,
    found: `${right} of ${counted.length} cells`,
    isReached: right >= TAIL_SHARE_MIN * counted.length,
    misses: missesOf(counted, 'p99', ({ isTailRight }) => !isTailRight),
  });
  return [...marks, ...(world.server === 'embedded' ? [] : [saturationOf(counted)]), skillOf(counted)];
}

function missesOf(counted: readonly CellResult[], figure: Figure, isMiss: (of: OutputResult) => boolean): Miss[] {
  return counted.flatMap(({ plan, byOutput }) => byOutput.filter(isMiss).map((of) => ({ plan, of, figure })));
}

function saturationOf(counted: readonly CellResult[]): CellMark {
  const right = counted.filter(({ byOutput }) => byOutput.every(({ isSaturationRight }) => isSaturationRight)).length;
  return {
    what: 'saturated or not',
    mark: 'right in every cell',
    found: `${right} of ${counted.length} cells`,
    isReached: right === counted.length,
    misses: missesOf(counted, 'p50', ({ isSaturationRight }) => !isSaturationRight),
  };
}

/** In cells where the naive predictor is far off, the model errs at most half as much. */
function skillOf(counted: readonly CellResult[]): CellMark {
  let [hard, better] = [0, 0];
  const misses: Miss[] = [];
  for (const { plan, byOutput } of counted) {
    const worst = (figure: Figure, of: 'errors' | 'naiveErrors'): number =>
      Math.max(...byOutput.map((one) => one[of][figure]));
    const missed = FIGURES.filter((figure) => worst(figure, 'naiveErrors') > NAIVE_ERROR_MIN);
    if (missed.length === 0) continue;
    hard++;
    const lacking = missed.filter((figure) => worst(figure, 'errors') > worst(figure, 'naiveErrors') / 2);
    if (lacking.length === 0) better++;
    for (const figure of lacking) misses.push(...byOutput.map((of) => ({ plan, of, figure })));
  }
  return {
    what: 'skill',
    mark: `at most half the naive error in every cell where that is above ${percent(NAIVE_ERROR_MIN)}, which are at least ${NAIVE_CELLS_MIN}`,
    found: `${better} of ${hard} cells`,
    isReached: hard >= NAIVE_CELLS_MIN && better === hard,
    misses,
  };
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
