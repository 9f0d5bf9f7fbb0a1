/**
 * What happens to a cluster, as the queue model is told it: services by number, and changes of their endpoints in the
 * order of time. No objects and no bytes. A story is built once and played with many settings; nobody changes it.
 */
import type { ObjectSizes, Output } from './ledger.ts';

export interface StoryService {
  /** Number of the namespace. */
  readonly namespace: number;
  /** How many address families it has: one set of slices each. */
  readonly families: number;
  /** It asks for hints by the CPU of zones; absent = no. */
  readonly hasHints?: boolean;
}

/** One pod as an endpoint of one service. */
export interface Place {
  readonly service: number;
  /** What is published at the start. */
  readonly start: Published;
}

/**
 * What an object shows of a place. Equal numbers of one place and output are equal endpoints; 0 = none. The outputs differ:
 * a pod that terminates is in a slice, and in no Endpoints.
 */
export interface Published {
  readonly endpoints: number;
  readonly slices: number;
  readonly isReady: boolean;
}

export const NOTHING: Published = { endpoints: 0, slices: 0, isReady: false };

/** What a change makes of one place. */
export interface PlaceChange {
  readonly place: number;
  readonly wanted: Published;
}

/** One event of a watch of inputs. */
export interface StoryChange {
  /** Since the start, milliseconds; the API server has acknowledged it then. */
  readonly atMs: number;
  readonly namespace: number;
  /**
   * `quiet`: no controller has to look at a service. `service`: it is looked at without a batch period. `node`: services with
   * hints are looked at. `foreign`: somebody else has changed an object of the service.
   */
  readonly kind: 'pod' | 'service' | 'quiet' | 'node' | 'foreign';
  /** Of `foreign`: what was changed. */
  readonly output?: Output;
  /** Of a pod: its places, whether they change what is published or not. Of a Service: those that differ afterwards. */
  readonly places: readonly PlaceChange[];
  /** Of a Service, and of `foreign`: which one; else -1. */
  readonly service: number;
}

export interface Story {
  readonly name: string;
  readonly durationMs: number;
  /** Services and pods of each namespace, at the start: what kube-controller-manager looks through for each event. */
  readonly namespaces: readonly { readonly services: number; readonly pods: number }[];
  readonly services: readonly StoryService[];
  readonly places: readonly Place[];
  /** By time. */
  readonly changes: readonly StoryChange[];
  readonly objects: ObjectSizes;
}

/** Names the first thing that is wrong with a story. */
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

/** The part of a story: it begins with what was true at `fromMs`. */
export function storyBetween(story: Story, fromMs: number, toMs: number): Story {
  const places: { service: number; start: Published }[] = story.places.map((place) => ({ ...place }));
  const changes: StoryChange[] = [];
  for (const change of story.changes) {
    if (change.atMs >= toMs) break;
    if (change.atMs >= fromMs) changes.push({ ...change, atMs: change.atMs - fromMs });
    else for (const { place, wanted } of change.places) places[place]!.start = wanted;
  }
  return { ...story, durationMs: toMs - fromMs, places, changes };
}
