/**
 * The API server's latency for a write. It is lognormal, and drawn by the write's identity, so that all settings have
 * the same luck.
 */
import { exp, log } from '../lib/exp-log.ts';
import { uniformAt } from './draw.ts';
import type { Output } from './ledger.ts';
import type { Calibration } from './settings.ts';

/**
 * @param ordinal the number of the write for this service and output
 * @param endpoints how many the written object has
 */
export type DrawLatency = (service: number, ordinal: number, output: Output, endpoints: number) => number;

export function createLatency(calibration: Calibration, seed: number): DrawLatency {
  const { apiMs } = calibration;
  const sigma = sigmaOf(apiMs.tail);
  return (service, ordinal, output, endpoints) =>
    apiMs.median *
    sizeFactor(calibration, output, endpoints) *
    exp(sigma * normalAt(uniformAt(seed, service, ordinal)));
}

/** How many times as long the write of an object takes as that of one without endpoints. */
export function sizeFactor({ apiEach }: Calibration, output: Output, endpoints: number): number {
  return 1 + apiEach[output] * endpoints;
}

/** The standard deviation of the logarithms of a lognormal distribution whose p99 is so many times its median. */
export function sigmaOf(tail: number): number {
  return log(Math.max(1, tail)) / NORMAL_P99;
}

/** The reverse of `sigmaOf`. */
export function tailOf(sigma: number): number {
  return exp(NORMAL_P99 * sigma);
}

/** The p99 of the standard normal distribution. */
const NORMAL_P99 = 2.326;

/** After the API server has stored a write, the times until its answer and its event are in the writer's process. */
export type DrawArrivals = (
  service: number,
  ordinal: number,
) => { readonly answerMs: number; readonly eventMs: number };

/**
 * Both lag exponentially, by `watchLagMs` in the mean, and by the same for the same write. So the event of one write comes
 * before the answer, that of another one after it, as with a real API server.
 */
export function createArrivals({ watchLagMs }: Calibration, seed: number): DrawArrivals {
  const lag = (salt: number, service: number, ordinal: number): number =>
    -watchLagMs * log(uniformAt(seed ^ salt, service, ordinal));
  return (service, ordinal) => ({
    answerMs: lag(ANSWER_SALT, service, ordinal),
    eventMs: lag(EVENT_SALT, service, ordinal),
  });
}

const ANSWER_SALT = 0x51ed270b;
const EVENT_SALT = 0x2545f491;

/** The quantile of the standard normal distribution, within 0.005 (Abramowitz and Stegun 26.2.23). */
function normalAt(share: number): number {
  const t = Math.sqrt(-2 * log(Math.min(share, 1 - share)));
  const z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return share < 0.5 ? -z : z;
}
