/** Which of the settings to recommend. */
import type { Settings } from '../twin/settings.ts';
import { changedNames } from './flag-lines.ts';
import { asksOfBoth, type Objective, scoreOf } from './objective.ts';
import { type Check, excessOf, type Question } from './bounds.ts';
import { createLooks, firstOf, holdsWhole, type Look, lookAt, meetsAll, meetsSoFar, playAll } from './look.ts';
import { type Outcome, toldOutcome } from './outcome.ts';
import { climb, type Flag, compareScores, isBetter, type Score, searchSettings, singly } from './search.ts';
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
 * the draws of the comparison. A setting is played on only while it may still be chosen: further runs can only raise its
 * bounds, so the choice is the one that all runs would give.
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
  const [inChoice, told] = [withDraws(question, CHOICE_DRAWS), asTold(question)];
  const chosenBy = looksBy(inChoice, looking);
  const toldBy = looksBy(told, looking);
  const apart = apartIfAsked(objective, flags);
  const leading = searched(question, flags, trials, (settings) => meetsAll(chosenBy(settings))).map(chosenBy);
  const isMet = leading.some(meetsAll);
  const looked = isMet ? leading : [...leading, nearestTo(leading, [flags, apart], chosenBy)];
  const isTie = tiesOf(looked);
  const changesOf = ({ settings }: Look): number => changesFrom(today, settings);
  const compareChanges = (a: Look, b: Look): number => changesOf(a) - changesOf(b) || compareGoals(a, b);
  const simplest = isTie === null ? undefined : firstOf(looked, compareChanges, isTie);
  if (isTie === null || simplest === undefined) {
    const nearest = firstOf(looked, compareExcess, () => true)!;
    const outcomes = [chosenBy(today), nearest].map((look) => toldOutcome(inChoice, look));
    return { today: outcomes[0]!, best: null, nearest: outcomes[1]!, told: inChoice };
  }
  const score = (settings: Settings): Score => scoreOf(objective, trials.of(settings).values);
  const first = withFewestChanges(simplest.settings, today, apart, score, (one) => holdsWhole(chosenBy(one), isTie));
  const asToday = toldBy(today);
  playAll(asToday);
  let best: Look | undefined;
  for (const settings of candidatesInOrder(first, looked, today)) {
    const one = toldBy(settings);
    if (!holdsWhole(one, () => isGain(asToday, one))) continue;
    best = one;
    break;
  }
  const outcome = toldOutcome(told, asToday);
  const nearest = best === asToday ? outcome : toldOutcome(told, best ?? toldBy(first));
  return { today: outcome, best: best === undefined ? null : nearest, nearest, told };
}

/**
 * The settings to compare: today's, what the search ends at, and the best that it tried.
 * @param isMet whether the bounds of a setting meet the limits
 */
export function searched(
  question: Question,
  flags: readonly Flag[],
  trials: Trials,
  isMet: (settings: Settings) => boolean,
): Settings[] {
  const { run, objective } = question;
  const today = run.settings;
  const apart = apartIfAsked(objective, flags);
  const ends: Settings[] = [];
  for (const margin of MARGINS) {
    const score = (settings: Settings): Score => scoreOf(objective, trials.of(settings).values, margin);
    const { best } = searchSettings(today, flags, score, run.seed);
    ends.push(withFewestChanges(climb(best, apart, score).best, today, apart, score, () => true));
    if (isMet(ends.at(-1)!)) break;
  }
  return [today, ...ends, ...leadingOf(trials, question)];
}

function apartIfAsked(objective: Objective, flags: readonly Flag[]): readonly Flag[] {
  return asksOfBoth(objective) ? singly(flags) : flags;
}

/** Today's may meet by the further draws what they have not met in the choice. */
function* candidatesInOrder(first: Settings, looked: readonly Look[], today: Settings): Generator<Settings, void> {
  yield first;
  for (const left = [...looked]; ;) {
    const next = firstOf(left, compareGoals, meetsSoFar);
    if (next === undefined) break;
    left.splice(left.indexOf(next), 1);
    yield next.settings;
  }
  yield today;
}

/** The question with the draws by which a setting's figures and bounds are told. */
export function asTold(question: Question): Question {
  return withDraws(question, TOLD_DRAWS);
}

function withDraws(question: Question, more: number): Question {
  return { ...question, run: { ...question.run, seed: question.run.seed + more } };
}

type LookBy = (settings: Settings) => Look;

/** Looks at each setting once. */
function looksBy(question: Question, looking: () => void): LookBy {
  const looks = createLooks(question);
  const known = new Map<string, Look>();
  return (settings) => {
    const key = JSON.stringify(settings);
    let found = known.get(key);
    if (found !== undefined) return found;
    looking();
    known.set(key, (found = lookAt(looks, settings)));
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
function nearestTo(looked: readonly Look[], inTurn: readonly (readonly Flag[])[], chosenBy: LookBy): Look {
  const closest = firstOf(looked, compareExcess, () => true)!;
  const score = (settings: Settings, rival?: Score): Score => {
    const look = chosenBy(settings);
    holdsWhole(look, (one) => rival === undefined || isBetter(scoreSoFar(one), rival));
    return scoreSoFar(look);
  };
  return chosenBy(inTurn.reduce((settings, flags) => climb(settings, flags, score).best, closest.settings));
}

function scoreSoFar(look: Look): Score {
  return { excess: excessOf(look), goal: goalOf(look).bound };
}

function goalOf({ checks }: Pick<Look, 'checks'>): Check {
  return checks.at(-1)!;
}

/** By the bound of the goal, then by its figure. */
function compareGoals(a: Look, b: Look): number {
  return goalOf(a).bound - goalOf(b).bound || goalOf(a).value - goalOf(b).value;
}

function compareExcess(a: Look, b: Look): number {
  return excessOf(a) - excessOf(b);
}

/**
 * Which are as good as the best: those with the least bound of the goal, and of these those with its least figure. null = none
 * meets the limits.
 */
function tiesOf(looked: readonly Look[]): ((one: Look) => boolean) | null {
  const best = firstOf(looked, compareGoals, meetsSoFar);
  if (best === undefined) return null;
  const boundMax = goalOf(best).bound * (1 + TIE);
  const isBounded = (one: Look): boolean => meetsSoFar(one) && goalOf(one).bound <= boundMax;
  const least = firstOf(looked, (a, b) => goalOf(a).value - goalOf(b).value, isBounded) ?? best;
  const valueMax = goalOf(least).value * (1 + TIE);
  return (one) => isBounded(one) && goalOf(one).value <= valueMax;
}

/** Whether it meets each limit, and is better than today's if these do so too: by more than a tie. */
export function isGain(today: Pick<Look, 'checks'>, one: Pick<Look, 'checks'>): boolean {
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
