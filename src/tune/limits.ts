/** What binds the chosen settings, and how far they are valid: how many more changes and nodes they bear. */
import { SYNCS_MOST } from '../metrics/program-of.ts';
import { runModel, type Run } from '../twin/run.ts';
import type { Settings } from '../twin/settings.ts';
import { FITTED } from './back-test.ts';
import { hastened } from './another-time.ts';
import { boundsOf, type VariantRun, type Question, scopeOf, variantsOf } from './bounds.ts';
import { createLooks, holdsWhole, lookAt, meetsSoFar } from './look.ts';
import { type Expression, isOfLatencies, type Objective, WORST_MS } from './objective.ts';
import { additionsTo, type Outcome, p99OfAdditions } from './outcome.ts';

const LOADS: readonly number[] = [1.25, 1.5, 2, 3, 5, 10];
/** The end of both ladders: what holds there may hold beyond it. */
export const LOAD_MAX = LOADS.at(-1)!;
/** By how much a resource grows. */
const MORE = 1.5;

export interface Binding {
  readonly resource: string;
  /** Of additions, if the resource grows by half; NaN = there are none. */
  readonly p99Ms: number;
}

/**
 * The effect on the p99 of additions if one resource after the other grows by half, the syncs up to what their flag allows. Syncs
 * that it allows no more of are left out.
 */
export function bindingsOf(question: Question, settings: Settings): Binding[] {
  const { run } = question;
  const output = additionsTo(run.story);
  const p99 = (resource: string, other: Partial<Run>): Binding => ({
    resource,
    p99Ms: p99OfAdditions(runModel({ ...run, settings, ...other }), output),
  });
  const { calibration } = run;
  const { endpointSyncs, serviceEndpointSyncs, qps, burst, inFlight } = settings;
  const more = (count: number): number => Math.ceil(count * MORE);
  const moreSyncs = {
    endpointSyncs: more(endpointSyncs),
    serviceEndpointSyncs: Math.min(more(serviceEndpointSyncs), SYNCS_MOST.endpoint_slice),
  };
  return [
    p99('as it is', {}),
    ...(output === 'slices' && serviceEndpointSyncs >= SYNCS_MOST.endpoint_slice
      ? []
      : [p99('syncs', { settings: { ...settings, ...moreSyncs } })]),
    ...(run.controller === 'endpointd'
      ? [p99('writes in flight', { settings: { ...settings, inFlight: more(inFlight) } })]
      : []),
    p99('QPS and burst', { settings: { ...settings, qps: qps * MORE, burst: burst * MORE } }),
    p99('cores', { calibration: { ...calibration, cores: more(calibration.cores) } }),
    p99('speed of the controller', { calibration: FITTED[1]!.scale(calibration, 1 / MORE) }),
    p99('speed of the API server', { calibration: FITTED[0]!.scale(calibration, 1 / MORE) }),
  ];
}

/** The last step of the ladder of nodes at which the bounds meet each constraint. null: nodes matter for none. */
export function nodesMaxOf(question: Question, settings: Settings): number | null {
  const { objective, nodes } = question;
  if (!objective.constraints.some(({ expression }) => isOfNodes(expression))) return null;
  const more = (factor: number): number => Math.floor(nodes * factor);
  const scopes = LOADS.map((factor) => ({ ...scopeOf(question), nodes: more(factor) }));
  const bounds = boundsOf(question, runsOf(question, settings), scopes);
  return more(lastOf((step) => objective.constraints.every(({ most }, i) => bounds[step]![i]! <= most)));
}

/** One run at a time, because each takes memory. */
function* runsOf(question: Question, settings: Settings): Generator<VariantRun, void> {
  for (const { calibration, story, haste } of variantsOf(question))
    yield { ledger: runModel({ ...question.run, settings, calibration, story }), haste };
}

/** Nodes watch slices. */
function isOfNodes(expression: Expression): boolean {
  return expression.of === 'bytes' ? expression.outputs.includes('slices') : expression.of === 'apiserver-cpu';
}

/** How many times its bound of today's load a goal may be for the answer to be valid; null = the load may move it as it likes. */
export function goalFactorMaxOf({ goal }: Objective): number | null {
  return isOfLatencies(goal.expression) ? GOAL_FACTOR_MAX : null;
}

const GOAL_FACTOR_MAX = 2;

/**
 * The last step of the ladder of changes at which the bounds meet each constraint. A goal that is a latency, or a
 * share of late changes, ends it too. Its check is the last one. null = there is nothing to meet.
 */
export function loadFactorOf(question: Question, { settings, checks }: Outcome): number | null {
  const { objective } = question;
  const goalFactorMax = goalFactorMaxOf(objective);
  if (objective.constraints.length === 0 && goalFactorMax === null) return null;
  const goalMax = goalFactorMax === null ? Infinity : goalFactorMax * checks.at(-1)!.bound;
  return lastOf((step) => {
    const factor = LOADS[step]!;
    const hastier = { ...question, run: { ...question.run, story: hastened(question.run.story, factor) } };
    // All that happens in five minutes happens in less time now.
    const scope = { ...scopeOf(hastier), worstMs: WORST_MS / factor };
    return holdsWhole(
      lookAt(createLooks(hastier, scope), settings),
      (look) => meetsSoFar(look) && look.checks.at(-1)!.bound <= goalMax,
    );
  });
}

/** The factor of the last step before the first that does not hold; 1 = none holds. */
function lastOf(holds: (step: number) => boolean): number {
  let last = 1;
  for (const [step, factor] of LOADS.entries()) {
    if (!holds(step)) return last;
    last = factor;
  }
  return last;
}
