/**
 * Whether the model can be believed on this recording. At most three numbers are fitted on its first half: median and tail
 * of the API latency, and the watch lag. Their prediction of the second half is compared with the measured figures.
 */
import { assert } from '../lib/assert.ts';
import { log } from '../lib/exp-log.ts';
import type { Output } from '../twin/ledger.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Calibration, Settings } from '../twin/settings.ts';
import { storyBetween } from '../twin/story.ts';
import { fewestTokens } from '../twin/write-tokens.ts';
import { backlogOf } from './backlog.ts';
import { UNSURE } from './measured.ts';
import {
  compare,
  compareSizes,
  type Comparison,
  type Evidence,
  errorBeyondChance,
  evidenceBetween,
  shownBefore,
  sizeRatios,
} from './evidence.ts';
import { type Objective, smallMs } from './objective.ts';
import { ownFigures, type OwnFigures, type Raise } from './own-figures.ts';

export interface BackTest {
  readonly calibration: Calibration;
  /** Those by which the prediction is judged, then the sizes of written objects. */
  readonly comparisons: readonly Comparison[];
  /** See `Run`. */
  readonly endpointsRatio: Readonly<Record<Output, number>>;
  /** The largest error in the second half, without what is small or chance; null = nothing was measured there. */
  readonly worst: number | null;
  /** The numbers that the recording does not tell: half and twice as much predict the same. They are as they were given. */
  readonly untold: readonly NumberName[];
  /** How far each fitted number may be off, so that it predicts the first half as well. */
  readonly unsure: ReadonlyMap<NumberName, Spread>;
  /** Calibrations with quite another API latency, and other numbers with it, that predict the first half as well. */
  readonly alternatives: readonly Calibration[];
  /** For each constraint of the objective, and for its goal. */
  readonly raises: readonly Raise[];
}

/** The factors, at least 1, by which a number may be smaller and larger. */
export interface Spread {
  readonly down: number;
  readonly up: number;
}

export type NumberName = 'API latency' | 'CPU' | 'watch lag' | 'API tail';

/** How far the numbers that were measured may be off. One that is no less sure than a fit is not fitted. */
export type Known = Readonly<Partial<Record<NumberName, Spread>>>;

/** Whether it was measured as well as a fit would tell it. */
function isHeld(known: Spread | undefined): boolean {
  return known !== undefined && Math.max(known.down, known.up) <= UNSURE;
}

/** A number of the calibration that a recording, or metrics, may tell. */
export interface Fitted {
  readonly name: NumberName;
  readonly scale: (calibration: Calibration, factor: number) => Calibration;
  readonly of: (calibration: Calibration) => number;
}

/**
 * The numbers that are fitted to latencies, with what it costs the fit to move one by a factor of e. Latencies tell the sum
 * of what a change waits for, and hardly its parts, so without a cost one part takes what is of another. They do not tell
 * the CPU at all: the API latency takes its place at no loss.
 */
const RIGIDITY: Readonly<Partial<Record<NumberName, number>>> = {
  'API latency': 0.002,
  'API tail': 0.02,
  'watch lag': 0.1,
};

export const FITTED: readonly Fitted[] = [
  {
    name: 'API latency',
    scale: (calibration, factor) => ({
      ...calibration,
      apiMs: { ...calibration.apiMs, median: calibration.apiMs.median * factor },
    }),
    of: ({ apiMs }) => apiMs.median,
  },
  {
    name: 'CPU',
    scale: (calibration, factor) => ({ ...calibration, cpuFactor: calibration.cpuFactor * factor }),
    of: ({ cpuFactor }) => cpuFactor,
  },
  {
    name: 'watch lag',
    scale: (calibration, factor) => ({ ...calibration, watchLagMs: calibration.watchLagMs * factor }),
    of: ({ watchLagMs }) => watchLagMs,
  },
  {
    // p99 over median.
    name: 'API tail',
    scale: (calibration, factor) => ({
      ...calibration,
      apiMs: { ...calibration.apiMs, tail: Math.max(1, calibration.apiMs.tail * factor) },
    }),
    of: ({ apiMs }) => apiMs.tail,
  },
];

/** Factors of the steps, from coarse to fine. */
const FACTORS: readonly number[] = [8, 3, 1.6, 1.25, 1.1, 1.04];
/**
 * The API latencies from which a fit begins, as factors of the given one. Of a change that waits for a token now and then, a
 * long latency and a short one with a long lag are two valleys, and the steps of one number do not lead from one to the other.
 */
const BEGINS: readonly number[] = [0.16, 0.4, 1, 2.5, 6.25];
/** The steps of the other numbers there. */
const COARSE: readonly number[] = [2, 1.3];

/**
 * @param run today's settings; the fit begins at its calibration
 * @param known numbers that were measured: the calibration has them, and the fit does not leave them
 * @param objective whose figures of latencies are compared too; null = those that are compared in any case
 * @param running called before each run of the fit
 */
export function backTest(
  run: Run,
  evidence: Evidence,
  known: Known = {},
  objective: Objective | null = null,
  running: () => void = () => undefined,
): BackTest {
  const { durationMs } = run.story;
  // What is compared is this very time, whose writes tell how it began.
  const begin = evidenceBetween(evidence, 0, durationMs / 2);
  const recorded = {
    ...run,
    tokensAtStart: fewestTokens(run, begin.writes),
    waitingAtStart: backlogOf(run, begin),
  };
  const fitted = fitFirstHalf(recorded, evidence, known, running);
  // The whole story is played: the second half begins with the queues and the tokens that the first one has left.
  const secondHalf = (of: Evidence): Evidence =>
    shownBefore(evidenceBetween(of, durationMs / 2, durationMs), durationMs);
  const predicted = secondHalf(runModel({ ...recorded, calibration: fitted.calibration }));
  const measured = secondHalf(evidence);
  const small = objective === null ? 0 : smallMs(objective);
  const own = objective === null ? NO_OWN : ownFigures(objective, predicted, measured, small);
  const judged = [...compare(predicted, measured, small), ...own.comparisons];
  const worst = judged.length === 0 ? null : Math.max(...judged.map(errorBeyondChance));
  const sizes = compareSizes(predicted, measured);
  return {
    ...fitted,
    comparisons: [...judged, ...sizes],
    endpointsRatio: sizeRatios(sizes),
    worst,
    raises: own.raises,
  };
}

const NO_OWN: OwnFigures = { comparisons: [], raises: [] };

type Fit = Pick<BackTest, 'calibration' | 'untold' | 'unsure' | 'alternatives'>;

function fitFirstHalf(run: Run, evidence: Evidence, known: Known, running: () => void): Fit {
  const { story } = run;
  const halfMs = story.durationMs / 2;
  const first = storyBetween(story, 0, halfMs);
  // Both end in the middle of the recording, whatever still waits there.
  const firstHalf = (of: Evidence): Evidence => shownBefore(evidenceBetween(of, 0, halfMs), halfMs);
  const measured = firstHalf(evidence);
  const mayBe = (tried: Calibration): boolean => isWithin(known, run.calibration, tried);
  const losses = new Map<string, number>();
  const play = (calibration: Calibration): number => {
    running();
    const predicted = firstHalf(runModel({ ...run, story: first, calibration }));
    return lossOf(compare(predicted, measured), run.settings);
  };
  const lossAt = (tried: Calibration): number => {
    const key = keyOf(tried);
    let loss = losses.get(key);
    if (loss === undefined) losses.set(key, (loss = mayBe(tried) ? play(tried) : Infinity));
    return loss;
  };
  // What is 0 stays 0, whatever it is multiplied by.
  const isFree = ({ name, of }: Fitted): boolean =>
    RIGIDITY[name] !== undefined && !isHeld(known[name]) && of(run.calibration) > 0;
  const free = FITTED.filter(isFree);
  const costOf = (tried: Calibration): number =>
    free.reduce((sum, { name, of }) => sum + RIGIDITY[name]! * log(of(tried) / of(run.calibration)) ** 2, 0);
  const lossAndCostAt = (tried: Calibration): number => lossAt(tried) + costOf(tried);
  const begins = fitsFrom(beginsOf(run.calibration, free).filter(mayBe), lossAndCostAt, free);
  const [nearest] = begins.toSorted((a, b) => a.loss - b.loss);
  const fitted = fit(nearest!.calibration, lossAndCostAt, free);
  const least = lossAt(fitted);
  const alike = (tried: Calibration): boolean => lossAt(tried) < least + TOLD_LOSS;
  const asGiven = ({ of }: Fitted): number => of(run.calibration) / of(fitted);
  const endsOf = (one: Fitted): Spread | null => ends(known[one.name], asGiven(one));
  const untold = free.filter((one) => {
    const { down, up } = endsOf(one) ?? HALF_AND_TWICE;
    return [1 / down, up, asGiven(one)].every((factor) => alike(one.scale(fitted, factor)));
  });
  const told = free.filter((one) => !untold.includes(one));
  return {
    calibration: untold.reduce((found, one) => one.scale(found, asGiven(one)), fitted),
    untold: untold.map(({ name }) => name),
    unsure: new Map(told.map((one) => [one.name, spreadOf(one, endsOf(one), fitted, alike)])),
    alternatives: told.some(isLatency) ? outermost(begins.map(({ calibration }) => calibration).filter(alike)) : [],
  };
}

/** The same for a calibration to which a step has led back, but for its rounding. */
function keyOf(calibration: Calibration): string {
  return FITTED.map(({ of }) => of(calibration).toPrecision(9)).join(' ');
}

/** Whether no number is further from the given one than it was measured. */
function isWithin(known: Known, given: Calibration, tried: Calibration): boolean {
  return FITTED.every(({ name, of }) => {
    const { down, up } = known[name] ?? ANY;
    const factor = of(given) === 0 ? 1 : of(tried) / of(given);
    return factor >= (1 - ROUNDING) / down && factor <= (1 + ROUNDING) * up;
  });
}

const ANY: Spread = { down: Infinity, up: Infinity };
const ROUNDING = 1e-9;

/** The ends of what was measured, as factors of the fitted number; null = it was not measured. */
function ends(known: Spread | undefined, asGiven: number): Spread | null {
  return known === undefined ? null : { down: known.down / asGiven, up: known.up * asGiven };
}

const HALF_AND_TWICE: Spread = { down: 2, up: 2 };

interface RoughFit {
  readonly calibration: Calibration;
  readonly loss: number;
}

function beginsOf(start: Calibration, free: readonly Fitted[]): readonly Calibration[] {
  const latency = free.find(isLatency);
  return latency === undefined ? [start] : BEGINS.map((factor) => latency.scale(start, factor));
}

/** For each of these API latencies the calibration whose other numbers fit best. */
function fitsFrom(
  begins: readonly Calibration[],
  loss: (calibration: Calibration) => number,
  free: readonly Fitted[],
): readonly RoughFit[] {
  const others = free.filter((one) => !isLatency(one));
  return begins.map((begin) => {
    const calibration = fit(begin, loss, others, COARSE);
    return { calibration, loss: loss(calibration) };
  });
}

function isLatency({ name }: Fitted): boolean {
  return name === 'API latency';
}

/**
 * The largest factors at which the first half is predicted as well, if nothing else is changed.
 * @param most the ends of what was measured
 */
function spreadOf(
  { scale }: Fitted,
  most: Spread | null,
  fitted: Calibration,
  alike: (calibration: Calibration) => boolean,
): Spread {
  const largest = (end: number | undefined, scaled: (factor: number) => Calibration): number => {
    const factors = end === undefined ? SPREADS : [...SPREADS, end];
    const found = Math.max(UNSURE, ...factors.filter((factor) => alike(scaled(factor))));
    return end === undefined ? found : Math.max(1, Math.min(end, found));
  };
  return {
    down: largest(most?.down, (factor) => scale(fitted, 1 / factor)),
    up: largest(most?.up, (factor) => scale(fitted, factor)),
  };
}

const SPREADS: readonly number[] = [1.5, 2, 3];

/** Those with the least and the largest API latency. */
function outermost(calibrations: readonly Calibration[]): Calibration[] {
  const sorted = calibrations.toSorted((a, b) => a.apiMs.median - b.apiMs.median);
  return sorted.length < 2 ? sorted : [sorted[0]!, sorted.at(-1)!];
}

/** Eight figures that are each off by 5 % come to as much. */
const TOLD_LOSS = 0.02;

/**
 * The calibration with the least loss, beginning at `start`. One number after the other moves, in smaller and smaller
 * steps.
 */
export function fit(
  start: Calibration,
  loss: (calibration: Calibration) => number,
  free: readonly Pick<Fitted, 'scale'>[],
  factors = FACTORS,
): Calibration {
  let best = start;
  let least = loss(best);
  for (const factor of factors) {
    for (let isBetter = true; isBetter;) {
      isBetter = false;
      for (const { scale } of free) {
        for (const by of [factor, 1 / factor]) {
          const calibration = scale(best, by);
          const found = loss(calibration);
          assert(!Number.isNaN(found), 'the loss of a fit is a number');
          if (found >= least - LOSS_STEP) continue;
          best = calibration;
          least = found;
          isBetter = true;
        }
      }
    }
  }
  return best;
}

const LOSS_STEP = 1e-4;

/**
 * The sum of the squared logarithms: half as much and twice as much are equally wrong. Of a latency that is longer than the batch
 * period what is beyond it counts: the flags make the rest, and beside half a second nothing would tell what a write takes.
 */
function lossOf(comparisons: readonly Comparison[], { endpointsBatchMs, slicesBatchMs }: Settings): number {
  const batchMs = { endpoints: endpointsBatchMs, slices: slicesBatchMs };
  let loss = 0;
  for (const { output, unit, predicted, measured } of comparisons) {
    const isBeyond = unit === 'ms' && batchMs[output] > 0 && measured > batchMs[output];
    const [floor, less] = isBeyond ? [BEYOND_FLOOR, batchMs[output]] : [FLOOR, 0];
    const of = (value: number): number => Math.max(floor, (value || 0) - less);
    loss += log(of(predicted) / of(measured)) ** 2;
  }
  return loss;
}

const FLOOR = 0.1;
/** Milliseconds: a change at the end of a batch period may be on either side of it. */
const BEYOND_FLOOR = 1;
