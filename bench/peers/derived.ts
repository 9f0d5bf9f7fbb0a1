/** Figures that a report makes of what a run has kept, so that runs of older benches have them too. Plain data in and out. */
import { median, percentile } from '../../src/lib/percentile.ts';
import type { RunResult } from './stage.ts';
import type { RunSamples } from './window.ts';

/** By how much a step may differ from the measure that it is. */
const WALL_SHARE = 0.01;

type Kept = Pick<RunResult, 'figures' | 'samples' | 'timeline'>;

/**
 * The runs of one scenario with what their samples and their timeline tell. If any of them has changes that were taken back,
 * all have the latencies without these.
 */
export function withDerived<T extends Kept>(runs: readonly T[]): T[] {
  const isTakenBack = runs.some(({ figures }) => figures['coalesced'] !== undefined);
  return runs.map((run) => {
    const samples: RunSamples = isTakenBack
      ? { ...shownOf(run), ...run.samples, wrong: run.samples.slices.filter((ms) => ms > 0) }
      : run.samples;
    const figures = { ...run.figures, ...firstTenth(run), ...(isTakenBack ? takenBackFigures(run, samples) : {}) };
    return { ...run, samples, figures };
  });
}

/** Of a run in which nothing was taken back. */
function shownOf({ figures, samples }: Kept): Pick<RunSamples, 'shown'> {
  return figures['coalesced'] === undefined ? { shown: samples.slices } : {};
}

function takenBackFigures({ figures }: Kept, { wrong = [], shown }: RunSamples): Record<string, number> {
  const changes = figures['changes'];
  return {
    ...(changes === undefined ? {} : { takenBack: (100 * (figures['coalesced'] ?? 0)) / changes }),
    ...quantiles('wrong', wrong),
    ...quantiles('shown', shown ?? []),
  };
}

function quantiles(name: string, samples: readonly number[]): Record<string, number> {
  if (samples.length === 0) return {};
  return { [`${name}P50`]: percentile(samples, 0.5), [`${name}P99`]: percentile(samples, 0.99) };
}

/**
 * What `growthMB` is more than. Runs of older benches have not kept it. Where the last step is the measure, their
 * timeline tells it, with fewer points.
 */
function firstTenth({ figures, timeline: { ms, residentBytes, steps } }: Kept): Record<string, number> {
  const last = steps.at(-1);
  if (figures['firstMB'] !== undefined || last === undefined) return {};
  const seconds = (ms.at(-1)! - last.ms) / 1000;
  if (!(Math.abs(seconds / figures['wall']! - 1) < WALL_SHARE)) return {};
  const within = residentBytes.filter((bytes, i) => bytes > 0 && ms[i]! >= last.ms);
  const tenth = within.slice(0, Math.max(1, Math.floor(within.length / 10)));
  return within.length === 0 ? {} : { firstMB: median(tenth) / 1e6 };
}
