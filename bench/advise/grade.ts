/** How often `endpointd advise` is right on drawn scenarios. */
import { observe } from '../../src/advise/observation.ts';
import { adviseOn, type Verdict } from '../../src/advise/rules.ts';
import { parseMetrics } from '../../src/metrics/text.ts';
import { drawScenario, expositionOf, type Scenario } from './scenarios.ts';
import type { ControllerName } from './simulate.ts';

export interface Grade {
  readonly scenario: Scenario;
  readonly verdicts: Readonly<Record<ControllerName, Verdict>>;
  /**
   * Whether the advice for both controllers was right. Where nobody can tell, the right advice is that it cannot tell.
   */
  readonly right: boolean;
  /** Whether the advice for one of them named a cause, or excluded all causes, and was wrong. */
  readonly wrong: boolean;
}

const CONTROLLERS: readonly ControllerName[] = ['endpoint', 'endpoint_slice'];

export function grade(seed: number): Grade {
  const scenario = drawScenario(seed);
  const { before, after, load, right } = scenario;
  const looks = [before, after].map((look) => parseMetrics(expositionOf(scenario, look)));
  const observed = observe(looks[0]!, looks[1]!, Math.abs(after.atSeconds - before.atSeconds), {
    syncs: {
      endpoint: load.endpoint.workers,
      endpoint_slice: load.endpoint_slice.workers,
      endpoint_slice_mirroring: 5,
    },
    cores: null,
    qps: { endpoint: load.endpoint.qps, endpoint_slice: load.endpoint_slice.qps, endpoint_slice_mirroring: null },
    writesInFlightMax: 64,
  });
  const advice = observed.ok ? adviseOn(observed.observation) : [];
  const verdictOf = (name: ControllerName): Verdict =>
    advice.find(({ queue }) => queue === name)?.verdict ?? 'cannot tell';
  const isRight = (name: ControllerName): boolean => {
    const verdict = verdictOf(name);
    return verdict === 'cannot tell' ? right[name].length === 0 : right[name].includes(verdict);
  };
  return {
    scenario,
    verdicts: { endpoint: verdictOf('endpoint'), endpoint_slice: verdictOf('endpoint_slice') },
    right: CONTROLLERS.every(isRight),
    wrong: CONTROLLERS.some((name) => !isRight(name) && verdictOf(name) !== 'cannot tell'),
  };
}
