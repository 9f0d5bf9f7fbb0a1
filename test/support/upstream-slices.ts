/**
 * kube-controller-manager's EndpointSlice controller, one sync at a time (docs/spec/endpointslice.md "The slice
 * tracker", "New slices"): a slow port to judge ours by. It shares nothing with `src/core`. What upstream leaves to the
 * order of Go maps is drawn from a seed, so that several upstreams can be tried on the same state. It is the newest
 * version, with the owner's uid in the comparison of placeholders (#141593).
 */
import {
  HEADLESS_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGED_BY_LABEL,
  SLICE_MANAGED_BY_VALUE,
  TOPOLOGY_HINTS_ANNOTATION,
  TOPOLOGY_MODE_ANNOTATION,
  TRIGGER_TIME_ANNOTATION,
  ZONE_LABEL,
} from '../../src/kube/names.ts';
import type {
  Endpoint,
  EndpointSlice,
  IpFamily,
  NodeRecord,
  ObjectMeta,
  PodRecord,
  ServiceRecord,
  SlicePort,
} from '../../src/kube/types.ts';
import type { SliceRequest } from './slice-server.ts';
import { type Luck, shuffled } from './upstream-draw.ts';
import { endpointIdentity, equalBeyondIdentity, portMapKey, upstreamIp } from './upstream-endpoints.ts';
import {
  addHints,
  distributeTraffic,
  isOverloaded,
  pairs,
  removeHints,
  TRAFFIC_DISTRIBUTIONS,
  upstreamShares,
  type UpstreamShares,
  type WorkingSet,
} from './upstream-topology.ts';

export interface UpstreamWorld {
  readonly service: ServiceRecord | undefined;
  /** All of the namespace. */
  readonly pods: readonly PodRecord[];
  readonly nodes: readonly NodeRecord[];
  /** All of the namespace. */
  readonly slices: readonly EndpointSlice[];
}

/** What the controller remembers between syncs. */
export interface Upstream {
  readonly maxEndpointsPerSlice: number;
  /** As upstream is not: a placeholder without a label is not taken for one that has it with an empty value. */
  readonly exactPlaceholderLabels: boolean;
  readonly triggerTimes: Map<string, { readonly service: number; readonly pods: ReadonlyMap<string, number> }>;
  /** By service, then family: ready endpoints by zone as last hinted. */
  readonly hints: Map<string, Map<string, ReadonlyMap<string, number>>>;
  readonly hasHints: Set<string>;
  shares: UpstreamShares;
}

export interface UpstreamSync {
  /** In order; creates are named by the server. */
  readonly writes: readonly SliceRequest[];
  /** The sync fails with these after its writes. */
  readonly errors: readonly string[];
  /** `<reason>: <message>` */
  readonly events: readonly string[];
  readonly families: readonly UpstreamFamily[];
}

/** What metrics and the topology cache learn of one family. */
export interface UpstreamFamily {
  readonly family: IpFamily;
  /** Endpoints that were placed anew, and those dropped from slices whose ports are still wanted. */
  readonly added: number;
  readonly removed: number;
  /** Why hints by CPU are wanted and impossible; '' = not so. */
  readonly hintsFailure: string;
}

export function createUpstream(maxEndpointsPerSlice = 100, exactPlaceholderLabels = false): Upstream {
  return {
    maxEndpointsPerSlice,
    exactPlaceholderLabels,
    triggerTimes: new Map(),
    hints: new Map(),
    hasHints: new Set(),
    shares: new Map(),
  };
}

export function copyUpstream(upstream: Upstream): Upstream {
  return {
    ...upstream,
    triggerTimes: new Map(upstream.triggerTimes),
    hints: new Map([...upstream.hints].map(([key, byFamily]) => [key, new Map(byFamily)])),
    hasHints: new Set(upstream.hasHints),
  };
}

/** Node events: the shares are computed anew. Returns the services that are synced for that (section 4). */
export function upstreamNodes(upstream: Upstream, nodes: readonly NodeRecord[]): string[] {
  upstream.shares = upstreamShares(nodes);
  const overloaded = [...upstream.hints].filter(([, byFamily]) =>
    [...byFamily.values()].some((counts) => isOverloaded(counts, upstream.shares)),
  );
  return overloaded.map(([key]) => key);
}

/** `key` is `<namespace>/<name>`. */
export function upstreamSync(upstream: Upstream, world: UpstreamWorld, key: string, luck: Luck): UpstreamSync {
  const { service } = world;
  if (service === undefined) {
    upstream.triggerTimes.delete(key);
    return NOTHING;
  }
  if (service.type === 'ExternalName' || service.selector === null || service.selector.length === 0) return NOTHING;
  const pods = world.pods.filter((pod) => isSelected(service, pod));
  const slices = world.slices.filter(({ metadata: { labels = {}, deletionTimestamp } }) => {
    const ours = labels[SLICE_MANAGED_BY_LABEL] === SLICE_MANAGED_BY_VALUE;
    return ours && labels[SERVICE_NAME_LABEL] === service.name && deletionTimestamp === undefined;
  });
  const sync: SyncState = {
    upstream,
    key,
    service,
    pods: shuffled(pods, luck),
    nodes: new Map(world.nodes.map((node) => [node.name, node])),
    triggerTime: upstreamTriggerTime(upstream, key, service, pods),
    luck,
    writes: [],
    errors: [],
    events: [],
    families: [],
  };
  const families = familiesOf(service);
  const unwanted = slices.filter(({ addressType }) => !families.includes(addressType as IpFamily));
  for (const { addressType } of unwanted) forgetHints(upstream, key, addressType);
  for (const family of shuffled(families, luck)) {
    const existing = slices.filter(({ addressType }) => addressType === family);
    syncFamily(sync, family, shuffled(existing, luck));
  }
  for (const slice of unwanted) sync.writes.push(deletion(slice));
  return sync;
}

export function isSelected(service: ServiceRecord, pod: PodRecord): boolean {
  const labels = new Map(pairs(pod.labels));
  const selector = pairs(service.selector ?? []);
  return pod.namespace === service.namespace && selector.every(([name, value]) => labels.get(name) === value);
}

const NOTHING: UpstreamSync = { writes: [], errors: [], events: [], families: [] };

interface SyncState {
  readonly upstream: Upstream;
  readonly key: string;
  readonly service: ServiceRecord;
  readonly pods: readonly PodRecord[];
  readonly nodes: ReadonlyMap<string, NodeRecord>;
  /** Seconds since the epoch; 0 = none. */
  readonly triggerTime: number;
  readonly luck: Luck;
  readonly writes: SliceRequest[];
  readonly errors: string[];
  readonly events: string[];
  readonly families: UpstreamFamily[];
}

/** Section 6, in seconds, 0 = none. Its state advances whatever becomes of the sync. `pods` are those selected. */
export function upstreamTriggerTime(
  upstream: Upstream,
  key: string,
  service: ServiceRecord,
  pods: readonly PodRecord[],
): number {
  const before = upstream.triggerTimes.get(key);
  const times = new Map(pods.filter((pod) => pod.readyTime !== 0).map((pod) => [pod.name, pod.readyTime]));
  upstream.triggerTimes.set(key, { service: service.creationTime, pods: times });
  if (before === undefined) return service.creationTime;
  const later = [...times].filter(([name, time]) => time > (before.pods.get(name) ?? 0)).map(([, time]) => time);
  if (service.creationTime > before.service) later.push(service.creationTime);
  return later.length === 0 ? 0 : Math.min(...later);
}

function familiesOf(service: ServiceRecord): IpFamily[] {
  const named = (['IPv4', 'IPv6'] as const).filter((family) => service.ipFamilies.includes(family));
  if (named.length > 0) return named;
  if (isHeadless(service)) return ['IPv4', 'IPv6'];
  return [upstreamIp(service.clusterIP)?.family ?? 'IPv4'];
}

function isHeadless({ clusterIP }: ServiceRecord): boolean {
  return clusterIP === '' || clusterIP === 'None';
}

interface Group {
  readonly ports: readonly SlicePort[];
  readonly desired: Map<string, Endpoint>;
}

function syncFamily(sync: SyncState, family: IpFamily, existing: readonly EndpointSlice[]): void {
  const { service, luck } = sync;
  const groups = new Map<string, Group>();
  for (const pod of sync.pods) {
    if (pod.phase === 'Succeeded' || pod.phase === 'Failed') continue;
    if (pod.podIP === '' && pod.podIPs?.length === 0) continue;
    const ports = portsOf(service, pod);
    const group = groups.get(portMapKey(ports)) ?? { ports, desired: new Map<string, Endpoint>() };
    groups.set(portMapKey(ports), group);
    if (!sync.nodes.has(pod.nodeName) && !service.publishNotReadyAddresses) {
      sync.errors.push(`skipping Pod ${pod.name}: Node ${pod.nodeName} Not Found`);
      continue;
    }
    const endpoint = endpointOf(sync, family, pod);
    if (endpoint.addresses.length > 0) group.desired.set(endpointIdentity(endpoint), endpoint);
  }

  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  let remove = existing.filter((slice) => !isOwned(slice, service));
  const owned = Map.groupBy(
    existing.filter((slice) => isOwned(slice, service)),
    (slice) => portMapKey(slice.ports),
  );
  let added = 0;
  let removed = 0;
  for (const [portMap, group] of shuffled(groups, luck)) {
    const packed = pack(sync, family, owned.get(portMap) ?? [], group);
    create.push(...packed.create);
    update.push(...packed.update);
    remove.push(...packed.remove);
    added += packed.added;
    removed += packed.removed;
  }
  for (const [portMap, slices] of shuffled(owned, luck)) if (!groups.has(portMap)) remove.push(...slices);
  if (remove.length === existing.length && create.length === 0) {
    const placeholder = newSlice(service, family, []);
    if (remove.length === 1 && isPlaceholder(remove[0]!, placeholder, sync.upstream)) remove = [];
    else create.push(placeholder);
  }

  const written = new Set([...update, ...remove].map((slice) => slice.metadata.name));
  const unchanged = existing.filter((slice) => !written.has(slice.metadata.name));
  const hinted = giveHints(sync, family, { create, update, unchanged });
  sync.families.push({ family, added, removed, hintsFailure: hinted.failure });
  finalize(sync, hinted.create, hinted.update, remove);
}

interface Packed {
  readonly create: EndpointSlice[];
  readonly update: EndpointSlice[];
  readonly remove: EndpointSlice[];
  readonly added: number;
  readonly removed: number;
}

/** Section 8.2. */
function pack(sync: SyncState, family: IpFamily, existing: readonly EndpointSlice[], group: Group): Packed {
  const { service, luck } = sync;
  const { maxEndpointsPerSlice: max } = sync.upstream;
  const { desired } = group;
  const update: EndpointSlice[] = [];
  const remove: EndpointSlice[] = [];
  const unchanged: EndpointSlice[] = [];
  let removed = 0;
  for (const slice of existing) {
    const kept: Endpoint[] = [];
    let isChanged = false;
    for (const endpoint of slice.endpoints ?? []) {
      const wanted = desired.get(endpointIdentity(endpoint));
      if (wanted === undefined) continue;
      kept.push(wanted);
      desired.delete(endpointIdentity(endpoint));
      if (!equalBeyondIdentity(wanted, endpoint)) isChanged = true;
    }
    removed += sizeOf(slice) - kept.length;
    const { labels, differ } = labelsOf(slice.metadata.labels ?? {}, service);
    if (isChanged || kept.length !== (slice.endpoints ?? []).length) {
      if (kept.length === 0) remove.push(slice);
      else update.push({ ...slice, metadata: { ...slice.metadata, labels }, endpoints: kept });
    } else if (differ) update.push({ ...slice, metadata: { ...slice.metadata, labels } });
    else unchanged.push(slice);
  }
  const added = desired.size;

  const fill = (slice: EndpointSlice): EndpointSlice => {
    const endpoints = [...(slice.endpoints ?? [])];
    const room = Math.max(0, max - endpoints.length);
    for (const [identity, endpoint] of shuffled(desired, luck).slice(0, room)) {
      endpoints.push(endpoint);
      desired.delete(identity);
    }
    return { ...slice, endpoints };
  };
  const filled = shuffled(update, luck)
    .toSorted((a, b) => sizeOf(b) - sizeOf(a))
    .map(fill);
  const create: EndpointSlice[] = [];
  while (desired.size > 0) {
    const target = desired.size < max ? fullest(shuffled(unchanged, luck), desired.size, max) : undefined;
    if (target === undefined) {
      create.push(fill(newSlice(service, family, group.ports)));
    } else {
      unchanged.splice(unchanged.indexOf(target), 1);
      filled.push(fill(target));
    }
  }
  return { create, update: shuffled(filled, luck), remove: shuffled(remove, luck), added, removed };
}

function sizeOf(slice: EndpointSlice): number {
  return (slice.endpoints ?? []).length;
}

/** The slice that `count` more endpoints fill best; all of them have to fit in. */
function fullest(slices: readonly EndpointSlice[], count: number, max: number): EndpointSlice | undefined {
  let best: EndpointSlice | undefined;
  let bestRoom = max;
  for (const slice of slices) {
    const room = max - (count + sizeOf(slice));
    if (room < 0 || room >= bestRoom) continue;
    best = slice;
    bestRoom = room;
  }
  return best;
}

/** Sections 9.2, 9.5, 10.1. */
function giveHints(
  sync: SyncState,
  family: IpFamily,
  set: WorkingSet,
): { create: EndpointSlice[]; update: EndpointSlice[]; failure: string } {
  const { upstream, key, service } = sync;
  const tell = (event: string): void => void sync.events.push(`${event}, addressType: ${family}`);
  if (wantsHints(service)) {
    const result = addHints(set, upstream.shares, sync.luck);
    if (result.counts === null) {
      forgetHints(upstream, key, family);
      tell(`TopologyAwareHintsDisabled: ${result.failure}`);
    } else {
      if (!upstream.hasHints.has(key)) {
        tell('TopologyAwareHintsEnabled: Topology Aware Hints has been enabled');
      }
      upstream.hints.set(key, (upstream.hints.get(key) ?? new Map()).set(family, result.counts));
      upstream.hasHints.add(key);
    }
    return result;
  }
  if (upstream.hasHints.has(key)) tell('TopologyAwareHintsDisabled: Topology Aware Hints has been disabled');
  forgetHints(upstream, key, family);
  const mode = service.trafficDistribution;
  const hinted = TRAFFIC_DISTRIBUTIONS.includes(mode) ? distributeTraffic(set, mode) : removeHints(set);
  return { ...hinted, failure: '' };
}

/** The deprecated annotation decides if it is there at all. */
export function wantsHints(service: ServiceRecord): boolean {
  const annotations = new Map(pairs(service.annotations));
  const value = annotations.get(TOPOLOGY_HINTS_ANNOTATION) ?? annotations.get(TOPOLOGY_MODE_ANNOTATION);
  return value === 'Auto' || value === 'auto';
}

/** Also clears the mark, which both families share (D15). */
function forgetHints(upstream: Upstream, key: string, family: string): void {
  const byFamily = upstream.hints.get(key);
  byFamily?.delete(family);
  if (byFamily?.size === 0) upstream.hints.delete(key);
  upstream.hasHints.delete(key);
}

/** Section 10.2, as far as nothing fails. */
function finalize(
  sync: SyncState,
  created: readonly EndpointSlice[],
  updated: readonly EndpointSlice[],
  removed: readonly EndpointSlice[],
): void {
  const { service } = sync;
  const create = [...created];
  const update = [...updated];
  const remove = removed.filter((slice) => {
    const last = create.at(-1);
    if (last === undefined || last.addressType !== slice.addressType || !isOwned(slice, service)) return true;
    create.pop();
    update.push({ ...last, metadata: { ...last.metadata, name: slice.metadata.name! } });
    return false;
  });
  const stamp = (slice: EndpointSlice): EndpointSlice => {
    const { [TRIGGER_TIME_ANNOTATION]: _, ...annotations } = slice.metadata.annotations ?? {};
    if (sync.triggerTime !== 0) annotations[TRIGGER_TIME_ANNOTATION] = formatSeconds(sync.triggerTime);
    return { ...slice, metadata: { ...slice.metadata, annotations } };
  };
  if (!service.deleting) {
    for (const slice of create) {
      sync.writes.push({ verb: 'create', name: '', uid: '', resourceVersion: '', object: stamp(slice) });
    }
  }
  for (const slice of update) {
    const { name, uid = '', resourceVersion = '' } = slice.metadata;
    sync.writes.push({ verb: 'update', name: name!, uid, resourceVersion, object: stamp(slice) });
  }
  for (const slice of remove) sync.writes.push(deletion(slice));
}

function formatSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000', '');
}

function deletion(slice: EndpointSlice): SliceRequest {
  return { verb: 'delete', name: slice.metadata.name!, uid: '', resourceVersion: '', object: null };
}

function isOwned(slice: EndpointSlice, service: ServiceRecord): boolean {
  return (slice.metadata.ownerReferences ?? []).some(
    ({ apiVersion, kind, uid }) => apiVersion === 'v1' && kind === 'Service' && uid === service.uid,
  );
}

/** Section 8.3. To upstream a missing label is as good as an empty one, which the headless label always is. */
function isPlaceholder(
  slice: EndpointSlice,
  placeholder: EndpointSlice,
  { exactPlaceholderLabels }: Pick<Upstream, 'exactPlaceholderLabels'>,
): boolean {
  const labels = slice.metadata.labels ?? {};
  const wanted = placeholder.metadata.labels ?? {};
  const names = [...Object.keys(labels), ...Object.keys(wanted)];
  const missing = exactPlaceholderLabels ? undefined : '';
  const owners = (metadata: ObjectMeta): string => JSON.stringify(metadata.ownerReferences?.map(({ uid }) => uid));
  return (
    names.every((name) => (labels[name] ?? missing) === (wanted[name] ?? missing)) &&
    owners(slice.metadata) === owners(placeholder.metadata) &&
    sizeOf(slice) === 0 &&
    (slice.ports ?? []).length === 0
  );
}

const RESERVED_LABELS: readonly string[] = [SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL, HEADLESS_LABEL];

/** Section 12.1: what a slice's labels are to be, and whether that alone is worth a write. */
function labelsOf(
  labels: Readonly<Record<string, string>>,
  service: ServiceRecord,
): { labels: Record<string, string>; differ: boolean } {
  const own = (entries: readonly [string, string][]): [string, string][] =>
    entries.filter(([name]) => !RESERVED_LABELS.includes(name)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const wanted = own(pairs(service.labels));
  const differ = JSON.stringify(wanted) !== JSON.stringify(own(Object.entries(labels)));
  const reserved = { [SERVICE_NAME_LABEL]: service.name, [SLICE_MANAGED_BY_LABEL]: SLICE_MANAGED_BY_VALUE };
  const headless: Record<string, string> = isHeadless(service) ? { [HEADLESS_LABEL]: '' } : {};
  return { labels: { ...Object.fromEntries(wanted), ...headless, ...reserved }, differ };
}

function newSlice(service: ServiceRecord, family: IpFamily, ports: readonly SlicePort[]): EndpointSlice {
  const { namespace, name, uid } = service;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: labelsOf({}, service).labels,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true }],
    },
    addressType: family,
    endpoints: [],
    ports,
  };
}

/** Section 7.3. */
function portsOf(service: ServiceRecord, pod: PodRecord): SlicePort[] {
  const ports: SlicePort[] = [];
  for (const { name, protocol, targetPort, appProtocol } of service.ports) {
    const named = pod.ports.find((port) => port.name === targetPort && port.protocol === protocol);
    const port = typeof targetPort === 'number' ? targetPort : named?.containerPort;
    if (port === undefined) continue;
    ports.push({ name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) });
  }
  return ports;
}

/** Section 7.6. */
function endpointOf(sync: SyncState, family: IpFamily, pod: PodRecord): Endpoint {
  const { service } = sync;
  const { namespace, name, uid, nodeName, hostname } = pod;
  const ips = (pod.podIPs ?? [pod.podIP]).map(upstreamIp).filter((ip) => ip !== null);
  const serving = pod.ready;
  const terminating = pod.deleting;
  const zone = new Map(pairs(sync.nodes.get(nodeName)?.labels ?? [])).get(ZONE_LABEL) ?? '';
  const hasHostname = hostname !== '' && pod.subdomain === service.name && service.namespace === namespace;
  return {
    addresses: ips.filter((ip) => ip.family === family).map((ip) => ip.text),
    conditions: { ready: service.publishNotReadyAddresses || (serving && !terminating), serving, terminating },
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(nodeName !== '' && { nodeName }),
    ...(zone !== '' && { zone }),
    ...(hasHostname && { hostname }),
  };
}
