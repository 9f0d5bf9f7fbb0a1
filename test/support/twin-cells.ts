/** Random settings and stories for which the queue model is held to the controller itself. */
import { playStory, type Played } from './story-sim.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import { latenciesOf, quantile } from '../../src/twin/figures.ts';
import { type Ledger, OUTPUTS } from '../../src/twin/ledger.ts';
import { profileStory, type StoryProfile } from '../../src/twin/profiles.ts';
import { runModel } from '../../src/twin/run.ts';
import { DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';

export interface Cell {
  readonly title: string;
  readonly profile: StoryProfile;
  readonly seed: number;
  readonly settings: Settings;
  readonly writeMs: number;
  /** Shares. Where tokens run out, the order in which services wait decides about each latency. */
  readonly limits: { readonly writes: number; readonly p50: number; readonly p99: number };
}

const FREE = { intake: 0, match: 0, sync: 0, scan: 0, endpoint: 0, write: 0, writtenEndpoint: 0 };
/** What the simulated network adds to a write, and takes to bring an event. */
const NETWORK_MS = 3;
const WATCH_MS = 1;
const ENOUGH_QPS = 1000;

/** `minutes` of each story. */
export function cells(seed: number, count: number, minutes: number): Cell[] {
  const prng = createPrng(seed);
  return Array.from({ length: count }, (_, i) => createCell(prng, i, minutes));
}

function createCell(prng: Prng, i: number, minutes: number): Cell {
  const one = (values: readonly number[]): number => values[nextInt(prng, values.length)]!;
  const syncs = one([1, 2, 5, 20]);
  const batchMs = one([0, 0, 100, 500, 1000]);
  const qps = one([ENOUGH_QPS, ENOUGH_QPS, 3]);
  const writeMs = one([2, 10, 50]);
  const flipsPerSecond = one([2, 5, 10]);
  const settings = {
    ...DEFAULT_SETTINGS,
    endpointSyncs: syncs,
    serviceEndpointSyncs: syncs,
    endpointsBatchMs: batchMs,
    slicesBatchMs: batchMs,
    qps,
    burst: 10,
    endpointsPerSlice: one([5, 100]),
  };
  const profile = {
    name: 'cell',
    what: '',
    namespaces: 2,
    services: [
      { count: 3, pods: 6 },
      { count: 1, pods: 25 },
    ],
    minutes,
    flipsPerSecond,
    isStorm: false,
    rolloutsPerMinute: one([0, 3]),
    podsPerSecond: 4,
  };
  const isSaturated = qps < ENOUGH_QPS;
  return {
    title: `${syncs} syncs, batch ${batchMs} ms, QPS ${qps}, ${flipsPerSecond} flips/s, writes of ${writeMs} ms`,
    profile,
    seed: 100 + i,
    settings,
    writeMs,
    limits: isSaturated ? { writes: 0.05, p50: 0.3, p99: 0.3 } : { writes: 0.02, p50: 0.05, p99: 0.05 },
  };
}

export interface PlayedCell {
  readonly played: Played;
  readonly ledger: Ledger;
}

export function playCell({ profile, seed, settings, writeMs }: Cell): PlayedCell {
  const story = profileStory(profile, seed);
  const played = playStory(
    story,
    {
      concurrentEndpointSyncs: settings.endpointSyncs,
      concurrentServiceEndpointSyncs: settings.serviceEndpointSyncs,
      endpointUpdatesBatchPeriodMs: settings.endpointsBatchMs,
      endpointsliceUpdatesBatchPeriodMs: settings.slicesBatchMs,
      kubeApiQps: settings.qps,
      kubeApiBurst: settings.burst,
      maxEndpointsPerSlice: settings.endpointsPerSlice,
      maxWritesInFlight: 64,
    },
    writeMs,
  );
  const ledger = runModel({
    story,
    controller: 'endpointd',
    settings,
    calibration: {
      ...DEFAULT_CALIBRATION,
      apiMs: { median: writeMs + NETWORK_MS, tail: 1 },
      watchLagMs: WATCH_MS,
      costs: { ...DEFAULT_CALIBRATION.costs, endpointd: FREE },
    },
    seed: 1,
  });
  return { played, ledger };
}

/** The larger one of both outputs, as a share of what the controller itself did. */
export function errorsOf({ played, ledger }: PlayedCell): { writes: number; p50: number; p99: number } {
  const worst = { writes: 0, p50: 0, p99: 0 };
  for (const output of OUTPUTS) {
    const own = latenciesOf(played.samples[output], 'any');
    const model = latenciesOf(ledger.samples[output], 'any');
    worst.writes = Math.max(worst.writes, error(ledger.written[output].writes, played.writes[output]));
    worst.p50 = Math.max(worst.p50, error(quantile(model, 0.5), quantile(own, 0.5), UNCOUNTED_MS));
    worst.p99 = Math.max(worst.p99, error(quantile(model, 0.99), quantile(own, 0.99), UNCOUNTED_MS));
  }
  return worst;
}

function error(predicted: number, measured: number, uncounted = 0): number {
  return Math.max(0, Math.abs(predicted - measured) - uncounted) / measured;
}

/** The simulated network is that unsteady by itself. */
const UNCOUNTED_MS = 2;
