/**
 * The slices of one address family of a service. A port group says which endpoints there should be. A slice says which
 * there are.
 *
 * Each change leaves marks. A slice is *dirty* until planning finds that it holds just what it should. A pod is dirty
 * until planning finds it in a slice of its group. Planning looks only at what is dirty, so its cost follows the
 * change.
 */
import type { Endpoint, IpFamily } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import { type Few, fewHas, fewItems, fewSize, fewWith, fewWithout } from '../../lib/few.ts';
import type { SlicePorts } from './slice-ports.ts';
import type { StoredSlice } from './slice-state.ts';

export interface FamilySlices {
  readonly family: IpFamily;
  readonly maxEndpointsPerSlice: number;
  readonly groups: Map<string, PortGroup>;
  /** Groups with dirty slices or dirty pods, and groups that have slices but no pods. */
  dirtyGroups: Few<PortGroup>;
  /** Groups of several slices whose endpoints fit in half of these slices; null = `--compact-slices` is not given. */
  readonly fragmented: Set<PortGroup> | null;
  /**
   * By pod name: the slices that list the pod. A slice that lists the pod more than once comes twice. All but the first
   * are dirty, because one alone may keep the pod.
   */
  readonly slicesByPod: Map<string, SliceEntry | SliceEntry[]>;
  /** Slices of this family that belong to an earlier Service of the same name, which is gone. */
  ofEarlierService: Few<SliceEntry>;
  /** How many slices are in groups, and how many of them have hints. */
  owned: number;
  hinted: number;
  /** Endpoints that there should be, and the fewest slices that hold them. */
  endpoints: number;
  fewest: number;
}

/** Pods with the same ports, and the slices with these ports. */
export interface PortGroup {
  readonly key: string;
  ports: SlicePorts;
  /**
   * How many pods are in the group. A pod without an endpoint, for lack of an address or a node, counts too: it keeps
   * the group wanted.
   */
  pods: number;
  /** By pod name. */
  readonly desired: Map<string, Endpoint>;
  entries: Few<SliceEntry>;
  dirtyEntries: Few<SliceEntry>;
  /** Pods of `desired`. */
  dirtyPods: Few<string>;
}

/** A slice that the server holds. */
export interface SliceEntry {
  readonly name: string;
  stored: StoredSlice;
  /**
   * null = the slice is in no group: an earlier Service owns it, its family is not wanted, or planning does not count
   * it.
   */
  group: PortGroup | null;
}

export function createFamilySlices(family: IpFamily, maxEndpointsPerSlice: number, compacts: boolean): FamilySlices {
  return {
    family,
    maxEndpointsPerSlice,
    groups: new Map(),
    dirtyGroups: null,
    fragmented: compacts ? new Set() : null,
    slicesByPod: new Map(),
    ofEarlierService: null,
    owned: 0,
    hinted: 0,
    endpoints: 0,
    fewest: 0,
  };
}

/**
 * Puts a pod into the group of its ports.
 * @param endpoint null = the pod counts for the group but has no endpoint
 */
export function enterGroup(family: FamilySlices, ports: SlicePorts, pod: string, endpoint: Endpoint | null): void {
  const group = getGroup(family, ports);
  // A stored slice may have opened the group. Then the Service's form of the ports replaces the slice's.
  if (group.pods++ === 0) group.ports = ports;
  if (endpoint !== null) setDesired(family, group, pod, endpoint);
}

/**
 * Takes a pod out of its group.
 * @param key of the group's ports
 */
export function leaveGroup(family: FamilySlices, key: string, pod: string): void {
  const group = family.groups.get(key);
  assert(group !== undefined && group.pods > 0, 'a pod leaves a group that it is in');
  setDesired(family, group, pod, null);
  group.pods--;
  if (group.pods > 0) return;
  if (group.entries !== null) markGroup(family, group);
  else dropGroup(family, group);
}

/**
 * Gives a pod another endpoint in its group; null = none.
 * @param key of the group's ports
 */
export function changeInGroup(family: FamilySlices, key: string, pod: string, endpoint: Endpoint | null): void {
  const group = family.groups.get(key);
  assert(group !== undefined && group.pods > 0, 'a pod changes in a group that it is in');
  setDesired(family, group, pod, endpoint);
}

/** Takes a slice of the service into the group of its ports. */
export function addEntry(family: FamilySlices, ports: SlicePorts, entry: SliceEntry): void {
  const group = getGroup(family, ports);
  entry.group = group;
  group.entries = fewWith(group.entries, entry);
  family.owned++;
  if (entry.stored.summary.anyHints) family.hinted++;
  markEntry(family, group, entry);
  noteFragmented(family, group);
  for (const endpoint of entry.stored.object.endpoints ?? []) {
    const pod = endpoint.targetRef?.name;
    if (pod !== undefined) addListing(family, pod, entry);
  }
}

/** Takes a slice out of its group. Pods that it lists and the group wants become dirty. */
export function removeEntry(family: FamilySlices, entry: SliceEntry): void {
  const { group } = entry;
  assert(group !== null && fewHas(group.entries, entry), 'a slice is in its group');
  group.entries = fewWithout(group.entries, entry);
  entry.group = null;
  group.dirtyEntries = fewWithout(group.dirtyEntries, entry);
  family.owned--;
  if (entry.stored.summary.anyHints) family.hinted--;
  noteFragmented(family, group);
  for (const endpoint of entry.stored.object.endpoints ?? []) {
    const pod = endpoint.targetRef?.name;
    if (pod === undefined) continue;
    removeListing(family, pod, entry);
    if (group.desired.has(pod)) markPod(family, group, pod);
  }
  if (group.pods === 0 && group.entries === null) dropGroup(family, group);
}

/** Takes another version of a slice, with the same ports. */
export function replaceStored(family: FamilySlices, entry: SliceEntry, stored: StoredSlice): void {
  const { group } = entry;
  assert(group !== null, 'a slice is in its group');
  if (!listSamePods(entry.stored, stored)) {
    removeEntry(family, entry);
    entry.stored = stored;
    addEntry(family, group.ports, entry);
    return;
  }
  if (entry.stored.summary.anyHints) family.hinted--;
  if (stored.summary.anyHints) family.hinted++;
  entry.stored = stored;
  markEntry(family, group, entry);
}

/** Marks all slices in the family's groups as dirty. */
export function markAllEntries(family: FamilySlices): void {
  for (const group of family.groups.values())
    for (const entry of fewItems(group.entries)) markEntry(family, group, entry);
}

/** Takes the mark off a group in which nothing is dirty any more. */
export function settleGroup(family: FamilySlices, group: PortGroup): void {
  if (group.pods > 0 && group.dirtyEntries === null && group.dirtyPods === null) unmarkGroup(family, group);
}

/** The slices that list the pod. All but the first are dirty. A slice that lists it more than once comes twice. */
export function slicesListing(family: FamilySlices, pod: string): readonly SliceEntry[] {
  const listing = family.slicesByPod.get(pod);
  return listing === undefined ? [] : Array.isArray(listing) ? listing : [listing];
}

/** Makes the slice the first of those that list the pod. None of the others may be without a mark. */
export function putFirst({ slicesByPod }: FamilySlices, pod: string, entry: SliceEntry): void {
  const listing = slicesByPod.get(pod);
  if (!Array.isArray(listing)) return;
  listing[listing.indexOf(entry)] = listing[0]!;
  listing[0] = entry;
}

function getGroup(family: FamilySlices, ports: SlicePorts): PortGroup {
  let group = family.groups.get(ports.key);
  if (group === undefined) {
    group = {
      key: ports.key,
      ports,
      pods: 0,
      desired: new Map(),
      entries: null,
      dirtyEntries: null,
      dirtyPods: null,
    };
    family.groups.set(ports.key, group);
  }
  return group;
}

function dropGroup(family: FamilySlices, group: PortGroup): void {
  family.groups.delete(group.key);
  unmarkGroup(family, group);
  family.fragmented?.delete(group);
}

function noteFragmented({ fragmented, maxEndpointsPerSlice }: FamilySlices, group: PortGroup): void {
  if (fragmented === null) return;
  const { desired } = group;
  const slices = fewSize(group.entries);
  if (slices > 1 && desired.size > 0 && desired.size * 2 <= slices * maxEndpointsPerSlice) {
    fragmented.add(group);
  } else fragmented.delete(group);
}

function setDesired(family: FamilySlices, group: PortGroup, pod: string, endpoint: Endpoint | null): void {
  const { desired } = group;
  const before = desired.size;
  if (endpoint === null) {
    if (!desired.delete(pod)) return;
    group.dirtyPods = fewWithout(group.dirtyPods, pod);
    markGroup(family, group);
  } else {
    desired.set(pod, endpoint);
    markPod(family, group, pod);
  }
  family.endpoints += desired.size - before;
  noteFragmented(family, group);
  family.fewest += slicesFor(family, desired.size) - slicesFor(family, before);
  for (const entry of slicesListing(family, pod)) if (entry.group === group) markEntry(family, group, entry);
}

function slicesFor(family: FamilySlices, endpoints: number): number {
  return Math.ceil(endpoints / family.maxEndpointsPerSlice);
}

function markPod(family: FamilySlices, group: PortGroup, pod: string): void {
  group.dirtyPods = fewWith(group.dirtyPods, pod);
  markGroup(family, group);
}

function markEntry(family: FamilySlices, group: PortGroup, entry: SliceEntry): void {
  group.dirtyEntries = fewWith(group.dirtyEntries, entry);
  markGroup(family, group);
}

function markGroup(family: FamilySlices, group: PortGroup): void {
  family.dirtyGroups = fewWith(family.dirtyGroups, group);
}

function unmarkGroup(family: FamilySlices, group: PortGroup): void {
  family.dirtyGroups = fewWithout(family.dirtyGroups, group);
}

function addListing(family: FamilySlices, pod: string, entry: SliceEntry): void {
  const listing = family.slicesByPod.get(pod);
  if (listing === undefined) {
    family.slicesByPod.set(pod, entry);
    return;
  }
  const all = Array.isArray(listing) ? listing : [listing];
  // A slice may list one pod a thousand times. Twice tells as much.
  if (all.at(-1) === entry && all.at(-2) === entry) return;
  all.push(entry);
  family.slicesByPod.set(pod, all);
  // Planning must decide again which of these slices keeps the pod. Those behind the first have their marks.
  const first = all[0]!;
  if (first.group !== null) markEntry(family, first.group, first);
}

/** Does nothing for the third place of the pod in the slice, and those after it. */
function removeListing(family: FamilySlices, pod: string, entry: SliceEntry): void {
  const listing = family.slicesByPod.get(pod);
  if (!Array.isArray(listing)) {
    if (listing === entry) family.slicesByPod.delete(pod);
    return;
  }
  const at = listing.indexOf(entry);
  if (at < 0) return;
  listing.splice(at, 1);
  if (listing.length === 1) family.slicesByPod.set(pod, listing[0]!);
}

function listSamePods(a: StoredSlice, b: StoredSlice): boolean {
  const before = a.object.endpoints ?? [];
  const after = b.object.endpoints ?? [];
  return (
    before.length === after.length &&
    before.every((endpoint, i) => endpoint.targetRef?.name === after[i]!.targetRef?.name)
  );
}
