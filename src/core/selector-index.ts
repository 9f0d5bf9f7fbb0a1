/**
 * Which services select a pod, and which pods a service selects, kept up to date change by change
 * (docs/protocols.md "Selector index").
 *
 * Pods of a namespace with equal labels form one *group*, and selectors are matched against groups only. Each service
 * is registered under one pair of its selector, the one with the fewest services. A new group finds its services there.
 * Each group is registered under all its pairs. A new service walks the groups of the pair that the fewest groups have.
 * So neither services nor pods are ever scanned.
 *
 * The index also owns the pod cache. A pod costs it an entry in a map, one in a list and a small object; a group costs
 * a few entries for each of its labels.
 */
import { labelsEqual, labelsInclude } from '../kube/labels.ts';
import { type Draft, shareTexts } from '../kube/record.ts';
import type { Labels, PodRecord } from '../kube/types.ts';
import { assert } from '../lib/assert.ts';
import { type Few, fewHas, fewItems, fewSize, fewWith, fewWithout } from '../lib/few.ts';
import { fnv1a32, fnv1a32Continue } from '../lib/hash.ts';

/** `S` is whatever stands for a service; compared by identity. */
export interface SelectorIndex<S> {
  readonly namespaces: Map<string, Namespace<S>>;
  readonly services: Map<S, Service<S>>;
  podCount: number;
}

interface Namespace<S> {
  readonly name: string;
  readonly pods: Map<string, Pod<S>>;
  /** By the hash of the labels. Groups with equal hashes are chained. */
  readonly groups: Map<number, Group<S>>;
  /** The group that a pod has joined last; null = it is gone, or no pod has. */
  lastGroup: Group<S> | null;
  readonly groupsByPair: ByPair<Group<S>>;
  /** Each service once, under the pair that it is registered under. */
  readonly servicesByPair: ByPair<Service<S>>;
  /** Services with an empty selector, which selects every pod. */
  readonly selectAll: Set<Service<S>>;
  serviceCount: number;
}

/** Label key -> value -> who has that pair. */
type ByPair<T extends object> = Map<string, Map<string, Few<T>>>;

interface Pod<S> {
  record: PodRecord;
  group: Group<S>;
  /** Neighbours among the pods of the group. A linked list, because an array for a few pods takes room for 17. */
  previousInGroup: Pod<S> | null;
  nextInGroup: Pod<S> | null;
}

interface Group<S> {
  readonly labels: Labels;
  readonly hash: number;
  next: Group<S> | null;
  firstPod: Pod<S> | null;
  /** Replaced, never changed. */
  services: readonly S[];
}

interface Service<S> {
  readonly service: S;
  readonly namespace: Namespace<S>;
  readonly selector: Labels;
  /** Position in `selector` of the pair under which it is registered; -1 = it has none. */
  readonly pairAt: number;
  groups: Few<Group<S>>;
}

interface PutResult<S> {
  readonly previous: PodRecord | undefined;
  /**
   * The services that selected the pod before. The list never changes, so it may be kept. It is the same list as
   * `servicesAfter` if the labels are equal.
   */
  readonly servicesBefore: readonly S[];
  readonly servicesAfter: readonly S[];
}

const NONE: readonly never[] = [];

export function createSelectorIndex<S>(): SelectorIndex<S> {
  return { namespaces: new Map(), services: new Map(), podCount: 0 };
}

/**
 * Takes a pod that is new or changed. Namespace and name identify it. The index keeps the record, and gives it the labels of
 * its group and the texts of the record before where they are equal.
 */
export function putPod<S>(index: SelectorIndex<S>, record: Draft<PodRecord>): PutResult<S> {
  const namespace = getNamespace(index, record.namespace);
  const pod = namespace.pods.get(record.name);
  if (pod === undefined) {
    const group = getGroup(namespace, record.labels);
    record.labels = group.labels;
    const added: Pod<S> = { record, group, previousInGroup: null, nextInGroup: null };
    joinGroup(added, group);
    namespace.pods.set(record.name, added);
    index.podCount++;
    return { previous: undefined, servicesBefore: NONE, servicesAfter: group.services };
  }
  const previous = pod.record;
  shareTexts(record, previous);
  pod.record = record;
  const left = pod.group;
  if (labelsEqual(left.labels, record.labels)) {
    record.labels = left.labels;
    return { previous, servicesBefore: left.services, servicesAfter: left.services };
  }
  leaveGroup(namespace, pod);
  const joined = getGroup(namespace, record.labels);
  record.labels = joined.labels;
  joinGroup(pod, joined);
  return { previous, servicesBefore: left.services, servicesAfter: joined.services };
}

/** Removes a pod. `servicesBefore`: the services that selected it. */
export function removePod<S>(
  index: SelectorIndex<S>,
  namespaceName: string,
  name: string,
): Pick<PutResult<S>, 'servicesBefore'> {
  const namespace = index.namespaces.get(namespaceName);
  const pod = namespace?.pods.get(name);
  if (namespace === undefined || pod === undefined) return { servicesBefore: NONE };
  namespace.pods.delete(name);
  index.podCount--;
  leaveGroup(namespace, pod);
  dropIfEmpty(index, namespace);
  return { servicesBefore: pod.group.services };
}

export function getPod<S>(index: SelectorIndex<S>, namespace: string, name: string): PodRecord | undefined {
  return index.namespaces.get(namespace)?.pods.get(name)?.record;
}

/** The pod of that name in the service's namespace, if the service selects it. The selector is not evaluated again. */
export function getSelectedPod<S>(index: SelectorIndex<S>, service: S, name: string): PodRecord | undefined {
  const known = index.services.get(service);
  const pod = known?.namespace.pods.get(name);
  return pod !== undefined && fewHas(known!.groups, pod.group) ? pod.record : undefined;
}

/** The services that select the pod. The list never changes. */
export function servicesOf<S>(index: SelectorIndex<S>, namespace: string, name: string): readonly S[] {
  return index.namespaces.get(namespace)?.pods.get(name)?.group.services ?? NONE;
}

export function podCount<S>(index: SelectorIndex<S>): number {
  return index.podCount;
}

/** Every pod of the index. The caller may remove the pod just given before it asks for the next one. */
export function* allPods<S>(index: SelectorIndex<S>): Iterable<PodRecord> {
  for (const namespace of index.namespaces.values()) for (const pod of namespace.pods.values()) yield pod.record;
}

/** The pods that the service selects, each once, in no special order. The index must not change meanwhile. */
export function* podsOf<S>(index: SelectorIndex<S>, service: S): Iterable<PodRecord> {
  const known = index.services.get(service);
  if (known === undefined) return;
  for (const group of fewItems(known.groups)) {
    for (let pod = group.firstPod; pod !== null; pod = pod.nextInGroup) yield pod.record;
  }
}

/**
 * Takes a service that is new or has another selector.
 * @param selector null = the service selects no pod; an empty selector selects every pod
 */
export function putService<S>(
  index: SelectorIndex<S>,
  service: S,
  namespaceName: string,
  selector: Labels | null,
): void {
  const known = index.services.get(service);
  if (known !== undefined) {
    assert(known.namespace.name === namespaceName, 'a service stays in its namespace');
    if (selector !== null && labelsEqual(known.selector, selector)) return;
    removeService(index, service);
  }
  if (selector === null) return;
  const namespace = getNamespace(index, namespaceName);
  namespace.serviceCount++;
  const entry: Service<S> = {
    service,
    namespace,
    selector,
    pairAt: rarestPair(namespace, selector),
    groups: null,
  };
  index.services.set(service, entry);
  register(entry);
  for (const group of candidateGroups(namespace, selector)) {
    if (!labelsInclude(group.labels, selector)) continue;
    entry.groups = fewWith(entry.groups, group);
    group.services = [...group.services, service];
  }
}

/** Removes a service. Its pods stay. */
export function removeService<S>(index: SelectorIndex<S>, service: S): void {
  const entry = index.services.get(service);
  if (entry === undefined) return;
  index.services.delete(service);
  unregister(entry);
  for (const group of fewItems(entry.groups)) group.services = without(group.services, service);
  entry.namespace.serviceCount--;
  dropIfEmpty(index, entry.namespace);
}

function getNamespace<S>(index: SelectorIndex<S>, name: string): Namespace<S> {
  let namespace = index.namespaces.get(name);
  if (namespace === undefined) {
    namespace = {
      name,
      pods: new Map(),
      groups: new Map(),
      lastGroup: null,
      groupsByPair: new Map(),
      servicesByPair: new Map(),
      selectAll: new Set(),
      serviceCount: 0,
    };
    index.namespaces.set(name, namespace);
  }
  return namespace;
}

function dropIfEmpty<S>(index: SelectorIndex<S>, namespace: Namespace<S>): void {
  if (namespace.pods.size === 0 && namespace.serviceCount === 0) index.namespaces.delete(namespace.name);
}

function without<T>(list: readonly T[], item: T): readonly T[] {
  const at = list.indexOf(item);
  return list.length === 1 && at === 0 ? NONE : list.toSpliced(at, 1);
}

// Groups

function hashLabels(labels: Labels): number {
  let hash = fnv1a32('');
  for (const text of labels) hash = fnv1a32Continue(fnv1a32Continue(hash, text), '\0');
  // Signed, so that V8 stores it without a box.
  return hash | 0;
}

/** Pods of one template are listed one after the other, and their labels are one list, which is not hashed again. */
function getGroup<S>(namespace: Namespace<S>, labels: Labels): Group<S> {
  if (namespace.lastGroup?.labels !== labels) namespace.lastGroup = findGroup(namespace, labels);
  return namespace.lastGroup;
}

function findGroup<S>(namespace: Namespace<S>, labels: Labels): Group<S> {
  const hash = hashLabels(labels);
  const first = namespace.groups.get(hash) ?? null;
  for (let group = first; group !== null; group = group.next) if (labelsEqual(group.labels, labels)) return group;
  const group: Group<S> = { labels, hash, next: first, firstPod: null, services: NONE };
  namespace.groups.set(hash, group);
  for (let i = 0; i < labels.length; i += 2) addToPair(namespace.groupsByPair, labels[i]!, labels[i + 1]!, group);
  const services: S[] = [];
  for (const entry of candidateServices(namespace, labels)) {
    if (!labelsInclude(labels, entry.selector)) continue;
    entry.groups = fewWith(entry.groups, group);
    services.push(entry.service);
  }
  // A grown array has spare room; a copy has not.
  if (services.length > 0) group.services = services.slice();
  return group;
}

function joinGroup<S>(pod: Pod<S>, group: Group<S>): void {
  const first = group.firstPod;
  if (first !== null) first.previousInGroup = pod;
  group.firstPod = pod;
  pod.group = group;
  pod.previousInGroup = null;
  pod.nextInGroup = first;
}

/** Takes the pod out of its group, and drops the group with its last pod. `pod.group` stays as it was. */
function leaveGroup<S>(namespace: Namespace<S>, pod: Pod<S>): void {
  const { group, previousInGroup, nextInGroup } = pod;
  if (previousInGroup === null) group.firstPod = nextInGroup;
  else previousInGroup.nextInGroup = nextInGroup;
  if (nextInGroup !== null) nextInGroup.previousInGroup = previousInGroup;
  if (group.firstPod !== null) return;

  if (namespace.lastGroup === group) namespace.lastGroup = null;
  const first = namespace.groups.get(group.hash)!;
  if (first === group) {
    if (group.next === null) namespace.groups.delete(group.hash);
    else namespace.groups.set(group.hash, group.next);
  } else {
    let chained = first;
    while (chained.next !== group) chained = chained.next!;
    chained.next = group.next;
  }
  const { labels } = group;
  for (let i = 0; i < labels.length; i += 2) removeFromPair(namespace.groupsByPair, labels[i]!, labels[i + 1]!, group);
  for (const entry of candidateServices(namespace, labels)) entry.groups = fewWithout(entry.groups, group);
}

/** Every group that may have all pairs of the selector: the groups of its rarest pair. */
function candidateGroups<S>(namespace: Namespace<S>, selector: Labels): Iterable<Group<S>> {
  if (selector.length === 0) return allGroups(namespace);
  let rarest: Few<Group<S>> = null;
  for (let i = 0; i < selector.length; i += 2) {
    const groups = havingPair(namespace.groupsByPair, selector[i]!, selector[i + 1]!);
    if (groups === null) return [];
    if (rarest === null || fewSize(groups) < fewSize(rarest)) rarest = groups;
  }
  return fewItems(rarest);
}

function* allGroups<S>(namespace: Namespace<S>): Iterable<Group<S>> {
  for (const first of namespace.groups.values()) {
    for (let group: Group<S> | null = first; group !== null; group = group.next) yield group;
  }
}

// Services

/**
 * The position of the pair under which the fewest services are registered; of several such pairs, the one that the
 * fewest groups have. -1 = the selector is empty.
 */
function rarestPair<S>(namespace: Namespace<S>, selector: Labels): number {
  let rarest = -1;
  let servicesMin = Infinity;
  let groupsMin = Infinity;
  for (let i = 0; i < selector.length; i += 2) {
    const services = fewSize(havingPair(namespace.servicesByPair, selector[i]!, selector[i + 1]!));
    const groups = fewSize(havingPair(namespace.groupsByPair, selector[i]!, selector[i + 1]!));
    if (services < servicesMin || (services === servicesMin && groups < groupsMin)) {
      rarest = i;
      servicesMin = services;
      groupsMin = groups;
    }
  }
  return rarest;
}

function register<S>(entry: Service<S>): void {
  const { namespace, selector, pairAt } = entry;
  if (pairAt < 0) namespace.selectAll.add(entry);
  else addToPair(namespace.servicesByPair, selector[pairAt]!, selector[pairAt + 1]!, entry);
}

function unregister<S>(entry: Service<S>): void {
  const { namespace, selector, pairAt } = entry;
  if (pairAt < 0) namespace.selectAll.delete(entry);
  else removeFromPair(namespace.servicesByPair, selector[pairAt]!, selector[pairAt + 1]!, entry);
}

/** Every service whose selector these labels may match, each once. */
function* candidateServices<S>(namespace: Namespace<S>, labels: Labels): Iterable<Service<S>> {
  yield* namespace.selectAll;
  for (let i = 0; i < labels.length; i += 2) {
    yield* fewItems(havingPair(namespace.servicesByPair, labels[i]!, labels[i + 1]!));
  }
}

// Pairs

function havingPair<T extends object>(all: ByPair<T>, key: string, value: string): Few<T> {
  return all.get(key)?.get(value) ?? null;
}

function addToPair<T extends object>(all: ByPair<T>, key: string, value: string, item: T): void {
  let byValue = all.get(key);
  if (byValue === undefined) all.set(key, (byValue = new Map<string, Few<T>>()));
  byValue.set(value, fewWith(byValue.get(value) ?? null, item));
}

function removeFromPair<T extends object>(all: ByPair<T>, key: string, value: string, item: T): void {
  const byValue = all.get(key)!;
  const left = fewWithout(byValue.get(value)!, item);
  if (left !== null) {
    byValue.set(value, left);
    return;
  }
  byValue.delete(value);
  if (byValue.size === 0) all.delete(key);
}
