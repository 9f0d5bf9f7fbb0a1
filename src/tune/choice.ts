/** Which of the settings to recommend. */
import type { Settings } from '../twin/settings.ts';
import { changedNames } from './flag-lines.ts';
import { asksOfBoth, scoreOf } from './objective.ts';
import { type Check, excessOf, type Outcome, outcomeOf, type Question } from './outcome.ts';
import { climb, type Flag, compareScores, type Score, searchSettings, singly } from './search.ts';
import type { Trials } from './trials.ts';

/** Settings whose goals differ by at most this share are as good. */
export const TIE = 0.01;
const MARGINS: readonly number[] = [1, 0.85, 0.7, 0.5];
/** So many of the settings that meet the limits in the search are looked at by other draws. */
const LOOKED_AT = 15;
/**
 * The search draws by the seed. This is added to it for the choice among what was tried, and for what is told of that, which
 * may only refuse a setting.
 */
const [CHOICE_DRAWS, TOLD_DRAWS] = [1, 2];

export interface Choice {
  readonly today: Outcome;
  readonly best: Outcome | null;
  readonly nearest: Outcome;
  /** The question with the draws of today's and of what is told beside it. */
  readonly told: Question;
}

/**
 * The search finds settings whose figures keep a margin to each limit, a larger one each time until their bounds hold too.
 * Today's, what it ends at, and the best that it tried are then compared by draws that it has not seen. What is told is by
 * further draws, which may only refuse a setting. If nothing meets the limits, nothing is chosen, and what is told is by
 * the draws of the comparison.
 * @param looking called before each of these further looks at a setting
 */
export function choose(
  question: Question,
  flags: readonly Flag[],
  trials: Trials,
  looking: () => void = () => undefined,
): Choice {
  const { run, objective } = question;
  const today = run.settings;
  const told = asTold(question);
  const chosenBy = outcomesOf(withDraws(question, CHOICE_DRAWS), looking);
  const toldBy = outcomesOf(told, looking);
  const apart = asksOfBoth(objective) ? singly(flags) : flags;
  const ends: Settings[] = [];
  for (const margin of MARGINS) {
    const score = (settings: Settings): Score => scoreOf(objective, trials.of(settings).values, margin);
    const { best } = searchSettings(today, flags, score, run.seed);
    ends.push(withFewestChanges(climb(best, apart, score).best, today, apart, score, () => true));
    if (excessOf(chosenBy(ends.at(-1)!)) === 0) break;
  }
  const leading = [today, ...ends, ...leadingOf(trials, question)].map(chosenBy);
  const isMet = leading.some((one) => excessOf(one) === 0);
  const looked = isMet ? leading : [...leading, nearestTo(leading, [flags, apart], chosenBy)];
  const held = looked.filter((one) => excessOf(one) === 0).toSorted(compareGoals);
  const score = (settings: Settings): Score => scoreOf(objective, trials.of(settings).values);
  const isTie = tiesOf(held);
  const ties = held.filter(isTie).toSorted((a, b) => changesFrom(today, a.settings) - changesFrom(today, b.settings));
  const first = ties
    .slice(0, 1)
    .map(({ settings }) => withFewestChanges(settings, today, apart, score, (one) => isTie(chosenBy(one))));
  // Today's may meet by these draws what they have not met in the choice.
  const order = held.length === 0 ? [] : [...first, ...held.map(({ settings }) => settings), today];
  const chosen = order.find((settings) => isGain(toldBy(today), toldBy(settings)));
  const best = chosen === undefined ? null : toldBy(chosen);
  const [closest] = looked.toSorted((a, b) => excessOf(a) - excessOf(b));
  if (order.length === 0) {
    return { today: chosenBy(today), best: null, nearest: closest!, told: withDraws(question, CHOICE_DRAWS) };
  }
  return { today: toldBy(today), best, nearest: best ?? toldBy(order[0]!), told };
}

/** The question with the draws by which a setting's figures and bounds are told. */
export function asTold(question: Question): Question {
  return withDraws(question, TOLD_DRAWS);
}

function withDraws(question: Question, more: number): Question {
  return { ...question, run: { ...question.run, seed: question.run.seed + more } };
}

type Look = (settings: Settings) => Outcome;

/** Finds each outcome once. */
function outcomesOf(question: Question, looking: () => void): Look {
  const known = new Map<string, Outcome>();
  return (settings) => {
    const key = JSON.stringify(settings);
    let found = known.get(key);
    if (found !== undefined) return found;
    looking();
    known.set(key, (found = outcomeOf(question, settings)));
    return found;
  };
}

/**
 * The best of those that meet the limits in the search. Of settings under which all came to pass alike, such as different
 * tokens where none is waited for, one is kept, with fewest changes.
 */
function leadingOf(trials: Trials, { run, objective }: Question): Settings[] {
  const meeting = trials
    .all()
    .filter(({ values }) => isLeading(scoreOf(objective, values)))
    .toSorted(
      (a, b) =>
        a.values.goal - b.values.goal || changesFrom(run.settings, a.settings) - changesFrom(run.settings, b.settings),
    );
  const distinct = new Map<string, Settings>();
  for (const { settings, ...figures } of meeting) {
    const key = JSON.stringify(figures);
    if (!distinct.has(key)) distinct.set(key, settings);
  }
  return [...distinct.values()].slice(0, LOOKED_AT);
}

function isLeading({ excess, goal }: Score): boolean {
  return excess === 0 && goal < Infinity;
}

/** Climbs by the bounds, which the search does not know: a setting may be further off in it, and surer. */
function nearestTo(looked: readonly Outcome[], inTurn: readonly (readonly Flag[])[], chosenBy: Look): Outcome {
  const [closest] = looked.toSorted((a, b) => excessOf(a) - excessOf(b));
  const score = (settings: Settings): Score => {
    const outcome = chosenBy(settings);
    return { excess: excessOf(outcome), goal: goalOf(outcome).bound };
  };
  return chosenBy(inTurn.reduce((settings, flags) => climb(settings, flags, score).best, closest!.settings));
}

function goalOf({ checks }: Pick<Outcome, 'checks'>): Check {
  return checks.at(-1)!;
}

/** By what the goal is at most in nine of ten resamples, then by its figure. */
function compareGoals(a: Outcome, b: Outcome): number {
  return goalOf(a).bound - goalOf(b).bound || goalOf(a).value - goalOf(b).value;
}

/** Which are as good as the best: those with the least bound of the goal, and of these those with its least figure. */
function tiesOf(held: readonly Outcome[]): (one: Outcome) => boolean {
  const boundMax = Math.min(...held.map((one) => goalOf(one).bound)) * (1 + TIE);
  const bounded = held.filter((one) => goalOf(one).bound <= boundMax);
  const valueMax = Math.min(...bounded.map((one) => goalOf(one).value)) * (1 + TIE);
  return (one) => excessOf(one) === 0 && goalOf(one).bound <= boundMax && goalOf(one).value <= valueMax;
}

/** Whether it meets each limit, and is better than today's if these do so too: by more than a tie. */
export function isGain(today: Pick<Outcome, 'checks'>, one: Pick<Outcome, 'checks'>): boolean {
  if (excessOf(one) > 0) return false;
  if (one === today || excessOf(today) > 0) return true;
  const [was, is] = [goalOf(today), goalOf(one)];
  if (is.bound * (1 + TIE) < was.bound) return true;
  return is.bound <= was.bound * (1 + TIE) && is.value * (1 + TIE) < was.value;
}

/** How many flags differ. */
function changesFrom(today: Settings, settings: Settings): number {
  return changedNames(settings, today).length;
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
