/** How long a cell takes, and which part of it counts. */
import { parseDuration } from '../../src/lib/duration.ts';
import { type Evidence, evidenceBetween, shownBefore } from '../../src/tune/evidence.ts';
import { profileStory } from '../../src/twin/profiles.ts';
import type { Story } from '../../src/twin/story.ts';
import type { CellPlan } from './plan.ts';

export interface CellTimes {
  readonly warmUpMs: number;
  readonly measuredMs: number;
}

/** The story of a cell. It lasts for the warm-up and the measured time. */
export function storyOf({ workload }: Pick<CellPlan, 'workload'>, seed: number, times: CellTimes): Story {
  const durationMs = times.warmUpMs + times.measuredMs;
  return profileStory({ ...workload, minutes: durationMs / 60_000 }, seed);
}

/**
 * The part that is compared: changes after the warm-up that were shown by the end, and writes between warm-up and end.
 */
export function measuredPart(evidence: Evidence, { warmUpMs, measuredMs }: CellTimes): Evidence {
  const endMs = warmUpMs + measuredMs;
  return shownBefore(evidenceBetween(evidence, warmUpMs, endMs), endMs);
}

/** @throws Error if the text is no duration */
export function millisecondsOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new Error(`a duration such as 20s was expected, not ${JSON.stringify(text)}`);
  return ms;
}
