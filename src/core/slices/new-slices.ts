/**
 * New slices for the endpoints that are left over. A slice that would be deleted can be recycled as a new one
 * (docs/spec/endpointslice.md "One port group", "The placeholder", "Writing"). A recycled slice keeps as many of its
 * own endpoints as it can. So when the ports of a service change, its endpoints stay where they are.
 */
import type { FamilySlices, PortGroup, SliceEntry } from './family-slices.ts';
import { compareEntries, type Leftovers, takeAny, takeOwn } from './leftovers.ts';
import { endpointsOf } from './pack-group.ts';
import { newDraft, type SliceDraft } from './slice-draft.ts';

/** The endpoints of a group that need new slices. */
export interface GroupLeftovers {
  readonly group: PortGroup;
  readonly leftovers: Leftovers;
}

/**
 * Uses up the leftovers of all groups.
 * @param recyclable slices of the service that are to be deleted; the recycled ones are taken out
 */
export function draftNewSlices(
  family: FamilySlices,
  groups: readonly GroupLeftovers[],
  recyclable: Set<SliceEntry>,
): SliceDraft[] {
  const max = family.maxEndpointsPerSlice;
  const openings: Opening[] = [];
  for (const { group, leftovers } of groups) {
    const slices = Math.ceil(leftovers.size / max);
    if (slices > 0) openings.push({ group, leftovers, slices, hosts: [] });
  }
  if (openings.length === 0) return [];
  pairWithOwn(openings, recyclable);
  pairAny(openings, recyclable);
  return openings.flatMap((opening) => fillNewSlices(opening, max));
}

/** How many new slices a group needs, and its endpoints for them. */
interface Opening extends GroupLeftovers {
  readonly slices: number;
  /** The slices that are recycled for the group. A slice that brings more endpoints along comes first. */
  readonly hosts: SliceEntry[];
}

/** Gives each slice to the group that takes most of its endpoints, as long as that group needs slices. */
function pairWithOwn(openings: readonly Opening[], recyclable: Set<SliceEntry>): void {
  const pairs = openings.flatMap((opening) =>
    [...opening.leftovers.placed]
      .filter(([entry, own]) => own.length > 0 && recyclable.has(entry))
      .map(([entry, own]) => ({ opening, entry, count: own.length })),
  );
  pairs.sort(
    (a, b) =>
      b.count - a.count || compareEntries(a.entry, b.entry) || (a.opening.group.key < b.opening.group.key ? -1 : 1),
  );
  for (const { opening, entry } of pairs) {
    if (opening.hosts.length < opening.slices && recyclable.delete(entry)) opening.hosts.push(entry);
  }
}

function pairAny(openings: readonly Opening[], recyclable: Set<SliceEntry>): void {
  for (const { hosts, slices } of openings) {
    for (const entry of recyclable) {
      if (hosts.length === slices) break;
      recyclable.delete(entry);
      hosts.push(entry);
    }
  }
}

/**
 * All new slices but the last are full. The last one is the slice that brings the fewest endpoints along, so only that
 * slice may have to give some away.
 */
function fillNewSlices({ group, leftovers, slices, hosts }: Opening, max: number): SliceDraft[] {
  const lastSize = leftovers.size - (slices - 1) * max;
  const lists = Array.from({ length: slices }, (_, i) => {
    const host = hosts[i];
    return host === undefined ? [] : takeOwn(leftovers, host, i < slices - 1 ? max : lastSize);
  });
  return lists.map((own, i) => {
    const size = i < slices - 1 ? max : lastSize;
    const pods = [...own, ...takeAny(leftovers, size - own.length)];
    return newDraft(group.ports, endpointsOf(group, pods), hosts[i] ?? null);
  });
}
