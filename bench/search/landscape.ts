/** All settings of a controller under one story, each played once. */
import { type Objective, parseObjective, type Scope, valueOf, type Values } from '../../src/tune/objective.ts';
import { type Flag, flagsOf, writeFlag } from '../../src/tune/search.ts';
import type { Ledger } from '../../src/twin/ledger.ts';
import { profileStory, type StoryProfile } from '../../src/twin/profiles.ts';
import { type Run, runModel } from '../../src/twin/run.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import { DEFAULT_CALIBRATION, type Settings } from '../../src/twin/settings.ts';

export interface Searched {
  readonly controller: Program;
  readonly today: Settings;
  /** All combinations of their values are played, and all else stays as today; absent = all flags of the controller. */
  readonly flags?: readonly Flag[];
}

/** What is kept of a run, as an objective names it: the ledgers of all settings have no room in memory. */
export const FIGURES = ['p50(add)', 'p99(add)', 'writes', 'bytes', 'cpu'] as const;
export type FigureText = (typeof FIGURES)[number];

export interface Landscape {
  readonly flags: readonly Flag[];
  readonly today: Settings;
  readonly run: Omit<Run, 'settings'>;
  readonly scope: Scope;
  readonly grid: readonly Settings[];
  /** Of each setting of the grid. */
  readonly figures: Readonly<Record<FigureText, Float64Array>>;
  /** The place of a setting in the grid, by its JSON. */
  readonly places: ReadonlyMap<string, number>;
  /** How many were played: see `createAlikes`. */
  readonly played: number;
}

/** Every combination of the values. */
export function gridOf(flags: readonly Flag[], settings: Settings): Settings[] {
  const [flag, ...others] = flags;
  if (flag === undefined) return [settings];
  return flag.values.flatMap((value) => gridOf(others, writeFlag(flag, settings, value)));
}

/** @param looking called with the number of settings whose figures are known */
export function landscapeOf(
  profile: StoryProfile,
  searched: Searched,
  looking: (count: number, all: number) => void = () => undefined,
): Landscape {
  const { controller, today } = searched;
  const story = profileStory(profile, 1);
  const { flags = flagsOf({ controller, story }) } = searched;
  const run = { story, controller, calibration: DEFAULT_CALIBRATION, seed: 1 } as const;
  const scope = { durationMs: story.durationMs, nodes: 100, endpointsWatchers: 1 };
  const grid = gridOf(flags, today);
  const figures = figuresOf(() => new Float64Array(grid.length));
  const expressions = figuresOf((text) => parseObjective(`min ${text}`).goal.expression);
  const alikes = createAlikes();
  let played = 0;
  for (const [i, settings] of grid.entries()) {
    const alike = alikes.of(settings);
    if (alike === null) {
      played++;
      const ledger = runModel({ ...run, settings });
      for (const text of FIGURES) figures[text][i] = valueOf(expressions[text], ledger, scope);
      alikes.add(settings, ledger, i);
    } else for (const text of FIGURES) figures[text][i] = figures[text][alike]!;
    looking(i + 1, grid.length);
  }
  const places = new Map(grid.map((settings, i) => [JSON.stringify(settings), i]));
  return { flags, today, run, scope, grid, figures, places, played };
}

interface Alikes {
  /** The place of a setting that was played and comes to the same; null = none is known. */
  readonly of: (settings: Settings) => number | null;
  readonly add: (settings: Settings, ledger: Ledger, place: number) => void;
}

/**
 * Which settings come to the same. An adaptive period that is no longer than the fixed one changes nothing. Where no write has
 * waited none waits with more tokens.
 */
function createAlikes(): Alikes {
  const played = new Map<string, (Pick<Settings, 'qps' | 'burst'> & { place: number; isEnough: boolean })[]>();
  const keyOf = (settings: Settings): string => {
    const { endpointsBatchMs, slicesBatchMs, adaptiveBatchMs } = settings;
    const isIdle = adaptiveBatchMs <= Math.min(endpointsBatchMs, slicesBatchMs);
    return JSON.stringify({ ...settings, qps: 0, burst: 0, adaptiveBatchMs: isIdle ? 0 : adaptiveBatchMs });
  };
  return {
    of(settings) {
      const { qps, burst } = settings;
      const found = played
        .get(keyOf(settings))
        ?.find((one) => (one.isEnough ? one.qps <= qps && one.burst <= burst : one.qps === qps && one.burst === burst));
      return found?.place ?? null;
    },
    add(settings, { throttledMs }, place) {
      const { qps, burst } = settings;
      const own = played.get(keyOf(settings)) ?? [];
      own.push({ qps, burst, place, isEnough: throttledMs === 0 });
      played.set(keyOf(settings), own);
    },
  };
}

function figuresOf<T>(of: (text: FigureText) => T): Record<FigureText, T> {
  return Object.fromEntries(FIGURES.map((text) => [text, of(text)])) as Record<FigureText, T>;
}

/** @param i the place of a setting in the grid */
export function valuesAt({ figures }: Landscape, { constraints, goal }: Objective, i: number): Values {
  const of = (text: string): number => figures[text as FigureText][i]!;
  return { constraints: constraints.map(({ text }) => of(text.split('<=')[0]!)), goal: of(goal.text) };
}

export function placeOf({ places }: Landscape, settings: Settings): number {
  return places.get(JSON.stringify(settings))!;
}
