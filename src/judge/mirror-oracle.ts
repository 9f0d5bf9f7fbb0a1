/**
 * The mirrored EndpointSlices that an Endpoints object should have, and whether it has them, found the slow way
 * (docs/spec/endpointslice.md "Mirroring").
 */
import type {
  Endpoint,
  Endpoints,
  EndpointAddress,
  EndpointPort,
  EndpointSlice,
  ServiceRecord,
  SlicePort,
} from '../kube/types.ts';
import { forbidden, parse } from './oracle-rules.ts';
import { contentText, faultOf, identity, labelDifference, ownedBy, type Fault } from './slices-judge.ts';
import { portsKey } from './slices-oracle.ts';

export interface MirrorOptions {
  /** `--mirroring-max-endpoints-per-subset` */
  readonly endpointsPerSubsetMax: number;
  /** Whether addresses above that number go into further slices. */
  readonly all: boolean;
}

export interface ExpectedMirror {
  readonly endpoints: Endpoints;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /**
   * Endpoints by address family and `portsKey`, then by identity: the contents of one slice. Each endpoint has several
   * forms of which any is right: subsets with equal ports may differ about it, and upstream picks one by a hash.
   */
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, readonly Endpoint[]>>;
}

const NOT_MIRRORED = [
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
];

/** null = nothing is mirrored, and mirrored slices are deleted. */
export function oracleMirror(
  service: ServiceRecord | null,
  endpoints: Endpoints | null,
  options: MirrorOptions,
): ExpectedMirror | null {
  if (service === null || service.selector !== null || endpoints === null) return null;
  const { name = '', labels = {}, annotations = {} } = endpoints.metadata;
  if (labels['endpointslice.kubernetes.io/skip-mirror'] === 'true') return null;
  if (Object.hasOwn(annotations, 'control-plane.alpha.kubernetes.io/leader')) return null;
  return {
    endpoints,
    labels: {
      ...labels,
      'kubernetes.io/service-name': name,
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    },
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !NOT_MIRRORED.includes(key))),
    groups: groupsOf(endpoints, options),
  };
}

/**
 * Hints are not judged: no controller writes any, and hints of other writers stay (docs/spec/endpointslice.md "Identity
 * and equality").
 * @param slices all slices with the mirroring controller's label and the Service's name
 */
export function judgeMirror(
  expected: ExpectedMirror,
  slices: readonly EndpointSlice[],
  { endpointsPerSubsetMax, all }: MirrorOptions,
): Fault[] {
  const { endpoints, groups } = expected;
  const object = `${endpoints.metadata.namespace}/${endpoints.metadata.name}`;
  const faults: Fault[] = [];
  const left = new Map([...groups].map(([group, wanted]) => [group, new Map(wanted)]));
  const seen = new Set<string>();
  for (const slice of slices) {
    judgeFrame(faults, expected, slice);
    const group = groupKey(slice.addressType, slice.ports ?? []);
    const wanted = left.get(group);
    const several = all || (groups.get(group)?.size ?? 0) > endpointsPerSubsetMax;
    if (wanted === undefined || (seen.has(group) && !several)) {
      faults.push(faultOf(slice, `${wanted === undefined ? 'nothing' : 'another slice'} has ${group}`));
      continue;
    }
    seen.add(group);
    const held = slice.endpoints ?? [];
    if (held.length > endpointsPerSubsetMax) faults.push(faultOf(slice, `${held.length} endpoints`));
    for (const endpoint of held) {
      const id = identity(endpoint);
      const right = wanted.get(id);
      wanted.delete(id);
      if (right === undefined) faults.push(faultOf(slice, `${contentText(endpoint)} should not be there`));
      else if (right.every((form) => contentText(form) !== contentText(endpoint))) {
        const forms = right.map(contentText).join(' or ');
        faults.push(faultOf(slice, `${contentText(endpoint)} should be ${forms}`));
      }
    }
  }
  for (const [group, wanted] of left) {
    for (const [endpoint] of wanted.values()) {
      faults.push({ object, reason: `${group}: ${contentText(endpoint!)} is not mirrored` });
    }
  }
  return faults;
}

function judgeFrame(faults: Fault[], { endpoints, labels, annotations }: ExpectedMirror, slice: EndpointSlice): void {
  const { metadata } = slice;
  const difference =
    labelDifference(labels, metadata.labels ?? {}) ??
    labelDifference(annotations, metadata.annotations ?? {}, 'annotation');
  if (difference !== null) faults.push(faultOf(slice, difference));
  const { name = '', uid = '' } = endpoints.metadata;
  if (!ownedBy(metadata.ownerReferences, 'Endpoints', name, uid)) {
    faults.push(faultOf(slice, `is not owned by Endpoints uid ${uid}`));
  }
}

function groupsOf(
  endpoints: Endpoints,
  { endpointsPerSubsetMax, all }: MirrorOptions,
): Map<string, Map<string, Endpoint[]>> {
  const groups = new Map<string, Map<string, Endpoint[]>>();
  for (const { ports, addresses } of canonicalSubsets(endpoints)) {
    // Within a subset, the last of several addresses counts that make the same endpoint.
    const own = new Map<string, Map<string, Endpoint>>();
    let room = all ? Number.POSITIVE_INFINITY : endpointsPerSubsetMax;
    for (const { address, ready } of [...addresses.filter((a) => a.ready), ...addresses.filter((a) => !a.ready)]) {
      const ip = parse(address.ip);
      if (ip === null || forbidden(ip.text)) continue;
      if (room-- <= 0) break;
      const { hostname = '', nodeName, targetRef } = address;
      const key = groupKey(ip.family, ports);
      const endpoint: Endpoint = {
        addresses: [ip.text],
        conditions: { ready },
        ...(hostname === '' ? {} : { hostname }),
        ...(nodeName === undefined ? {} : { nodeName }),
        ...(targetRef === undefined ? {} : { targetRef }),
      };
      own.set(key, (own.get(key) ?? new Map<string, Endpoint>()).set(identity(endpoint), endpoint));
    }
    for (const [key, endpoints] of own) {
      const group = groups.get(key) ?? new Map<string, Endpoint[]>();
      groups.set(key, group);
      for (const [id, endpoint] of endpoints) group.set(id, [...(group.get(id) ?? []), endpoint]);
    }
  }
  return groups;
}

interface StatedAddress {
  readonly address: EndpointAddress;
  ready: boolean;
}

interface CanonicalSubset {
  readonly ports: EndpointPort[];
  readonly addresses: readonly StatedAddress[];
}

/**
 * Groups ports that have exactly the same addresses in the same states. An address that is ready and not ready is not
 * ready (docs/spec/endpointslice.md "Mirroring: content"). Upstream compares appProtocol by pointer, so a port with
 * appProtocol is another port in each subset.
 */
function canonicalSubsets({ subsets }: Endpoints): CanonicalSubset[] {
  const first = new Map<string, EndpointAddress>();
  const byPort = new Map<string, { port: EndpointPort | null; addresses: Map<string, StatedAddress> }>();
  for (const [at, { ports, addresses, notReadyAddresses }] of (subsets ?? []).entries()) {
    const stated = [
      ...(addresses ?? []).map((address) => ({ address, ready: true })),
      ...(notReadyAddresses ?? []).map((address) => ({ address, ready: false })),
    ];
    for (const port of (ports ?? []).length === 0 ? [null] : ports!) {
      const pointer = port?.appProtocol === undefined ? '' : `subset ${at}`;
      const portKey = port === null ? '' : `${portsKey([port])} ${pointer}`;
      const entry = byPort.get(portKey) ?? { port, addresses: new Map<string, StatedAddress>() };
      byPort.set(portKey, entry);
      for (const { address, ready } of stated) {
        const key = `${address.ip} ${address.targetRef?.uid ?? ''}`;
        if (!first.has(key)) first.set(key, address);
        const known = entry.addresses.get(key);
        if (known === undefined) entry.addresses.set(key, { address: first.get(key)!, ready });
        else known.ready &&= ready;
      }
    }
  }
  const groups = new Map<string, CanonicalSubset>();
  for (const { port, addresses } of byPort.values()) {
    if (addresses.size === 0) continue;
    const sorted = [...addresses].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const key = sorted.map(([address, { ready }]) => `${address} ${ready}`).join('\n');
    const group = groups.get(key) ?? { ports: [], addresses: inOrder(addresses.values()) };
    groups.set(key, group);
    if (port === null || group.ports.some((known) => portsKey([known]) === portsKey([port]))) continue;
    group.ports.push(port);
  }
  return [...groups.values()];
}

function inOrder(addresses: Iterable<StatedAddress>): StatedAddress[] {
  const uid = ({ address }: StatedAddress): string => address.targetRef?.uid ?? '';
  return [...addresses].toSorted((a, b) => {
    if (a.address.ip !== b.address.ip) return a.address.ip < b.address.ip ? -1 : 1;
    return uid(a) < uid(b) ? -1 : 1;
  });
}

function groupKey(family: string, ports: readonly SlicePort[]): string {
  return `${family} ${portsKey(ports)}`;
}
