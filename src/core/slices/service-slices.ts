/**
 * The state from which the slices of one service are planned: its Service, its pods, and the slices that the server
 * holds. Each change updates this state. `planSlices` (`slices/plan.ts`) makes the writes from it.
 */
import { labelsEqual } from '../../kube/labels.ts';
import type { Endpoint, EndpointSlice, IpFamily, PodRecord, ServiceRecord } from '../../kube/types.ts';
import type { Member } from '../member.ts';
import { type Absence, podAbsence } from '../pod-endpoint.ts';
import { noteProblem, problemsEqual, quoted, type Problem } from '../problem.ts';
import { servicePortsEqual } from '../target-port.ts';
import { type PublishingConfig, publishingOf } from '../tolerate-unready.ts';
import { endpointContentEqual, sameEndpoint } from './endpoint-identity.ts';
import {
  addEntry,
  changeInGroup,
  createFamilySlices,
  enterGroup,
  type FamilySlices,
  leaveGroup,
  markAllEntries,
  removeEntry,
  replaceStored,
  type SliceEntry,
} from './family-slices.ts';
import { podEndpoints } from './pod-endpoints.ts';
import { portMapKey, slicePortsInOrder } from './port-map-key.ts';
import { sliceFamilies } from './slice-families.ts';
import { reservedLabelProblem, sliceIsOurs, sliceLabels } from './slice-labels.ts';
import { fixedSlicePorts, podSlicePorts, type SlicePorts } from './slice-ports.ts';
import { storeSlice } from './slice-state.ts';
import { type Few, fewHas, fewWith, fewWithout } from '../../lib/few.ts';

export interface SlicesConfig extends PublishingConfig {
  /** `--max-endpoints-per-slice` */
  readonly maxEndpointsPerSlice: number;
  /** `--compact-slices`: slices of services that have shrunk are merged. */
  readonly compactSlices: boolean;
}

export interface ServiceSlices {
  readonly config: SlicesConfig;
  /** null = no Service was told yet. */
  service: DerivedService | null;
  readonly pods: Map<string, PodPlace>;
  /** Every slice that was observed or written, by name. */
  readonly stored: Map<string, SliceEntry>;
  /** The wanted families, IPv4 first. All of it follows from the pods and the stored slices. */
  families: readonly FamilySlices[];
  /** Slices of families that are not wanted. */
  unwanted: Few<SliceEntry>;
  /** Pods that are left out because their node is not known. */
  waitingForNode: number;
  /** Problems of the service itself that have not been taken yet, the oldest first. */
  problems: Problem[];
  /** Pods with a problem that has not been taken yet, the oldest first; null = none. */
  untold: Set<string> | null;
}

/** A Service, and what follows from it for its slices. */
export interface DerivedService {
  readonly spec: ServiceRecord;
  readonly families: readonly IpFamily[];
  readonly publishNotReady: boolean;
  /** The problem of the Service; null = none. */
  readonly problem: Problem | null;
  /** The labels of its slices. */
  readonly labels: Record<string, string>;
  /** The ports of all its pods; null = they must be found for each pod. */
  readonly ports: SlicePorts | null;
}

interface PodPlace {
  readonly member: Member;
  /** The pod's ports, or why it does not count; null = no Service was told yet. */
  readonly ports: SlicePorts | Absence | null;
  /** The pod's last endpoints. They are reused while they are right, so that unchanged endpoints stay identical. */
  readonly ipv4: Endpoint | null;
  readonly ipv6: Endpoint | null;
  /** Whether the pod waits for its node to be known. Until then it has no endpoints. */
  readonly waiting: boolean;
  readonly problem: Problem | null;
}

const NO_PROBLEMS: readonly Problem[] = [];

/** The state of a service of which nothing is known: no spec, no pods, no stored slices. */
export function createServiceSlices(config: SlicesConfig): ServiceSlices {
  return {
    config,
    service: null,
    pods: new Map(),
    stored: new Map(),
    families: [],
    unwanted: null,
    waitingForNode: 0,
    problems: [],
    untold: null,
  };
}

/**
 * Takes a Service that is new or changed. Its pods are placed anew only if a field has changed that their endpoints
 * depend on.
 */
export function setSlicesSpec(s: ServiceSlices, spec: ServiceRecord): void {
  const before = s.service;
  if (before?.spec === spec) return;
  const { publishNotReady, problem } = publishingOf(spec, s.config);
  s.service = {
    spec,
    families: sliceFamilies(spec),
    publishNotReady,
    problem,
    labels: sliceLabels(spec),
    ports: fixedSlicePorts(spec),
  };
  noteProblem(s.problems, before?.problem ?? null, problem);
  noteProblem(s.problems, before === null ? null : reservedLabelProblem(before.spec), reservedLabelProblem(spec));
  if (before === null || !placesLike(before, s.service)) placeAll(s, s.service);
  else if (!labelsEqual(spec.labels, before.spec.labels)) for (const family of s.families) markAllEntries(family);
}

/**
 * Takes a pod that is new or changed; null = it is gone.
 * @returns the pod as it was known before
 */
export function applySlicesPod(s: ServiceSlices, name: string, member: Member | null): PodRecord | null {
  const before = s.pods.get(name);
  if (member === null) {
    if (before === undefined) return null;
    changePlace(s, name, before, null);
    s.pods.delete(name);
    return before.member.pod;
  }
  if (before !== undefined && before.member.pod === member.pod && before.member.zone === member.zone) return member.pod;
  const after = placePod(s, s.service, member, before ?? null);
  changePlace(s, name, before ?? null, after);
  s.pods.set(name, after);
  return before?.member.pod ?? null;
}

/** What one pod of the service has in the slices of one family. */
export interface SlicePodState {
  readonly pod: PodRecord;
  /** Why it is left out; null = `endpoint` is in. */
  readonly absence: Absence | 'unknown-node' | null;
  readonly endpoint: Endpoint | null;
  readonly ports: SlicePorts | null;
  /** What is wrong with the pod, whether it is left out or only lacks a field. */
  readonly problem: Problem | null;
}

/**
 * What the pod has in the slices of one family; null = the service has no such pod. Only explanations read this, never
 * planning.
 */
export function slicePodState(s: ServiceSlices, name: string, family: IpFamily): SlicePodState | null {
  const place = s.pods.get(name);
  if (place === undefined) return null;
  const endpoint = endpointOf(place, family);
  const { ports, waiting, problem } = place;
  const left = waiting ? 'unknown-node' : 'no-address';
  return {
    pod: place.member.pod,
    absence: typeof ports === 'string' ? ports : endpoint === null ? left : null,
    endpoint,
    ports: groupOf(place),
    problem,
  };
}

/** Names of all pods that the service selects, whether they have an endpoint or not. */
export function slicePodNames(s: ServiceSlices): Iterable<string> {
  return s.pods.keys();
}

/** Takes a slice as it was read from the server, newer than what was stored; null = it does not exist. */
export function observeSlice(s: ServiceSlices, name: string, object: EndpointSlice | null): void {
  const entry = s.stored.get(name);
  if (object === null) {
    if (entry === undefined) return;
    takeOut(s, entry);
    s.stored.delete(name);
    return;
  }
  const stored = storeSlice(object);
  if (entry === undefined) {
    const added: SliceEntry = { name, stored, group: null };
    s.stored.set(name, added);
    sortIn(s, added);
    return;
  }
  const family = familyOf(s, entry);
  if (family !== null && entry.group !== null && isMember(s, family, object, entry.group.key)) {
    replaceStored(family, entry, stored);
    return;
  }
  takeOut(s, entry);
  entry.stored = stored;
  sortIn(s, entry);
}

export function storedSlice(s: ServiceSlices, name: string): EndpointSlice | undefined {
  return s.stored.get(name)?.stored.object;
}

/** Forgets all stored slices. The caller observes them anew. */
export function forgetStoredSlices(s: ServiceSlices): void {
  for (const entry of s.stored.values()) takeOut(s, entry);
  s.stored.clear();
}

/**
 * Takes the problems that have come up since the last call and still exist. A problem that ends before the next plan is
 * never told: a pod may be known before its node is listed.
 */
export function takeSlicesProblems(s: ServiceSlices): readonly Problem[] {
  if (s.problems.length === 0 && s.untold === null) return NO_PROBLEMS;
  const taken = s.problems;
  for (const name of s.untold ?? []) noteProblem(taken, null, s.pods.get(name)?.problem ?? null);
  s.problems = [];
  s.untold = null;
  return taken;
}

function notePodProblem(s: ServiceSlices, name: string, before: Problem | null, after: Problem | null): void {
  if (after === null || (before !== null && problemsEqual(before, after))) return;
  (s.untold ??= new Set()).add(name);
}

/** Whether both give pods and slices the same places. */
function placesLike(a: DerivedService, b: DerivedService): boolean {
  return (
    a.publishNotReady === b.publishNotReady &&
    a.spec.uid === b.spec.uid &&
    a.spec.name === b.spec.name &&
    a.spec.namespace === b.spec.namespace &&
    a.families.length === b.families.length &&
    a.families.every((family) => b.families.includes(family)) &&
    servicePortsEqual(a.spec.ports, b.spec.ports)
  );
}

function placeAll(s: ServiceSlices, service: DerivedService): void {
  s.families = service.families.map((family) =>
    createFamilySlices(family, s.config.maxEndpointsPerSlice, s.config.compactSlices),
  );
  s.unwanted = null;
  s.waitingForNode = 0;
  for (const [name, before] of s.pods) {
    const after = placePod(s, service, before.member, before);
    s.pods.set(name, after);
    enterAll(s, name, after);
    notePodProblem(s, name, before.problem, after.problem);
  }
  for (const entry of s.stored.values()) {
    entry.group = null;
    sortIn(s, entry);
  }
}

// Pods

/** The place that a pod gets. It is in no group yet. */
function placePod(s: ServiceSlices, service: DerivedService | null, member: Member, before: PodPlace | null): PodPlace {
  const { pod, zone } = member;
  // Terminating pods count (docs/spec/endpointslice.md "Which pods count").
  const absence = service === null ? null : podAbsence(pod, true);
  const nowhere: PodPlace = { member, ports: absence, ipv4: null, ipv6: null, waiting: false, problem: null };
  if (service === null || absence !== null) return nowhere;
  const { spec, families, publishNotReady } = service;
  const ports = service.ports ?? sharedPorts(s, podSlicePorts(spec, pod));
  if (zone === null && !publishNotReady) {
    return { ...nowhere, ports, waiting: true, problem: unknownNode(pod) };
  }
  const { ipv4, ipv6, problem } = podEndpoints(spec, families, publishNotReady, pod, zone ?? '');
  return {
    member,
    ports,
    ipv4: reuse(before?.ipv4, ipv4),
    ipv6: reuse(before?.ipv6, ipv6),
    waiting: false,
    problem,
  };
}

/** The ports of the group, if it has pods: so all pods of a group share one object. */
function sharedPorts(s: ServiceSlices, ports: SlicePorts): SlicePorts {
  const group = s.families[0]?.groups.get(ports.key);
  return group !== undefined && group.pods > 0 ? group.ports : ports;
}

function reuse(before: Endpoint | null | undefined, after: Endpoint | null): Endpoint | null {
  if (before === null || before === undefined || after === null) return after;
  return sameEndpoint(before, after) && endpointContentEqual(before, after) ? before : after;
}

function unknownNode(pod: PodRecord): Problem {
  return {
    kind: 'unknown-node',
    object: `pod ${pod.namespace}/${pod.name}`,
    field: 'spec.nodeName',
    message: `no such node, left out until there is: ${quoted(pod.nodeName)}`,
  };
}

function changePlace(s: ServiceSlices, name: string, before: PodPlace | null, after: PodPlace | null): void {
  // Slices that are not planned for long would else keep the name of each pod that ever had a problem.
  if (after === null) s.untold?.delete(name);
  if (before?.waiting === true) s.waitingForNode--;
  if (after?.waiting === true) s.waitingForNode++;
  notePodProblem(s, name, before?.problem ?? null, after?.problem ?? null);
  const from = before === null ? null : groupOf(before);
  const to = after === null ? null : groupOf(after);
  for (const family of s.families) {
    const endpoint = after === null ? null : endpointOf(after, family.family);
    if (from !== null && to !== null && from.key === to.key) {
      if (endpoint !== endpointOf(before!, family.family)) changeInGroup(family, to.key, name, endpoint);
      continue;
    }
    if (from !== null) leaveGroup(family, from.key, name);
    if (to !== null) enterGroup(family, to, name, endpoint);
  }
}

function enterAll(s: ServiceSlices, name: string, place: PodPlace): void {
  if (place.waiting) s.waitingForNode++;
  const ports = groupOf(place);
  if (ports === null) return;
  for (const family of s.families) enterGroup(family, ports, name, endpointOf(place, family.family));
}

/** The ports of the group that the pod is in; null = it is in none. */
function groupOf({ ports }: PodPlace): SlicePorts | null {
  return typeof ports === 'string' ? null : ports;
}

function endpointOf(place: PodPlace, family: IpFamily): Endpoint | null {
  return family === 'IPv4' ? place.ipv4 : place.ipv6;
}

// Slices

/** Puts a slice that is in no group where it belongs. */
function sortIn(s: ServiceSlices, entry: SliceEntry): void {
  const { object } = entry.stored;
  if (s.service === null || !isVisible(s.service, object)) return;
  const family = s.families.find((each) => each.family === object.addressType);
  if (family === undefined) s.unwanted = fewWith(s.unwanted, entry);
  else if (!isOwned(s.service, object)) family.ofEarlierService = fewWith(family.ofEarlierService, entry);
  else addEntry(family, portsOf(object), entry);
}

function takeOut(s: ServiceSlices, entry: SliceEntry): void {
  if (fewHas(s.unwanted, entry)) {
    s.unwanted = fewWithout(s.unwanted, entry);
    return;
  }
  const family = familyOf(s, entry);
  if (family === null) return;
  if (entry.group !== null) removeEntry(family, entry);
  else family.ofEarlierService = fewWithout(family.ofEarlierService, entry);
}

function familyOf(s: ServiceSlices, entry: SliceEntry): FamilySlices | null {
  return s.families.find(({ family }) => family === entry.stored.object.addressType) ?? null;
}

function isMember(s: ServiceSlices, family: FamilySlices, object: EndpointSlice, key: string): boolean {
  return (
    s.service !== null &&
    object.addressType === family.family &&
    isVisible(s.service, object) &&
    isOwned(s.service, object) &&
    portMapKey(object.ports) === key
  );
}

/**
 * Whether planning counts the slice. A slice that is being deleted does not count (upstream #109624). A slice with
 * other labels belongs to somebody else.
 */
function isVisible({ spec }: DerivedService, { metadata }: EndpointSlice): boolean {
  return (metadata.deletionTimestamp ?? '') === '' && sliceIsOurs(metadata.labels, spec.name);
}

/** Whether this very Service owns the slice, and not an earlier one of the same name. */
function isOwned({ spec }: DerivedService, { metadata }: EndpointSlice): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ kind, apiVersion, uid }) => kind === 'Service' && apiVersion === 'v1' && uid === spec.uid,
  );
}

function portsOf(object: EndpointSlice): SlicePorts {
  return { key: portMapKey(object.ports), ports: slicePortsInOrder(object.ports ?? []) };
}
