/**
 * Packs one port group (docs/spec/endpointslice.md "One port group"). Slices keep what belongs to them. The rest goes
 * into slices that are written anyway, and into at most one other slice. Few writes matter more than few slices.
 */
import type { Endpoint } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import { endpointContentEqual, sameEndpoint } from './endpoint-identity.ts';
import { type FamilySlices, putFirst, slicesListing, type PortGroup, type SliceEntry } from './family-slices.ts';
import { arrangeLeftovers, compareEntries, type Leftovers, takeAny, takeOwn } from './leftovers.ts';
import { changedDraft, type SliceDraft } from './slice-draft.ts';
import { shareEndpoints } from './slice-state.ts';
import { fewHas, fewItems, fewOf, fewWith, fewWithout } from '../../lib/few.ts';
import { pushAll } from '../../lib/push-all.ts';

export interface GroupPacking {
  readonly group: PortGroup;
  readonly updates: SliceDraft[];
  /** Slices that lost all their endpoints. */
  readonly emptied: readonly SliceEntry[];
  /** Names of pods that have no slice of this group. */
  readonly pods: readonly string[];
  /** How many endpoints were dropped. */
  readonly removed: number;
}

/**
 * Decides which endpoints the slices of a group keep (docs/spec/endpointslice.md "One port group"). Looks at dirty
 * slices and pods only, and takes the mark off what is right.
 * @param labelsAreRight whether a slice has the labels of its service
 */
export function refreshGroup(
  family: FamilySlices,
  group: PortGroup,
  labelsAreRight: (entry: SliceEntry) => boolean,
): GroupPacking {
  const updates: SliceDraft[] = [];
  const emptied: SliceEntry[] = [];
  let removed = 0;
  /** Dirty pods, and pods in several slices, whose slice has been found. */
  const kept = new Set<string>();
  for (const entry of [...fewItems(group.dirtyEntries)].sort(compareEntries)) {
    const refreshed = refresh(family, group, entry, kept);
    removed += refreshed.removed;
    if (refreshed.changed) {
      if (refreshed.endpoints.length > 0) updates.push(changedDraft(entry, refreshed.endpoints, 'changed'));
      else emptied.push(entry);
    } else if (labelsAreRight(entry)) {
      group.dirtyEntries = fewWithout(group.dirtyEntries, entry);
      entry.stored = shareEndpoints(entry.stored, refreshed.endpoints);
    } else updates.push(changedDraft(entry, [...(entry.stored.object.endpoints ?? [])], 'changed'));
  }

  const pods: string[] = [];
  for (const pod of fewItems(group.dirtyPods)) {
    if (!kept.has(pod) && !isInSettledSlice(family, group, pod)) pods.push(pod);
  }
  group.dirtyPods = fewOf(pods);
  return { group, updates, emptied, pods, removed };
}

/**
 * Puts pods without a slice into existing slices (docs/spec/endpointslice.md "One port group").
 * @param recyclable slices of all groups that will be deleted or recycled
 * @returns the pods that need new slices
 */
export function fillGroup(
  family: FamilySlices,
  { group, updates, emptied, pods }: GroupPacking,
  recyclable: ReadonlySet<SliceEntry>,
): Leftovers {
  const leftovers = arrangeLeftovers(family, pods, recyclable);
  if (leftovers.size === 0) return leftovers;
  refill(family, group, updates, leftovers);
  const remainder = leftovers.size % family.maxEndpointsPerSlice;
  const roomy = remainder === 0 ? null : roomySlice(family, group, updates, emptied, remainder);
  if (roomy !== null) {
    const endpoints = [...(roomy.stored.object.endpoints ?? []), ...endpointsOf(group, takeAny(leftovers, remainder))];
    updates.push(changedDraft(roomy, endpoints, 'changed'));
  }
  return leftovers;
}

/** The endpoints of these pods, in the order of the pods. */
export function endpointsOf(group: PortGroup, pods: readonly string[]): Endpoint[] {
  return pods.map((pod) => {
    const endpoint = group.desired.get(pod);
    assert(endpoint !== undefined, 'a pod that is left over has an endpoint');
    return endpoint;
  });
}

interface Refreshed {
  readonly endpoints: Endpoint[];
  readonly changed: boolean;
  readonly removed: number;
}

/** The endpoints that stay in a slice, in their order and up to date (docs/spec/endpointslice.md "One port group"). */
function refresh(family: FamilySlices, group: PortGroup, entry: SliceEntry, kept: Set<string>): Refreshed {
  const endpoints: Endpoint[] = [];
  let changed = false;
  let removed = 0;
  for (const endpoint of entry.stored.object.endpoints ?? []) {
    const pod = endpoint.targetRef?.name;
    const wanted = pod === undefined ? undefined : group.desired.get(pod);
    if (pod === undefined || wanted === undefined) {
      removed++;
      continue;
    }
    const alone = family.slicesByPod.get(pod) === entry;
    // The last of these: an earlier plan gave the pod to a slice that is right by now, and the write that was to take it
    // from this slice has failed.
    if (!sameEndpoint(endpoint, wanted) || kept.has(pod) || (!alone && isInSettledSlice(family, group, pod))) {
      // The pod may be in no other slice.
      group.dirtyPods = fewWith(group.dirtyPods, pod);
      removed++;
      continue;
    }
    if (fewHas(group.dirtyPods, pod) || !alone) kept.add(pod);
    if (!alone) putFirst(family, pod, entry);
    if (!endpointContentEqual(endpoint, wanted)) changed = true;
    endpoints.push(wanted);
  }
  return { endpoints, changed: changed || removed > 0, removed };
}

/** A slice without a mark holds only what it should. Of the slices that list a pod only the first may be without one. */
function isInSettledSlice(family: FamilySlices, group: PortGroup, pod: string): boolean {
  const first = slicesListing(family, pod)[0];
  return first?.group === group && !fewHas(group.dirtyEntries, first);
}

/** Fills slices that are written anyway, the fullest first (docs/spec/endpointslice.md "One port group"). */
function refill(family: FamilySlices, group: PortGroup, updates: readonly SliceDraft[], leftovers: Leftovers): void {
  for (const draft of updates.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
    const room = family.maxEndpointsPerSlice - draft.endpoints.length;
    if (room <= 0) continue;
    const own = takeOwn(leftovers, draft.entry!, room);
    pushAll(draft.endpoints, endpointsOf(group, own));
    pushAll(draft.endpoints, endpointsOf(group, takeAny(leftovers, room - own.length)));
    if (leftovers.size === 0) return;
  }
}

/**
 * The slice that takes the endpoints which would not fill a new slice. It is the fullest slice that has room for all of
 * them and is not written anyway; of equally full ones the first by name (docs/spec/endpointslice.md "One port group").
 */
function roomySlice(
  family: FamilySlices,
  group: PortGroup,
  updates: readonly SliceDraft[],
  emptied: readonly SliceEntry[],
  size: number,
): SliceEntry | null {
  const written = new Set<SliceEntry>(emptied);
  for (const { entry } of updates) written.add(entry!);
  let chosen: SliceEntry | null = null;
  let chosenCount = -1;
  for (const entry of fewItems(group.entries)) {
    const count = entry.stored.object.endpoints?.length ?? 0;
    if (count + size > family.maxEndpointsPerSlice || count < chosenCount || written.has(entry)) continue;
    if (chosen !== null && count === chosenCount && chosen.name < entry.name) continue;
    chosen = entry;
    chosenCount = count;
  }
  return chosen;
}
