/** Objectives that at most 1 % of all settings meet, and of which the goal tells those settings apart. */
import { placeAbove } from '../../src/lib/sorted.ts';
import { type Objective, parseObjective } from '../../src/tune/objective.ts';
import type { FigureText, Landscape } from './landscape.ts';

/** What is limited, and what is to be small. */
interface Asked {
  readonly latency: 'p50(add)' | 'p99(add)';
  readonly rate: 'writes' | 'bytes';
  readonly goal: FigureText;
}

export const ASKED: readonly Asked[] = [
  { latency: 'p99(add)', rate: 'bytes', goal: 'p50(add)' },
  { latency: 'p99(add)', rate: 'bytes', goal: 'writes' },
  { latency: 'p99(add)', rate: 'bytes', goal: 'cpu' },
  { latency: 'p50(add)', rate: 'bytes', goal: 'p99(add)' },
  { latency: 'p50(add)', rate: 'bytes', goal: 'cpu' },
  { latency: 'p50(add)', rate: 'writes', goal: 'bytes' },
];

/** Of the settings: at most so many meet the constraints. */
export const QUALIFYING_MAX = 0.01;
/** A goal within so much of the best is near it. */
export const REGRET_MAX = 0.05;
/** If more of the settings that meet the constraints are near the best, the goal hardly matters. */
const NEAR_SHARE_MAX = 0.5;
const LIMITS_MS: readonly number[] = [100, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1200, 1500, 2000];

export interface Narrow {
  readonly objective: Objective;
  /** How many settings meet its constraints, and how many of these are near the best. */
  readonly meet: number;
  readonly near: number;
}

/** Whether the goal matters: else a search only has to find a setting that meets the constraints. */
export function hasSay({ meet, near }: Pick<Narrow, 'meet' | 'near'>): boolean {
  return near <= NEAR_SHARE_MAX * meet;
}

/**
 * Of each limit of the latency the loosest limit of the rate that few enough settings meet. Of these objectives the one that
 * most settings meet and whose goal matters; if it matters in none, the one in which it matters most. How a search fares has
 * no part in it. null = so many settings come to the same that no limits are met by few.
 */
export function narrowObjective(landscape: Landscape, asked: Asked): Narrow | null {
  const all = LIMITS_MS.flatMap((limitMs) => narrowAt(landscape, asked, limitMs));
  const telling = all.filter(hasSay).toSorted((a, b) => b.meet - a.meet);
  const others = all.toSorted((a, b) => a.near / a.meet - b.near / b.meet);
  return telling[0] ?? others[0] ?? null;
}

/** [] = too many settings meet any limit of the rate that one of them meets. */
function narrowAt({ figures, grid }: Landscape, { latency, rate, goal }: Asked, limitMs: number): Narrow[] {
  const [latencies, rates, goals] = [figures[latency], figures[rate], figures[goal]];
  const meeting = [...grid.keys()].filter((i) => latencies[i]! <= limitMs);
  const ascending = Float64Array.from(meeting, (i) => rates[i]!).sort();
  const most = Math.floor(QUALIFYING_MAX * grid.length);
  for (let i = Math.min(most, ascending.length) - 1; i >= 0; i--) {
    const limit = roundedUp(rate, ascending[i]!);
    // Ties may let more in.
    if (placeAbove(ascending, limit) > most) continue;
    const objective = parseObjective(`${latency}<=${limitMs}ms, ${rate}<=${limit}/s, min ${goal}`);
    const own = meeting.filter((place) => rates[place]! <= limit).map((place) => goals[place]!);
    const best = Math.min(...own);
    return [{ objective, meet: own.length, near: own.filter((value) => value <= best * (1 + REGRET_MAX)).length }];
  }
  return [];
}

function roundedUp(rate: Asked['rate'], value: number): number {
  return rate === 'writes' ? Math.ceil(value * 10) / 10 : Math.ceil(value);
}
