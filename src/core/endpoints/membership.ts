/**
 * The pods of one service and the subsets that they make, kept up to date change by change.
 *
 * Each pod that has an address and a port has a *profile*: the ports that the service has on it. Pods of one profile
 * stand in two sorted lists, ready and not ready. A port belongs to the pods of all profiles that name it, so ports
 * that the same profiles name share a subset. Nearly always there is one profile, and its lists are the subset. Then a
 * pod that turns ready costs a search and a memmove, whatever the size of the service.
 *
 * All this requires that no two pods have the same address. The pod's uid is part of its address. So only two pods with
 * one uid could have the same address, and no API server makes such pods. While there are any, each plan lays out
 * everything from scratch.
 */
import type {
  EndpointAddress,
  EndpointPort,
  EndpointSubset,
  IpFamily,
  PodRecord,
  ServicePort,
  ServiceRecord,
} from '../../kube/types.ts';
import { type Absence, podAbsence, podEndpoint, podReady, wantedFamily } from '../pod-endpoint.ts';
import { noteProblem, type Problem } from '../problem.ts';
import { resolveTargetPorts, servicePortsEqual } from '../target-port.ts';
import { type PlanningConfig, publishingOf } from '../tolerate-unready.ts';
import { addressEqual } from './equality.ts';
import { compareHashed, portsInOrder, subsetHash } from './hash-order.ts';
import { groupPorts } from './port-groups.ts';
import { repackSubsets } from './repack.ts';
import {
  addAddress,
  createSortedAddresses,
  mergeAddresses,
  removeAddress,
  sortedAddresses,
  type SortedAddresses,
} from './sorted-addresses.ts';
import { makeSubset, NO_PORT } from './subset.ts';

export interface Membership {
  spec: ServiceRecord;
  readonly config: PlanningConfig;
  publishNotReady: boolean;
  family: IpFamily | null;
  readonly members: Map<string, Member>;
  readonly profiles: Map<string, Profile>;
  /**
   * The key of the one profile of a service without named target ports; null = the profile must be found pod by pod.
   */
  fixedProfileKey: string | null;
  /** How many pods with an address have each uid, and how many uids have more than one. */
  readonly podsByUid: Map<string, number>;
  sharedUids: number;
  /** Which profiles make which subset; null = profiles came or went since it was made. */
  layout: readonly Group[] | null;
  subsets: readonly EndpointSubset[];
  subsetsValid: boolean;
  /** Problems that have not been taken yet, the oldest first. */
  problems: Problem[];
}

interface Member {
  readonly pod: PodRecord;
  /** The pod's last address. It is reused while it is right, so that unchanged addresses stay identical. */
  readonly address: EndpointAddress | null;
  /** The profile whose lists have `address`, or why the pod is left out. */
  readonly profile: Profile | Absence;
  readonly ready: boolean;
  readonly problem: Problem | null;
}

interface Profile {
  readonly key: string;
  readonly ports: readonly EndpointPort[];
  readonly ready: SortedAddresses;
  readonly notReady: SortedAddresses;
  size: number;
}

/** A subset in the making. */
interface Group {
  readonly profiles: readonly Profile[];
  readonly ports: readonly EndpointPort[];
  /** What `subset` was made from: the ready and not ready lists of each profile in turn. */
  lists: readonly (readonly EndpointAddress[])[];
  subset: EndpointSubset;
  /** The hash of `subset`, made only when there is another subset to compare with; '' until then. */
  hash: string;
}

/** The key of the profile that stands for "no ports", of headless services. */
const PORTLESS = 'portless';

/** A service that has no pods yet. */
export function createMembership(spec: ServiceRecord, config: PlanningConfig): Membership {
  const { publishNotReady, problem } = publishingOf(spec, config);
  return {
    spec,
    config,
    publishNotReady,
    family: wantedFamily(spec),
    members: new Map(),
    profiles: new Map(),
    fixedProfileKey: fixedProfileKeyOf(spec),
    podsByUid: new Map(),
    sharedUids: 0,
    layout: [],
    subsets: [],
    subsetsValid: true,
    problems: problem === null ? [] : [problem],
  };
}

/**
 * Takes a pod that is new or changed; null = it is gone.
 * @returns the pod as it was known before
 */
export function applyPod(membership: Membership, name: string, pod: PodRecord | null): PodRecord | null {
  const before = membership.members.get(name);
  if (pod === null) {
    if (before === undefined) return null;
    unlist(membership, before);
    membership.members.delete(name);
    return before.pod;
  }
  if (before?.pod === pod) return pod;
  const after = place(membership, pod, before);
  if (before === undefined || !sameEndpoint(before, after)) {
    // The new address goes first. Else a profile that loses its only pod and gets another would be dropped in between.
    list(membership, after);
    if (before !== undefined) unlist(membership, before);
  }
  membership.members.set(name, after);
  noteProblem(membership.problems, before?.problem ?? null, after.problem);
  return before?.pod ?? null;
}

/**
 * Takes a Service that has changed. Its pods are placed anew only if a field has changed that their addresses depend
 * on.
 */
export function setSpec(membership: Membership, spec: ServiceRecord): void {
  const before = membership.spec;
  if (before === spec) return;
  const { publishNotReady, problem } = publishingOf(spec, membership.config);
  noteProblem(membership.problems, publishingOf(before, membership.config).problem, problem);
  const family = wantedFamily(spec);
  const same =
    publishNotReady === membership.publishNotReady &&
    family === membership.family &&
    spec.name === before.name &&
    spec.namespace === before.namespace &&
    (spec.clusterIP === 'None') === (before.clusterIP === 'None') &&
    servicePortsEqual(spec.ports, before.ports);
  membership.spec = spec;
  if (same) return;

  membership.publishNotReady = publishNotReady;
  membership.family = family;
  membership.fixedProfileKey = fixedProfileKeyOf(spec);
  const members = [...membership.members];
  membership.profiles.clear();
  membership.podsByUid.clear();
  membership.sharedUids = 0;
  membership.layout = null;
  membership.subsetsValid = false;
  for (const [name, member] of members) {
    const after = place(membership, member.pod, member);
    list(membership, after);
    membership.members.set(name, after);
    noteProblem(membership.problems, member.problem, after.problem);
  }
}

/**
 * The canonical subsets, not truncated. Neither the list nor its parts ever change. A part that has not changed since
 * the last call is the same object again; so is the list.
 */
export function subsetsOf(membership: Membership): readonly EndpointSubset[] {
  if (!membership.subsetsValid) {
    membership.subsets = membership.sharedUids > 0 ? layOutFromScratch(membership) : layOut(membership);
    membership.subsetsValid = true;
  }
  return membership.subsets;
}

/** Takes the problems that have come up since the last call. */
export function takeProblems(membership: Membership): readonly Problem[] {
  const taken = membership.problems;
  if (taken.length > 0) membership.problems = [];
  return taken;
}

/** What one pod of the service has in the Endpoints. */
export interface MemberState {
  readonly pod: PodRecord;
  /** Why the pod is left out; null = `address` is listed. */
  readonly absence: Absence | null;
  readonly address: EndpointAddress | null;
  readonly ready: boolean;
  /** What is wrong with the pod, whether it is left out or only lacks a field. */
  readonly problem: Problem | null;
}

/**
 * What the pod has in the Endpoints; null = the service has no such pod. Only explanations read this, never planning.
 */
export function memberState(membership: Membership, name: string): MemberState | null {
  const member = membership.members.get(name);
  if (member === undefined) return null;
  const { pod, ready, problem } = member;
  if (isListed(member)) return { pod, absence: null, address: member.address, ready, problem };
  return { pod, absence: member.profile as Absence, address: null, ready, problem };
}

/** Names of all pods that the service selects, whether they are listed or not. */
export function memberNames(membership: Membership): Iterable<string> {
  return membership.members.keys();
}

/** What a pod has in the subsets. Its address is not listed yet. */
function place(membership: Membership, pod: PodRecord, before: Member | undefined): Member {
  const { spec, publishNotReady } = membership;
  const known = before?.address ?? null;
  const absence = podAbsence(pod, publishNotReady);
  if (absence !== null) return { pod, address: known, profile: absence, ready: false, problem: null };
  const endpoint = podEndpoint(spec, membership.family, pod);
  if (endpoint.address === null) {
    return { pod, address: null, profile: 'no-address', ready: false, problem: endpoint.problem };
  }
  return {
    pod,
    address: known !== null && addressEqual(known, endpoint.address) ? known : endpoint.address,
    profile: profileOf(membership, pod),
    ready: podReady(pod, publishNotReady),
    problem: endpoint.problem,
  };
}

function sameEndpoint(a: Member, b: Member): boolean {
  return a.profile === b.profile && (!isListed(a) || (a.address === b.address && a.ready === b.ready));
}

type ListedMember = Member & { readonly address: EndpointAddress; readonly profile: Profile };

function isListed(member: Member): member is ListedMember {
  return typeof member.profile !== 'string';
}

function list(membership: Membership, member: Member): void {
  if (!isListed(member)) return;
  const { address, profile, ready, pod } = member;
  addAddress(ready ? profile.ready : profile.notReady, address);
  if (profile.size++ === 0) membership.layout = null;
  const pods = (membership.podsByUid.get(pod.uid) ?? 0) + 1;
  membership.podsByUid.set(pod.uid, pods);
  if (pods === 2) membership.sharedUids++;
  membership.subsetsValid = false;
}

function unlist(membership: Membership, member: Member): void {
  if (!isListed(member)) return;
  const { address, profile, ready, pod } = member;
  removeAddress(ready ? profile.ready : profile.notReady, address);
  if (--profile.size === 0) {
    membership.profiles.delete(profile.key);
    membership.layout = null;
  }
  const pods = membership.podsByUid.get(pod.uid)!;
  if (pods === 1) membership.podsByUid.delete(pod.uid);
  else membership.podsByUid.set(pod.uid, pods - 1);
  if (pods === 2) membership.sharedUids--;
  membership.subsetsValid = false;
}

/** The profile of a pod, or why the service has no port on it, so that the pod is left out. */
function profileOf(membership: Membership, pod: PodRecord): Profile | Absence {
  const { spec, fixedProfileKey } = membership;
  if (spec.ports.length === 0) {
    return spec.clusterIP === 'None' ? getProfile(membership, PORTLESS, () => [NO_PORT]) : 'no-service-port';
  }
  if (fixedProfileKey !== null) {
    return getProfile(membership, fixedProfileKey, () => endpointPorts(spec.ports, spec.ports.map(fixedNumber)));
  }
  const numbers = resolveTargetPorts(spec.ports, pod);
  if (numbers.every((number) => number === null)) return 'no-port';
  return getProfile(membership, numbers.join(','), () => endpointPorts(spec.ports, numbers));
}

function getProfile(membership: Membership, key: string, ports: () => EndpointPort[]): Profile {
  let profile = membership.profiles.get(key);
  if (profile === undefined) {
    profile = { key, ports: ports(), ready: createSortedAddresses(), notReady: createSortedAddresses(), size: 0 };
    membership.profiles.set(key, profile);
  }
  return profile;
}

function fixedProfileKeyOf(spec: ServiceRecord): string | null {
  const numbers = spec.ports.map(fixedNumber);
  return numbers.includes(null) ? null : numbers.join(',');
}

function fixedNumber(port: ServicePort): number | null {
  return typeof port.targetPort === 'number' ? port.targetPort : null;
}

/**
 * The ports that a service has on a pod, under the names of the service.
 * @param numbers the number of each port; null = the port is left out
 */
function endpointPorts(ports: readonly ServicePort[], numbers: readonly (number | null)[]): EndpointPort[] {
  const made: EndpointPort[] = [];
  for (let i = 0; i < ports.length; i++) {
    const { name, protocol, appProtocol } = ports[i]!;
    const port = numbers[i] ?? null;
    if (port === null) continue;
    made.push({
      ...(name !== '' && { name }),
      port,
      ...(protocol !== '' && { protocol }),
      ...(appProtocol !== undefined && { appProtocol }),
    });
  }
  return made;
}

function layOut(membership: Membership): readonly EndpointSubset[] {
  const known = membership.layout;
  const groups = (membership.layout ??= groupProfiles([...membership.profiles.values()]));
  let changed = known === null;
  for (const group of groups) {
    const lists = group.profiles.flatMap(({ ready, notReady }) => [sortedAddresses(ready), sortedAddresses(notReady)]);
    if (lists.every((list, i) => list === group.lists[i])) continue;
    changed = true;
    group.lists = lists;
    group.hash = '';
    let ready: readonly EndpointAddress[] = [];
    let notReady: readonly EndpointAddress[] = [];
    for (let i = 0; i < lists.length; i += 2) {
      ready = mergeAddresses(ready, lists[i]!);
      notReady = mergeAddresses(notReady, lists[i + 1]!);
    }
    group.subset = makeSubset(ready, notReady, group.ports);
  }
  if (!changed) return membership.subsets;
  if (groups.length > 1) {
    for (const group of groups) if (group.hash === '') group.hash = subsetHash(group.subset);
  }
  return groups.toSorted(compareHashed).map((group) => group.subset);
}

function groupProfiles(profiles: readonly Profile[]): Group[] {
  return groupPorts(profiles.map((profile) => profile.ports)).map(({ indices, ports }) => ({
    profiles: indices.map((index) => profiles[index]!),
    ports: portsInOrder(ports.filter((port) => port.port > 0)),
    lists: [],
    subset: {},
    hash: '',
  }));
}

/** Of pods with the same IP and uid, the first by name counts. Upstream takes the first in the order of its cache. */
function layOutFromScratch(membership: Membership): readonly EndpointSubset[] {
  // The layout's groups do not show these subsets, so the next call must not compare with them.
  membership.layout = null;
  const names = [...membership.members.keys()].sort();
  const single: EndpointSubset[] = [];
  for (const name of names) {
    const member = membership.members.get(name)!;
    if (!isListed(member)) continue;
    const { address, ready } = member;
    const { ports } = member.profile;
    single.push(ready ? { addresses: [address], ports } : { notReadyAddresses: [address], ports });
  }
  return repackSubsets(single);
}
