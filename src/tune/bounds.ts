/**
 * How sure the figures of a setting are: bounds that another time, as long as the one that was played, does not exceed in nine
 * of ten cases. They are told by resamples, with each unsure number of the calibration raised and lowered, and by a busier time.
 */
import type { Ledger } from '../twin/ledger.ts';
import type { Run } from '../twin/run.ts';
import type { Story } from '../twin/story.ts';
import { blocksOf, boundOfDraws, busierBy, hastened } from './another-time.ts';
import { FITTED, type Fitted, type Spread } from './back-test.ts';
import { type FigureOfDraw, figureOfDraws } from './drawn-figures.ts';
import {
  excessOver,
  type Expression,
  type Objective,
  type Scope,
  tellingParts,
  valueOf,
  valueOfDraw,
  WORST_MS,
} from './objective.ts';
import type { Raise } from './own-figures.ts';
import { cutInBlocks, type DrawnSpan, drawnSpans, EVER, resamples } from './resample.ts';

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

export function scopeOf({ run, nodes, endpointsWatchers }: Question): Scope {
  return { durationMs: run.story.durationMs, nodes, endpointsWatchers };
}

/** A run that may be so. */
export interface Variant {
  readonly calibration: Run['calibration'];
  readonly story: Story;
  /** How many times as fast all changes come as they were played. */
  readonly haste: number;
}

/**
 * The run as it was asked for, then with each unsure number raised and lowered, then with the calibrations that may be as true,
 * then the busier time.
 */
export function variantsOf(question: Question): Variant[] {
  const { unsure, alternatives } = question;
  const { calibration, story, controller } = question.run;
  const calibrations = [
    calibration,
    ...FITTED.flatMap(({ name, scale }) => [
      scale(calibration, unsure[name].up),
      scale(calibration, 1 / unsure[name].down),
    ]),
    ...alternatives,
  ];
  const haste = busierBy(story, controller);
  return [
    ...calibrations.map((of): Variant => ({ calibration: of, story, haste: 1 })),
    ...(haste > 1 ? [{ calibration, story: hastened(story, haste), haste }] : []),
  ];
}

/** A variant's run. */
export interface VariantRun extends Pick<Variant, 'haste'> {
  readonly ledger: Ledger;
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
export function boundsOf(question: Question, runs: Iterable<VariantRun>, scopes: readonly Scope[]): number[][] {
  let parts: Parts | null = null;
  let bounds = scopes.map(() => expressionsOf(question.objective).map(() => -Infinity));
  for (const played of runs) {
    parts ??= partsOfFirst(question, played.ledger, scopes[0]!);
    const own = boundsOfRun(question, played, parts, scopes);
    bounds = bounds.map((all, s) => all.map((bound, e) => Math.max(bound, own[s]![e]!)));
  }
  return bounds;
}

/** Those of one run. They are raised by as much as today's figure was measured above its prediction and chance. */
export function boundsOfRun(
  { run: { seed }, objective, raises }: Question,
  { ledger, haste }: VariantRun,
  parts: Parts,
  scopes: readonly Scope[],
): number[][] {
  const expressions = expressionsOf(objective);
  const values = expressions.map((expression, e) =>
    haste === 1
      ? boundsOfDraws(expression, ledger, parts[e]!, scopes, seed)
      : busierFigures(expression, ledger, haste, scopes),
  );
  return scopes.map((_, s) =>
    values.map((of, e) => {
      const bound = BEYOND_MODEL * (raises[e]?.(of[s]!) ?? of[s]!);
      return expressions[e]!.of === 'later' ? Math.min(1, bound) : bound;
    }),
  );
}

/**
 * What the model leaves out, such as the timers of an operating system, shows where little else moves a figure: beside half a
 * second of batch period. docs/tune-evidence.md has how many figures lie under the bounds with it, and without.
 */
const BEYOND_MODEL = 1.02;

/** For each scope the figure of the busier time. It is no resample: how much more comes is in it already. */
function busierFigures(expression: Expression, ledger: Ledger, haste: number, scopes: readonly Scope[]): number[] {
  return scopes.map((scope) => {
    const { durationMs, worstMs = WORST_MS } = scope;
    const value = valueOf(expression, ledger, { ...scope, durationMs: durationMs / haste, worstMs: worstMs / haste });
    // What a time does not have bounds nothing.
    return Number.isNaN(value) ? -Infinity : value;
  });
}

function boundsOfDraws(
  expression: Expression,
  ledger: Ledger,
  parts: Parts[number],
  scopes: readonly Scope[],
  seed: number,
): number[] {
  const blocks = blocksOf(expression, scopes[0]!);
  return drawn(expression, ledger, parts, scopes, seed).map((values) =>
    boundOfDraws(Float64Array.from(values).sort(), blocks),
  );
}

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
  const spans = drawnSpans(blocks, RESAMPLES, seed, parts ?? [EVER]);
  const values = scopes.map((scope) =>
    largestOfDraws(expression, cut, spans, parts === null ? scope : { ...scope, durationMs: worstMs }),
  );
  const broken = (parts ?? []).filter((_, i) => spans[i] === null);
  if (broken.length === 0) return values;
  let i = 0;
  for (const draw of resamples(ledger, blocks, RESAMPLES, seed)) {
    for (const [s, scope] of scopes.entries())
      values[s]![i] = Math.max(values[s]![i]!, valueOfDraw(expression, draw, scope, broken));
    i++;
  }
  return values;
}

/** Of each resample the largest figure of these spans. What a run does not have has no figure. */
function largestOfDraws(
  expression: Expression,
  cut: readonly Ledger[],
  spans: readonly (DrawnSpan | null)[],
  scope: Scope,
): number[] {
  const largest = new Array<number>(RESAMPLES).fill(spans.length === 0 ? Number.NaN : -Infinity);
  const figures = new Map<readonly number[], FigureOfDraw>();
  for (const span of spans) {
    if (span === null) continue;
    const { blocks, times } = span;
    const figure =
      figures.get(blocks) ??
      figureOfDraws(
        expression,
        blocks.map((block) => cut[block]!),
        scope,
      );
    figures.set(blocks, figure);
    for (const [i, of] of times.entries()) largest[i] = Math.max(largest[i]!, figure(of));
  }
  return largest;
}

function expressionsOf({ constraints, goal }: Objective): Expression[] {
  return [...constraints, goal].map(({ expression }) => expression);
}

export function excessOf({ checks }: { readonly checks: readonly Check[] }): number {
  return checks.reduce((sum, { bound, most }) => sum + (bound <= most ? 0 : excessOver(most, bound)), 0);
}
