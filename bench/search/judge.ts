/** How near the search comes to the best of all settings, and in how many runs; and what `tune` recommends. */
import { createPrng, nextInt } from '../../src/lib/prng.ts';
import { FITTED } from '../../src/tune/back-test.ts';
import { choose } from '../../src/tune/choice.ts';
import { type Objective, scoreOf } from '../../src/tune/objective.ts';
import { excessOf, type Question, type Unsure } from '../../src/tune/bounds.ts';
import { outcomeOf } from '../../src/tune/outcome.ts';
import { isBetter, type Score, searchSettings } from '../../src/tune/search.ts';
import { createTrials } from '../../src/tune/trials.ts';
import type { Settings } from '../../src/twin/settings.ts';
import { type Landscape, placeOf, valuesAt } from './landscape.ts';
import { REGRET_MAX } from './objectives.ts';

/** Of the seeds: so many must come near to the best. */
export const [SEEDS, SEEDS_MIN] = [20, 18];

export interface SeedResult {
  /** Whether the search came near the best. */
  readonly isNear: boolean;
  /** How many settings it tried. */
  readonly runs: number;
  /** How many a random search tries until it comes near. */
  readonly random: number;
}

export function judgeSearch(landscape: Landscape, objective: Objective): SeedResult[] {
  const { flags, today, grid } = landscape;
  const scores = grid.map((_, i) => scoreOf(objective, valuesAt(landscape, objective, i)));
  const score = (settings: Settings): Score => scores[placeOf(landscape, settings)]!;
  const best = scores.reduce((a, b) => (isBetter(b, a) ? b : a));
  const isNear = ({ excess, goal }: Score): boolean => excess === 0 && goal <= best.goal * (1 + REGRET_MAX);
  return Array.from({ length: SEEDS }, (_, i) => {
    const found = searchSettings(today, flags, score, i + 1);
    return { isNear: isNear(found.score), runs: found.runs, random: firstNear(scores, isNear, i + 1) };
  });
}

/** How many settings are drawn, none twice, until one is near to the best. */
function firstNear(scores: readonly Score[], isNear: (score: Score) => boolean, seed: number): number {
  const prng = createPrng(seed);
  const left = [...scores];
  for (let drawn = 1; left.length > 0; drawn++) {
    const place = nextInt(prng, left.length);
    if (isNear(left[place]!)) return drawn;
    left[place] = left.at(-1)!;
    left.pop();
  }
  return scores.length;
}

export interface Verdict {
  /** Seeds in which the search came near. */
  readonly near: number;
  /** The most runs that a search took. */
  readonly runs: number;
  /** Runs of a random search that came as near in as many seeds as are asked. */
  readonly random: number;
  /** Whether enough seeds came near. */
  readonly isRight: boolean;
  /** Whether half of a random search's runs were enough. */
  readonly isQuick: boolean;
  readonly isReached: boolean;
}

export function verdictOf(seeds: readonly SeedResult[]): Verdict {
  const near = seeds.filter((seed) => seed.isNear).length;
  const runs = Math.max(...seeds.map((seed) => seed.runs));
  const random = seeds.map((seed) => seed.random).toSorted((a, b) => a - b)[SEEDS_MIN - 1]!;
  const [isRight, isQuick] = [near >= SEEDS_MIN, runs <= random / 2];
  return { near, runs, random, isRight, isQuick, isReached: isRight && isQuick };
}

export interface ChoiceResult {
  /** Of what `tune` recommends, and of the best of all settings whose bounds hold; null = there is none. */
  readonly chosen: number | null;
  readonly best: number | null;
}

/** By the goal's figure, where `tune` decides by its bound: of all whose bounds hold the one that gains most. */
export function judgeChoice(landscape: Landscape, objective: Objective): ChoiceResult {
  const { flags, today, grid, scope } = landscape;
  const { nodes, endpointsWatchers } = scope;
  const run = { ...landscape.run, settings: today };
  const question: Question = { run, objective, nodes, endpointsWatchers, unsure: UNSURE, alternatives: [], raises: [] };
  const goalOf = (settings: Settings): number => valuesAt(landscape, objective, placeOf(landscape, settings)).goal;
  const { best: chosen } = choose(
    question,
    flags,
    createTrials(question, () => undefined),
  );
  const best = grid
    .filter((_, i) => scoreOf(objective, valuesAt(landscape, objective, i)).excess === 0)
    .toSorted((a, b) => goalOf(a) - goalOf(b))
    .find((settings) => excessOf(outcomeOf(question, settings)) === 0);
  return { chosen: chosen === null ? null : goalOf(chosen.settings), best: best === undefined ? null : goalOf(best) };
}

/** As what was fitted to a recording: to a quarter. */
const UNSURE = Object.fromEntries(FITTED.map(({ name }) => [name, { down: 1.25, up: 1.25 }])) as Unsure;
