/**
 * A story is plain data, made from a seed before it runs: a world, and what happens in it and when. Whatever is left out of
 * a story, the rest is a story too: each happening looks for its target when its time has come, and does nothing where there
 * is none. So a story that fails can be shrunk.
 */
import { OPT_OUT_LABEL } from './cast.ts';
import type { SecondKind } from './second.ts';
import { HAPPENINGS, type HappeningKind } from './happenings.ts';
import type { ControllerOptions } from '../../src/controller/options.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';

export interface Story {
  readonly seed: number;
  readonly world: World;
  /** In the order of their times. */
  readonly happenings: readonly Happening[];
}

export interface Happening {
  readonly atMs: number;
  readonly what: HappeningKind;
  /** How long it lasts; 0 = it is over at once. */
  readonly forMs: number;
  /** Seed of all that it draws, so that others may go without changing it. */
  readonly draw: number;
}

export const RESYNC_MS = 600_000;

/** Both address families are there in every world. */
export interface World {
  readonly services: number;
  /** Services without a selector, with Endpoints made by hand. */
  readonly handMade: number;
  readonly pods: number;
  readonly shards: number;
  /** Longest that a shard takes for a batch, in virtual milliseconds. */
  readonly batchMs: number;
  readonly serverWatchList: boolean;
  /** How often the garbage collector looks; 0 = there is none, and slices outlive their owners. */
  readonly collectMs: number;
  /** Three API servers, whose watches lag up to so long behind each other; 0 = there is one, which does not. */
  readonly lagMs: number;
  /** Who else writes the same objects all the time. */
  readonly second: SecondKind;
  readonly options: Partial<ControllerOptions>;
}

/** What is always so, whatever the flags of a process. */
export const FIXED_OPTIONS: Partial<ControllerOptions> = {
  endpoints: true,
  slices: true,
  mirror: true,
  optOutLabel: OPT_OUT_LABEL,
  minResyncPeriodMs: RESYNC_MS,
  shardDeadlineMs: 5000,
  // Few enough that some are dropped.
  eventQueueSize: 5,
};

/** What a story is shrunk towards, field by field. */
export const SIMPLEST_WORLD: World = {
  services: 1,
  handMade: 0,
  pods: 1,
  shards: 1,
  batchMs: 1,
  serverWatchList: true,
  collectMs: 0,
  lagMs: 0,
  second: 'nobody',
  options: {},
};

/** What moves endpoints from slice to slice, and what lets some of the writes of one plan fail: each alone is harmless. */
const HALF_DONE: readonly HappeningKind[] = [
  'service-target-port',
  'scale-down',
  'pod-create',
  'pod-relabel',
  'roll-out',
  'quota',
  'flaky-webhook',
  'errors',
  'lose-requests',
  'too-many',
];

/** Kinds of happenings in one story: of all of them at once most undo what the others have begun. */
const KINDS_MAX = 12;
const LENGTH_MS_MAX = 60_000;

export function makeStory(seed: number): Story {
  const prng = createPrng(seed);
  const world = drawWorld(prng, seed);
  const all = nextInt(prng, 5) === 0 ? HALF_DONE : (Object.keys(HAPPENINGS) as HappeningKind[]);
  const kinds = Array.from({ length: 3 + nextInt(prng, KINDS_MAX - 2) }, () => pick(prng, all));
  const lengthMs = 2000 + nextInt(prng, LENGTH_MS_MAX);
  const count = pick(prng, [5, 10, 20, 40, 60]);
  const happenings = Array.from({ length: count }, (): Happening => {
    const what = pick(prng, kinds);
    const { lastsMs } = HAPPENINGS[what];
    const forMs = lastsMs === undefined ? 0 : lastsMs[0] + nextInt(prng, lastsMs[1] - lastsMs[0] + 1);
    return { atMs: nextInt(prng, lengthMs), what, forMs, draw: nextInt(prng, 1_000_000) };
  });
  return { seed, world, happenings: happenings.toSorted((a, b) => a.atMs - b.atMs) };
}

function drawWorld(prng: Prng, seed: number): World {
  return {
    services: 1 + nextInt(prng, 5),
    handMade: 1 + nextInt(prng, 2),
    pods: pick(prng, [2, 4, 8, 14, 20]),
    shards: 1 + nextInt(prng, 3),
    batchMs: pick(prng, [1, 1, 30, 300]),
    serverWatchList: nextInt(prng, 3) > 0,
    collectMs: pick(prng, [0, 1000, 10_000]),
    lagMs: pick(prng, [0, 0, 0, 3000, 30_000]),
    second: drawSecond(seed),
    options: drawOptions(prng),
  };
}

/** Mostly nobody. It is a draw of its own: whatever else a seed tells does not hang on it. */
function drawSecond(seed: number): SecondKind {
  const kinds: readonly SecondKind[] = ['same', 'same', 'other', 'other', 'kube-controller-manager'];
  return kinds[nextInt(createPrng(seed + 3), 4 * kinds.length)] ?? 'nobody';
}

/** The flags of one process. */
export function drawOptions(prng: Prng): Partial<ControllerOptions> {
  const chance = (percent: number): boolean => nextInt(prng, 100) < percent;
  const [kubeApiQps, kubeApiBurst] = pick(prng, [
    [1000, 1000],
    [200, 300],
    [20, 30],
    [5, 5],
  ] as const);
  const controllers = drawControllers(prng);
  return {
    ...controllers,
    kubeApiQps,
    kubeApiBurst,
    concurrentEndpointSyncs: pick(prng, [1, 5]),
    concurrentServiceEndpointSyncs: pick(prng, [1, 5]),
    mirroringConcurrentServiceEndpointSyncs: pick(prng, [1, 5]),
    endpointUpdatesBatchPeriodMs: pick(prng, [0, 0, 50, 500]),
    endpointsliceUpdatesBatchPeriodMs: pick(prng, [0, 0, 100, 1000]),
    mirroringEndpointsliceUpdatesBatchPeriodMs: pick(prng, [0, 100]),
    maxEndpointsPerSlice: pick(prng, [2, 3, 100]),
    mirroringMaxEndpointsPerSubset: pick(prng, [2, 3, 1000]),
    mirroringAllEndpoints: chance(50),
    mirroringZones: chance(30),
    compactSlices: chance(50),
    // Without the controller of Endpoints nobody cleans up, and what is left behind is not mirrored.
    cleanUpUnselected: chance(30) && controllers.endpoints === true,
    adaptiveBatchPeriodMaxMs: pick(prng, [0, 0, 500]),
    maxWritesInFlight: pick(prng, [32, 32, 1, 2]),
    watchList: chance(85),
  };
}

/** Mostly all three. */
function drawControllers(prng: Prng): Partial<ControllerOptions> {
  const bits = nextInt(prng, 4) > 0 ? 7 : 1 + nextInt(prng, 7);
  return { endpoints: (bits & 1) !== 0, slices: (bits & 2) !== 0, mirror: (bits & 4) !== 0 };
}

function pick<T>(prng: Prng, items: readonly T[]): T {
  return items[nextInt(prng, items.length)]!;
}
