/** Seeded stories of what large clusters do, for users without a recording. */
import type { PodEffect } from '../core/pod-effect.ts';
import { log } from '../lib/exp-log.ts';
import type { ObjectSizes } from './ledger.ts';
import { createPrng, nextFloat, nextInt, type Prng } from '../lib/prng.ts';
import { NOTHING, type Place, type Published, type Story, type StoryChange, type StoryService } from './story.ts';

export interface StoryProfile {
  readonly name: string;
  readonly what: string;
  readonly namespaces: number;
  readonly services: readonly ProfileServices[];
  readonly minutes: number;
  /** How many pods turn unready for a while, per second over all services. */
  readonly flipsPerSecond: number;
  /** Whether 99 of 100 flips are of pods in the first namespace. */
  readonly isStorm: boolean;
  /** How many roll-outs begin per minute. A roll-out replaces all pods of one service. */
  readonly rolloutsPerMinute: number;
  /** How many pods of a roll-out are replaced per second. */
  readonly podsPerSecond: number;
}

/** Services of one size, in each namespace. */
interface ProfileServices {
  readonly count: number;
  readonly pods: number;
  /** As in `StoryService`; absent = one family. */
  readonly families?: number;
  readonly primary?: number;
}

const CALM = { namespaces: 10, minutes: 10, flipsPerSecond: 0, isStorm: false, rolloutsPerMinute: 0, podsPerSecond: 5 };

export const STORY_PROFILES: readonly StoryProfile[] = [
  {
    ...CALM,
    name: 'load',
    what: 'groups of 250, 30 and 5 pods, roll-outs and flips, as in the load test of SIG Scalability',
    services: [
      { count: 1, pods: 250 },
      { count: 8, pods: 30 },
      { count: 100, pods: 5 },
    ],
    flipsPerSecond: 10,
    rolloutsPerMinute: 6,
  },
  {
    ...CALM,
    name: 'rollout',
    what: 'services of 50 pods that are rolled out',
    services: [{ count: 10, pods: 50 }],
    rolloutsPerMinute: 10,
  },
  {
    ...CALM,
    name: 'flap',
    what: 'pods that turn unready and back',
    services: [{ count: 20, pods: 10 }],
    flipsPerSecond: 50,
  },
  {
    ...CALM,
    name: 'storm',
    what: 'one namespace with some 100 changes a second beside quiet ones',
    services: [{ count: 20, pods: 20 }],
    flipsPerSecond: 200,
    isStorm: true,
  },
  {
    ...CALM,
    name: 'crowd',
    what: 'hundreds of services in each of a few namespaces',
    namespaces: 3,
    services: [{ count: 600, pods: 5 }],
    flipsPerSecond: 20,
  },
  {
    ...CALM,
    name: 'huge',
    what: 'one service of 5,000 pods',
    namespaces: 1,
    services: [{ count: 1, pods: 5000 }],
    flipsPerSecond: 5,
  },
];

/** Sizes for pods with a node, a zone and a name of usual length. */
export const USUAL_SIZES: ObjectSizes = {
  endpoints: { protobuf: { base: 350, each: 150 }, json: { base: 580, each: 250 } },
  slices: { protobuf: { base: 450, each: 170 }, json: { base: 1000, each: 380 } },
};

/** The same seed gives the same story. */
export function profileStory(profile: StoryProfile, seed: number): Story {
  const prng = createPrng(seed);
  const { services, places, namespaces } = createServices(profile);
  const draft: Draft = { changes: [], rolled: new Set(), places, services };
  const durationMs = profile.minutes * 60_000;
  const byService = placesOf(places, services.length);
  rollOut(draft, profile, byService, durationMs, prng);
  flip(draft, profile, durationMs, prng);
  const changes = draft.changes.filter(({ atMs }) => atMs <= durationMs).toSorted((a, b) => a.atMs - b.atMs);
  return { name: profile.name, durationMs, namespaces, services, places, changes, objects: USUAL_SIZES };
}

interface Draft {
  readonly changes: StoryChange[];
  /** Places that a roll-out has removed or made. */
  readonly rolled: Set<number>;
  readonly places: Place[];
  readonly services: readonly StoryService[];
}

function createServices(profile: StoryProfile): Pick<Story, 'namespaces' | 'services'> & { places: Place[] } {
  const services: StoryService[] = [];
  const places: Place[] = [];
  const pods = profile.services.reduce((sum, of) => sum + of.count * of.pods, 0);
  const count = profile.services.reduce((sum, of) => sum + of.count, 0);
  for (let namespace = 0; namespace < profile.namespaces; namespace++) {
    for (const { count: own, pods: members, families = 1, primary = 0 } of profile.services) {
      for (let i = 0; i < own; i++) {
        const service = services.push({ namespace, families, primary }) - 1;
        for (let j = 0; j < members; j++) places.push({ service, start: READY });
      }
    }
  }
  const namespaces = Array.from({ length: profile.namespaces }, () => ({ services: count, pods }));
  return { services, places, namespaces };
}

function placesOf(places: readonly Place[], services: number): number[][] {
  const byService: number[][] = Array.from({ length: services }, () => []);
  for (const [i, { service }] of places.entries()) byService[service]!.push(i);
  return byService;
}

/** Each pod is unready for one to ten seconds. */
function flip(draft: Draft, profile: StoryProfile, durationMs: number, prng: Prng): void {
  if (profile.flipsPerSecond === 0) return;
  const original = profile.namespaces * profile.services.reduce((sum, of) => sum + of.count * of.pods, 0);
  const busy = Math.floor(original / profile.namespaces);
  const busyUntil = new Map<number, number>();
  for (
    let atMs = drawGap(prng, profile.flipsPerSecond);
    atMs < durationMs;
    atMs += drawGap(prng, profile.flipsPerSecond)
  ) {
    const isInStorm = profile.isStorm && nextInt(prng, 100) > 0;
    const place = nextInt(prng, isInStorm ? busy : original);
    const endMs = atMs + 1000 + 9000 * nextFloat(prng);
    if ((busyUntil.get(place) ?? 0) > atMs || draft.rolled.has(place)) continue;
    busyUntil.set(place, endMs + 1000);
    add(draft, atMs, place, UNREADY, 'removes');
    add(draft, endMs, place, READY, 'adds');
  }
}

/**
 * Pods are replaced one after the other: a new one gets an address and becomes ready, and an old one goes. These pods
 * do not flip.
 */
function rollOut(draft: Draft, profile: StoryProfile, byService: number[][], durationMs: number, prng: Prng): void {
  const { rolloutsPerMinute, podsPerSecond } = profile;
  if (rolloutsPerMinute === 0) return;
  const perSecond = rolloutsPerMinute / 60;
  const busyUntil = new Map<number, number>();
  for (let atMs = drawGap(prng, perSecond); atMs < durationMs; atMs += drawGap(prng, perSecond)) {
    const service = nextInt(prng, byService.length);
    if ((busyUntil.get(service) ?? 0) > atMs) continue;
    const old = byService[service]!;
    byService[service] = old.map((going, i) => {
      draft.rolled.add(going);
      const fresh = draft.places.push({ service, start: NOTHING }) - 1;
      draft.rolled.add(fresh);
      const startMs = atMs + (i / podsPerSecond) * 1000;
      const readyMs = startMs + 3000 + 4000 * nextFloat(prng);
      add(draft, startMs, fresh, NOTHING, 'other');
      add(draft, startMs + 1000 + 1000 * nextFloat(prng), fresh, UNREADY, 'other');
      add(draft, readyMs, fresh, READY, 'adds');
      add(draft, readyMs + 200, going, TERMINATING, 'removes');
      add(draft, readyMs + 2200 + 3000 * nextFloat(prng), going, NOTHING, 'removes', GONE_EVENTS);
      return fresh;
    });
    busyUntil.set(service, atMs + (old.length / podsPerSecond) * 1000 + 15_000);
  }
}

function add(
  { changes, places, services }: Draft,
  atMs: number,
  place: number,
  wanted: Published,
  change: PodEffect,
  events = 1,
): void {
  const { namespace } = services[places[place]!.service]!;
  changes.push({ atMs, namespace, kind: 'pod', events, places: [{ place, wanted, change }], service: -1 });
}

/** The kubelet deletes a pod that has ended with no grace: the API server first notes that, and then deletes it. */
const GONE_EVENTS = 2;

/** The next arrival of a Poisson process. */
function drawGap(prng: Prng, perSecond: number): number {
  return (-log(1 - nextFloat(prng)) / perSecond) * 1000;
}

const READY: Published = { endpoints: 1, slices: 1, isReady: true };
const UNREADY: Published = { endpoints: 2, slices: 2, isReady: false };
const TERMINATING: Published = { endpoints: 0, slices: 3, isReady: false };
