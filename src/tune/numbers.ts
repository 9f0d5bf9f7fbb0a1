/** The numbers of an answer and their sources. Measured numbers enter the calibration. */
import { percentile } from '../lib/percentile.ts';
import { sizeFactor } from '../twin/api-latency.ts';
import { cpuOf, writesOf } from '../twin/figures.ts';
import { OUTPUTS } from '../twin/ledger.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Calibration } from '../twin/settings.ts';
import type { BackTest, NumberName } from './back-test.ts';
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
  /** The measured numbers. */
  readonly held: readonly NumberName[];
  readonly unsure: Unsure;
  /** Whether the CPU is at most what metrics tell; null = they do not bound it. */
  readonly cpuFactorMax: number | null;
}

/** endpointd's CPU is its own. The other work in the process depends on the load. */
const UNSURE_CPU = 1.1;
/** What neither the recording nor metrics tell is a guess: a machine may be half or twice as fast as the measured one. */
const UNSURE_GUESS = 2;

export function startOf(run: Run, { apiMs, cpuMsPerWrite }: Measured): Start {
  const held: NumberName[] = [];
  let { calibration } = run;
  const unsure = { 'API latency': UNSURE, 'API tail': UNSURE, CPU: UNSURE, 'watch lag': UNSURE };
  if (apiMs !== null) {
    const { median, tail } = apiMs.value;
    calibration = { ...calibration, apiMs: { median: median / usualFactor(run), tail } };
    for (const name of ['API latency', 'API tail'] as const) {
      held.push(name);
      unsure[name] = apiMs.value.unsure;
    }
  }
  let cpuFactorMax: number | null = null;
  if (cpuMsPerWrite !== null) {
    const factor = cpuFactorFor({ ...run, calibration }, cpuMsPerWrite.value);
    held.push('CPU');
    if (cpuMsPerWrite.value.isMost) {
      cpuFactorMax = factor;
      calibration = { ...calibration, cpuFactor: Math.min(calibration.cpuFactor, factor) };
      unsure['CPU'] = Math.min(UNSURE_GUESS, Math.max(UNSURE, factor / calibration.cpuFactor));
    } else {
      calibration = { ...calibration, cpuFactor: factor };
      unsure['CPU'] = UNSURE_CPU;
    }
  }
  return { calibration, held, unsure, cpuFactorMax };
}

/** The start for a recording: what it does not tell, and nobody has measured, is a guess. */
export function withFit(start: Start, { untold, unsure }: Pick<BackTest, 'untold' | 'unsure'>): Start {
  const guessed = [...untold, ...(start.held.includes('CPU') ? [] : (['CPU'] as const))];
  const guesses = guessed.map((name) => [name, UNSURE_GUESS] as const);
  return { ...start, unsure: { ...start.unsure, ...Object.fromEntries([...unsure, ...guesses]) } };
}

/** How many times as long the median write of the run takes as that of an object without endpoints. */
function usualFactor(run: Run): number {
  const { writes } = runModel(run);
  const factors = OUTPUTS.flatMap((output) =>
    writes[output].map(({ endpoints }) => sizeFactor(run.calibration, output, endpoints)),
  );
  return factors.length === 0 ? 1 : percentile(factors, 0.5);
}

/** The factor with which the model uses so much CPU for each write of these outputs. */
function cpuFactorFor(run: Run, { ms, of }: CpuPerWrite): number {
  const ledger = runModel(run);
  const writes = writesOf(ledger, of);
  return writes === 0 ? run.calibration.cpuFactor : (run.calibration.cpuFactor * ms * writes) / cpuOf(ledger);
}

/** @param fallback the sources of numbers that nobody has measured: a fit, a file, usual values */
export function calibrationNumbers(
  { apiMs, apiEach, cpuFactor, watchLagMs, cores }: Calibration,
  { unsure, cpuFactorMax }: Start,
  measured: Measured,
  fallback: Readonly<Record<NumberName, string>>,
  coresFrom: string,
): KnownNumber[] {
  const spread = (name: NumberName): string =>
    unsure[name] < UNSURE_GUESS
      ? `${Math.round(100 * (unsure[name] - 1))} %`
      : unsure[name] === UNSURE_GUESS
        ? 'half to twice as much'
        : `up to ${unsure[name].toFixed(1)} times as much, or as little`;
  const most = cpuFactorMax === null ? '' : `${fallback.CPU}, at most what was measured: `;
  return [
    {
      name: 'API latency, median of an object without endpoints',
      value: `${apiMs.median.toFixed(1)} ms`,
      unsure: spread('API latency'),
      from: measured.apiMs?.from ?? fallback['API latency'],
    },
    {
      name: 'API latency, p99 over median',
      value: `${apiMs.tail.toFixed(1)} x`,
      unsure: spread('API tail'),
      from: measured.apiMs?.from ?? fallback['API tail'],
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
      unsure: spread('CPU'),
      from: measured.cpuMsPerWrite === null ? fallback.CPU : most + measured.cpuMsPerWrite.from,
    },
    {
      name: 'watch lag',
      value: `${watchLagMs.toFixed(1)} ms`,
      unsure: spread('watch lag'),
      from: fallback['watch lag'],
    },
    { name: 'cores', value: String(cores), unsure: '', from: measured.cores?.from ?? coresFrom },
    ...(measured.flowWaits?.value ?? []).slice(0, FLOWS_SHOWN).map(({ schema, ms }) => ({
      name: `wait in flow control, ${schema}`,
      value: `${ms.toFixed(1)} ms`,
      unsure: '',
      from: `${measured.flowWaits!.from}; part of the API latency`,
    })),
  ];
}

const FLOWS_SHOWN = 3;

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
