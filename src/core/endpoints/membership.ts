/**
 * The pods of one service and the subsets that they make, kept up to date change by change.
 *
 * Each pod that has an address and a port has a *port set*: the ports that the service has on it. Pods of one port set
 * stand in two sorted lists, ready and not ready. A port belongs to the pods of all port sets that name it, so ports
 * that the same port sets name share a subset. Nearly always there is one port set, and its lists are the subset. Then a
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
import { type PublishingConfig, publishingOf } from '../tolerate-unready.ts';
import { addressEqual } from './equality.ts';
import { compareHashed, portsInOrder, subsetHash } from './hash-order.ts';
import { LAID_OUT_MAX, TooManyAddresses } from './layout-size.ts';
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
  readonly config: PublishingConfig;
  publishNotReady: boolean;
  family: IpFamily | null;
  readonly entries: Map<string, PodEntry>;
  readonly portSets: Map<string, PortSet>;
  /**
   * The key of the one port set of a service without named target ports; null = the port set must be found pod by pod.
   */
  fixedPortSetKey: string | null;
  /** How many pods with an address have each uid, and how many uids have more than one. */
  readonly podsByUid: Map<string, number>;
  sharedUids: number;
  /** Which port sets make which subset; null = port sets came or went since it was made. */
  layout: readonly Group[] | null;
  subsets: readonly EndpointSubset[];
  subsetsValid: boolean;
  /** Problems that have not been taken yet, the oldest first. */
  problems: Problem[];
}

interface PodEntry {
  readonly pod: PodRecord;
  /** The pod's last address. It is reused while it is right, so that unchanged addresses stay identical. */
  readonly address: EndpointAddress | null;
  /** The port set whose lists have `address`, or why the pod is left out. */
  readonly portSet: PortSet | Absence;
  readonly ready: boolean;
  readonly problem: Problem | null;
}

interface PortSet {
  readonly key: string;
  readonly ports: readonly EndpointPort[];
  readonly ready: SortedAddresses;
  readonly notReady: SortedAddresses;
  size: number;
}

/** A subset in the making. */
interface Group {
  readonly portSets: readonly PortSet[];
  readonly ports: readonly EndpointPort[];
  /** What `subset` was made from: the ready list of each port set, then the not ready ones. */
  lists: readonly (readonly EndpointAddress[])[];
  subset: EndpointSubset;
  /** The hash of `subset`, made only when there is another subset to compare with; '' until then. */
  hash: string;
}

/** The key of the port set that stands for "no ports", of headless services. */
const PORTLESS = 'portless';

/** A service that has no pods yet. */
export function createMembership(spec: ServiceRecord, config: PublishingConfig): Membership {
  const { publishNotReady, problem } = publishingOf(spec, config);
  return {
    spec,
    config,
    publishNotReady,
    family: wantedFamily(spec),
    entries: new Map(),
    portSets: new Map(),
    fixedPortSetKey: fixedPortSetKeyOf(spec),
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
  const before = membership.entries.get(name);
  if (pod === null) {
    if (before === undefined) return null;
    unlist(membership, before);
    membership.entries.delete(name);
    return before.pod;
  }
  if (before?.pod === pod) return pod;
  const after = place(membership, pod, before);
  if (before === undefined || !isListedAlike(before, after)) {
    // The new address goes first. Else a port set that loses its only pod and gets another would be dropped in between.
    list(membership, after);
    if (before !== undefined) unlist(membership, before);
  }
  membership.entries.set(name, after);
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
  membership.fixedPortSetKey = fixedPortSetKeyOf(spec);
  const entries = [...membership.entries];
  membership.portSets.clear();
  membership.podsByUid.clear();
  membership.sharedUids = 0;
  membership.layout = null;
  membership.subsetsValid = false;
  for (const [name, entry] of entries) {
    const after = place(membership, entry.pod, entry);
    list(membership, after);
    membership.entries.set(name, after);
    noteProblem(membership.problems, entry.problem, after.problem);
  }
}

/**
 * The canonical subsets, not truncated. Neither the list nor its parts ever change. A part that has not changed since
 * the last call is the same object again; so is the list.
 * @param max the most addresses of several subsets together
 * @throws TooManyAddresses before anything is merged
 */
export function subsetsOf(membership: Membership, max = LAID_OUT_MAX): readonly EndpointSubset[] {
  if (!membership.subsetsValid) {
    membership.subsets = membership.sharedUids > 0 ? layOutFromScratch(membership) : layOut(membership, max);
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
  const entry = membership.entries.get(name);
  if (entry === undefined) return null;
  const { pod, ready, problem } = entry;
  if (isListed(entry)) return { pod, absence: null, address: entry.address, ready, problem };
  return { pod, absence: entry.portSet as Absence, address: null, ready, problem };
}

/** Names of all pods that the service selects, whether they are listed or not. */
export function memberNames(membership: Membership): Iterable<string> {
  return membership.entries.keys();
}

/** What a pod has in the subsets. Its address is not listed yet. */
function place(membership: Membership, pod: PodRecord, before: PodEntry | undefined): PodEntry {
  const { spec, publishNotReady } = membership;
  const known = before?.address ?? null;
  const absence = podAbsence(pod, publishNotReady);
  if (absence !== null) return { pod, address: known, portSet: absence, ready: false, problem: null };
  const endpoint = podEndpoint(spec, membership.family, pod);
  if (endpoint.address === null) {
    return { pod, address: null, portSet: 'no-address', ready: false, problem: endpoint.problem };
  }
  return {
    pod,
    address: known !== null && addressEqual(known, endpoint.address) ? known : endpoint.address,
    portSet: portSetOf(membership, pod),
    ready: podReady(pod, publishNotReady),
    problem: endpoint.problem,
  };
}

/** Whether both have the same in the subsets. */
function isListedAlike(a: PodEntry, b: PodEntry): boolean {
  return a.portSet === b.portSet && (!isListed(a) || (a.address === b.address && a.ready === b.ready));
}

type ListedEntry = PodEntry & { readonly address: EndpointAddress; readonly portSet: PortSet };

function isListed(entry: PodEntry): entry is ListedEntry {
  return typeof entry.portSet !== 'string';
}

function list(membership: Membership, entry: PodEntry): void {
  if (!isListed(entry)) return;
  const { address, portSet, ready, pod } = entry;
  addAddress(ready ? portSet.ready : portSet.notReady, address);
  if (portSet.size++ === 0) membership.layout = null;
  const pods = (membership.podsByUid.get(pod.uid) ?? 0) + 1;
  membership.podsByUid.set(pod.uid, pods);
  if (pods === 2) membership.sharedUids++;
  membership.subsetsValid = false;
}

function unlist(membership: Membership, entry: PodEntry): void {
  if (!isListed(entry)) return;
  const { address, portSet, ready, pod } = entry;
  removeAddress(ready ? portSet.ready : portSet.notReady, address);
  if (--portSet.size === 0) {
    membership.portSets.delete(portSet.key);
    membership.layout = null;
  }
  const pods = membership.podsByUid.get(pod.uid)!;
  if (pods === 1) membership.podsByUid.delete(pod.uid);
  else membership.podsByUid.set(pod.uid, pods - 1);
  if (pods === 2) membership.sharedUids--;
  membership.subsetsValid = false;
}

/** The port set of a pod, or why the service has no port on it, so that the pod is left out. */
function portSetOf(membership: Membership, pod: PodRecord): PortSet | Absence {
  const { spec, fixedPortSetKey } = membership;
  if (spec.ports.length === 0) {
    return spec.clusterIP === 'None' ? getPortSet(membership, PORTLESS, () => [NO_PORT]) : 'no-service-port';
  }
  if (fixedPortSetKey !== null) {
    return getPortSet(membership, fixedPortSetKey, () => endpointPorts(spec.ports, spec.ports.map(fixedNumber)));
  }
  const numbers = resolveTargetPorts(spec.ports, pod);
  if (numbers.every((number) => number === null)) return 'no-port';
  return getPortSet(membership, numbers.join(','), () => endpointPorts(spec.ports, numbers));
}

function getPortSet(membership: Membership, key: string, ports: () => EndpointPort[]): PortSet {
  let portSet = membership.portSets.get(key);
  if (portSet === undefined) {
    portSet = { key, ports: ports(), ready: createSortedAddresses(), notReady: createSortedAddresses(), size: 0 };
    membership.portSets.set(key, portSet);
  }
  return portSet;
}

function fixedPortSetKeyOf(spec: ServiceRecord): string | null {
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

function layOut(membership: Membership, max: number): readonly EndpointSubset[] {
  const known = membership.layout;
  const groups = (membership.layout ??= groupPortSets([...membership.portSets.values()]));
  if (groups.length > 1 && addressesOf(groups) > max) throw new TooManyAddresses();
  let changed = known === null;
  for (const group of groups) {
    const ready = group.portSets.map((portSet) => sortedAddresses(portSet.ready));
    const notReady = group.portSets.map((portSet) => sortedAddresses(portSet.notReady));
    const lists = [...ready, ...notReady];
    if (lists.every((list, i) => list === group.lists[i])) continue;
    changed = true;
    group.lists = lists;
    group.hash = '';
    group.subset = makeSubset(mergeAddresses(ready), mergeAddresses(notReady), group.ports);
  }
  if (!changed) return membership.subsets;
  if (groups.length > 1) {
    for (const group of groups) if (group.hash === '') group.hash = subsetHash(group.subset);
  }
  return groups.toSorted(compareHashed).map((group) => group.subset);
}

function addressesOf(groups: readonly Group[]): number {
  let addresses = 0;
  for (const { portSets } of groups) for (const { size } of portSets) addresses += size;
  return addresses;
}

function groupPortSets(portSets: readonly PortSet[]): Group[] {
  return groupPorts(portSets.map((portSet) => portSet.ports)).map(({ indices, ports }) => ({
    portSets: indices.map((index) => portSets[index]!),
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
  const names = [...membership.entries.keys()].sort();
  const single: EndpointSubset[] = [];
  for (const name of names) {
    const entry = membership.entries.get(name)!;
    if (!isListed(entry)) continue;
    const { address, ready } = entry;
    const { ports } = entry.portSet;
    single.push(ready ? { addresses: [address], ports } : { notReadyAddresses: [address], ports });
  }
  return repackSubsets(single);
}
