/** The order in which scenarios are run again and again. */
import { performance } from 'node:perf_hooks';
import { createBudget } from './budget.ts';
import type { PeersOptions } from './flags.ts';
import { progress } from './pair.ts';
import type { Scenario } from './scenario.ts';

/**
 * Runs all scenarios once, then all once more, so that a machine that changes does so for all. If time is short, each
 * is run once before any is run twice.
 */
export async function runRounds(
  scenarios: readonly Scenario[],
  { pairs, forMs, settings }: PeersOptions,
  run: (scenario: Scenario, round: number) => Promise<void>,
): Promise<void> {
  const budget = createBudget(forMs, settings.size === 'full', () => performance.now());
  for (let round = 0; round < pairs; round++) {
    for (const scenario of scenarios) {
      if (!budget.has(scenario)) {
        progress(`${scenario.name}, round ${round + 1}: no time is left for it`);
        continue;
      }
      const beginMs = performance.now();
      await run(scenario, round);
      budget.took(scenario, performance.now() - beginMs);
    }
  }
}
