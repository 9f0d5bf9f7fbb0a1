/** All scenarios, in the order in which they are measured and reported. */
import { BIG, BURST, RAMP, REMOVAL, SCALE_UP } from './scenarios/bursts.ts';
import { CHURN, HUGE_FLIPS, READY, TWO_NUMBERS } from './scenarios/flips.ts';
import { FAILOVER, INTAKE, MIRROR, NODE } from './scenarios/others.ts';
import { BEST, FLOW_CONTROL, JOURNAL, NET, SHIPPED, SOAK, WATCHERS } from './scenarios/setups.ts';
import { ROLLOUT, STORM } from './scenarios/sides.ts';
import { LARGE_COLD, LARGE_RESTART, MEMORY, ONENS_COLD, RESTART, RESTART_FEW, SPREAD_COLD } from './scenarios/start.ts';
import type { Mark, Scenario } from './scenario.ts';

/** The scenarios of the table of marks. They are run where no scenario is named. */
const TABLE: readonly Scenario[] = [
  SPREAD_COLD,
  RESTART,
  RESTART_FEW,
  CHURN,
  HUGE_FLIPS,
  ONENS_COLD,
  LARGE_COLD,
  LARGE_RESTART,
  READY,
];

export const SCENARIOS: readonly Scenario[] = [
  ...TABLE,
  TWO_NUMBERS,
  BURST,
  RAMP,
  SCALE_UP,
  ROLLOUT,
  REMOVAL,
  BIG,
  STORM,
  NODE,
  MIRROR,
  FAILOVER,
  INTAKE,
  NET,
  SHIPPED,
  BEST,
  ...WATCHERS,
  FLOW_CONTROL,
  JOURNAL,
  MEMORY,
  SOAK,
];

/** @throws Error that names all scenarios */
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
