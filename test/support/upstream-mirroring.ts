/**
 * kube-controller-manager's mirroring controller, one sync at a time (docs/spec/endpointslice.md "Mirroring"): a slow
 * port to judge ours by. It shares nothing with `src/core`; what upstream leaves to the order of Go maps is drawn from
 * a seed. Recycling takes the slice that it means (D24): the defect fails a sync, it makes no other writes.
 */
import {
  LAST_APPLIED_ANNOTATION,
  LEADER_ANNOTATION,
  MIRROR_MANAGED_BY_VALUE,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGED_BY_LABEL,
  TRIGGER_TIME_ANNOTATION,
} from '../../src/kube/names.ts';
import type {
  Endpoint,
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSlice,
  IpFamily,
  ServiceRecord,
  SlicePort,
} from '../../src/kube/types.ts';
import type { SliceRequest } from './slice-server.ts';
import { type Luck, shuffled } from './upstream-draw.ts';
import { endpointIdentity, equalBeyondIdentity, portMapKey, upstreamIp } from './upstream-endpoints.ts';
import { repacked } from './upstream-repack.ts';

export interface MirrorWorld {
  readonly service: ServiceRecord | undefined;
  readonly endpoints: Endpoints | undefined;
  /** All of the namespace. */
  readonly slices: readonly EndpointSlice[];
}

export interface MirrorSync {
  /** In order; creates are named by the server. */
  readonly writes: readonly SliceRequest[];
  /** Addresses that are in no slice. */
  readonly skipped: number;
  /** `<reason>: <message>` */
  readonly events: readonly string[];
  /**
   * Upstream never comes to rest on these Endpoints: of subsets with equal ports it mirrors any `perSubsetMax`
   * addresses and draws them anew with every sync, and a slice that has a port twice is refused.
   */
  readonly restless: boolean;
}

/** `name` is that of the Endpoints and of the Service. */
export function upstreamMirror(world: MirrorWorld, name: string, perSubsetMax: number, luck: Luck): MirrorSync {
  const { service, endpoints } = world;
  const slices = world.slices.filter(({ metadata: { labels = {} } }) => {
    return labels[SLICE_MANAGED_BY_LABEL] === MIRROR_MANAGED_BY_VALUE && labels[SERVICE_NAME_LABEL] === name;
  });
  const hasSelector = service !== undefined && service.selector !== null && service.selector.length > 0;
  if (endpoints === undefined || !isMirrored(endpoints) || service === undefined || hasSelector) {
    return { writes: slices.map(deletion), skipped: 0, events: [], restless: false };
  }

  const desired = desiredGroups(endpoints, perSubsetMax);
  const existing = Map.groupBy(shuffled(slices, luck), (slice) => groupKey(slice.addressType, slice.ports));
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const remove: EndpointSlice[] = [];
  for (const [key, group] of shuffled(desired.groups, luck)) {
    const [kept, ...others] = existing.get(key) ?? [];
    if (group.endpoints.size === 0) {
      if (kept !== undefined) remove.push(kept, ...others);
      continue;
    }
    remove.push(...others);
    if (kept !== undefined && isUpToDate(kept, group, endpoints)) continue;
    const slice = newSlice(endpoints, group, shuffled(group.endpoints.values(), luck).slice(0, perSubsetMax));
    if (kept === undefined) create.push(slice);
    else update.push(named(slice, kept.metadata.name!));
  }
  for (const [key, group] of shuffled(existing, luck)) if (!desired.groups.has(key)) remove.push(...group);
  const restless = [...desired.groups.values()].some(
    ({ ports, endpoints: { size } }) =>
      size > perSubsetMax || new Set(ports.map(({ name }) => name)).size < ports.length,
  );
  const { skipped, events } = desired;
  return { writes: finalize(endpoints, create, update, remove), skipped, events, restless };
}

function isMirrored({ metadata }: Endpoints): boolean {
  return metadata.labels?.[SKIP_MIRROR_LABEL] !== 'true' && metadata.annotations?.[LEADER_ANNOTATION] === undefined;
}

interface Group {
  readonly family: IpFamily;
  readonly ports: readonly SlicePort[];
  readonly endpoints: Map<string, Endpoint>;
}

interface Desired {
  readonly groups: ReadonlyMap<string, Group>;
  readonly skipped: number;
  readonly events: readonly string[];
}

function groupKey(addressType: string, ports: readonly SlicePort[] | null | undefined): string {
  return `${addressType} ${portMapKey(ports)}`;
}

function desiredGroups(endpoints: Endpoints, perSubsetMax: number): Desired {
  const groups = new Map<string, Group>();
  let skipped = 0;
  let invalid = 0;
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of repacked(endpoints.subsets ?? [])) {
    const slicePorts = ports.map(slicePort);
    for (const family of ['IPv4', 'IPv6'] as const) {
      const key = groupKey(family, slicePorts);
      groups.set(key, groups.get(key) ?? { family, ports: slicePorts, endpoints: new Map() });
    }
    let accepted = 0;
    const all = [
      ...addresses.map((address) => [address, true] as const),
      ...notReadyAddresses.map((address) => [address, false] as const),
    ];
    for (const [address, ready] of all) {
      if (accepted >= perSubsetMax) break;
      const ip = upstreamIp(address.ip);
      if (ip === null) {
        invalid++;
        continue;
      }
      accepted++;
      const endpoint = mirrored(address, ip.text, ready);
      groups.get(groupKey(ip.family, slicePorts))!.endpoints.set(endpointIdentity(endpoint), endpoint);
    }
    skipped += all.length - accepted;
  }
  const events: string[] = [];
  if (invalid > 0) {
    events.push(`InvalidIPAddress: Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`);
  }
  if (skipped > invalid) {
    events.push(
      `TooManyAddressesToMirror: A max of ${perSubsetMax} addresses can be mirrored to EndpointSlices per Endpoints ` +
        `subset. ${skipped} addresses were skipped`,
    );
  }
  return { groups, skipped, events };
}

function slicePort({ name = '', protocol, port, appProtocol }: EndpointPort): SlicePort {
  return {
    name,
    port,
    ...(protocol !== undefined && { protocol }),
    ...(appProtocol !== undefined && { appProtocol }),
  };
}

function mirrored(address: EndpointAddress, text: string, ready: boolean): Endpoint {
  const { hostname = '', nodeName, targetRef } = address;
  return {
    addresses: [text],
    conditions: { ready },
    ...(hostname !== '' && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    ...(targetRef !== undefined && { targetRef }),
  };
}

function isUpToDate(slice: EndpointSlice, group: Group, { metadata }: Endpoints): boolean {
  const found = (slice.endpoints ?? []).map((endpoint) => [endpoint, group.endpoints.get(endpointIdentity(endpoint))]);
  const sameEndpoints =
    found.length === group.endpoints.size &&
    found.every(([stored, wanted]) => wanted !== undefined && equalBeyondIdentity(stored!, wanted));
  const { [SLICE_MANAGED_BY_LABEL]: _, [SERVICE_NAME_LABEL]: __, ...labels } = slice.metadata.labels ?? {};
  const owners = slice.metadata.ownerReferences ?? [];
  return (
    sameEndpoints &&
    canonical(labels) === canonical(metadata.labels ?? {}) &&
    canonical(slice.metadata.annotations ?? {}) === canonical(annotationsOf(metadata.annotations ?? {})) &&
    !owners.some(({ kind, name, uid }) => kind === 'Endpoints' && name === metadata.name && uid !== metadata.uid)
  );
}

function canonical(map: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function annotationsOf(annotations: Readonly<Record<string, string>>): Record<string, string> {
  const { [TRIGGER_TIME_ANNOTATION]: _, [LAST_APPLIED_ANNOTATION]: __, ...mirroredOnes } = annotations;
  return mirroredOnes;
}

function newSlice({ metadata }: Endpoints, group: Group, endpoints: readonly Endpoint[]): EndpointSlice {
  const { name = '', namespace = '', uid = '', labels = {}, annotations = {} } = metadata;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: { ...labels, [SERVICE_NAME_LABEL]: name, [SLICE_MANAGED_BY_LABEL]: MIRROR_MANAGED_BY_VALUE },
      annotations: annotationsOf(annotations),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Endpoints', name, uid, controller: true, blockOwnerDeletion: true }],
    },
    addressType: group.family,
    endpoints,
    ports: group.ports,
  };
}

function named(slice: EndpointSlice, name: string): EndpointSlice {
  return { ...slice, metadata: { ...slice.metadata, name } };
}

/** Section 11.7, as far as nothing fails. */
function finalize(
  { metadata }: Endpoints,
  created: readonly EndpointSlice[],
  updated: readonly EndpointSlice[],
  removed: readonly EndpointSlice[],
): SliceRequest[] {
  const remove = [...removed];
  const update = [...updated];
  const create = created.filter((slice) => {
    const at = remove.findIndex(({ addressType }) => addressType === slice.addressType);
    if (at < 0) return true;
    const [recycled] = remove.splice(at, 1);
    update.push(named(slice, recycled!.metadata.name!));
    return false;
  });
  const request = { uid: '', resourceVersion: '' };
  const writes: SliceRequest[] = [];
  if (metadata.deletionTimestamp === undefined) {
    for (const object of create) writes.push({ ...request, verb: 'create', name: '', object });
  }
  for (const object of update) writes.push({ ...request, verb: 'update', name: object.metadata.name!, object });
  for (const slice of remove) writes.push(deletion(slice));
  return writes;
}

function deletion(slice: EndpointSlice): SliceRequest {
  return { verb: 'delete', name: slice.metadata.name!, uid: '', resourceVersion: '', object: null };
}
