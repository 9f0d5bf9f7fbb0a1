/**
 * Which settings to try. The search begins at today's setting and at a few others that the seed draws. It tries the
 * neighbouring values of one flag after the other, as long as that improves the score, and at last of two flags together, or of
 * three.
 */
import { createPrng, nextInt } from '../lib/prng.ts';
import type { Run } from '../twin/run.ts';
import type { Settings } from '../twin/settings.ts';
import { outputsOf } from '../twin/story.ts';
import { SETTING_FLAGS, type SettingName, settingNames } from './flag-lines.ts';

/** What is tried of one flag, or of two that are set alike. */
export interface Flag {
  /** In ascending order. */
  readonly values: readonly number[];
  /** Today's values of two may differ: the last one counts. */
  readonly fields: readonly SettingName[];
}

export const FLAGS: readonly Flag[] = [
  { fields: ['endpointSyncs', 'serviceEndpointSyncs'], values: [1, 2, 5, 10, 15, 20, 30, 50] },
  {
    fields: ['endpointsBatchMs', 'slicesBatchMs'],
    values: [0, 50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 5000],
  },
  { fields: ['qps'], values: [10, 20, 50, 100, 200, 500, 1000] },
  { fields: ['endpointsPerSlice'], values: [50, 100, 200, 500, 1000] },
  { fields: ['adaptiveBatchMs'], values: [0, 500, 1000, 2000, 5000] },
  { fields: ['burst'], values: [10, 30, 100, 300, 1000] },
];

function readFlag({ fields }: Flag, settings: Settings): number {
  return settings[fields.at(-1)!];
}

export function writeFlag({ fields }: Flag, settings: Settings, value: number): Settings {
  return { ...settings, ...Object.fromEntries(fields.map((field) => [field, value])) };
}

/** The flags of the program, without those of its controllers that do not run. */
export function flagsOf({ controller, story }: Pick<Run, 'controller' | 'story'>): readonly Flag[] {
  const names = settingNames(controller).filter((name) => {
    const { output } = SETTING_FLAGS[name];
    return output === undefined || outputsOf(story).includes(output);
  });
  return FLAGS.map(({ fields, values }) => ({
    fields: fields.filter((field) => names.includes(field)),
    values,
  })).filter(({ fields }) => fields.length > 0);
}

/** Each flag by itself. */
export function singly(flags: readonly Flag[]): readonly Flag[] {
  return flags.flatMap(({ fields, values }) => fields.map((field) => ({ fields: [field], values })));
}

/** How good a setting is. One that breaks constraints is worse than any that keeps all. */
export interface Score {
  /** The sum of the shares by which constraints are exceeded; 0 = all are met. */
  readonly excess: number;
  readonly goal: number;
}

export function isBetter(a: Score, b: Score): boolean {
  if (a.excess !== b.excess) return a.excess < b.excess;
  return a.goal < b.goal;
}

/** For an order in which the better one comes first. */
export function compareScores(a: Score, b: Score): number {
  return isBetter(a, b) ? -1 : isBetter(b, a) ? 1 : 0;
}

export interface Search {
  readonly best: Settings;
  readonly score: Score;
  /** How many different settings were tried. */
  readonly runs: number;
}

/** `score` is called once for each setting. */
export function searchSettings(
  today: Settings,
  flags: readonly Flag[],
  score: (settings: Settings) => Score,
  seed: number,
  starts = STARTS,
): Search {
  const known = new Map<string, Score>();
  const scoreOf = (settings: Settings): Score => {
    const key = JSON.stringify(settings);
    let found = known.get(key);
    if (found === undefined) known.set(key, (found = score(settings)));
    return found;
  };
  const prng = createPrng(seed);
  let best = climb(today, flags, scoreOf);
  for (let i = 1; i < starts; i++) {
    const drawn = flags.reduce(
      (settings, flag) => writeFlag(flag, settings, flag.values[nextInt(prng, flag.values.length)]!),
      today,
    );
    const other = climb(drawn, flags, scoreOf);
    if (isBetter(other.score, best.score)) best = other;
  }
  return { ...climbTogether(best, flags, scoreOf), runs: known.size };
}

const STARTS = 2;

type Climb = Omit<Search, 'runs'>;
type ScoreBeside = (settings: Settings, rival?: Score) => Score;

/**
 * Goes on while another value of one flag is better.
 * @param scoreOf where there is a rival, and the score is no better than that, it may be any other that is no better
 */
export function climb(start: Settings, flags: readonly Flag[], scoreOf: ScoreBeside): Climb {
  let best = start;
  let score = scoreOf(start);
  for (let unchanged = 0, i = 0; unchanged < flags.length; i = (i + 1) % flags.length) {
    const flag = flags[i]!;
    const step = bestOf(flag, best, scoreOf);
    if (!isBetter(step.score, score)) {
      unchanged++;
      continue;
    }
    unchanged = 0;
    best = step.settings;
    score = step.score;
  }
  return { best, score };
}

/**
 * Goes on where only two flags together bring something: each to one of its nearest values. While a constraint is broken three
 * are tried too, because else it would be said that none can meet it.
 */
function climbTogether(from: Climb, flags: readonly Flag[], scoreOf: (settings: Settings) => Score): Climb {
  let found = from;
  for (;;) {
    const all = found.score.excess > 0 ? [...PAIR_STEPS, TRIPLE_STEPS] : PAIR_STEPS;
    const step = nextTogether(found, flags, all, scoreOf);
    if (step === null) return found;
    found = climb(step.best, flags, scoreOf);
  }
}

/** The best of the first steps that bring something; null = none does. */
function nextTogether(
  from: Climb,
  flags: readonly Flag[],
  all: readonly (readonly number[])[],
  scoreOf: (settings: Settings) => Score,
): Climb | null {
  for (const steps of all) {
    const found = bestTogether(from, groupsOf(flags, steps.length), steps, scoreOf);
    if (found !== null) return found;
  }
  return null;
}

/** The best that is reached with all flags of a group; null = none is better. */
function bestTogether(
  { best: settings, score }: Climb,
  groups: readonly (readonly Flag[])[],
  steps: readonly number[],
  scoreOf: (settings: Settings) => Score,
): Climb | null {
  let found: Climb | null = null;
  for (const group of groups) {
    let reached = [settings];
    for (const [i, flag] of group.entries()) reached = reached.flatMap((one) => neighbours(flag, one, steps[i]!));
    for (const best of reached) {
      const tried = scoreOf(best);
      if (isBetter(tried, found?.score ?? score)) found = { best, score: tried };
    }
  }
  return found;
}

/** By how many values each flag of a pair goes on. */
const PAIR_STEPS: readonly (readonly number[])[] = [
  [1, 1],
  [1, 2],
  [2, 1],
];
const TRIPLE_STEPS: readonly number[] = [1, 1, 1];

/** All groups of so many of them. */
function groupsOf(flags: readonly Flag[], size: number): (readonly Flag[])[] {
  if (size === 0) return [[]];
  return flags.flatMap((first, i) => groupsOf(flags.slice(i + 1), size - 1).map((others) => [first].concat(others)));
}

/** The settings with the value that is so many values above, and below. */
function neighbours(flag: Flag, settings: Settings, steps: number): Settings[] {
  const now = readFlag(flag, settings);
  const above = flag.values.filter((value) => value > now)[steps - 1];
  const below = flag.values.filter((value) => value < now).at(-steps);
  return [above, below].filter((value) => value !== undefined).map((value) => writeFlag(flag, settings, value));
}

/** The best value of one flag that is reached without passing two worse ones in a row. */
function bestOf(
  flag: Flag,
  settings: Settings,
  scoreOf: ScoreBeside,
): { readonly settings: Settings; readonly score: Score } {
  let best = { settings, score: scoreOf(settings) };
  const now = readFlag(flag, settings);
  const above = flag.values.filter((value) => value > now);
  const below = flag.values.filter((value) => value < now).toReversed();
  for (const values of [above, below]) {
    let worse = 0;
    for (const value of values) {
      const next = writeFlag(flag, settings, value);
      const score = scoreOf(next, best.score);
      worse = isBetter(score, best.score) ? 0 : worse + 1;
      if (worse === 0) best = { settings: next, score };
      else if (worse === WORSE_MAX) break;
    }
  }
  return best;
}

const WORSE_MAX = 2;
