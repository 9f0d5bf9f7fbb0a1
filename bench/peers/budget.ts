/** The pairs for which a limited time has room. */
import type { Scenario } from './scenario.ts';

export interface Budget {
  /** Whether a pair of this scenario would end in time, as far as can be told. */
  readonly has: (scenario: Timed) => boolean;
  readonly took: (scenario: Timed, ms: number) => void;
}

type Timed = Pick<Scenario, 'name' | 'pairSeconds'>;

/**
 * @param forMs null = there is no limit
 * @param full whether the sizes are those of `pairSeconds`; if not, the first pair is always begun
 */
export function createBudget(forMs: number | null, full: boolean, nowMs: () => number): Budget {
  const fromMs = nowMs();
  const lasts = new Map<string, number>();
  let [tookMs, expectedMs] = [0, 0];
  const guess = ({ pairSeconds }: Timed): number => (full ? pairSeconds * 1000 : 0);
  // If the machine was slower than the guesses so far, it is slower for all pairs.
  const slowness = (): number => (expectedMs === 0 ? 1 : Math.max(1, tookMs / expectedMs));
  return {
    has: (scenario) =>
      forMs === null || nowMs() - fromMs + (lasts.get(scenario.name) ?? guess(scenario) * slowness()) <= forMs,
    took: (scenario, ms) => {
      lasts.set(scenario.name, ms);
      tookMs += ms;
      expectedMs += guess(scenario);
    },
  };
}
