/**
 * The layout that upstream makes of the subsets of a stored Endpoints object (docs/spec/endpoints.md "Repacking:
 * groups"): a slow port.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../src/kube/types.ts';
import { fnv1a128 } from '../../src/lib/hash.ts';

interface Readiness {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

/**
 * Ports with the same addresses share a subset, and no address is in it twice. A port with appProtocol is a port of its
 * own wherever it stands: upstream keys ports by a struct in which it is a pointer.
 */
export function repacked(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const first = new Map<string, EndpointAddress>();
  const byPort = new Map<string, { port: EndpointPort | null; addresses: Map<string, Readiness> }>();
  for (const [at, { addresses = [], notReadyAddresses = [], ports = [] }] of subsets.entries()) {
    for (const [portAt, port] of (ports.length === 0 ? [null] : ports).entries()) {
      const pointer = port?.appProtocol === undefined ? '' : `${at} ${portAt}`;
      const portKey = port === null ? '' : JSON.stringify([port.name ?? '', port.port, port.protocol ?? '', pointer]);
      const offer = byPort.get(portKey) ?? { port, addresses: new Map<string, Readiness>() };
      byPort.set(portKey, offer);
      for (const [list, ready] of [[addresses, true] as const, [notReadyAddresses, false] as const]) {
        for (const candidate of list) {
          const key = JSON.stringify([candidate.ip, candidate.targetRef?.uid ?? '']);
          const address = first.get(key) ?? candidate;
          first.set(key, address);
          if (offer.addresses.get(key)?.ready !== false) offer.addresses.set(key, { address, ready });
        }
      }
    }
  }
  const offers = [...byPort.values()].filter((offer) => offer.addresses.size > 0);
  const alike = Map.groupBy(offers, ({ addresses }) =>
    JSON.stringify([...addresses].map(([key, { ready }]) => [key, ready] as const).toSorted(byText)),
  );
  const merged = [...alike.values()].map((group) => {
    const all = [...group[0]!.addresses].toSorted(byText).map(([, readiness]) => readiness);
    return {
      addresses: all.filter(({ ready }) => ready).map(({ address }) => address),
      notReadyAddresses: all.filter(({ ready }) => !ready).map(({ address }) => address),
      ports: byHash(
        'EndpointPort',
        group.flatMap(({ port }) => (port === null ? [] : [port])),
      ),
    };
  });
  return byHash('EndpointSubset', merged);
}

/** By IP as text, then by uid. */
function byText([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  const [ipA, uidA] = JSON.parse(a) as [string, string];
  const [ipB, uidB] = JSON.parse(b) as [string, string];
  if (ipA !== ipB) return ipA < ipB ? -1 : 1;
  return uidA < uidB ? -1 : 1;
}

function byHash<T extends object>(type: string, items: readonly T[]): T[] {
  const hash = (item: T): string => fnv1a128(`(v1.${type})${fieldsText(type, item)}`);
  return items.toSorted((a, b) => (hash(a) < hash(b) ? -1 : 1));
}

/** The fields of the Go structs in their order, with their types. */
const FIELDS: Readonly<Record<string, string>> = {
  EndpointSubset: 'Addresses:[]EndpointAddress NotReadyAddresses:[]EndpointAddress Ports:[]EndpointPort',
  EndpointAddress: 'IP:string Hostname:string NodeName:*string TargetRef:*ObjectReference',
  EndpointPort: 'Name:string Port:int32 Protocol:v1.Protocol AppProtocol:*string',
  ObjectReference:
    'Kind:string Namespace:string Name:string UID:types.UID APIVersion:string ResourceVersion:string FieldPath:string',
};

/** As Go prints a struct to hash it: strings raw, empty lists as absent ones. */
function fieldsText(type: string, value: object): string {
  const fields = FIELDS[type]!.split(' ').map((field) => {
    const [name, kind] = field.split(':') as [string, string];
    const jsonName = name.replace(/^([A-Z]+(?=[A-Z][a-z]|$)|[A-Z])/, (start) => start.toLowerCase());
    return `${name}:${valueText(kind, (value as Record<string, unknown>)[jsonName])}`;
  });
  return `{${fields.join(' ')}}`;
}

function valueText(kind: string, value: unknown): string {
  const struct = kind.replace(/^(\[\]|\*)/, '');
  const isStruct = FIELDS[struct] !== undefined;
  const label = isStruct ? `(${kind.replace(struct, `v1.${struct}`)})` : `(${kind})`;
  if (Array.isArray(value) && value.length > 0) {
    return `${label}[${value.map((item: object) => fieldsText(struct, item)).join(' ')}]`;
  }
  if (kind.startsWith('[]')) return `${label}<nil>`;
  if (value === undefined) return `${label}${kind.startsWith('*') ? '<nil>' : ''}`;
  return `${label}${isStruct ? fieldsText(struct, value as object) : (value as string | number)}`;
}
