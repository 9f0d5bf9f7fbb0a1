/**
 * The result of trying settings for real: pairs of runs, with each setting and with today's, on a test API server. It
 * checks the order of settings on one machine. Its milliseconds are not those of the recorded cluster.
 */
import { runModel, type Run } from '../twin/run.ts';
import type { Ledger } from '../twin/ledger.ts';
import type { Program } from '../metrics/program-of.ts';
import { DEFAULT_SETTINGS, type Settings } from '../twin/settings.ts';
import { isChange, type Story, storyBetween, type StoryChange } from '../twin/story.ts';
import { type Expression, hasFigure, isOfLatencies, type Objective, type Scope, valueOf } from './objective.ts';
import type { Recommendation } from './recommend.ts';
import { type Interval, intervalOf, SAME, UNTOLD } from './sequential.ts';

export interface Confirmation {
  /** The kind of the server, such as `kube-apiserver`. */
  readonly server: string;
  /** That of the kube-controller-manager that was tried, such as `v1.36.3`; null = it was endpointd, or nobody says. */
  readonly version: string | null;
  /** The length of the played part of the story, which is its busiest. */
  readonly seconds: number;
  /** The changes after which the controller looks at a Service. */
  readonly changes: number;
  /** How many pairs the setting with most pairs has. */
  readonly rounds: number;
  /** The milliseconds by which a change was late, 99th percentile, in the worst run. */
  readonly lateMs: number;
  readonly tried: readonly TriedForReal[];
}

export interface TriedForReal {
  readonly settings: Settings;
  readonly figures: readonly TriedFigure[];
}

export interface TriedFigure {
  readonly text: string;
  /** The figures of today's settings, one for each pair. `tried`: of the tried settings. */
  readonly today: readonly number[];
  readonly tried: readonly number[];
  readonly look: Interval;
  /** The ratio of tried to today, by the queue model; NaN = it has no such figure. */
  readonly predicted: number;
  readonly verdict: 'holds' | 'does not hold' | 'cannot tell' | typeof NOT_MEASURED | typeof DOES_NOT_BIND;
}

export const NOT_MEASURED = 'cannot tell (nothing was measured)';
const DOES_NOT_BIND = 'cannot tell (it does not bind here)';

/** The most pods with which a test API server is filled. */
export const PODS_MAX = 20_000;
/** If changes are later than this, another story was played. */
export const LATE_MS_MAX = 1000;

/**
 * The part of a story with the most changes that count, as the replay plays it, so that the prediction is of the same: all
 * Services are there from the start to the end, with one family and without hints, and nobody else writes.
 */
export function busiestPart(whole: Story, durationMs: number, controller: Program): Story {
  const services = whole.services.map(({ namespace }) => ({ namespace, families: 1 }));
  const story = { ...whole, changes: whole.changes.filter(({ kind }) => !UNPLAYED.includes(kind)) };
  if (story.durationMs <= durationMs) return { ...story, services };
  let [bestMs, most, first] = [0, -1, 0];
  const changes = story.changes.filter((change) => isChange(change, controller));
  for (let fromMs = 0; fromMs + durationMs <= story.durationMs; fromMs += STEP_MS) {
    while (first < changes.length && changes[first]!.atMs < fromMs) first++;
    let last = first;
    while (last < changes.length && changes[last]!.atMs < fromMs + durationMs) last++;
    if (last - first > most) [bestMs, most] = [fromMs, last - first];
  }
  return { ...storyBetween(story, bestMs, bestMs + durationMs), services };
}

const UNPLAYED: readonly StoryChange['kind'][] = ['foreign', 'node', 'deleted'];

const STEP_MS = 1000;

/** Two runs of the same round. `today` is the one with today's settings. */
export interface Pair {
  readonly today: Ledger;
  readonly tried: Ledger;
}

export function triedOf(
  run: Run,
  objective: Objective,
  watchers: Omit<Scope, 'durationMs'>,
  settings: Settings,
  pairs: readonly Pair[],
): TriedForReal {
  const scope = { durationMs: run.story.durationMs, ...watchers };
  const { tokensAtStart: _ofOneAtWork, ...fresh } = run;
  // A replay starts the controller, and makes the slices of its start with the default limit.
  const replayed = { ...fresh, endpointsPerSliceAtStart: DEFAULT_SETTINGS.endpointsPerSlice };
  const [today, tried] = [runModel(replayed), runModel({ ...replayed, settings })];
  const figure = (text: string, expression: Expression): TriedFigure => {
    const value = (ledger: Ledger): number => valueOf(expression, ledger, scope);
    const predicted = ratioOf(value(tried), value(today));
    const ratios = pairs.map((pair) => ratioOf(value(pair.tried), value(pair.today)));
    const isMeasured = pairs.every((pair) => isTold(expression, pair)) && !ratios.some(Number.isNaN);
    const look = isMeasured ? intervalOf(ratios) : UNTOLD;
    return {
      text,
      today: pairs.map((pair) => value(pair.today)),
      tried: pairs.map((pair) => value(pair.tried)),
      look,
      predicted,
      verdict: isMeasured ? verdictOf(look, predicted) : NOT_MEASURED,
    };
  };
  const { constraints, goal } = objective;
  return {
    settings,
    figures: [
      ...constraints.map(({ text, expression }) => figure(text.split('<=')[0]!.trim(), expression)),
      figure(goal.text, goal.expression),
    ],
  };
}

/** A latency needs changes in both runs. What is counted may be none in one of them. */
function isTold(expression: Expression, { today, tried }: Pair): boolean {
  const [before, then] = [hasFigure(expression, today), hasFigure(expression, tried)];
  return isOfLatencies(expression) ? before && then : before || then;
}

export function isDecided({ figures }: TriedForReal): boolean {
  return figures.every(({ look }) => look.decision !== null);
}

/** What is to be told where another version was tried than the one that is played. */
export function otherVersion({ version }: Pick<Confirmation, 'version'>, kubeMinor: number): string[] {
  const minor = /^v\d+\.(\d+)/.exec(version ?? '')?.[1];
  if (minor === undefined || Number(minor) === kubeMinor) return [];
  return [
    `kube-controller-manager ${version} was tried, and what is predicted is what 1.${kubeMinor} does: --kcm-version says what is played`,
  ];
}

/** Whether the trials have refuted a prediction about the recommended settings. */
export function isRefuted(confirmation: Confirmation, recommended: Settings | null): boolean {
  return (
    isAbout(confirmation, recommended) &&
    confirmation.tried[0]!.figures.some(({ verdict }) => verdict === 'does not hold')
  );
}

/** Whether the recommended settings are the first that were tried. */
export function isAbout({ tried }: Confirmation, recommended: Settings | null): boolean {
  return recommended !== null && JSON.stringify(tried[0]?.settings) === JSON.stringify(recommended);
}

/** null = nothing is recommended, or today's settings, which are not tried against themselves. */
export function recommendedOf({ best, changes }: Pick<Recommendation, 'best' | 'changes'>): Settings | null {
  return best === null || changes.length === 0 ? null : best.settings;
}

/**
 * A prediction holds if its direction was measured, or if its ratio, give or take `SAME`, lies in the measured
 * interval. Near a border the direction alone is chance: 0.96 counts as the same, and 0.93 (0.90 to 0.97) as lower. A
 * difference that was not measured is not refuted: on an API server that is faster than the recorded one nothing waits
 * for what is too scarce there.
 */
export function verdictOf({ decision, low, high }: Interval, predicted: number): TriedFigure['verdict'] {
  if (decision === null || decision === 'cannot tell' || Number.isNaN(predicted)) return 'cannot tell';
  const expected = predicted < 1 - SAME ? 'lower' : predicted > 1 + SAME ? 'higher' : 'same';
  const isWithin = predicted * (1 + SAME) >= low && predicted * (1 - SAME) <= high;
  if (decision === expected || isWithin) return 'holds';
  return decision === 'same' ? DOES_NOT_BIND : 'does not hold';
}

/** The ratio of two figures, which may both be 0; NaN = one of them is of no part. */
function ratioOf(tried: number, today: number): number {
  return Math.max(tried, LEAST) / Math.max(today, LEAST);
}

const LEAST = 1e-6;
