/**
 * The figures of one setting, and how sure they are: bounds that nine of ten resamples do not exceed, with each unsure
 * number of the calibration raised and lowered.
 */
import { cpuOf, quantile, writesByTime, writesOf } from '../twin/figures.ts';
import { type ChangeKind, type Ledger, type Output, OUTPUTS, perOutput } from '../twin/ledger.ts';
import type { Encoding } from '../recording/sizes.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Settings } from '../twin/settings.ts';
import { outputsOf, type Story } from '../twin/story.ts';
import { FITTED, type Fitted, type Spread } from './back-test.ts';
import {
  excessOver,
  type Objective,
  type Scope,
  quantilesOf,
  sentBytes,
  tellingParts,
  valueOf,
  valueOfDraw,
  WORST_MS,
} from './objective.ts';
import type { Raise } from './own-figures.ts';
import { resamples } from './resample.ts';

/** The question. `run.settings` are today's, and `run.seed` draws. */
export interface Question {
  readonly run: Run;
  readonly objective: Objective;
  /** How many clients watch slices. */
  readonly nodes: number;
  readonly endpointsWatchers: number;
  readonly unsure: Unsure;
  /** Other calibrations that may be as true. */
  readonly alternatives: readonly Run['calibration'][];
  /** How the bounds of the constraints and of the goal are raised by what the back-test found; [] = not at all. */
  readonly raises: readonly Raise[];
}

/** By how much each number of the calibration may be smaller or larger. */
export type Unsure = Readonly<Record<Fitted['name'], Spread>>;

/** Milliseconds, shares, and rates per second. */
export interface LatencyRow {
  readonly output: Output;
  readonly kind: ChangeKind;
  /** Of changes that were shown, and of those that nothing showed. */
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly laterThanSecond: number;
}

export interface Outcome {
  readonly settings: Settings;
  readonly latencies: readonly LatencyRow[];
  readonly writesPerSecond: Readonly<Record<Output, number>>;
  /** Bytes to all watchers, if these all use that encoding. */
  readonly bytesPerSecond: Readonly<Record<Output, Readonly<Record<Encoding, number>>>>;
  /** The controller's CPU as a share of one core. */
  readonly cpuShare: number;
  /** The CPU of all API servers for these writes and their watchers, as a share of one core. */
  readonly apiServerCpuShare: number;
  /** The percentiles of the latencies of additions, in milliseconds; [] = there were none. See `additionsTo`. */
  readonly distribution: readonly number[];
  /** Writes per second in each ten seconds of the story, what is left of it with the last ones. */
  readonly writesByTime: readonly number[];
  /** Changes that later ones overtook before they were shown. */
  readonly overtaken: number;
  /** Each constraint and the goal: the figure of the run, and the bound of nine of ten resamples. */
  readonly checks: readonly Check[];
}

export interface Check {
  readonly text: string;
  readonly value: number;
  readonly bound: number;
  /** Infinity = the figure is the goal. */
  readonly most: number;
}

const RESAMPLES = 30;
const BOUND_SHARE = 0.9;
/** A block of a resample is half a minute long, or a tenth of a run that is shorter than five minutes. */
const BLOCKS_MIN = 10;
const KINDS: readonly ChangeKind[] = ['add', 'remove'];

export function scopeOf({ run, nodes, endpointsWatchers }: Question): Scope {
  return { durationMs: run.story.durationMs, nodes, endpointsWatchers };
}

/** The output whose additions are shown beside what the objective asks for: slices, or Endpoints where they alone are written. */
export function additionsTo(story: Story): Output {
  return outputsOf(story).includes('slices') ? 'slices' : 'endpoints';
}

/** In milliseconds; NaN = there were none. */
export function p99OfAdditions(ledger: Ledger, output: Output): number {
  return quantilesOf(ledger, { output, kinds: 'add' }, [0.99])[0]!;
}

export function outcomeOf(question: Question, settings: Settings): Outcome {
  const { objective } = question;
  const scope = scopeOf(question);
  const runs = runsOf(question, settings);
  const ledger = runs[0]!;
  const bounds = boundsOf(question, runs, [scope])[0]!;
  const figures = [...objective.constraints, { ...objective.goal, most: Infinity }];
  return {
    settings,
    latencies: OUTPUTS.flatMap((output) => KINDS.map((kind) => latencyRow(ledger, output, kind, scope))),
    writesPerSecond: perOutput((output) => writesOf(ledger, [output]) / (scope.durationMs / 1000)),
    bytesPerSecond: perOutput((output) => {
      const bytes = (encoding: Encoding): number =>
        sentBytes(ledger, [output], encoding, scope) / (scope.durationMs / 1000);
      return { protobuf: bytes('protobuf'), json: bytes('json') };
    }),
    cpuShare: cpuOf(ledger) / scope.durationMs,
    apiServerCpuShare: valueOf({ of: 'apiserver-cpu', isWorst: false }, ledger, scope) / 1000,
    distribution: distributionOf(ledger, additionsTo(question.run.story)),
    writesByTime: writesByTime(ledger, scope.durationMs),
    overtaken: ledger.overtaken.endpoints + ledger.overtaken.slices,
    checks: figures.map(({ text, expression, most }, i) => ({
      text,
      value: valueOf(expression, ledger, scope),
      bound: bounds[i]!,
      most,
    })),
  };
}

/** Runs by the calibration, then with each unsure number raised and lowered. */
export function runsOf({ run, unsure, alternatives }: Question, settings: Settings): Ledger[] {
  const calibrations = [...uncertain(run.calibration, unsure), ...alternatives];
  return calibrations.map((calibration) => runModel({ ...run, settings, calibration }));
}

/**
 * The values that nine of ten resamples do not exceed, of each of these runs: the worst run counts, because each stands for
 * a number that may be so. They are raised by as much as today's figure was measured above its prediction and chance. For each
 * scope those of all constraints and of the goal. Which parts a worst figure is of is told by the first run, for each run and
 * draw: else it would be chance whether the part with the worst figure has enough changes.
 * @param scopes differ in their watchers alone
 */
export function boundsOf(
  { run, objective, raises }: Question,
  runs: readonly Ledger[],
  scopes: readonly Scope[],
): number[][] {
  const expressions = [...objective.constraints, objective.goal].map(({ expression }) => expression);
  const parts = expressions.map((expression) => tellingParts(expression, runs[0]!, scopes[0]!));
  const bounds = scopes.map(() => expressions.map(() => -Infinity));
  const { durationMs, worstMs = WORST_MS } = scopes[0]!;
  const blockMs = Math.min(worstMs, durationMs) / BLOCKS_MIN;
  for (const ledger of runs) {
    const values = scopes.map(() => expressions.map((): number[] => []));
    for (const isWorst of [false, true]) {
      if (!expressions.some((expression) => expression.isWorst === isWorst)) continue;
      const blocks = { durationMs, blockMs, partMs: isWorst ? worstMs : Infinity };
      // The same blocks for each, so that the runs differ by their numbers alone.
      for (const draw of resamples(ledger, blocks, RESAMPLES, run.seed)) {
        for (const [s, scope] of scopes.entries()) {
          for (const [e, expression] of expressions.entries())
            if (expression.isWorst === isWorst) values[s]![e]!.push(valueOfDraw(expression, draw, scope, parts[e]!));
        }
      }
    }
    for (const [s, all] of values.entries()) {
      for (const [e, of] of all.entries()) {
        // NaN stays: what a run does not have meets no limit.
        const bound = quantile(Float64Array.from(of).sort(), BOUND_SHARE);
        bounds[s]![e] = Math.max(bounds[s]![e]!, raises[e]?.(bound) ?? bound);
      }
    }
  }
  return bounds;
}

/** Whether these bounds meet each constraint. */
export function isMet({ constraints }: Objective, bounds: readonly number[]): boolean {
  return constraints.every(({ most }, i) => bounds[i]! <= most);
}

function distributionOf(ledger: Ledger, output: Output): number[] {
  const shares = Array.from({ length: 100 }, (_, i) => (i + 1) / 100);
  const values = quantilesOf(ledger, { output, kinds: 'add' }, shares);
  return values.filter((value) => !Number.isNaN(value));
}

function uncertain(calibration: Run['calibration'], unsure: Unsure): Run['calibration'][] {
  return [
    calibration,
    ...FITTED.flatMap(({ name, scale }) => [
      scale(calibration, unsure[name].up),
      scale(calibration, 1 / unsure[name].down),
    ]),
  ];
}

export function excessOf({ checks }: Pick<Outcome, 'checks'>): number {
  return checks.reduce((sum, { bound, most }) => sum + (bound <= most ? 0 : excessOver(most, bound)), 0);
}

function latencyRow(ledger: Ledger, output: Output, kind: ChangeKind, scope: Scope): LatencyRow {
  const [p50, p90, p99, p999] = quantilesOf(ledger, { output, kinds: kind }, [0.5, 0.9, 0.99, 0.999]);
  const count = [...ledger.samples[output], ...ledger.unshown[output]].filter((sample) => sample.kind === kind).length;
  return {
    output,
    kind,
    count,
    p50: p50!,
    p90: p90!,
    p99: p99!,
    p999: p999!,
    laterThanSecond: valueOf({ of: 'later', thanMs: 1000, kinds: kind, output, isWorst: false }, ledger, scope),
  };
}
