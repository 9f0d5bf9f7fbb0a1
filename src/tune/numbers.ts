/** The numbers of an answer and their sources. Measured numbers enter the calibration. */
import { exp, log } from '../lib/exp-log.ts';
import { sigmaOf, sizeFactor, tailOf } from '../twin/api-latency.ts';
import { cpuOf, writesOf } from '../twin/figures.ts';
import { OUTPUTS } from '../twin/ledger.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Calibration } from '../twin/settings.ts';
import type { BackTest, Known, NumberName, Spread } from './back-test.ts';
import type { Lognormal } from './lognormal.ts';
import type { CpuPerWrite, Measured } from './measured.ts';
import type { Unsure } from './bounds.ts';

/** A number for people. */
export interface KnownNumber {
  readonly name: string;
  readonly value: string;
  /** Such as `25 %`, up and down; '' = the number is certain. */
  readonly unsure: string;
  readonly from: string;
}

/** The question with the measured numbers. */
export interface Start {
  /** The calibration with the measured numbers, where a fit begins. */
  readonly calibration: Calibration;
  readonly known: Known;
  /** The numbers that were fitted to a recording. */
  readonly fitted: readonly NumberName[];
  readonly unsure: Unsure;
  /** See `BackTest`. */
  readonly alternatives: readonly Calibration[];
  /** Whether the CPU is at most what metrics tell; null = they do not bound it. */
  readonly cpuFactorMax: number | null;
}

/** endpointd's CPU is its own. The other work in the process depends on the load. */
const UNSURE_CPU = 1.1;
/** What neither the recording nor metrics tell is a guess: a machine may be half or twice as fast as the measured one. */
const UNSURE_GUESS = 2;

/** Of numbers that nobody has told. */
export const GUESSED: Unsure = {
  'API latency': eitherWay(UNSURE_GUESS),
  'API tail': eitherWay(UNSURE_GUESS),
  CPU: eitherWay(UNSURE_GUESS),
  'watch lag': eitherWay(UNSURE_GUESS),
};

/** @param given how far the numbers of the run's calibration may be off, as far as metrics do not tell them */
export function startOf(run: Run, { apiMs, cpuMsPerWrite }: Measured, given: Unsure): Start {
  const known: Partial<Record<NumberName, Spread>> = {};
  let { calibration } = run;
  if (apiMs !== null) {
    const { median, tail, isOfOutputs } = apiMs.value;
    calibration = { ...calibration, apiMs: isOfOutputs ? withoutSizes(apiMs.value, run) : { median, tail } };
    known['API latency'] = eitherWay(apiMs.value.unsure.median);
    known['API tail'] = eitherWay(apiMs.value.unsure.tail);
  }
  let cpuFactorMax: number | null = null;
  if (cpuMsPerWrite !== null) {
    const factor = cpuFactorFor({ ...run, calibration }, cpuMsPerWrite.value);
    if (cpuMsPerWrite.value.isMost) {
      cpuFactorMax = factor;
      calibration = { ...calibration, cpuFactor: Math.min(calibration.cpuFactor, factor) };
      known.CPU = { down: UNSURE_GUESS, up: Math.min(UNSURE_GUESS, factor / calibration.cpuFactor) };
    } else {
      calibration = { ...calibration, cpuFactor: factor };
      known.CPU = eitherWay(UNSURE_CPU);
    }
  }
  return { calibration, known, fitted: [], unsure: { ...given, ...known }, alternatives: [], cpuFactorMax };
}

/** As much smaller as larger. */
function eitherWay(factor: number): Spread {
  return { down: factor, up: factor };
}

/** How far each number may be off, also by the calibrations that may be as true. */
export function unsureOf({ apiMs }: Calibration, { unsure, alternatives }: Start): Unsure {
  const medians = alternatives.map((one) => one.apiMs.median);
  const { down, up } = unsure['API latency'];
  const latency = {
    down: Math.max(down, apiMs.median / Math.min(...medians)),
    up: Math.max(up, Math.max(...medians) / apiMs.median),
  };
  return { ...unsure, 'API latency': latency };
}

/**
 * The start for a recording: what it does not tell, and nobody has measured, is a guess, whatever a calibration says of other
 * times and machines.
 */
export function withFit(start: Start, fit: Pick<BackTest, 'untold' | 'unsure' | 'alternatives'>): Start {
  const guessed = [...fit.untold, 'CPU' as const].filter((name) => start.known[name] === undefined);
  const guesses = guessed.map((name) => [name, eitherWay(UNSURE_GUESS)] as const);
  const unsure = { ...start.unsure, ...Object.fromEntries([...fit.unsure, ...guesses]) };
  return { ...start, fitted: [...fit.unsure.keys()], unsure, alternatives: fit.alternatives };
}

/** The latency of an object without endpoints, of one that was measured on objects of all sizes as today's flags write them. */
function withoutSizes({ median, tail }: Lognormal, run: Run): Lognormal {
  const { writes } = runModel(run);
  const logs = OUTPUTS.flatMap((output) =>
    writes[output].map(({ endpoints }) => log(sizeFactor(run.calibration, output, endpoints))),
  );
  if (logs.length === 0) return { median, tail };
  const mean = logs.reduce((sum, each) => sum + each, 0) / logs.length;
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / logs.length;
  return {
    median: median / exp(mean),
    tail: tailOf(Math.sqrt(Math.max(0, sigmaOf(tail) ** 2 - variance))),
  };
}

/** The factor with which the model uses so much CPU for each write of these outputs. */
function cpuFactorFor(run: Run, { ms, of }: CpuPerWrite): number {
  const ledger = runModel(run);
  const writes = writesOf(ledger, of);
  return writes === 0 ? run.calibration.cpuFactor : (run.calibration.cpuFactor * ms * writes) / cpuOf(ledger);
}

/** @param fallback the sources of numbers that nobody has measured: a fit, a file, usual values */
export function calibrationNumbers(
  calibration: Calibration,
  start: Start,
  measured: Measured,
  fallback: Readonly<Record<NumberName, string>>,
  coresFrom: string,
): KnownNumber[] {
  const { apiMs, apiEach, cpuFactor, watchLagMs, cores } = calibration;
  const { fitted, cpuFactorMax } = start;
  const unsure = unsureOf(calibration, start);
  const fromOf = (name: 'API latency' | 'API tail'): string => {
    if (measured.apiMs === null) return fallback[name];
    const { from } = measured.apiMs;
    return fitted.includes(name) ? `${fallback[name]}, within the ${from}` : from;
  };
  const most = cpuFactorMax === null ? '' : `${fallback.CPU}, at most what was measured: `;
  return [
    {
      name: 'API latency, median of an object without endpoints',
      value: `${apiMs.median.toFixed(1)} ms`,
      unsure: spreadText(unsure['API latency']),
      from: fromOf('API latency'),
    },
    {
      name: 'API latency, p99 over median',
      value: `${apiMs.tail.toFixed(1)} x`,
      unsure: spreadText(unsure['API tail']),
      from: fromOf('API tail'),
    },
    {
      name: 'API latency, more for each endpoint of the object',
      value: `${percent(apiEach.endpoints)} (Endpoints), ${percent(apiEach.slices)} (slices)`,
      unsure: '',
      from: 'as measured on kube-apiserver, or the calibration',
    },
    {
      name: 'CPU, of that of the machine that was measured',
      value: `${cpuFactor.toFixed(2)} x`,
      unsure: spreadText(unsure['CPU']),
      from: measured.cpuMsPerWrite === null ? fallback.CPU : most + measured.cpuMsPerWrite.from,
    },
    {
      name: 'watch lag',
      value: `${watchLagMs.toFixed(1)} ms`,
      unsure: spreadText(unsure['watch lag']),
      from: fallback['watch lag'],
    },
    { name: 'cores', value: String(cores), unsure: '', from: measured.cores?.from ?? coresFrom },
    ...(measured.flowWaits?.value ?? []).map(({ schema, ms }) => ({
      name: `wait in flow control, ${schema}`,
      value: `${ms.toFixed(1)} ms`,
      unsure: '',
      from: measured.flowWaits!.from,
    })),
  ];
}

function spreadText({ down, up }: Spread): string {
  if (down === up && up < UNSURE_GUESS) return percentText(up);
  if (down === UNSURE_GUESS && up === UNSURE_GUESS) return 'half to twice as much';
  return `down to 1/${down.toFixed(1)}, up to ${up.toFixed(1)} x`;
}

function percentText(factor: number): string {
  return `${Math.round(100 * (factor - 1))} %`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
