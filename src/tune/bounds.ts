/**
 * How sure the figures of a setting are: bounds that another time, as long as the one that was played, does not exceed in nine
 * of ten cases, by resamples, with each unsure number of the calibration raised and lowered.
 */
import { quantile, type Span } from '../twin/figures.ts';
import type { Ledger } from '../twin/ledger.ts';
import type { Run } from '../twin/run.ts';
import { FITTED, type Fitted, type Spread } from './back-test.ts';
import { figureOfDraws } from './drawn-figures.ts';
import {
  excessOver,
  type Expression,
  type Objective,
  type Scope,
  tellingParts,
  valueOfDraw,
  WORST_MS,
} from './objective.ts';
import type { Raise } from './own-figures.ts';
import { blockCounts, type Blocks, cutInBlocks, EVER, resamples } from './resample.ts';

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

export function scopeOf({ run, nodes, endpointsWatchers }: Question): Scope {
  return { durationMs: run.story.durationMs, nodes, endpointsWatchers };
}

/** The calibration, then with each unsure number raised and lowered, then the others that may be as true. */
export function calibrationsOf({ run: { calibration }, unsure, alternatives }: Question): Run['calibration'][] {
  return [
    calibration,
    ...FITTED.flatMap(({ name, scale }) => [
      scale(calibration, unsure[name].up),
      scale(calibration, 1 / unsure[name].down),
    ]),
    ...alternatives,
  ];
}

/** For each figure of the objective the parts of the first run that have enough changes; null = it is of the whole run. */
export type Parts = readonly ReturnType<typeof tellingParts>[];

/**
 * Which parts a worst figure is of is told by the first run, for each run and draw: else it would be chance whether the part
 * with the worst figure has enough changes.
 */
export function partsOfFirst({ objective }: Question, first: Ledger, scope: Scope): Parts {
  return expressionsOf(objective).map((expression) => tellingParts(expression, first, scope));
}

/**
 * The bounds of each of these runs: the worst run counts, because each stands for a number that may be so. For each scope
 * those of all constraints and of the goal.
 * @param scopes differ in their watchers alone
 */
export function boundsOf(question: Question, runs: Iterable<Ledger>, scopes: readonly Scope[]): number[][] {
  let parts: Parts | null = null;
  let bounds = scopes.map(() => expressionsOf(question.objective).map(() => -Infinity));
  for (const ledger of runs) {
    parts ??= partsOfFirst(question, ledger, scopes[0]!);
    const own = boundsOfRun(question, ledger, parts, scopes);
    bounds = bounds.map((all, s) => all.map((bound, e) => Math.max(bound, own[s]![e]!)));
  }
  return bounds;
}

/** Those of one run. They are raised by as much as today's figure was measured above its prediction and chance. */
export function boundsOfRun(
  { run: { seed }, objective, raises }: Question,
  ledger: Ledger,
  parts: Parts,
  scopes: readonly Scope[],
): number[][] {
  const expressions = expressionsOf(objective);
  const values = expressions.map((expression, e) => drawn(expression, ledger, parts[e]!, scopes, seed));
  return scopes.map((_, s) =>
    values.map((of, e) => {
      const expression = expressions[e]!;
      const bound = boundOfDraws(Float64Array.from(of[s]!).sort(), blocksOf(expression, scopes[0]!));
      const possible = expression.of === 'later' ? Math.min(1, bound) : bound;
      return raises[e]?.(possible) ?? possible;
    }),
  );
}

/** Whose draws the figure is of. */
function blocksOf({ isWorst }: Expression, { durationMs, worstMs = WORST_MS }: Scope): Blocks {
  return {
    durationMs,
    blockMs: Math.min(worstMs, durationMs) / BLOCKS_MIN,
    partMs: isWorst ? worstMs : Infinity,
  };
}

/** @param sorted the figure of each resample */
function boundOfDraws(sorted: Float64Array, blocks: Blocks): number {
  const bound = quantile(sorted, BOUND_SHARE);
  // NaN stays: what a run does not have meets no limit.
  if (!Number.isFinite(bound)) return bound;
  const middle = quantile(sorted, 0.5);
  return middle + (bound - middle) * anotherTime(blocks);
}

/**
 * How many times as far as resamples another time is from the one that was played. Resamples differ from that time by as much
 * as it differs from what is usual, and another time differs from what is usual by as much again: sqrt(2) times as much, since
 * neither knows of the other. Few blocks show too little of it: the spread of `n` values is too small by sqrt(n / (n - 1)), and
 * known as badly as the quantile of Student's t for them is further out (its expansion, Abramowitz and Stegun 26.7.5).
 */
function anotherTime({ durationMs, blockMs, partMs }: Blocks): number {
  const count = Math.round(Math.min(durationMs, partMs) / blockMs);
  const student = 1 + (NORMAL_OF_BOUND ** 2 + 1) / (4 * (count - 1));
  return Math.SQRT2 * Math.sqrt(count / (count - 1)) * student;
}

/** The quantile of the standard normal distribution for `BOUND_SHARE`. */
const NORMAL_OF_BOUND = 1.2816;

/** For each scope the figure of each resample. The same blocks for each run, so that runs differ by their numbers alone. */
function drawn(
  expression: Expression,
  ledger: Ledger,
  parts: Parts[number],
  scopes: readonly Scope[],
  seed: number,
): number[][] {
  const { worstMs = WORST_MS } = scopes[0]!;
  const blocks = blocksOf(expression, scopes[0]!);
  const cut = cutInBlocks(ledger, blocks);
  const countsOf = (span: Span): Uint32Array[] | null => blockCounts(blocks, RESAMPLES, seed, span);
  if (parts === null) {
    const counts = countsOf(EVER)!;
    return scopes.map((scope) => counts.map(figureOfDraws(expression, cut, scope)));
  }
  const counts = parts.map(countsOf);
  const values = scopes.map((scope) => {
    const figure = figureOfDraws(expression, cut, { ...scope, durationMs: worstMs });
    const ofDraw = (i: number): number => Math.max(...counts.map((of) => (of === null ? -Infinity : figure(of[i]!))));
    // What a run does not have has no figure.
    return Array.from({ length: RESAMPLES }, (_, i) => (parts.length === 0 ? Number.NaN : ofDraw(i)));
  });
  const broken = parts.filter((_, i) => counts[i] === null);
  if (broken.length === 0) return values;
  let i = 0;
  for (const draw of resamples(ledger, blocks, RESAMPLES, seed)) {
    for (const [s, scope] of scopes.entries())
      values[s]![i] = Math.max(values[s]![i]!, valueOfDraw(expression, draw, scope, broken));
    i++;
  }
  return values;
}

function expressionsOf({ constraints, goal }: Objective): Expression[] {
  return [...constraints, goal].map(({ expression }) => expression);
}

export function excessOf({ checks }: { readonly checks: readonly Check[] }): number {
  return checks.reduce((sum, { bound, most }) => sum + (bound <= most ? 0 : excessOver(most, bound)), 0);
}
