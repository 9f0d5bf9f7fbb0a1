/** All scenarios, in the order in which they are measured and reported. */
import { BIG, BURST, RAMP, REMOVAL, SCALE_UP, SCALE_UP_COLLECTED } from './scenarios/bursts.ts';
import { CHURN, HUGE_FLIPS, HUGE_WARM, READY, TWO_NUMBERS } from './scenarios/flips.ts';
import { FAILOVER, INTAKE, MIRROR, NODE_LOST, NODE_ZONE } from './scenarios/others.ts';
import { BEST, FLOW_CONTROL, JOURNAL, NET, SHIPPED, SOAK, WATCHERS } from './scenarios/setups.ts';
import { ROLLOUT, STORM } from './scenarios/sides.ts';
import { STANDBY } from './scenarios/standby.ts';
import { LARGE_COLD, LARGE_RESTART, MEMORY, ONENS_COLD, RESTART, RESTART_FEW, SPREAD_COLD } from './scenarios/start.ts';
import type { ComparedScenario, Scenario } from './scenario.ts';

/** They are run where no scenario is named. All have marks; others that have some are named in CONTRIBUTING.md. */
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
  HUGE_WARM,
  TWO_NUMBERS,
  BURST,
  RAMP,
  SCALE_UP,
  SCALE_UP_COLLECTED,
  ROLLOUT,
  REMOVAL,
  BIG,
  STORM,
  NODE_ZONE,
  NODE_LOST,
  MIRROR,
  FAILOVER,
  INTAKE,
  NET,
  STANDBY,
  SHIPPED,
  BEST,
  ...WATCHERS,
  FLOW_CONTROL,
  JOURNAL,
  MEMORY,
  SOAK,
];

/**
 * A name may be the first word of several: `node` is `node-zone` and `node-lost`.
 * @throws Error that names all scenarios
 */
export function findScenarios(names: readonly string[]): readonly Scenario[] {
  if (names.length === 0) return TABLE;
  if (names.includes('all')) return SCENARIOS;
  return names.flatMap((name) => {
    const exact = SCENARIOS.filter((scenario) => scenario.name === name);
    const found = exact.length > 0 ? exact : SCENARIOS.filter((scenario) => scenario.name.startsWith(`${name}-`));
    if (found.length > 0) return found;
    throw new Error(`no scenario is called ${name}: there are ${SCENARIOS.map((each) => each.name).join(', ')}`);
  });
}

export function scenariosByName(): Readonly<Record<string, ComparedScenario>> {
  return Object.fromEntries(SCENARIOS.map((scenario) => [scenario.name, scenario]));
}
