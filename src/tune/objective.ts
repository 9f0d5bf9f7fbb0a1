/**
 * What a good setting is, as text: constraints on figures of a run, and one goal, such as `p99(add)<=1s,
 * later(1s)<=0.1%, min bytes`.
 */
import { parseDuration } from '../lib/duration.ts';
import { nearest } from '../lib/nearest.ts';
import { placeAbove, placeFrom, valueOfBoth } from '../lib/sorted.ts';
import {
  bytesOf,
  cpuOf,
  type Kinds,
  type Latencies,
  latenciesOf,
  quantile,
  runsBetween,
  type Span,
  writesOf,
} from '../twin/figures.ts';
import type { Draw } from './resample.ts';
import { apiServerMs } from '../twin/api-server-cost.ts';
import { type Encoding, ENCODINGS } from '../recording/sizes.ts';
import { type Ledger, type Output, OUTPUTS, type Sample } from '../twin/ledger.ts';
import type { Score } from './search.ts';

/** A figure of a run. `isWorst`: of the five minutes in which it is largest. */
export type Expression = Figure & { readonly isWorst: boolean };

/** Which changes a figure of latencies is of. */
interface Changes {
  readonly kinds: Kinds;
  readonly output: Output;
}

/** Milliseconds, a share in [0, 1], or writes, bytes to all watchers and CPU milliseconds a second. */
type Figure =
  | (Changes & { readonly of: 'quantile'; readonly share: number })
  | (Changes & { readonly of: 'later'; readonly thanMs: number })
  | { readonly of: 'writes'; readonly outputs: readonly Output[] }
  | { readonly of: 'bytes'; readonly outputs: readonly Output[]; readonly encoding: Encoding }
  | { readonly of: 'cpu' | 'apiserver-cpu' };

export interface Constraint {
  /** The text of the term. */
  readonly text: string;
  readonly expression: Expression;
  readonly most: number;
}

export interface Objective {
  readonly text: string;
  readonly constraints: readonly Constraint[];
  readonly goal: { readonly text: string; readonly expression: Expression };
}

/** The text is wrong. `message` names the place. */
export class ObjectiveError extends Error {}

const QUANTILES: Readonly<Record<string, number>> = { p50: 0.5, p90: 0.9, p99: 0.99, 'p99.9': 0.999 };
const NAMES = [...Object.keys(QUANTILES), 'later', 'writes', 'bytes', 'cpu', 'apiserver-cpu'];
const SYNTAX = /^([a-z0-9.-]+)(?:\(([^()]*)\))?$/;

/** The arguments of a figure in groups. It takes at most one argument of each. */
type Arguments = readonly (readonly string[])[];

const KINDS = ['add', 'remove', 'any'] as const satisfies readonly Kinds[];
const WORST = 'worst';
/** Those of `later` stand behind its time. */
const OF_LATENCIES: Arguments = [KINDS, OUTPUTS, [WORST]];
const OF_WRITES: Arguments = [OUTPUTS, [WORST]];
const OF_BYTES: Arguments = [OUTPUTS, ENCODINGS, [WORST]];
const OF_CPU: Arguments = [[WORST]];

/** @throws ObjectiveError */
export function parseObjective(text: string): Objective {
  const constraints: Constraint[] = [];
  let goal: Objective['goal'] | null = null;
  for (const term of splitTerms(text)) {
    const asGoal = /^min\s+(.*)$/.exec(term);
    if (asGoal !== null) {
      if (goal !== null) throw new ObjectiveError(`objective: there are two goals, "${goal.text}" and "${asGoal[1]!}"`);
      goal = { text: asGoal[1]!, expression: parseExpression(asGoal[1]!) };
      continue;
    }
    const [left, right, ...others] = term.split('<=').map((part) => part.trim());
    if (left === undefined || right === undefined || others.length > 0)
      throw new ObjectiveError(`objective: "${term}" is neither a limit (p99(add)<=1s) nor a goal (min bytes)`);
    const expression = parseExpression(left);
    constraints.push({ text: term, expression, most: parseLimit(expression, right, term) });
  }
  if (goal === null) throw new ObjectiveError(`objective: "${text}" has no goal, such as "min bytes"`);
  return { text, constraints, goal };
}

/** Splits at commas. Commas within parentheses belong to the term. */
function splitTerms(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}

function parseExpression(text: string): Expression {
  const match = SYNTAX.exec(text);
  const name = match?.[1] ?? text;
  if (match === null || !NAMES.includes(name)) {
    const near = nearest(name, NAMES);
    const hint = near === null ? `known are ${NAMES.join(', ')}` : `is ${near} meant?`;
    throw new ObjectiveError(`objective: "${text}" is no figure: ${hint}`);
  }
  const values = (match[2] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  return { ...parseFigure(text, name, values), isWorst: values.includes(WORST) };
}

function parseFigure(text: string, name: string, values: readonly string[]): Figure {
  switch (name) {
    case 'later':
      return parseLater(text, values);
    case 'cpu':
    case 'apiserver-cpu':
      checkArguments(text, values, OF_CPU);
      return { of: name };
    case 'writes':
      checkArguments(text, values, OF_WRITES);
      return { of: name, outputs: outputsOf(values) };
    case 'bytes':
      checkArguments(text, values, OF_BYTES);
      return { of: name, outputs: outputsOf(values), encoding: oneOf(ENCODINGS, values) ?? 'protobuf' };
    default:
      checkArguments(text, values, OF_LATENCIES);
      return { of: 'quantile', share: QUANTILES[name]!, ...kindsOf(values) };
  }
}

function parseLater(text: string, values: readonly string[]): Figure {
  const [first, ...others] = values;
  const thanMs = first === undefined ? null : parseDuration(first);
  if (thanMs === null || thanMs < 0) throw new ObjectiveError(`objective: "${text}" names no time, as later(1s) does`);
  checkArguments(text, others, OF_LATENCIES);
  return { of: 'later', thanMs, ...kindsOf(others) };
}

/** An argument that was left out in silence would make it another figure. */
function checkArguments(text: string, values: readonly string[], groups: Arguments): void {
  for (const [i, value] of values.entries()) {
    const group = groups.find((one) => one.includes(value));
    if (group === undefined)
      throw new ObjectiveError(
        `objective: "${value}" in "${text}" is no argument of this figure: known are ${groups.flat().join(', ')}`,
      );
    const other = values.slice(0, i).find((one) => group.includes(one));
    if (other !== undefined)
      throw new ObjectiveError(`objective: "${text}" has both "${other}" and "${value}": one of them is too many`);
  }
}

function kindsOf(values: readonly string[]): Changes {
  return { kinds: oneOf(KINDS, values) ?? 'any', output: oneOf(OUTPUTS, values) ?? 'slices' };
}

function outputsOf(values: readonly string[]): readonly Output[] {
  const named = oneOf(OUTPUTS, values);
  return named === undefined ? OUTPUTS : [named];
}

function oneOf<T extends string>(group: readonly T[], values: readonly string[]): T | undefined {
  return group.find((one) => values.includes(one));
}

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, kB: 1e3, MB: 1e6, GB: 1e9 };

function parseLimit(expression: Expression, text: string, term: string): number {
  if (expression.of === 'quantile') {
    const ms = parseDuration(text);
    if (ms === null || ms < 0) throw new ObjectiveError(`objective: "${text}" in "${term}" is no time, such as 500ms`);
    return ms;
  }
  if (expression.of === 'later') {
    const percent = /^(\d+(?:\.\d+)?)%$/.exec(text);
    if (percent === null || Number(percent[1]) > 100)
      throw new ObjectiveError(`objective: "${text}" in "${term}" is no share, such as 0.1%`);
    return Number(percent[1]) / 100;
  }
  if (expression.of === 'cpu' || expression.of === 'apiserver-cpu') {
    const percent = /^(\d+(?:\.\d+)?)%$/.exec(text);
    // Of a core, in milliseconds a second.
    if (percent !== null) return Number(percent[1]) * 10;
  }
  const rate = /^(\d+(?:\.\d+)?)\s*([kKMG]?B?)(?:\/s)?$/.exec(text);
  const unit = rate === null ? undefined : UNITS[rate[2]!];
  const isOfBytes = rate?.[2]!.endsWith('B') === true;
  if (rate === null || unit === undefined || (isOfBytes && expression.of !== 'bytes'))
    throw new ObjectiveError(`objective: "${text}" in "${term}" is no number a second, such as 50/s or 2MB/s`);
  return Number(rate[1]) * unit;
}

/** The surroundings of a run. */
export interface Scope {
  readonly durationMs: number;
  /** How many clients watch slices. */
  readonly nodes: number;
  /** How many clients watch Endpoints. */
  readonly endpointsWatchers: number;
  /** The length of the parts of which `worst` takes the largest figure; without it `WORST_MS`. */
  readonly worstMs?: number;
}

/**
 * Changes that nothing has shown before the run ends count with the time until then. NaN = it is of the worst part, and
 * none has enough changes.
 */
export function valueOf(expression: Expression, ledger: Ledger, scope: Scope): number {
  const parts = tellingParts(expression, ledger, scope);
  if (parts === null) return figureOf(expression, ledger, scope);
  return worstOf(expression, runsBetween(ledger, parts), scope);
}

/** @param parts see `tellingParts` */
export function valueOfDraw(expression: Expression, draw: Draw, scope: Scope, parts: readonly Span[]): number {
  return worstOf(expression, parts.map(draw.between), scope);
}

/** NaN = there are no parts. */
function worstOf(expression: Expression, parts: readonly Ledger[], scope: Scope): number {
  if (parts.length === 0) return Number.NaN;
  const partScope = { ...scope, durationMs: scope.worstMs ?? WORST_MS };
  return Math.max(...parts.map((part) => figureOf(expression, part, partScope)));
}

/**
 * The parts of a run that have enough changes for a worst figure; null = the figure is of the whole run, as it is of any
 * that is shorter than a part.
 */
export function tellingParts(expression: Expression, ledger: Ledger, scope: Scope): readonly Span[] | null {
  const parts = expression.isWorst ? partsOf(scope) : [];
  if (parts.length === 0) return null;
  if (!isOfLatencies(expression)) return parts;
  const { samples, unshown } = ledger;
  const changes = [...samples[expression.output], ...unshown[expression.output]];
  const counts = changesOfParts(parts, changes, expression.kinds);
  return parts.filter((_, i) => counts[i]! >= changesMin(expression, 0));
}

/** How many changes of these kinds are in each of the parts. */
export function changesOfParts(parts: readonly Span[], changes: readonly Sample[], kinds: Kinds): number[] {
  const times = Float64Array.from(changes.filter(isOf(kinds)), ({ atMs }) => atMs).sort();
  return parts.map(({ fromMs, toMs }) => placeFrom(times, toMs) - placeFrom(times, fromMs));
}

/** The length of the parts of a run of which `worst` takes the largest figure. */
export const WORST_MS = 300_000;
/** So many parts begin within the length of one. */
const WORST_STEPS = 5;

/** All parts, with the one that ends with the run; [] = the run is shorter than a part. */
export function partsOf({ durationMs, worstMs = WORST_MS }: Pick<Scope, 'durationMs' | 'worstMs'>): Span[] {
  const lastMs = durationMs - worstMs;
  if (lastMs < 0) return [];
  const stepMs = worstMs / WORST_STEPS;
  const begins = [...Array.from({ length: Math.ceil(lastMs / stepMs) }, (_, i) => i * stepMs), lastMs];
  return begins.map((fromMs) => ({ fromMs, toMs: fromMs + worstMs }));
}

/** Whether it is a latency, or a share of changes that were late. */
export function isOfLatencies(figure: Figure): figure is Extract<Figure, { readonly of: 'quantile' | 'later' }> {
  return figure.of === 'quantile' || figure.of === 'later';
}

/**
 * Whether it asks for latencies of Endpoints and of slices. If not, the one that it does not name could be made as late as
 * flags can.
 */
export function asksOfBoth({ constraints, goal }: Objective): boolean {
  const expressions = [...constraints, goal].map(({ expression }) => expression);
  return OUTPUTS.every((output) => expressions.some((one) => isOfLatencies(one) && one.output === output));
}

/** Whether a run has anything of what the figure is of: changes, writes or CPU. */
export function hasFigure(figure: Figure, ledger: Ledger): boolean {
  if (isOfLatencies(figure)) return countOf(figure, ledger) > 0;
  if (figure.of === 'cpu') return cpuOf(ledger) > 0;
  return writesOf(ledger, 'outputs' in figure ? figure.outputs : OUTPUTS) > 0;
}

function countOf({ kinds, output }: Changes, { samples, unshown }: Ledger): number {
  return [samples[output], unshown[output]].reduce((sum, changes) => sum + changes.filter(isOf(kinds)).length, 0);
}

function isOf(kinds: Kinds): (change: Sample) => boolean {
  return ({ kind }) => kinds === 'any' || kind === kinds;
}

/** A p99, or a share of changes, of fewer is chance. */
const TELLING_CHANGES_MIN = 100;

/** How many changes a figure of latencies needs: of fewer the p99.9 is their maximum. @param most its limit; 0 = it has none */
export function changesMin(figure: Figure, most: number): number {
  if (figure.of === 'quantile') return Math.max(TELLING_CHANGES_MIN, Math.round(1 / (1 - figure.share)));
  return Math.max(TELLING_CHANGES_MIN, most > 0 ? Math.round(1 / most) : 0);
}

export function figureOf(expression: Figure, ledger: Ledger, { durationMs, nodes, endpointsWatchers }: Scope): number {
  const watchers = { nodes, endpointsWatchers };
  const seconds = durationMs / 1000;
  switch (expression.of) {
    case 'cpu':
      return cpuOf(ledger) / seconds;
    case 'apiserver-cpu':
      return apiServerMs(ledger, { slices: watchers.nodes, endpoints: watchers.endpointsWatchers }) / seconds;
    case 'writes':
      return writesOf(ledger, expression.outputs) / seconds;
    case 'bytes':
      return sentBytes(ledger, expression.outputs, expression.encoding, watchers) / seconds;
    case 'later': {
      const { thanMs } = expression;
      const { shown, unshown } = changesOf(ledger, expression);
      const late = unshown.length - placeAbove(unshown, thanMs);
      const total = shown.length + late;
      return total === 0 ? 0 : (shown.length - placeAbove(shown, thanMs) + late) / total;
    }
    case 'quantile':
      return orZero(quantilesOf(ledger, expression, [expression.share])[0]!);
  }
}

/** Without a change nothing was late. */
function orZero(value: number): number {
  return Number.isNaN(value) ? 0 : value;
}

/** The latencies of the changes that were shown, and the waits of those that nothing showed. */
function changesOf(
  { samples, unshown }: Ledger,
  { output, kinds }: Changes,
): { readonly shown: Latencies; readonly unshown: Latencies } {
  return { shown: latenciesOf(samples[output], kinds), unshown: latenciesOf(unshown[output], kinds) };
}

/**
 * Quantiles of latencies; NaN = there was no change. A change that nothing showed counts with its wait, if that is longer than
 * those that were shown took: a pod that was unready for two seconds and in its slice all the while was not taken out in
 * time, whatever came then.
 */
export function quantilesOf(ledger: Ledger, changes: Changes, shares: readonly number[]): number[] {
  const { shown, unshown } = changesOf(ledger, changes);
  return shares.map((share) => {
    const own = quantile(shown, share);
    const late = unshown.subarray(placeAbove(unshown, orZero(own)));
    const count = shown.length + late.length;
    return late.length === 0 ? own : valueOfBoth(shown, late, Math.max(0, Math.ceil(share * count) - 1));
  });
}

/** The bytes of all writes to all their watchers, if these all use that encoding. */
export function sentBytes(
  ledger: Ledger,
  outputs: readonly Output[],
  encoding: Encoding,
  { nodes, endpointsWatchers }: Pick<Scope, 'nodes' | 'endpointsWatchers'>,
): number {
  return outputs.reduce(
    (sum, output) => sum + (output === 'slices' ? nodes : endpointsWatchers) * bytesOf(ledger, [output], encoding),
    0,
  );
}

/** What an objective asks of a run. */
export interface Values {
  /** Of each constraint. */
  readonly constraints: readonly number[];
  readonly goal: number;
}

export function valuesOf({ constraints, goal }: Objective, ledger: Ledger, scope: Scope): Values {
  return {
    constraints: constraints.map(({ expression }) => valueOf(expression, ledger, scope)),
    goal: valueOf(goal.expression, ledger, scope),
  };
}

/** The sum of the shares by which limits are exceeded, and the goal. @param margin each limit is multiplied by it */
export function scoreOf({ constraints }: Objective, values: Values, margin = 1): Score {
  let excess = 0;
  for (const [i, { most }] of constraints.entries()) {
    const value = values.constraints[i]!;
    const limit = most * margin;
    if (!(value <= limit)) excess += excessOver(limit, value);
  }
  // Of a goal that a run does not have anything is better.
  return { excess, goal: Number.isNaN(values.goal) ? Infinity : values.goal };
}

/** The share by which a limit is exceeded. What nothing is a share of grows with the value. */
export function excessOver(limit: number, value: number): number {
  // What a run does not have meets no limit.
  if (!(value < Infinity)) return EXCESS_MAX;
  return Math.min(EXCESS_MAX, limit === 0 ? (EXCESS_MAX * value) / (1 + value) : value / limit - 1);
}

/** The most of one constraint. So a constraint that cannot be met does not hide the others. */
const EXCESS_MAX = 1000;

/**
 * The difference of two latencies in milliseconds that is small beside what the objective asks for: a tenth of its
 * smallest limit, at most `SMALL_MS_MAX`. A pause of the collector, or another program, takes as long. 0 = a latency is
 * the goal, so each difference counts.
 */
export function smallMs({ constraints, goal }: Objective): number {
  if (isOfLatencies(goal.expression)) return 0;
  const limits = constraints.flatMap(({ expression, most }) => {
    if (expression.of === 'quantile') return [most];
    return expression.of === 'later' ? [expression.thanMs] : [];
  });
  return Math.min(SMALL_MS_MAX, ...limits.map((limit) => limit * SMALL_SHARE));
}

const SMALL_MS_MAX = 10;
const SMALL_SHARE = 0.1;
