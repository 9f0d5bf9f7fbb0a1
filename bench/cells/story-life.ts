/** A story on a real API server: its first objects, and its changes at their times. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../src/lib/percentile.ts';
import type { ApiClient, ApiRequest } from '../../src/node/api-client.ts';
import type { PlaceChange, Story } from '../../src/twin/story.ts';
import { ownPods, placeRequests, storyRequests } from '../../test/support/story-requests.ts';

const LOADED_AT_ONCE = 16;

/** Creates the objects at the start of a story. Objects in namespaces come after their namespaces. */
export async function loadStory(client: Pick<ApiClient, 'send'>, story: Story): Promise<void> {
  const requests = [...storyRequests(ownPods(story))];
  // A pod takes two requests, and the second one needs the first.
  for (const same of [...Map.groupBy(requests, rankOf).entries()].toSorted(([a], [b]) => a - b)) {
    const waiting = [...same[1]];
    const lane = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await client.send(next);
    };
    await Promise.all(Array.from({ length: LOADED_AT_ONCE }, lane));
  }
}

const RANKS: readonly RegExp[] = [/\/nodes$/, /\/namespaces$/, /\/services$/, /\/pods$/, /\/status$/];

function rankOf({ path }: ApiRequest): number {
  return RANKS.findIndex((rank) => rank.test(path));
}

export interface StoryLife {
  /** How late requests were sent, in milliseconds. */
  readonly latenessMs: { readonly p50: number; readonly p99: number };
}

/**
 * Sends each change at its time, until `untilMs` of the story. Changes of one pod follow each other.
 * @throws ApiError of a request that was refused
 */
export async function liveStory(client: Pick<ApiClient, 'send'>, story: Story, untilMs: number): Promise<StoryLife> {
  const played = ownPods(story);
  const exists = story.places.map(({ start }) => start.slices !== 0);
  const last = new Map<number, Promise<void>>();
  const lateMs: number[] = [];
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  const beganMs = performance.now();
  const make = async ({ place, wanted }: PlaceChange, before: Promise<void> | undefined): Promise<void> => {
    await before;
    const seconds = Math.floor(Date.now() / 1000);
    const requests = placeRequests(played, place, wanted, exists[place]!, seconds);
    exists[place] = true;
    for (const request of requests) await client.send(request);
  };
  for (const { atMs, places } of story.changes) {
    if (atMs >= untilMs) break;
    const aheadMs = atMs - (performance.now() - beganMs);
    if (aheadMs > 0.5) await Promise.race([sleep(aheadMs), failed]);
    lateMs.push(performance.now() - beganMs - atMs);
    for (const change of places) last.set(change.place, make(change, last.get(change.place)).catch(reject));
  }
  await Promise.race([Promise.all(last.values()), failed]);
  const restMs = untilMs - (performance.now() - beganMs);
  if (restMs > 0) await sleep(restMs);
  return { latenessMs: { p50: percentile(lateMs, 0.5), p99: percentile(lateMs, 0.99) } };
}
