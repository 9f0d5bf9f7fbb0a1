/** The figures that a cell should show: by the queue model, and by a naive predictor without a model. */
import type { Evidence } from '../../src/tune/evidence.ts';
import { cpuOf, latenciesOf, quantile } from '../../src/twin/figures.ts';
import { type Output, perOutput } from '../../src/twin/ledger.ts';
import { runModel } from '../../src/twin/run.ts';
import type { Program } from '../../src/metrics/program-of.ts';
import type { Calibration, Settings } from '../../src/twin/settings.ts';
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
  controller: Program,
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
export function predictCpu(story: Story, controller: Program, settings: Settings, calibration: Calibration): number {
  return cpuOf(runModel({ story, controller, settings, calibration, seed: 0 }));
}

function figuresOf({ samples, writes }: Evidence, output: Output): Prediction {
  const sorted = latenciesOf(samples[output], 'any');
  const at = (share: number): number => quantile(sorted, share);
  return { writes: writes[output].length, p50: at(0.5), p90: at(0.9), p985: at(0.985), p99: at(0.99), p995: at(0.995) };
}

/**
 * Predicts without a model. A change takes the batch period and the time of an idle controller. Each object is written once
 * for each batch period of its Service in which it has a change.
 * @param idleMs median of a controller without a batch period that waits for nothing
 */
export function predictNaively(story: Story, settings: Settings, idleMs: number, times: CellTimes): Predictions {
  const of = (output: Output, batchMs: number, perObject: number): Prediction => {
    const ms = batchMs + idleMs;
    const writes = writesInWindows(story, output, { batchMs, perObject }, times);
    return { writes, p50: ms, p90: ms, p985: ms, p99: ms, p995: ms };
  };
  return {
    endpoints: of('endpoints', settings.endpointsBatchMs, Infinity),
    slices: of('slices', settings.slicesBatchMs, settings.endpointsPerSlice),
  };
}

interface Windows {
  readonly batchMs: number;
  /** How many endpoints an object has at most. */
  readonly perObject: number;
}

/** How many objects have a change in batch periods that begin after the warm-up, summed over all Services. */
function writesInWindows(
  story: Story,
  output: Output,
  { batchMs, perObject }: Windows,
  { warmUpMs, measuredMs }: CellTimes,
): number {
  const objects = createObjects(story, output, perObject);
  const shown = story.places.map(({ start }) => start[output]);
  const windows = new Map<number, { readonly fromMs: number; readonly written: Set<number> }>();
  let writes = 0;
  for (const { atMs, places } of story.changes) {
    for (const { place, wanted } of places) {
      if (shown[place] === wanted[output]) continue;
      shown[place] = wanted[output];
      const { service } = story.places[place]!;
      let window = windows.get(service);
      if (window === undefined || atMs >= window.fromMs + batchMs)
        windows.set(service, (window = { fromMs: atMs, written: new Set() }));
      const object = objectOf(objects[service]!, place, wanted[output] !== 0);
      const isCounted = window.fromMs >= warmUpMs && window.fromMs < warmUpMs + measuredMs;
      // A Service has as many objects of that kind as families.
      if (isCounted && !window.written.has(object))
        writes += output === 'slices' ? story.services[service]!.families : 1;
      window.written.add(object);
    }
  }
  return writes;
}

/** The objects of a Service: full but for the last one. A pod that comes takes the room of one that has gone. */
interface Objects {
  readonly perObject: number;
  readonly room: Map<number, number>;
  readonly left: number[];
}

function createObjects(story: Story, output: Output, perObject: number): Objects[] {
  const objects = story.services.map((): Objects => ({ perObject, room: new Map(), left: [] }));
  for (const [place, { service, start }] of story.places.entries())
    if (start[output] !== 0) objectOf(objects[service]!, place, true);
  return objects;
}

/** The object that has the pod, or has had it until now. */
function objectOf({ perObject, room, left }: Objects, place: number, stays: boolean): number {
  const own = room.get(place) ?? left.shift() ?? room.size;
  room.set(place, own);
  if (!stays) {
    room.delete(place);
    left.push(own);
  }
  return Math.floor(own / perObject);
}
