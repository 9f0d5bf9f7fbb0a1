/**
 * Whether the model can be believed on this recording. At most two numbers are fitted on its first half. Their prediction
 * of the second half is compared with the measured figures.
 */
import { assert } from '../lib/assert.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Calibration } from '../twin/settings.ts';
import { storyBetween } from '../twin/story.ts';
import { compare, type Comparison, type Evidence, evidenceBetween, shownBefore } from './evidence.ts';

export interface BackTest {
  readonly calibration: Calibration;
  readonly comparisons: readonly Comparison[];
  /** The largest error in the second half, without small differences; null = nothing was measured there. */
  readonly worst: number | null;
  /** The numbers that the recording does not tell: half and twice as much predict the same. They are as they were given. */
  readonly untold: readonly NumberName[];
}

export type NumberName = 'API latency' | 'CPU' | 'watch lag';

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
const RIGIDITY: Readonly<Partial<Record<NumberName, number>>> = { 'API latency': 0.002, 'watch lag': 0.1 };

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
];

/** p99 over median of the API latency. It is fitted where runs tell it, as those of a bench do. */
export const API_TAIL: Pick<Fitted, 'scale'> = {
  scale: (calibration, factor) => ({
    ...calibration,
    apiMs: { ...calibration.apiMs, tail: Math.max(1, calibration.apiMs.tail * factor) },
  }),
};

/** Factors of the steps, from coarse to fine. */
const FACTORS: readonly number[] = [8, 3, 1.6, 1.25, 1.1, 1.04];

/**
 * @param run today's settings; the fit begins at its calibration
 * @param held numbers that were measured, which the fit does not move
 * @param smallMs latencies that differ by no more are not called off, see `smallMs` of an objective
 */
export function backTest(run: Run, evidence: Evidence, held: readonly NumberName[] = [], smallMs = 0): BackTest {
  const { story } = run;
  const halfMs = story.durationMs / 2;
  const first = storyBetween(story, 0, halfMs);
  // Both end in the middle of the recording, whatever still waits there.
  const firstHalf = (of: Evidence): Evidence => shownBefore(evidenceBetween(of, 0, halfMs), halfMs);
  const measured = firstHalf(evidence);
  const lossAt = (tried: Calibration): number =>
    lossOf(compare(firstHalf(runModel({ ...run, story: first, calibration: tried })), measured));
  // What is 0 stays 0, whatever it is multiplied by.
  const isFree = ({ name, of }: Fitted): boolean =>
    RIGIDITY[name] !== undefined && !held.includes(name) && of(run.calibration) > 0;
  const free = FITTED.filter(isFree);
  const costOf = (tried: Calibration): number =>
    free.reduce((sum, { name, of }) => sum + RIGIDITY[name]! * Math.log(of(tried) / of(run.calibration)) ** 2, 0);
  const fitted = fit(run.calibration, (tried) => lossAt(tried) + costOf(tried), free);
  const untold = free.filter(({ scale }) => !isTold(lossAt, fitted, scale));
  const calibration = untold.reduce((found, { of, scale }) => scale(found, of(run.calibration) / of(fitted)), fitted);
  // The whole story is played: the second half begins with the queues and the tokens that the first one has left.
  const secondHalf = (of: Evidence): Evidence =>
    shownBefore(evidenceBetween(of, halfMs, story.durationMs), story.durationMs);
  const comparisons = compare(secondHalf(runModel({ ...run, calibration })), secondHalf(evidence));
  const isOff = ({ figure, predicted, measured }: Comparison): boolean =>
    figure === 'writes' || Number.isNaN(predicted) || Math.abs(predicted - measured) > smallMs;
  const errors = comparisons.filter(isOff).map(({ error }) => error);
  const worst = comparisons.length === 0 ? null : Math.max(0, ...errors);
  return { calibration, comparisons, worst, untold: untold.map(({ name }) => name) };
}

/** Whether the loss depends on the number. */
function isTold(lossAt: (calibration: Calibration) => number, fitted: Calibration, scale: Fitted['scale']): boolean {
  const least = lossAt(fitted);
  return [2, 1 / 2].some((factor) => Math.abs(lossAt(scale(fitted, factor)) - least) >= TOLD_LOSS);
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
): Calibration {
  let best = start;
  let least = loss(best);
  for (const factor of FACTORS) {
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

/** The sum of the squared logarithms: half as much and twice as much are equally wrong. */
function lossOf(comparisons: readonly Comparison[]): number {
  let loss = 0;
  for (const { predicted, measured } of comparisons) {
    loss += Math.log(Math.max(FLOOR, predicted || FLOOR) / Math.max(FLOOR, measured)) ** 2;
  }
  return loss;
}

const FLOOR = 0.1;
