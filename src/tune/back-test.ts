/**
 * Whether the model can be believed on this recording. At most three numbers are fitted on its first half. Their
 * prediction of the second half is compared with the measured figures.
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
}

/** A number of the calibration that is fitted. */
export interface Fitted {
  readonly name: 'API latency' | 'CPU' | 'watch lag';
  readonly scale: (calibration: Calibration, factor: number) => Calibration;
}

export const FITTED: readonly Fitted[] = [
  {
    name: 'API latency',
    scale: (calibration, factor) => ({
      ...calibration,
      apiMs: { ...calibration.apiMs, median: calibration.apiMs.median * factor },
    }),
  },
  {
    name: 'CPU',
    scale: (calibration, factor) => ({ ...calibration, cpuFactor: calibration.cpuFactor * factor }),
  },
  {
    name: 'watch lag',
    scale: (calibration, factor) => ({ ...calibration, watchLagMs: calibration.watchLagMs * factor }),
  },
];

/** p99 over median of the API latency. It is fitted where runs tell it, as those of a bench do. */
export const API_TAIL: Pick<Fitted, 'scale'> = {
  scale: (calibration, factor) => ({
    ...calibration,
    apiMs: { ...calibration.apiMs, tail: Math.max(1, calibration.apiMs.tail * factor) },
  }),
};

/** Numbers that a fit does not move, and bounds of the others. */
export interface Held {
  readonly names: readonly Fitted['name'][];
  readonly cpuFactorMax: number;
}

const NOTHING_HELD: Held = { names: [], cpuFactorMax: Infinity };

/** Factors of the steps, from coarse to fine. */
const FACTORS: readonly number[] = [8, 3, 1.6, 1.25, 1.1, 1.04];

/**
 * @param run today's settings; the fit begins at its calibration
 * @param smallMs latencies that differ by no more are not called off, see `smallMs` of an objective
 */
export function backTest(run: Run, evidence: Evidence, held = NOTHING_HELD, smallMs = 0): BackTest {
  const { story } = run;
  const halfMs = story.durationMs / 2;
  const first = storyBetween(story, 0, halfMs);
  const measured = evidenceBetween(evidence, 0, halfMs);
  const calibration = fit(
    run.calibration,
    (tried) => lossOf(compare(runModel({ ...run, story: first, calibration: tried }), measured)),
    FITTED.filter(({ name }) => !held.names.includes(name)),
    held.cpuFactorMax,
  );
  // The whole story is played: the second half begins with the queues and the tokens that the first one has left.
  const secondHalf = (of: Evidence): Evidence =>
    shownBefore(evidenceBetween(of, halfMs, story.durationMs), story.durationMs);
  const comparisons = compare(secondHalf(runModel({ ...run, calibration })), secondHalf(evidence));
  const isOff = ({ figure, predicted, measured }: Comparison): boolean =>
    figure === 'writes' || Number.isNaN(predicted) || Math.abs(predicted - measured) > smallMs;
  const errors = comparisons.filter(isOff).map(({ error }) => error);
  const worst = comparisons.length === 0 ? null : Math.max(0, ...errors);
  return { calibration, comparisons, worst };
}

/**
 * The calibration with the least loss, beginning at `start`. One number after the other moves, in smaller and smaller
 * steps.
 */
export function fit(
  start: Calibration,
  loss: (calibration: Calibration) => number,
  free: readonly Pick<Fitted, 'scale'>[],
  cpuFactorMax = Infinity,
): Calibration {
  let best = start;
  let least = loss(best);
  for (const factor of FACTORS) {
    for (let isBetter = true; isBetter;) {
      isBetter = false;
      for (const { scale } of free) {
        for (const by of [factor, 1 / factor]) {
          const calibration = scale(best, by);
          if (calibration.cpuFactor > cpuFactorMax) continue;
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
