/** The numbers of an answer and their sources. Measured numbers enter the calibration. */
import { cpuOf, writesOf } from '../twin/figures.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Calibration } from '../twin/settings.ts';
import type { Held } from './back-test.ts';
import { type CpuPerWrite, type Measured, UNSURE } from './measured.ts';
import type { Unsure } from './recommend.ts';

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
  readonly held: Held;
  readonly unsure: Unsure;
}

/** endpointd's CPU is its own. The other work in the process depends on the load. */
const UNSURE_CPU = 1.1;

export function startOf(run: Run, { apiMs, cpuMsPerWrite }: Measured): Start {
  const names: Held['names'][number][] = [];
  let { calibration } = run;
  const unsure = { 'API latency': UNSURE, CPU: UNSURE, 'watch lag': UNSURE };
  if (apiMs !== null) {
    const { median, tail } = apiMs.value;
    calibration = { ...calibration, apiMs: { median, tail } };
    names.push('API latency');
    unsure['API latency'] = apiMs.value.unsure;
  }
  let cpuFactorMax = Infinity;
  if (cpuMsPerWrite !== null) {
    const { isMost } = cpuMsPerWrite.value;
    const factor = cpuFactorFor({ ...run, calibration }, cpuMsPerWrite.value);
    if (isMost) {
      cpuFactorMax = factor;
      calibration = { ...calibration, cpuFactor: Math.min(calibration.cpuFactor, factor) };
    } else {
      calibration = { ...calibration, cpuFactor: factor };
      names.push('CPU');
      unsure['CPU'] = UNSURE_CPU;
    }
  }
  return { calibration, held: { names, cpuFactorMax }, unsure };
}

/** The factor with which the model uses so much CPU for each write of these outputs. */
function cpuFactorFor(run: Run, { ms, of }: CpuPerWrite): number {
  const ledger = runModel(run);
  const writes = writesOf(ledger, of);
  return writes === 0 ? run.calibration.cpuFactor : (run.calibration.cpuFactor * ms * writes) / cpuOf(ledger);
}

/** @param fallback the source of numbers that nobody has measured: a fit, a file, usual values */
export function calibrationNumbers(
  { apiMs, cpuFactor, watchLagMs, cores }: Calibration,
  { unsure, held }: Start,
  measured: Measured,
  fallback: string,
): KnownNumber[] {
  const spread = (name: keyof Unsure): string => `${Math.round(100 * (unsure[name] - 1))} %`;
  const most = held.cpuFactorMax === Infinity ? '' : `${fallback}, at most what was measured: `;
  return [
    {
      name: 'API latency, median',
      value: `${apiMs.median.toFixed(1)} ms`,
      unsure: spread('API latency'),
      from: measured.apiMs?.from ?? fallback,
    },
    {
      name: 'CPU, of that of the machine that was measured',
      value: `${cpuFactor.toFixed(2)} x`,
      unsure: spread('CPU'),
      from: measured.cpuMsPerWrite === null ? fallback : most + measured.cpuMsPerWrite.from,
    },
    { name: 'watch lag', value: `${watchLagMs.toFixed(1)} ms`, unsure: spread('watch lag'), from: fallback },
    { name: 'cores', value: String(cores), unsure: '', from: measured.cores?.from ?? 'given, or what is usual' },
    ...(measured.flowWaits?.value ?? []).slice(0, FLOWS_SHOWN).map(({ schema, ms }) => ({
      name: `wait in flow control, ${schema}`,
      value: `${ms.toFixed(1)} ms`,
      unsure: '',
      from: `${measured.flowWaits!.from}; part of the API latency`,
    })),
  ];
}

const FLOWS_SHOWN = 3;
