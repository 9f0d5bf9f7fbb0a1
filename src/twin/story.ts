/**
 * The history of a cluster for the queue model: services by number, and changes of their endpoints in the order of
 * time, without objects and bytes. A story is built once and played with many settings. It never changes.
 */
import type { PodEffect } from '../core/pod-effect.ts';
import { type ObjectSizes, type Output, OUTPUTS } from './ledger.ts';
import type { Program } from '../metrics/program-of.ts';

export interface StoryService {
  /** Number of the namespace. */
  readonly namespace: number;
  /** How many address families the service has. Each has a set of slices. They are numbered from 0, IPv4 first. */
  readonly families: number;
  /** The family that the Service names first: a change is shown when its slices show it; absent = 0. */
  readonly primary?: number;
  /** Whether it asks for hints by the CPU of zones; absent = no. */
  readonly hasHints?: boolean;
  /** Whether it has no objects at the start, because it is created later; absent = no. */
  readonly isNew?: boolean;
}

/** One pod as an endpoint of one service. */
export interface Place {
  readonly service: number;
  /** What is published at the start. */
  readonly start: Published;
}

/**
 * What an object shows for a place. Equal numbers of one place and output are equal endpoints; 0 = none. The outputs
 * differ: a terminating pod is in a slice, and in no Endpoints.
 */
export interface Published {
  readonly endpoints: number;
  readonly slices: number;
  readonly isReady: boolean;
}

export const NOTHING: Published = { endpoints: 0, slices: 0, isReady: false };

/** The effect of a change on one place. */
export interface PlaceChange {
  readonly place: number;
  readonly wanted: Published;
  /** What the pod's event means to the service, whatever an output shows of it; absent = `other`. */
  readonly change?: PodEffect;
  /** Whether the service selects the pod before and after; absent = no. */
  readonly stays?: boolean;
}

/**
 * What a controller finds changed in an event of a pod. It looks at all services of the pod, at those that the pod has
 * left or entered, or at none.
 */
export type Noticed = 'pod' | 'labels' | 'nothing';

/** One event of a watch of inputs. */
export interface StoryChange {
  /** When the API server has acknowledged it, in milliseconds since the start. */
  readonly atMs: number;
  readonly namespace: number;
  /**
   * `quiet`: no controller looks for services. `service`: the service is looked at without a batch period. `deleted`: the
   * Service is gone. `node`: services with hints are looked at. `foreign`: somebody else has changed an object of the service.
   */
  readonly kind: 'pod' | 'service' | 'deleted' | 'quiet' | 'node' | 'foreign';
  /** How many events come together, of which one changes something if the kind is not `quiet`; absent = one. */
  readonly events?: number;
  /** The changed output, for `foreign`. */
  readonly output?: Output;
  /** For a pod; absent = the pod itself has changed. */
  readonly noticed?: Readonly<Record<Program, Noticed>>;
  /** For a pod: its places, whether or not they change. For `service`: those of all pods that it selects. */
  readonly places: readonly PlaceChange[];
  /** The number of the Service, for `service`, `deleted` and `foreign`; else -1. */
  readonly service: number;
}

export interface Story {
  readonly name: string;
  readonly durationMs: number;
  /**
   * The Services and pods of each namespace, on average over the story. kube-controller-manager goes through them for
   * each event, so the mean gives the right sum where events come at any time.
   */
  readonly namespaces: readonly { readonly services: number; readonly pods: number }[];
  readonly services: readonly StoryService[];
  readonly places: readonly Place[];
  /** In the order of time. */
  readonly changes: readonly StoryChange[];
  readonly objects: ObjectSizes;
  /** What the controllers write that run; absent = both. */
  readonly outputs?: readonly Output[];
}

/** Whether the controller looks at the service of this place after an event of the pod. */
export function isLookedAt({ noticed }: StoryChange, { stays }: PlaceChange, controller: Program): boolean {
  return stays !== true || noticed === undefined || noticed[controller] === 'pod';
}

/** Whether the event may bring changes that are shown. Another event of a pod only costs time. */
export function isChange(change: StoryChange, controller: Program): boolean {
  const { kind, places } = change;
  return kind === 'service' || (kind === 'pod' && places.some((placed) => isLookedAt(change, placed, controller)));
}

export function outputsOf({ outputs = OUTPUTS }: Story): readonly Output[] {
  return outputs;
}

/** Throws an error that names the first fault of a story. */
export function checkStory(story: Story): void {
  let lastMs = 0;
  for (const [i, change] of story.changes.entries()) {
    if (!(change.atMs >= lastMs && change.atMs <= story.durationMs))
      throw new RangeError(`${story.name}: change ${i} is at ${change.atMs} ms, after one at ${lastMs} ms`);
    lastMs = change.atMs;
    for (const { place } of change.places) {
      if (story.places[place] === undefined)
        throw new RangeError(`${story.name}: change ${i} names no place: ${place}`);
    }
  }
}

/** A part of a story. It begins with the state at `fromMs`. */
export function storyBetween(story: Story, fromMs: number, toMs: number): Story {
  const places: { service: number; start: Published }[] = story.places.map((place) => ({ ...place }));
  const changes: StoryChange[] = [];
  const [created, deleted] = [new Set<number>(), new Set<number>()];
  for (const change of story.changes) {
    if (change.atMs >= toMs) break;
    if (change.atMs >= fromMs) {
      changes.push({ ...change, atMs: change.atMs - fromMs });
      continue;
    }
    for (const { place, wanted } of change.places) places[place]!.start = wanted;
    if (change.kind === 'service') created.add(change.service);
    if (change.kind === 'deleted') deleted.add(change.service);
  }
  for (const place of places) if (deleted.has(place.service)) place.start = NOTHING;
  const services = story.services.map((service, i) => {
    if (deleted.has(i)) return { ...service, isNew: false, hasHints: false };
    return created.has(i) ? { ...service, isNew: false } : service;
  });
  return { ...story, durationMs: toMs - fromMs, services, places, changes };
}
