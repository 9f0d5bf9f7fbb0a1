import type { Endpoint, EndpointAddress, EndpointPort, EndpointSubset, IpFamily, SlicePort } from '../../kube/types.ts';
import { subsetsInOrder } from '../endpoints/hash-order.ts';
import { LAID_OUT_MAX, TooManyAddresses } from '../endpoints/layout-size.ts';
import { mergeStored } from '../endpoints/repack.ts';
import { forbiddenAddress, type Ip, parseIp } from '../ip.ts';
import { endpointIdentity } from '../slices/endpoint-identity.ts';
import { portMapKey, slicePortsInOrder } from '../slices/port-map-key.ts';

/** What the slices with one family and one list of ports should hold together. It may be empty. */
export interface DesiredGroup {
  readonly family: IpFamily;
  readonly ports: readonly SlicePort[];
  /** By identity, in the order in which new endpoints are placed. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

export interface Desired {
  /** By `groupKey`, in a fixed order. */
  readonly groups: ReadonlyMap<string, DesiredGroup>;
  /** Addresses up to the limit that a slice cannot hold. */
  readonly invalid: number;
  /** Addresses that are not mirrored: invalid, or above the limit. */
  readonly skipped: number;
  /** The merged subsets with addresses above the limit. */
  readonly truncated: readonly EndpointSubset[];
}

/** The key of the slices with this family and these ports. A stored slice may have any text as its `addressType`. */
export function groupKey(addressType: string, ports: readonly SlicePort[] | null | undefined): string {
  return `${addressType}\n${portMapKey(ports)}`;
}

/** Why an address is not mirrored: a slice cannot hold it, or its subset has more addresses than are taken. */
export type LeftOut = 'invalid' | 'above-limit';

/**
 * What the slices of these subsets should hold (docs/spec/endpointslice.md "Mirroring: content"). Every merged subset
 * has a group in each family, or several if it has ports with the same name. An empty group is kept too, so that the
 * family's old slices are cleaned up as a change of this group.
 * @param acceptedMax how many addresses of a merged subset are taken, both families together; ready ones first
 * @param zones by node; null = endpoints get no zone
 * @param tell is called for each address that is left out; only explanations need it
 * @throws TooManyAddresses
 */
export function desiredGroups(
  subsets: readonly EndpointSubset[],
  acceptedMax: number,
  zones: ReadonlyMap<string, string> | null,
  tell?: (address: EndpointAddress, why: LeftOut) => void,
): Desired {
  const groups = new Map<string, MutableGroup>();
  const groupOf = (family: IpFamily, ports: readonly SlicePort[]): MutableGroup => {
    const key = groupKey(family, ports);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { family, ports, endpoints: new Map() }));
    return group;
  };
  const truncated: EndpointSubset[] = [];
  let invalid = 0;
  let skipped = 0;
  let made = 0;
  for (const subset of mergedSubsets(subsets)) {
    const lists = namesakesApart(slicePortsInOrder((subset.ports ?? []).map(slicePort)));
    const ipv4 = lists.map((ports) => groupOf('IPv4', ports));
    const ipv6 = lists.map((ports) => groupOf('IPv6', ports));

    const ready = subset.addresses ?? [];
    const notReady = subset.notReadyAddresses ?? [];
    const count = ready.length + notReady.length;
    let accepted = 0;
    let seen = 0;
    // Addresses above the limit are not looked at. So an invalid one among them counts as above the limit.
    for (; seen < count && accepted < acceptedMax; seen++) {
      const isReady = seen < ready.length;
      const address = isReady ? ready[seen]! : notReady[seen - ready.length]!;
      const ip = usableIp(address.ip);
      if (ip === null) {
        invalid++;
        tell?.(address, 'invalid');
      } else {
        accepted++;
        // Addresses of equal identity are one endpoint. The last one counts, so not ready wins.
        const endpoint = mirroredEndpoint(address, ip, isReady, zones);
        made += lists.length;
        if (made > LAID_OUT_MAX) throw new TooManyAddresses('endpoints', 'ports of one name have lists of their own');
        for (const group of ip.family === 'IPv4' ? ipv4 : ipv6) {
          group.endpoints.set(endpointIdentity(endpoint), endpoint);
        }
      }
    }
    skipped += count - accepted;
    if (seen < count) truncated.push(subset);
    if (tell !== undefined) for (const address of [...ready, ...notReady].slice(seen)) tell(address, 'above-limit');
  }
  const inOrder = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return { groups: new Map(inOrder), invalid, skipped, truncated };
}

/**
 * The merged subsets, in upstream's order where the order counts. If an address is in two merged subsets with equal
 * ports, its last state wins.
 */
function mergedSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const merged = mergeStored(subsets);
  const equalPorts = subsets.some(({ ports = [] }) => ports.some(({ appProtocol }) => appProtocol !== undefined));
  return equalPorts ? subsetsInOrder(merged) : merged;
}

/**
 * null = the API server would refuse the whole slice for this address (docs/spec/endpointslice.md "What the API server
 * validates").
 */
export function usableIp(text: string): Ip | null {
  const ip = parseIp(text);
  return ip === null || forbiddenAddress(ip) !== null ? null : ip;
}

interface MutableGroup extends DesiredGroup {
  readonly endpoints: Map<string, Endpoint>;
}

function slicePort(port: EndpointPort): SlicePort {
  const protocol = port.protocol === undefined || port.protocol === '' ? 'TCP' : port.protocol;
  const base = { name: port.name ?? '', protocol, port: port.port };
  return port.appProtocol === undefined ? base : { ...base, appProtocol: port.appProtocol };
}

/**
 * Each port once, in lists without two ports of one name. Nearly always there is one list. But two subsets may give the
 * same addresses two ports of one name. Merging brings these ports together. The API server would refuse a slice with
 * both, and upstream tries such a slice for ever.
 */
function namesakesApart(ports: readonly SlicePort[]): readonly (readonly SlicePort[])[] {
  const lists: SlicePort[][] = [[]];
  const byName = new Map<string, Set<string>>();
  for (const port of ports) {
    const name = port.name ?? '';
    const namesakes = byName.get(name) ?? new Set();
    byName.set(name, namesakes);
    const key = portMapKey([port]);
    if (namesakes.has(key)) continue;
    (lists[namesakes.size] ??= []).push(port);
    namesakes.add(key);
  }
  return lists;
}

/**
 * No hints, no zone unless asked for, and of the conditions `ready` alone (docs/spec/endpointslice.md "Mirroring:
 * content"; D26).
 */
function mirroredEndpoint(
  address: EndpointAddress,
  ip: Ip,
  ready: boolean,
  zones: ReadonlyMap<string, string> | null,
): Endpoint {
  const endpoint: { -readonly [K in keyof Endpoint]: Endpoint[K] } = {
    addresses: [ip.canonical],
    conditions: { ready },
  };
  if (address.hostname !== undefined && address.hostname !== '') endpoint.hostname = address.hostname;
  if (address.targetRef !== undefined) endpoint.targetRef = address.targetRef;
  if (address.nodeName !== undefined && address.nodeName !== '') endpoint.nodeName = address.nodeName;
  const zone = zones?.get(address.nodeName ?? '');
  if (zone !== undefined) endpoint.zone = zone;
  return endpoint;
}
