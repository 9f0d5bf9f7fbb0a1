/** Which of the settings to recommend, and the steps to it. */
import type { Settings } from '../twin/settings.ts';
import { scoreOf } from './objective.ts';
import { excessOf, type Outcome, outcomeOf, type Question } from './outcome.ts';
import { type Flag, compareScores, readFlag, type Score, searchSettings, type Step } from './search.ts';
import type { Trials, Tried } from './trials.ts';

/** Flags keep today's values if that costs at most this share of the goal, all together. */
export const TIE = 0.01;
const MARGINS: readonly number[] = [1, 0.85, 0.7, 0.5];

export interface Choice {
  readonly today: Outcome;
  readonly best: Outcome | null;
  readonly nearest: Outcome;
  readonly steps: readonly Step[];
}

/**
 * The search finds settings whose figures keep a margin to each limit, a larger one each time until their bounds hold too. Of
 * all that was tried meanwhile the best follows whose bounds hold. Today's settings stay where they are as good.
 */
export function choose(question: Question, flags: readonly Flag[], trials: Trials): Choice {
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
      scoreOf(objective, trials.of(settings).values, margin);
  const simplest = (settings: Settings, margin: number, isAllowed: (one: Settings) => boolean): Tried =>
    trials.of(withFewestChanges(settings, run.settings, flags, scoreWith(margin), isAllowed));
  const today = trials.of(run.settings);
  let [best, nearest, steps]: [Tried | null, Tried, readonly Step[]] = [holds(today) ? today : null, today, []];
  for (const margin of MARGINS) {
    const search = searchSettings(run.settings, flags, scoreWith(margin), run.seed);
    const found = simplest(search.best, margin, () => true);
    if (excessOf(outcomeFor(found)) < excessOf(outcomeFor(nearest))) [nearest, steps] = [found, search.steps];
    if (!holds(found)) continue;
    if (best === null || goalOf(found) < goalOf(best) * (1 - TIE)) [best, steps] = [found, search.steps];
    break;
  }
  const better = trials
    .all()
    .filter((one) => scoreOf(objective, one.values).excess === 0 && (best === null || goalOf(one) < goalOf(best)))
    .toSorted((a, b) => goalOf(a) - goalOf(b));
  const first = firstThat(better, holds);
  const mostGained = first ?? best;
  if (first !== null) best = simplest(first.settings, 1, (settings) => holds(trials.of(settings)));
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

/**
 * Returns flag by flag to today's value, each time the one that costs least of those that are allowed, until one would cost
 * more than `TIE`.
 */
export function withFewestChanges(
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
      .toSorted((a, b) => compareScores(a.score, b.score))
      .find(({ settings }) => isAllowed(settings));
    if (cheapest === undefined) return best;
    best = cheapest.settings;
  }
}

function flagValues(settings: Settings, { fields }: Flag): Partial<Settings> {
  return Object.fromEntries(fields.map((field) => [field, settings[field]]));
}
