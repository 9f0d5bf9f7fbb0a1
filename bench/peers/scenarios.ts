/** All scenarios, in the order in which they are measured and reported. */
import { CHURN, HUGE_FLIPS, READY, TWO_NUMBERS } from './scenarios/flips.ts';
import { LARGE_COLD, LARGE_RESTART, ONENS_COLD, RESTART, SPREAD_COLD } from './scenarios/start.ts';
import type { Mark, Scenario } from './scenario.ts';

/** Those of the table of marks: what is measured where no scenario is named. */
export const TABLE: readonly Scenario[] = [
  ONENS_COLD,
  SPREAD_COLD,
  RESTART,
  CHURN,
  READY,
  HUGE_FLIPS,
  LARGE_COLD,
  LARGE_RESTART,
];

export const SCENARIOS: readonly Scenario[] = [...TABLE, TWO_NUMBERS];

/** @throws Error that names the scenarios there are */
export function findScenarios(names: readonly string[]): readonly Scenario[] {
  if (names.length === 0) return TABLE;
  if (names.includes('all')) return SCENARIOS;
  return names.map((name) => {
    const found = SCENARIOS.find((scenario) => scenario.name === name);
    if (found !== undefined) return found;
    throw new Error(`no scenario is called ${name}: there are ${SCENARIOS.map((each) => each.name).join(', ')}`);
  });
}

export function marksByScenario(): Readonly<Record<string, readonly Mark[]>> {
  return Object.fromEntries(SCENARIOS.map(({ name, marks = [] }) => [name, marks]));
}
