/** The settings to choose, their gain, how far they are valid, and what was tried besides. */
import type { Output } from '../twin/ledger.ts';
import type { Settings } from '../twin/settings.ts';
import { type Change, changesTo } from './changes.ts';
import { choose, TIE, withFewestChanges } from './choice.ts';
import { changedNames } from './flag-lines.ts';
import { type Binding, bindingsOf, goalFactorMaxOf, loadFactorOf, nodesMaxOf } from './limits.ts';
import { scoreOf } from './objective.ts';
import type { Question } from './bounds.ts';
import { additionsTo, type Outcome } from './outcome.ts';
import { type Flag, flagsOf, compareScores, type Score, writeFlag } from './search.ts';
import { createTrials, type Trials, type Tried } from './trials.ts';

export interface Recommendation {
  readonly today: Outcome;
  /** null = no setting meets the constraints, and `nearest` is the closest one. */
  readonly best: Outcome | null;
  readonly nearest: Outcome;
  /** The flags to change, each time the one that brings most. */
  readonly changes: readonly Change[];
  readonly runs: number;
  /** The recommended settings, and the next best with other figures. None is today's. */
  readonly candidates: readonly Settings[];
  /** The output whose additions frontier, grid and bindings are of. Distributions are of its additions and removals. */
  readonly additionsTo: Output;
  /** Settings that no other one beats in both figures: p99 of additions, and writes per second; [] = there are no additions. */
  readonly frontier: readonly FrontierPoint[];
  readonly grid: Grid;
  readonly bindings: readonly Binding[];
  /** The factor by which changes per second may grow; 1 = not at all, null = no limit and no goal says so. */
  readonly loadFactor: number | null;
  /** So many times its bound the goal may be meanwhile; null = the goal is no latency and no share, and may grow. */
  readonly goalFactorMax: number | null;
  /** How many nodes there may be; null = no constraint depends on them. */
  readonly nodesMax: number | null;
}

export type FrontierPoint = Omit<Tried, 'values' | 'waitedMs'>;

/** The p99 of additions by batch period and syncs. All other flags are the recommended ones. */
export interface Grid {
  readonly batchesMs: readonly number[];
  readonly syncs: readonly number[];
  /** A row for each number of syncs. */
  readonly p99Ms: readonly (readonly number[])[];
}

const CANDIDATES_MAX = 3;

/** @param progress called with the number of looks at a setting so far */
export function recommend(question: Question, progress: (looks: number) => void = () => undefined): Recommendation {
  const { run, objective } = question;
  const flags = flagsOf(run);
  let looks = 0;
  const looking = (): void => progress(++looks);
  const trials = createTrials(question, looking);
  const { today, best, nearest, told } = choose(question, flags, trials, looking);
  const { settings } = nearest;
  const score = (one: Settings): Score => scoreOf(objective, trials.of(one).values);
  const simplestOf = (one: Settings): Settings => withFewestChanges(one, run.settings, flags, score, () => true);
  return {
    today,
    best,
    nearest,
    changes: changesTo(settings, run.settings, objective, createTrials(told, looking)),
    candidates: candidatesOf(settings, trials.all(), question, simplestOf),
    additionsTo: additionsTo(run.story),
    frontier: frontierOf(trials.all(), run.settings),
    grid: gridOf(settings, flags, trials),
    bindings: bindingsOf(told, settings),
    loadFactor: best === null ? 1 : loadFactorOf(told, best),
    goalFactorMax: goalFactorMaxOf(objective),
    nodesMax: best === null ? question.nodes : nodesMaxOf(told, settings),
    runs: trials.all().length,
  };
}

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
    .filter(({ score }) => score.goal < Infinity)
    .toSorted((a, b) => compareScores(a.score, b.score));
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

function frontierOf(tried: readonly Tried[], today: Settings): FrontierPoint[] {
  const points = tried
    .filter(({ p99Ms }) => !Number.isNaN(p99Ms))
    .map(({ settings, p99Ms, writesPerSecond }) => ({ settings, p99Ms, writesPerSecond }));
  const changes = ({ settings }: FrontierPoint): number => changedNames(settings, today).length;
  const frontier: FrontierPoint[] = [];
  for (const point of points.toSorted(
    (a, b) => a.p99Ms - b.p99Ms || a.writesPerSecond - b.writesPerSecond || changes(a) - changes(b),
  )) {
    if (point.writesPerSecond < (frontier.at(-1)?.writesPerSecond ?? Infinity)) frontier.push(point);
  }
  return frontier;
}

function gridOf(settings: Settings, [syncs, batches]: readonly Flag[], trials: Trials): Grid {
  const syncValues = [1, 2, 5, 10, 20, 50];
  const batchValues = [0, 100, 200, 500, 1000, 2000];
  return {
    syncs: syncValues,
    batchesMs: batchValues,
    p99Ms: syncValues.map((sync) =>
      batchValues.map((batch) => trials.of(writeFlag(batches!, writeFlag(syncs!, settings, sync), batch)).p99Ms),
    ),
  };
}
