/**
 * Pods whose endpoints have no slice of their port group yet, by the slice that they leave, if there is one. A slice
 * that is rewritten takes its own endpoints first, so no endpoint moves without need.
 */
import { type FamilySlices, slicesListing, type SliceEntry } from './family-slices.ts';

export interface Leftovers {
  size: number;
  /** Names of pods that no slice lists, ascending. */
  unplaced: string[];
  /**
   * Names of the other pods by slice, in the order of the slice. Slices that otherwise stay as they are come first.
   * Slices that may be recycled follow, the one with most of these pods last, because it can best keep them.
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
    const listing = slicesListing(family, pod);
    if (listing.length === 0) {
      unplaced.push(pod);
      continue;
    }
    let first = listing[0]!;
    for (const entry of listing) if (entry.name < first.name) first = entry;
    const list = bySlice.get(first);
    if (list === undefined) bySlice.set(first, [pod]);
    else list.push(pod);
  }
  const countIn = (entry: SliceEntry): number => (recyclable.has(entry) ? bySlice.get(entry)!.length : 0);
  const entries = [...bySlice.keys()].sort((a, b) => countIn(a) - countIn(b) || compareEntries(a, b));
  const placed = new Map(entries.map((entry) => [entry, inOrderOf(entry, bySlice.get(entry)!)]));
  return { size: pods.length, unplaced: unplaced.sort(), placed };
}

/** Takes at most `limit` of the pods that `entry` lists now. */
export function takeOwn(leftovers: Leftovers, entry: SliceEntry, limit: number): string[] {
  const own = leftovers.placed.get(entry);
  if (own === undefined) return [];
  const taken = own.splice(0, limit);
  leftovers.size -= taken.length;
  return taken;
}

/** Takes at most `limit` pods. Pods that no slice lists come first. */
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
