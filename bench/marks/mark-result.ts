/** What was found of a mark, whichever bench measures it. */

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

/** @param endedAt ISO 8601 */
export function runsText(count: number, endedAt: string): string {
  return `${count}, ${endedAt.slice(0, DAY_CHARS)}`;
}

const DAY_CHARS = 10;
