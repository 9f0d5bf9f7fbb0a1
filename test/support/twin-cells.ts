/** Random settings and stories for which the queue model is held to the controller itself. */
import { SIZES_ALIKE } from './stories.ts';
import { ownPods, sharedPods } from './story-requests.ts';
import { playStory, type Played } from './story-sim.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import type { DrawRank } from '../../src/twin/draw.ts';
import { latenciesOf, quantile } from '../../src/twin/figures.ts';
import { type Ledger, OUTPUTS } from '../../src/twin/ledger.ts';
import { profileStory, type StoryProfile } from '../../src/twin/profiles.ts';
import type { Story } from '../../src/twin/story.ts';
import { runModel } from '../../src/twin/run.ts';
import { type Calibration, DEFAULT_CALIBRATION, DEFAULT_SETTINGS, type Settings } from '../../src/twin/settings.ts';

export interface Cell {
  readonly title: string;
  readonly profile: StoryProfile;
  /** See `sharedPods`. */
  readonly sharesPods: boolean;
  readonly seed: number;
  readonly settings: Settings;
  readonly calibration: Calibration;
}

const ENOUGH_QPS = 1000;
/** Those of a roll-out exceed what Endpoints have room for. */
const HUGE_PODS = 1000;

/**
 * @param minutes of each story
 * @param hugePods of the Service that some cells have beside small ones
 */
export function cells(seed: number, count: number, minutes: number, hugePods = HUGE_PODS): Cell[] {
  const prng = createPrng(seed);
  const later = createPrng(seed + 1);
  return Array.from({ length: count }, (_, i) => {
    return createCell({ prng, later, own: createPrng(1000 * seed + i) }, i, minutes, hugePods);
  });
}

/**
 * What is drawn since the cells are known by their numbers has another source, so that they stay what they were. Each cell
 * has a source of its own: what is drawn last changes nothing else.
 */
type Sources = Readonly<Record<'prng' | 'later' | 'own', Prng>>;

function createCell({ prng, later, own }: Sources, i: number, minutes: number, hugePods: number): Cell {
  const one = (values: readonly number[], from = prng): number => values[nextInt(from, values.length)]!;
  const families = (): { families: number; primary: number } => {
    const count = one([1, 1, 2], own);
    return { families: count, primary: count === 1 ? 0 : one([0, 1], own) };
  };
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
    burst: one([10, 100], later),
    adaptiveBatchMs: one([0, 1000], later),
    endpointsPerSlice: one([5, 100]),
  };
  const profile = {
    name: 'cell',
    what: '',
    namespaces: 2,
    services: [
      { count: 3, pods: 6, ...families() },
      { count: 1, pods: 25, ...families() },
    ],
    minutes,
    flipsPerSecond,
    isStorm: false,
    rolloutsPerMinute: one([0, 3]),
    podsPerSecond: 4,
  };
  const cpuFactor = one([1, 5, 20]);
  const sharesPods = one([0, 0, 1], own) === 1;
  const [isSized, isHuge] = [one([0, 1, 1], own) === 1, one([0, 0, 0, 1], own) === 1];
  if (isHuge) profile.services.push({ count: 1, pods: hugePods, ...families() });
  const apiEach = isSized ? DEFAULT_CALIBRATION.apiEach : SIZES_ALIKE;
  return {
    title: `${isHuge ? 'a huge Service, ' : ''}${sharesPods ? 'shared pods, ' : ''}${familiesText(profile)}${syncs} syncs, batch ${batchMs} ms (at most ${settings.adaptiveBatchMs}), QPS ${qps}, ${flipsPerSecond} flips/s, writes of ${writeMs} ms${isSized ? ' and more by size' : ''}, CPU x ${cpuFactor}`,
    profile,
    sharesPods,
    seed: 100 + i,
    settings,
    calibration: { ...DEFAULT_CALIBRATION, apiMs: { median: writeMs, tail: 2 }, apiEach, cpuFactor },
  };
}

function familiesText({ services }: StoryProfile): string {
  const dual = services.filter(({ families }) => families === 2);
  return dual.length === 0 ? '' : `${dual.map(({ pods }) => pods).join(' and ')} pods in two families, `;
}

/** 100 pods a second turn unready and back: 200 events a second. */
export function speedCell(minutes: number): Cell {
  const profile = {
    name: 'speed',
    what: '',
    namespaces: 10,
    services: [{ count: 20, pods: 20 }],
    minutes,
    flipsPerSecond: 100,
    isStorm: false,
    rolloutsPerMinute: 0,
    podsPerSecond: 0,
  };
  const settings = { ...DEFAULT_SETTINGS, qps: ENOUGH_QPS, burst: ENOUGH_QPS };
  return {
    title: '200 events a second',
    profile,
    sharesPods: false,
    seed: 1,
    settings,
    calibration: { ...DEFAULT_CALIBRATION, apiEach: SIZES_ALIKE },
  };
}

export interface PlayedCell {
  readonly story: Story;
  /** How long the exact twin took. */
  readonly exactMs: number;
  readonly played: Played;
  readonly ledger: Ledger;
}

export function playCell(cell: Cell): PlayedCell {
  const { settings, calibration } = cell;
  const beganMs = performance.now();
  const { story, played } = playExactly(cell);
  const exactMs = performance.now() - beganMs;
  // As a recording tells them.
  const sized = { ...story, objects: played.sizes };
  const rankOf = ranksOf(played);
  const ledger = runModel({ story: sized, controller: 'endpointd', settings, calibration, seed: DRAWS_SEED, rankOf });
  return { story, played, ledger, exactMs };
}

/** The order of the slices by their names in the exact twin. */
function ranksOf({ names }: Played): DrawRank {
  const ranks = names.map((own) => {
    const sorted = [...own].toSorted(([, a], [, b]) => (a < b ? -1 : 1));
    return new Map(sorted.map(([founder], rank) => [founder, rank]));
  });
  return (founder, _sync, family) => ranks[family]!.get(founder) ?? 0;
}

/** @param namesSeed see `ExactRun` */
export function playExactly(
  { profile, sharesPods, seed, settings, calibration }: Cell,
  namesSeed = 1,
): { readonly story: Story; readonly played: Played } {
  const told = profileStory(profile, seed);
  const story = sharesPods ? sharedPods(told) : ownPods(told);
  const options = {
    concurrentEndpointSyncs: settings.endpointSyncs,
    concurrentServiceEndpointSyncs: settings.serviceEndpointSyncs,
    endpointUpdatesBatchPeriodMs: settings.endpointsBatchMs,
    endpointsliceUpdatesBatchPeriodMs: settings.slicesBatchMs,
    kubeApiQps: settings.qps,
    kubeApiBurst: settings.burst,
    maxEndpointsPerSlice: settings.endpointsPerSlice,
    adaptiveBatchPeriodMaxMs: settings.adaptiveBatchMs,
    maxWritesInFlight: 64,
  };
  return { story, played: playStory({ story, options, calibration, seed: DRAWS_SEED, namesSeed }) };
}

/** Of the latencies: both draw the same ones, as they have the same names of slices. */
const DRAWS_SEED = 1;

export type Errors = Readonly<Record<'writes' | 'p50' | 'p99', number>>;

/** What the queue model may err. */
export const LIMITS: Errors = { writes: 0.02, p50: 0.05, p99: 0.05 };

export function isWithinLimits({ writes, p50, p99 }: Errors): boolean {
  return writes <= LIMITS.writes && p50 <= LIMITS.p50 && p99 <= LIMITS.p99;
}

/** What the queue model says beside the exact twin. */
export function errorsOf({ played, ledger }: PlayedCell): Errors {
  const { samples, writes } = ledger;
  return apart({ samples, writes: { endpoints: writes.endpoints.length, slices: writes.slices.length } }, played);
}

/** The larger one of both outputs, as a share of `exact`. */
export function apart(other: Pick<Played, 'samples' | 'writes'>, exact: Pick<Played, 'samples' | 'writes'>): Errors {
  const worst = { writes: 0, p50: 0, p99: 0 };
  for (const output of OUTPUTS) {
    const own = latenciesOf(exact.samples[output], 'any');
    const model = latenciesOf(other.samples[output], 'any');
    worst.writes = Math.max(worst.writes, error(other.writes[output], exact.writes[output]));
    worst.p50 = Math.max(worst.p50, error(quantile(model, 0.5), quantile(own, 0.5)));
    worst.p99 = Math.max(worst.p99, error(quantile(model, 0.99), quantile(own, 0.99)));
  }
  return worst;
}

function error(predicted: number, measured: number): number {
  return Math.abs(predicted - measured) / measured;
}
