/** The settings that were tried, each once. */
import { writesOf } from '../twin/figures.ts';
import { type Ledger, type Limit, OUTPUTS } from '../twin/ledger.ts';
import { runModel } from '../twin/run.ts';
import type { Settings } from '../twin/settings.ts';
import { type Values, valuesOf } from './objective.ts';
import { type Question, scopeOf } from './bounds.ts';
import { additionsTo, p99OfAdditions } from './outcome.ts';

/** What is kept of a run: a ledger has each change and each write, and there are hundreds of runs. */
export interface Tried {
  readonly settings: Settings;
  readonly values: Values;
  /** Of additions; NaN = there were none. */
  readonly p99Ms: number;
  readonly writesPerSecond: number;
  /** The sum of all latencies. */
  readonly waitedMs: number;
}

export interface Trials {
  /** Runs the model with these settings, unless that was done, or would be the same run. */
  readonly of: (settings: Settings) => Tried;
  /** All so far. */
  readonly all: () => Tried[];
}

/**
 * Of settings that differ in limits alone, which are larger and were not reached with the smaller ones, one is played.
 * @param looking called before each look at a setting
 */
export function createTrials(question: Question, looking: () => void): Trials {
  const known = new Map<string, Trial>();
  return {
    of(settings) {
      const key = JSON.stringify(settings);
      let found = known.get(key);
      if (found === undefined) {
        looking();
        const same = [...known.values()].find((earlier) => isSame(earlier, settings));
        found = same === undefined ? play(question, settings) : { ...same, tried: { ...same.tried, settings } };
        known.set(key, found);
      }
      return found.tried;
    },
    all: () => [...known.values()].map(({ tried }) => tried),
  };
}

interface Trial {
  readonly tried: Tried;
  readonly reached: Ledger['reached'];
}

function play(question: Question, settings: Settings): Trial {
  const { run, objective } = question;
  const scope = scopeOf(question);
  const ledger = runModel({ ...run, settings });
  const tried = {
    settings,
    values: valuesOf(objective, ledger, scope),
    p99Ms: p99OfAdditions(ledger, additionsTo(run.story)),
    writesPerSecond: writesOf(ledger) / (scope.durationMs / 1000),
    waitedMs: OUTPUTS.flatMap((output) => ledger.samples[output]).reduce((sum, one) => sum + one.latencyMs, 0),
  };
  return { tried, reached: ledger.reached };
}

const LIMITS: Readonly<Partial<Record<keyof Settings, Limit>>> = {
  endpointSyncs: 'endpointSyncs',
  serviceEndpointSyncs: 'serviceEndpointSyncs',
  qps: 'tokens',
  burst: 'tokens',
  endpointsPerSlice: 'endpointsPerSlice',
};

/** Whether all would come to pass as in the earlier run. */
function isSame({ tried: { settings: earlier }, reached }: Trial, settings: Settings): boolean {
  return (Object.keys(settings) as (keyof Settings)[]).every((name) => {
    const [was, is] = [earlier[name], settings[name]];
    const limit = LIMITS[name];
    // A QPS of 0 or less is no limit.
    return is === was || (limit !== undefined && is > was && was > 0 && !reached.has(limit));
  });
}
