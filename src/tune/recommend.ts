/**
 * The settings to choose, their gain, and how sure it is. Settings are recommended by figures that nine of ten
 * resamples do not exceed, with each unsure number of the calibration raised and lowered, and by draws that the search
 * has not seen.
 */
import {
  excessOver,
  type Expression,
  type Objective,
  type Scope,
  scoreOf,
  sentBytes,
  valueOf,
  type Values,
  valuesOf,
  WORST_MS,
} from './objective.ts';
import { cpuOf, latenciesOf, quantile, WRITES_BY_MS, writesByTime, writesOf } from '../twin/figures.ts';
import { type ChangeKind, type Ledger, type Output, OUTPUTS, perOutput } from '../twin/ledger.ts';
import type { Encoding } from '../recording/sizes.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Settings } from '../twin/settings.ts';
import type { Story } from '../twin/story.ts';
import { FITTED, type Fitted, type Spread } from './back-test.ts';
import type { Raise } from './own-figures.ts';
import { resamples } from './resample.ts';
import { type Flag, flagsOf, isBetter, readFlag, type Score, searchSettings, type Step, writeFlag } from './search.ts';

/** The question. `run.settings` are today's. */
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
  /** The percentiles of additions to slices, in milliseconds. */
  readonly distribution: readonly number[];
  /** Writes per second in each ten seconds. */
  readonly writesByTime: readonly number[];
  /** Changes that later ones overtook before they were shown. */
  readonly overtaken: number;
  readonly open: number;
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

/** The p99 of additions to slices if one resource grows by half. */
export interface Binding {
  readonly resource: string;
  readonly p99Ms: number;
}

export interface Recommendation {
  readonly today: Outcome;
  /** null = no setting meets the constraints, and `nearest` is the closest one. */
  readonly best: Outcome | null;
  readonly nearest: Outcome;
  readonly changes: readonly {
    readonly flag: string;
    readonly from: number;
    readonly to: number;
    readonly unit: Flag['unit'];
  }[];
  readonly steps: readonly Step[];
  readonly runs: number;
  /** The recommended settings, and the next best with other figures. None is today's. */
  readonly candidates: readonly Settings[];
  /** Settings that no other one beats in both figures: p99 of additions, and writes per second. */
  readonly frontier: readonly FrontierPoint[];
  readonly grid: Grid;
  readonly bindings: readonly Binding[];
  /** The factor by which changes per second may grow; 1 = not at all. */
  readonly loadFactor: number;
  /** How many nodes there may be; null = no constraint depends on them. */
  readonly nodesMax: number | null;
}

export interface FrontierPoint {
  readonly settings: Settings;
  readonly p99Ms: number;
  readonly writesPerSecond: number;
}

/** The p99 of additions to slices by batch period and syncs. All other flags are the recommended ones. */
export interface Grid {
  readonly batchesMs: readonly number[];
  readonly syncs: readonly number[];
  /** A row for each number of syncs. */
  readonly p99Ms: readonly (readonly number[])[];
}

const MARGINS: readonly number[] = [1, 0.85, 0.7, 0.5];
const RESAMPLES = 30;
const BOUND_SHARE = 0.9;
/** Flags keep today's values if that costs at most this share of the goal, all together. */
const TIE = 0.01;
const LOADS: readonly number[] = [1.25, 1.5, 2, 3, 5, 10];
/** The end of both ladders: what holds there may hold beyond it. */
export const LOAD_MAX = LOADS.at(-1)!;
const P99_ADD: Expression = { of: 'quantile', share: 0.99, kinds: 'add', output: 'slices', isWorst: false };

/** What is kept of a run: a ledger has each change and each write, and there are hundreds of runs. */
interface Tried extends FrontierPoint {
  readonly values: Values;
}

/** @param progress called with the number of runs so far */
export function recommend(question: Question, progress: (runs: number) => void = () => undefined): Recommendation {
  const { run, objective } = question;
  const flags = flagsOf(run.controller);
  const scope = scopeOf(question);
  const tried = new Map<string, Tried>();
  const triedOf = (settings: Settings): Tried => {
    const key = JSON.stringify(settings);
    let found = tried.get(key);
    if (found === undefined) {
      const ledger = runModel({ ...run, settings });
      const values = valuesOf(objective, ledger, scope);
      const p99Ms = valueOf(P99_ADD, ledger, scope);
      found = { settings, values, p99Ms, writesPerSecond: writesOf(ledger) / (scope.durationMs / 1000) };
      tried.set(key, found);
      progress(tried.size);
    }
    return found;
  };
  const choice = choose(question, flags, tried, triedOf);
  const { best, nearest, steps } = choice;
  const { settings } = best ?? nearest;
  const score = (one: Settings): Score => scoreOf(objective, triedOf(one).values);
  const simplestOf = (one: Settings): Settings => withFewestChanges(one, run.settings, flags, score, () => true);
  return {
    today: choice.today,
    best,
    nearest,
    changes: changesOf(run.settings, settings, flags),
    steps,
    candidates: candidatesOf(settings, [...tried.values()], question, simplestOf),
    frontier: frontierOf([...tried.values()]),
    grid: gridOf(settings, flags, triedOf),
    bindings: bindingsOf(question, settings),
    loadFactor: best === null ? 1 : loadFactorOf(question, settings),
    nodesMax: best === null ? question.nodes : nodesMaxOf(question, settings),
    runs: tried.size,
  };
}

interface Choice {
  readonly today: Outcome;
  readonly best: Outcome | null;
  readonly nearest: Outcome;
  readonly steps: readonly Step[];
}

/**
 * The search finds settings whose figures keep a margin to each limit, a larger one each time until their bounds hold too. Of
 * all that was tried meanwhile the best follows whose bounds hold. Today's settings stay where they are as good.
 * @param tried what `triedOf` has tried so far
 */
function choose(
  question: Question,
  flags: readonly Flag[],
  tried: ReadonlyMap<string, Tried>,
  triedOf: (settings: Settings) => Tried,
): Choice {
  const { run, objective } = question;
  const outcomes = new Map<Settings, Outcome>();
  const outcomeFor = ({ settings }: Pick<Tried, 'settings'>): Outcome => {
    let found = outcomes.get(settings);
    if (found === undefined) outcomes.set(settings, (found = outcomeOf(question, settings)));
    return found;
  };
  const holds = (one: Tried): boolean => excessOf(outcomeFor(one)) === 0;
  const goalOf = ({ values }: Tried): number => values.goal;
  const scoreWith =
    (margin: number) =>
    (settings: Settings): Score =>
      scoreOf(objective, triedOf(settings).values, margin);
  const simplest = (settings: Settings, margin: number, isAllowed: (one: Settings) => boolean): Tried =>
    triedOf(withFewestChanges(settings, run.settings, flags, scoreWith(margin), isAllowed));
  const today = triedOf(run.settings);
  let [best, nearest, steps]: [Tried | null, Tried, readonly Step[]] = [holds(today) ? today : null, today, []];
  for (const margin of MARGINS) {
    const search = searchSettings(run.settings, flags, scoreWith(margin), run.seed);
    const found = simplest(search.best, margin, () => true);
    if (excessOf(outcomeFor(found)) < excessOf(outcomeFor(nearest))) [nearest, steps] = [found, search.steps];
    if (!holds(found)) continue;
    if (best === null || goalOf(found) < goalOf(best) * (1 - TIE)) [best, steps] = [found, search.steps];
    break;
  }
  const better = [...tried.values()]
    .filter((one) => scoreOf(objective, one.values).excess === 0 && (best === null || goalOf(one) < goalOf(best)))
    .toSorted((a, b) => goalOf(a) - goalOf(b));
  const first = firstThat(better, holds);
  const mostGained = first ?? best;
  if (first !== null) best = simplest(first.settings, 1, (settings) => holds(triedOf(settings)));
  if (mostGained !== null && holds(today) && goalOf(today) <= goalOf(mostGained) * (1 + TIE)) best = today;
  return {
    today: outcomeFor(today),
    best: best === null ? null : outcomeFor(best),
    nearest: outcomeFor(best ?? nearest),
    steps: best === today ? [] : stepsTo((best ?? nearest).settings, steps, run.settings, flags, scoreWith(1)),
  };
}

/** The steps of the search, and those from its end to the settings that were chosen, flag by flag. */
function stepsTo(
  chosen: Settings,
  steps: readonly Step[],
  today: Settings,
  flags: readonly Flag[],
  score: (settings: Settings) => Score,
): Step[] {
  const all = [...steps];
  for (const flag of flags) {
    const last = all.at(-1)?.settings ?? today;
    if (flag.fields.every((field) => last[field] === chosen[field])) continue;
    const settings = { ...last, ...flagValues(chosen, flag) };
    const [from, to] = [readFlag(flag, last), readFlag(flag, settings)];
    all.push({ flag: flag.name, from, to, settings, score: score(settings) });
  }
  return all;
}

/**
 * The first of them that holds, if those behind one that holds do as well, as settings do that gain less; a setting that
 * holds in any case. null = none was found.
 */
function firstThat<T>(all: readonly T[], holds: (one: T) => boolean): T | null {
  let [from, to, found]: [number, number, T | null] = [0, all.length, null];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(all[middle]!)) [to, found] = [middle, all[middle]!];
    else from = middle + 1;
  }
  return found;
}

function scopeOf({ run, nodes, endpointsWatchers }: Question): Scope {
  return { durationMs: run.story.durationMs, nodes, endpointsWatchers };
}

/**
 * Returns flag by flag to today's value, each time the one that costs least of those that are allowed, until one would cost
 * more than `TIE`.
 */
function withFewestChanges(
  found: Settings,
  today: Settings,
  flags: readonly Flag[],
  score: (settings: Settings) => Score,
  isAllowed: (settings: Settings) => boolean,
): Settings {
  const limit = score(found);
  const isTie = ({ excess, goal }: Score): boolean => excess <= limit.excess && goal <= limit.goal * (1 + TIE);
  let best = found;
  const withToday = (flag: Flag): { settings: Settings; score: Score } => {
    const settings = { ...best, ...flagValues(today, flag) };
    return { settings, score: score(settings) };
  };
  for (;;) {
    const ties = flags
      .filter(({ fields }) => fields.some((field) => best[field] !== today[field]))
      .map((flag) => withToday(flag))
      .filter((without) => isTie(without.score));
    const cheapest = ties
      .toSorted((a, b) => (isBetter(a.score, b.score) ? -1 : isBetter(b.score, a.score) ? 1 : 0))
      .find(({ settings }) => isAllowed(settings));
    if (cheapest === undefined) return best;
    best = cheapest.settings;
  }
}

function changesOf(today: Settings, settings: Settings, flags: readonly Flag[]): Recommendation['changes'] {
  return flags.flatMap(({ name, fields, unit }) => {
    const changed = fields.find((field) => today[field] !== settings[field]);
    return changed === undefined ? [] : [{ flag: name, from: today[changed], to: settings[changed], unit }];
  });
}

function flagValues(settings: Settings, { fields }: Flag): Partial<Settings> {
  return Object.fromEntries(fields.map((field) => [field, settings[field]]));
}

/** The outcome by draws that the search has not seen. */
function outcomeOf(question: Question, settings: Settings): Outcome {
  const { objective } = question;
  const scope = scopeOf(question);
  const runs = unseenRuns(question, settings);
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
    distribution: distributionOf(ledger),
    writesByTime: writesByTime(ledger).map((count) => (count * 1000) / WRITES_BY_MS),
    overtaken: ledger.overtaken.endpoints + ledger.overtaken.slices,
    open: ledger.open.endpoints + ledger.open.slices,
    checks: figures.map(({ text, expression, most }, i) => ({
      text,
      value: valueOf(expression, ledger, scope),
      bound: bounds[i]!,
      most,
    })),
  };
}

/** Runs by draws that the search has not seen: by the calibration, then with each unsure number raised and lowered. */
function unseenRuns({ run, unsure, alternatives }: Question, settings: Settings): Ledger[] {
  const seed = unseenSeed(run);
  const calibrations = [...uncertain(run.calibration, unsure), ...alternatives];
  return calibrations.map((calibration) => runModel({ ...run, settings, calibration, seed }));
}

function unseenSeed({ seed }: Run): number {
  return seed + 1;
}

/**
 * The values that nine of ten resamples do not exceed, of each of these runs: the worst run counts, because each stands for
 * a number that may be so. They are raised by as much as today's figure was measured above its prediction. For each scope those of all constraints and of the goal.
 * @param scopes differ in their watchers alone
 */
function boundsOf({ run, objective, raises }: Question, runs: readonly Ledger[], scopes: readonly Scope[]): number[][] {
  const expressions = [...objective.constraints, objective.goal].map(({ expression }) => expression);
  const bounds = scopes.map(() => expressions.map(() => -Infinity));
  const seed = unseenSeed(run);
  const { durationMs, worstMs = WORST_MS } = scopes[0]!;
  const blockMs = Math.min(worstMs, durationMs) / BLOCKS_MIN;
  for (const ledger of runs) {
    const values = scopes.map(() => expressions.map((): number[] => []));
    for (const isWorst of [false, true]) {
      if (!expressions.some((expression) => expression.isWorst === isWorst)) continue;
      const blocks = { durationMs, blockMs, partMs: isWorst ? worstMs : Infinity };
      // The same blocks for each, so that the runs differ by their numbers alone.
      for (const draw of resamples(ledger, blocks, RESAMPLES, seed)) {
        for (const [s, scope] of scopes.entries()) {
          for (const [e, expression] of expressions.entries())
            if (expression.isWorst === isWorst) values[s]![e]!.push(valueOf(expression, draw, scope));
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

/** A block of a resample is half a minute long, or a tenth of a run that is shorter than five minutes. */
const BLOCKS_MIN = 10;

/** Whether these bounds meet each constraint. */
function isMet({ constraints }: Objective, bounds: readonly number[]): boolean {
  return constraints.every(({ most }, i) => bounds[i]! <= most);
}

function distributionOf({ samples }: Ledger): number[] {
  const sorted = latenciesOf(samples.slices, 'add');
  return sorted.length === 0 ? [] : Array.from({ length: 100 }, (_, i) => quantile(sorted, (i + 1) / 100));
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

function excessOf({ checks }: Outcome): number {
  return checks.reduce((sum, { bound, most }) => sum + (bound <= most ? 0 : excessOver(most, bound)), 0);
}

const KINDS: readonly ChangeKind[] = ['add', 'remove'];

function latencyRow(ledger: Ledger, output: Output, kind: ChangeKind, scope: Scope): LatencyRow {
  const sorted = latenciesOf(ledger.samples[output], kind);
  return {
    output,
    kind,
    count: sorted.length,
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    p99: quantile(sorted, 0.99),
    p999: quantile(sorted, 0.999),
    laterThanSecond: valueOf({ of: 'later', thanMs: 1000, kinds: kind, output, isWorst: false }, ledger, scope),
  };
}

const CANDIDATES_MAX = 3;

/**
 * Of settings with the same outcome, such as different tokens where none is waited for, one is kept, with as few flags changed
 * as can be.
 */
function candidatesOf(
  best: Settings,
  tried: readonly Tried[],
  { run, objective }: Question,
  simplestOf: (settings: Settings) => Settings,
): Settings[] {
  const scored = tried
    .map(({ settings, values }) => ({ settings, score: scoreOf(objective, values) }))
    .toSorted((a, b) => (isBetter(a.score, b.score) ? -1 : isBetter(b.score, a.score) ? 1 : 0));
  const textOf = (settings: Settings): string => JSON.stringify(settings);
  const [today, first] = [textOf(run.settings), textOf(best)];
  const chosen: typeof scored = scored.filter(({ settings }) => textOf(settings) === first && first !== today);
  for (const { settings: found, score } of scored) {
    if (chosen.length === CANDIDATES_MAX) break;
    if (chosen.some((one) => Math.abs(score.goal - one.score.goal) <= TIE * one.score.goal)) continue;
    const settings = simplestOf(found);
    if (![today, ...chosen.map((one) => textOf(one.settings))].includes(textOf(settings)))
      chosen.push({ settings, score });
  }
  return chosen.map(({ settings }) => settings);
}

function frontierOf(tried: readonly Tried[]): FrontierPoint[] {
  const points = tried.map(({ settings, p99Ms, writesPerSecond }) => ({ settings, p99Ms, writesPerSecond }));
  const frontier: FrontierPoint[] = [];
  for (const point of points.toSorted((a, b) => a.p99Ms - b.p99Ms || a.writesPerSecond - b.writesPerSecond)) {
    if (point.writesPerSecond < (frontier.at(-1)?.writesPerSecond ?? Infinity)) frontier.push(point);
  }
  return frontier;
}

function gridOf(settings: Settings, [syncs, batches]: readonly Flag[], triedOf: (settings: Settings) => Tried): Grid {
  const syncValues = [1, 2, 5, 10, 20, 50];
  const batchValues = [0, 100, 200, 500, 1000, 2000];
  return {
    syncs: syncValues,
    batchesMs: batchValues,
    p99Ms: syncValues.map((sync) =>
      batchValues.map((batch) => triedOf(writeFlag(batches!, writeFlag(syncs!, settings, sync), batch)).p99Ms),
    ),
  };
}

/** The effect on the p99 of additions if one resource after the other grows by half. */
function bindingsOf(question: Question, settings: Settings): Binding[] {
  const { run } = question;
  const scope = scopeOf(question);
  const p99 = (resource: string, other: Partial<Run>): Binding => ({
    resource,
    p99Ms: valueOf(P99_ADD, runModel({ ...run, settings, ...other }), scope),
  });
  const { calibration } = run;
  const { endpointSyncs, serviceEndpointSyncs, qps, burst } = settings;
  const more = (count: number): number => Math.ceil(count * MORE);
  return [
    p99('as it is', {}),
    p99('syncs', {
      settings: { ...settings, endpointSyncs: more(endpointSyncs), serviceEndpointSyncs: more(serviceEndpointSyncs) },
    }),
    p99('QPS and burst', { settings: { ...settings, qps: qps * MORE, burst: burst * MORE } }),
    p99('cores', { calibration: { ...calibration, cores: more(calibration.cores) } }),
    p99('speed of the controller', { calibration: FITTED[1]!.scale(calibration, 1 / MORE) }),
    p99('speed of the API server', { calibration: FITTED[0]!.scale(calibration, 1 / MORE) }),
  ];
}

const MORE = 1.5;

/** The last step of the ladder of nodes at which nine of ten draws meet each constraint. null: nodes matter for none. */
function nodesMaxOf(question: Question, settings: Settings): number | null {
  const { objective, nodes } = question;
  if (!objective.constraints.some(({ expression }) => isOfNodes(expression))) return null;
  const more = (factor: number): number => Math.floor(nodes * factor);
  const scopes = LOADS.map((factor) => ({ ...scopeOf(question), nodes: more(factor) }));
  const bounds = boundsOf(question, unseenRuns(question, settings), scopes);
  return more(lastOf((step) => isMet(objective, bounds[step]!)));
}

/** Nodes watch slices. */
function isOfNodes(expression: Expression): boolean {
  return expression.of === 'bytes' ? expression.outputs.includes('slices') : expression.of === 'apiserver-cpu';
}

/** The last step of the ladder of changes at which nine of ten draws meet each constraint. */
function loadFactorOf(question: Question, settings: Settings): number {
  return lastOf((step) => {
    const factor = LOADS[step]!;
    const hastier = { ...question, run: { ...question.run, story: hastened(question.run.story, factor) } };
    // All that happens in five minutes happens in less time now.
    const scope = { ...scopeOf(hastier), worstMs: WORST_MS / factor };
    return isMet(question.objective, boundsOf(hastier, unseenRuns(hastier, settings), [scope])[0]!);
  });
}

/** The factor of the last step before the first that does not hold; 1 = none holds. */
function lastOf(holds: (step: number) => boolean): number {
  let last = 1;
  for (const [step, factor] of LOADS.entries()) {
    if (!holds(step)) return last;
    last = factor;
  }
  return last;
}

/** The same changes in less time. */
function hastened(story: Story, factor: number): Story {
  return {
    ...story,
    durationMs: story.durationMs / factor,
    changes: story.changes.map((change) => ({ ...change, atMs: change.atMs / factor })),
  };
}
