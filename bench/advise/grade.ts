/** How often `endpointd advise` is right on drawn scenarios. */
import { observe } from '../../src/advise/observation.ts';
import { adviseOn, type Verdict } from '../../src/advise/rules.ts';
import { parseMetrics } from '../../src/metrics/text.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import { drawEndpointdScenario } from './endpointd-scenarios.ts';
import { CONTROLLERS, drawScenario, type Drawn } from './scenarios.ts';
import type { ControllerName } from './simulate.ts';

export interface Grade {
  readonly scenario: Drawn;
  readonly verdicts: Readonly<Record<ControllerName, Verdict>>;
  /**
   * Whether the advice for both controllers was right. Where nobody can tell, the right advice is that it cannot tell.
   */
  readonly right: boolean;
  /** Whether the advice for one of them named a cause, or excluded all causes, and was wrong. */
  readonly wrong: boolean;
}

const UNKNOWN = { endpoint: null, endpoint_slice: null, endpoint_slice_mirroring: null };

/** @param knowsQps false = as with two files of metrics, and no flag */
export function grade(seed: number, controller: Program, knowsQps: boolean): Grade {
  const scenario = controller === 'endpointd' ? drawEndpointdScenario(seed) : drawScenario(seed);
  const { before, after, settings, right } = scenario;
  const looks = [before, after].map(({ text }) => parseMetrics(text));
  const seconds = Math.abs(after.atSeconds - before.atSeconds);
  const observed = observe(looks[0]!, looks[1]!, seconds, knowsQps ? settings : { ...settings, qps: UNKNOWN });
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
