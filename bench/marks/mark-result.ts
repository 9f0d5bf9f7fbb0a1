/** What was found of a mark, whichever bench measures it. */
import { overResamples, PAIRS_FOR_INTERVAL } from '../support/statistics.ts';

export interface MarkResult {
  /** The scenario or the bench that measures it. */
  readonly by: string;
  readonly what: string;
  readonly got: string;
  readonly verdict: Verdict;
  /** How many runs of the peer with the fewest ended right, and the day of the last. */
  readonly runs: string;
}

/**
 * `within the noise`: other runs of the same programs would say the contrary about as well. One run does not tell whether
 * they would. Resamples of few runs agree too easily to be sure: as for a ratio, few are fewer than `PAIRS_FOR_INTERVAL`.
 */
export type Verdict =
  | 'reached'
  | 'not reached'
  | 'within the noise'
  | 'reached in few runs'
  | 'missed in few runs'
  | 'reached in one run'
  | 'missed in one run'
  | 'not measured';

/** The share of resamples that may say the contrary: what an interval of 95 % leaves on one side. */
const CONTRARY_MAX = 0.025;

/**
 * What all rounds say of a mark, and how sure that is by resamples of them.
 * @param isReached by these rounds, one of which may be drawn several times; null = they do not tell
 */
export function verdictOver<Round>(
  rounds: readonly Round[],
  isReached: (drawn: readonly Round[]) => boolean | null,
): Verdict {
  const seen = isReached(rounds);
  if (seen === null) return 'not measured';
  const others = overResamples(rounds, isReached).filter((other) => other !== null);
  if (others.length === 0) return seen ? 'reached in one run' : 'missed in one run';
  const contrary = others.filter((other) => other !== seen).length / others.length;
  if (contrary > CONTRARY_MAX) return 'within the noise';
  if (rounds.length < PAIRS_FOR_INTERVAL) return seen ? 'reached in few runs' : 'missed in few runs';
  return seen ? 'reached' : 'not reached';
}

/** @param endedAt ISO 8601 */
export function runsText(count: number, endedAt: string): string {
  return `${count}, ${endedAt.slice(0, DAY_CHARS)}`;
}

const DAY_CHARS = 10;
