/** The choice of `tune` with all runs of each setting, whatever the first of them tell. */
import { type Check, excessOf, type Question } from '../../src/tune/bounds.ts';
import { isGain, searched, TIE, withFewestChanges } from '../../src/tune/choice.ts';
import { changedNames } from '../../src/tune/flag-lines.ts';
import { scoreOf } from '../../src/tune/objective.ts';
import { type Outcome, outcomeOf } from '../../src/tune/outcome.ts';
import { climb, type Flag, type Score } from '../../src/tune/search.ts';
import type { Trials } from '../../src/tune/trials.ts';
import type { Settings } from '../../src/twin/settings.ts';

interface FullChoice {
  readonly today: Outcome;
  readonly best: Outcome | null;
  readonly nearest: Outcome;
}

/** @param flags an objective that asks for both outputs has other ones */
export function fullChoice(question: Question, flags: readonly Flag[], trials: Trials): FullChoice {
  const { run, objective } = question;
  const today = run.settings;
  const by = (more: number): ((settings: Settings) => Outcome) => {
    const known = new Map<string, Outcome>();
    return (settings) => {
      const key = JSON.stringify(settings);
      const found = known.get(key) ?? outcomeOf({ ...question, run: { ...run, seed: run.seed + more } }, settings);
      known.set(key, found);
      return found;
    };
  };
  const [chosenBy, toldBy] = [by(1), by(2)];
  const leading = searched(question, flags, trials, (one) => excessOf(chosenBy(one)) === 0).map(chosenBy);
  const closest = (of: readonly Outcome[]): Outcome => of.toSorted((a, b) => excessOf(a) - excessOf(b))[0]!;
  const score = (settings: Settings): Score => {
    const outcome = chosenBy(settings);
    return { excess: excessOf(outcome), goal: goalOf(outcome).bound };
  };
  if (!leading.some((one) => excessOf(one) === 0))
    leading.push(chosenBy(climb(climb(closest(leading).settings, flags, score).best, flags, score).best));
  const held = leading.filter((one) => excessOf(one) === 0).toSorted(compareGoals);
  if (held.length === 0) return { today: chosenBy(today), best: null, nearest: closest(leading) };
  const boundMax = goalOf(held[0]!).bound * (1 + TIE);
  const bounded = held.filter((one) => goalOf(one).bound <= boundMax);
  const valueMax = Math.min(...bounded.map((one) => goalOf(one).value)) * (1 + TIE);
  const isTie = (one: Outcome): boolean =>
    excessOf(one) === 0 && goalOf(one).bound <= boundMax && goalOf(one).value <= valueMax;
  const changes = ({ settings }: Outcome): number => changedNames(settings, today).length;
  const [tie] = held.filter(isTie).toSorted((a, b) => changes(a) - changes(b));
  const figure = (settings: Settings): Score => scoreOf(objective, trials.of(settings).values);
  const first = withFewestChanges(tie!.settings, today, flags, figure, (one) => isTie(chosenBy(one)));
  const order = [first, ...held.map(({ settings }) => settings), today].map(toldBy);
  const best = order.find((one) => isGain(toldBy(today), one)) ?? null;
  return { today: toldBy(today), best, nearest: best ?? order[0]! };
}

function goalOf({ checks }: Outcome): Check {
  return checks.at(-1)!;
}

function compareGoals(a: Outcome, b: Outcome): number {
  return goalOf(a).bound - goalOf(b).bound || goalOf(a).value - goalOf(b).value;
}
