/** The settings that were tried, each once. */
import { writesOf } from '../twin/figures.ts';
import { OUTPUTS } from '../twin/ledger.ts';
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
  /** Runs the model with these settings, unless that was done. */
  readonly of: (settings: Settings) => Tried;
  /** All so far. */
  readonly all: () => Tried[];
}

/** @param looking called before each run */
export function createTrials(question: Question, looking: () => void): Trials {
  const { run, objective } = question;
  const scope = scopeOf(question);
  const tried = new Map<string, Tried>();
  return {
    of(settings) {
      const key = JSON.stringify(settings);
      let found = tried.get(key);
      if (found === undefined) {
        looking();
        const ledger = runModel({ ...run, settings });
        const values = valuesOf(objective, ledger, scope);
        const writesPerSecond = writesOf(ledger) / (scope.durationMs / 1000);
        const waitedMs = OUTPUTS.flatMap((output) => ledger.samples[output]).reduce(
          (sum, one) => sum + one.latencyMs,
          0,
        );
        found = { settings, values, p99Ms: p99OfAdditions(ledger, additionsTo(run.story)), writesPerSecond, waitedMs };
        tried.set(key, found);
      }
      return found;
    },
    all: () => [...tried.values()],
  };
}
