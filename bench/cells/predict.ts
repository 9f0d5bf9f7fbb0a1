/** The figures that a cell should show: by the queue model, and by a naive predictor without a model. */
import type { Evidence } from '../../src/tune/evidence.ts';
import { cpuOf, latenciesOf, quantile } from '../../src/twin/figures.ts';
import { type Output, perOutput } from '../../src/twin/ledger.ts';
import { runModel } from '../../src/twin/run.ts';
import type { Calibration, Controller, Settings } from '../../src/twin/settings.ts';
import type { Story } from '../../src/twin/story.ts';
import { median } from '../../src/lib/percentile.ts';
import { type CellTimes, measuredPart } from './cell-times.ts';

/** Milliseconds, except for the number of writes. */
export interface Prediction {
  readonly writes: number;
  readonly p50: number;
  readonly p90: number;
  readonly p985: number;
  readonly p99: number;
  readonly p995: number;
}

export type Predictions = Readonly<Record<Output, Prediction>>;

/** The medians of `DRAWS` runs with other latencies of the API server: the p99 of one run hangs on a dozen changes. */
export function predict(
  story: Story,
  controller: Controller,
  settings: Settings,
  calibration: Calibration,
  times: CellTimes,
): Predictions {
  const parts = Array.from({ length: DRAWS }, (_, seed) =>
    measuredPart(runModel({ story, controller, settings, calibration, seed }), times),
  );
  return perOutput((output) => mediansOf(parts.map((part) => figuresOf(part, output))));
}

const DRAWS = 5;

function mediansOf(draws: readonly Prediction[]): Prediction {
  const of = (figure: keyof Prediction): number => median(draws.map((draw) => draw[figure]));
  return { writes: of('writes'), p50: of('p50'), p90: of('p90'), p985: of('p985'), p99: of('p99'), p995: of('p995') };
}

/** Milliseconds of the controller's CPU while the story is played. */
export function predictCpu(story: Story, controller: Controller, settings: Settings, calibration: Calibration): number {
  return cpuOf(runModel({ story, controller, settings, calibration, seed: 0 }));
}

function figuresOf({ samples, writes }: Evidence, output: Output): Prediction {
  const sorted = latenciesOf(samples[output], 'any');
  const at = (share: number): number => quantile(sorted, share);
  return { writes: writes[output].length, p50: at(0.5), p90: at(0.9), p985: at(0.985), p99: at(0.99), p995: at(0.995) };
}

/**
 * Predicts without a model. A change takes the batch period and the time of an idle controller. Each service is written
 * once for each batch period with a change.
 * @param idleMs median of a controller without a batch period that waits for nothing
 */
export function predictNaively(story: Story, settings: Settings, idleMs: number, times: CellTimes): Predictions {
  const of = (output: Output, batchMs: number): Prediction => {
    const ms = batchMs + idleMs;
    return { writes: windowsOf(story, output, batchMs, times), p50: ms, p90: ms, p985: ms, p99: ms, p995: ms };
  };
  return { endpoints: of('endpoints', settings.endpointsBatchMs), slices: of('slices', settings.slicesBatchMs) };
}

/** How many batch periods with a change begin after the warm-up, summed over all services. */
function windowsOf(story: Story, output: Output, batchMs: number, { warmUpMs, measuredMs }: CellTimes): number {
  const shown = story.places.map(({ start }) => start[output]);
  const openUntil = new Map<number, number>();
  let windows = 0;
  for (const { atMs, places } of story.changes) {
    for (const { place, wanted } of places) {
      if (shown[place] === wanted[output]) continue;
      shown[place] = wanted[output];
      const { service } = story.places[place]!;
      if (atMs < (openUntil.get(service) ?? 0)) continue;
      openUntil.set(service, atMs + batchMs);
      if (atMs >= warmUpMs && atMs < warmUpMs + measuredMs) windows++;
    }
  }
  return windows;
}
