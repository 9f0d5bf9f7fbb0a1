/** What waited when a recording began, as its writes tell it: the queue in front of the changes that are played. */
import { perOutput } from '../twin/ledger.ts';
import type { Program } from '../metrics/program-of.ts';
import type { Settings } from '../twin/settings.ts';
import { isLookedAt, outputsOf, type Story } from '../twin/story.ts';
import type { WaitingService, WaitingServices } from '../twin/world.ts';
import type { Evidence } from './evidence.ts';

interface Played {
  readonly story: Story;
  readonly controller: Program;
  readonly settings: Settings;
}

/** The watches of pods and of objects are at most so far apart: a write that comes so long before an event is not of it. */
const APART_MS = 100;

/**
 * A write before the first event of its Service can only be of a change from before the recording. So is the first write of
 * a Service whose objects lagged behind its pods when it began. The queue is first in, first out, so they waited in the order
 * in which they were written.
 */
export function backlogOf(played: Played, { writes, behind }: Evidence): WaitingServices {
  const { settings, story } = played;
  const eventsMs = firstEventsMs(played);
  return perOutput((output) => {
    if (!outputsOf(story).includes(output)) return [];
    const batchMs = output === 'slices' ? settings.slicesBatchMs : settings.endpointsBatchMs;
    const found = new Map<number, { readonly firstMs: number; count: number }>();
    for (const { atMs, service } of writes[output].toSorted((a, b) => a.atMs - b.atMs)) {
      if (service === undefined) continue;
      const isOwn = atMs >= (eventsMs.get(service) ?? Infinity) - APART_MS;
      const known = found.get(service);
      if (!isOwn && known !== undefined) known.count++;
      else if (known === undefined) found.set(service, { firstMs: atMs, count: isOwn ? 0 : 1 });
    }
    return [...found].flatMap(([service, { firstMs, count }]): WaitingService[] => {
      if (count === 0 && behind?.[output].has(service) !== true) return [];
      return [{ service, writes: Math.max(1, count), dueMs: Math.min(batchMs, firstMs) }];
    });
  });
}

/** For each Service when the controller first looks at it. */
function firstEventsMs({ controller, story }: Played): Map<number, number> {
  const first = new Map<number, number>();
  const note = (service: number, atMs: number): void => {
    if (!first.has(service)) first.set(service, atMs);
  };
  let hasNode = false;
  for (const change of story.changes) {
    const { atMs, kind, places, service } = change;
    if (service >= 0) note(service, atMs);
    if (kind === 'node' && !hasNode) {
      for (const [i, { hasHints }] of story.services.entries()) if (hasHints === true) note(i, atMs);
      hasNode = true;
    }
    if (kind !== 'pod') continue;
    for (const placed of places) {
      if (isLookedAt(change, placed, controller)) note(story.places[placed.place]!.service, atMs);
    }
  }
  return first;
}
