/** The figures of a recording: its contents, the sizes of Services, roll-outs, and the controller's latencies. */
import { percentile } from '../lib/percentile.ts';
import { countEvent, createCounting, type Contents, watchedSeconds } from './contents.ts';
import { awaitedOf, createMeasuring, measureEvent, serviceSizes, type Measured, type Measuring } from './measure.ts';
import type { OutputResource, RecordedEvent } from './recording.ts';
import { createRollOuts, followRollOuts, type RollOut } from './roll-outs.ts';
import { createSelections, takeSelection } from './selections.ts';

export interface RecordingFigures {
  readonly contents: Contents;
  readonly services: ServiceSizes;
  readonly rollOuts: readonly RollOut[];
  /** null = the server did not let the recorder read the output. */
  readonly controller: Readonly<Record<OutputResource, ControllerFigures | null>>;
}

/** How many ready addresses Services with selected pods have at the end. */
export interface ServiceSizes extends Spread {
  readonly moreThan100: number;
  readonly moreThan1000: number;
}

/** null = there are no values. */
export interface Spread {
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

export interface ControllerFigures {
  /** Milliseconds from the event of a pod's or Service's change to the event that shows it. */
  readonly addedMs: Spread;
  readonly removedMs: Spread;
  readonly writes: number;
  /** null = no time has passed. */
  readonly writesPerSecond: number | null;
  /** How many changes each write showed, over writes that showed any. */
  readonly changesPerWrite: number | null;
  /** Changes that were undone before they were shown. */
  readonly undone: number;
  /** Changes that need not be shown: the Service has ceased to ask for them, or its Endpoints are over capacity. */
  readonly notOwed: number;
  /** Changes around which a watch was lost. */
  readonly hidden: number;
  /** Changes not shown when the recording ended. */
  readonly notShown: number;
}

export function figuresOf(events: Iterable<RecordedEvent>): RecordingFigures {
  const counting = createCounting();
  const selections = createSelections();
  const measuring = createMeasuring();
  const rollOuts = createRollOuts();
  for (const event of events) {
    const selection = takeSelection(selections, event);
    followRollOuts(rollOuts, event, selection);
    measureEvent(measuring, event, selection);
    countEvent(counting, event);
  }
  const { contents } = counting;
  const { refused } = measuring;
  const controller = (kind: OutputResource): ControllerFigures | null =>
    refused.has(kind) ? null : controllerFigures(measuring, kind, watchedSeconds(contents, kind));
  return {
    contents,
    services: sizesOf(serviceSizes(selections)),
    rollOuts: rollOuts.found,
    controller: { endpoints: controller('endpoints'), endpointslices: controller('endpointslices') },
  };
}

function sizesOf(sizes: readonly number[]): ServiceSizes {
  return {
    ...spreadOf(sizes),
    moreThan100: sizes.filter((size) => size > 100).length,
    moreThan1000: sizes.filter((size) => size > 1000).length,
  };
}

function controllerFigures(measuring: Measuring, kind: OutputResource, seconds: number): ControllerFigures {
  const { addedMs, removedMs, writes, showing, undone, notOwed, hidden }: Measured = measuring.measured[kind];
  return {
    addedMs: spreadOf(addedMs),
    removedMs: spreadOf(removedMs),
    writes,
    writesPerSecond: seconds > 0 ? writes / seconds : null,
    changesPerWrite: showing > 0 ? (addedMs.length + removedMs.length) / showing : null,
    undone,
    notOwed,
    hidden,
    notShown: awaitedOf(measuring, kind),
  };
}

function spreadOf(samples: readonly number[]): Spread {
  const at = (share: number): number | null => (samples.length === 0 ? null : percentile(samples, share));
  return { count: samples.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}
