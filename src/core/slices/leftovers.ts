/**
 * Endpoints that have no slice of their port group yet, by the slice that they leave, if there is one. So a slice that
 * is rewritten can take its own endpoints first, and no endpoint moves without need.
 */
import { type FamilySlices, placesOf, type SliceEntry } from './family-slices.ts';

export interface Leftovers {
  size: number;
  /** Names of pods that no slice lists, ascending. */
  unplaced: string[];
  /**
   * Names of the others by slice, in the order of the slice. Slices that otherwise stay as they are come first. Then
   * come those that may be recycled, with the fullest last, because those can best keep their endpoints.
   */
  readonly placed: Map<SliceEntry, string[]>;
}

/** @param recyclable slices that will be deleted or recycled */
export function arrangeLeftovers(
  family: FamilySlices,
  pods: readonly string[],
  recyclable: ReadonlySet<SliceEntry>,
): Leftovers {
  const unplaced: string[] = [];
  const bySlice = new Map<SliceEntry, string[]>();
  for (const pod of pods) {
    const places = placesOf(family, pod);
    if (places.length === 0) {
      unplaced.push(pod);
      continue;
    }
    let first = places[0]!;
    for (const place of places) if (place.name < first.name) first = place;
    const list = bySlice.get(first);
    if (list === undefined) bySlice.set(first, [pod]);
    else list.push(pod);
  }
  const countIn = (entry: SliceEntry): number => (recyclable.has(entry) ? bySlice.get(entry)!.length : 0);
  const entries = [...bySlice.keys()].sort((a, b) => countIn(a) - countIn(b) || compareEntries(a, b));
  const placed = new Map(entries.map((entry) => [entry, inOrderOf(entry, bySlice.get(entry)!)]));
  return { size: pods.length, unplaced: unplaced.sort(), placed };
}

/** Takes at most `limit` endpoints, of those that `entry` lists now. */
export function takeOwn(leftovers: Leftovers, entry: SliceEntry, limit: number): string[] {
  const own = leftovers.placed.get(entry);
  if (own === undefined) return [];
  const taken = own.splice(0, limit);
  leftovers.size -= taken.length;
  return taken;
}

/** Takes at most `limit` endpoints. Those that no slice lists come first. */
export function takeAny(leftovers: Leftovers, limit: number): string[] {
  const taken = leftovers.unplaced.splice(0, limit);
  for (const list of leftovers.placed.values()) {
    if (taken.length === limit) break;
    for (const pod of list.splice(0, limit - taken.length)) taken.push(pod);
  }
  leftovers.size -= taken.length;
  return taken;
}

export function compareEntries(a: SliceEntry, b: SliceEntry): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function inOrderOf(entry: SliceEntry, pods: string[]): string[] {
  if (pods.length === 1) return pods;
  const wanted = new Set(pods);
  const ordered: string[] = [];
  for (const { targetRef } of entry.stored.object.endpoints ?? []) {
    if (targetRef?.name !== undefined && wanted.delete(targetRef.name)) ordered.push(targetRef.name);
  }
  return ordered;
}
