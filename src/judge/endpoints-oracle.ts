/**
 * The contents that every Endpoints object should have, found the slow way: everything is looked at each time. On
 * purpose it shares no code with the planning that it judges. The rules are those of docs/spec/endpoints.md "One sync",
 * "Labels", with the differences that `core/differences.ts` lists.
 */
import { podIPsOf } from '../kube/record.ts';
import type {
  EndpointAddress,
  EndpointPort,
  EndpointSubset,
  IpFamily,
  PodRecord,
  ServicePort,
  ServiceRecord,
} from '../kube/types.ts';
import {
  forbidden,
  hostnameOf,
  nodeNameOf,
  parse,
  publishes,
  selects,
  targetNumber,
  toMap,
  type OracleOptions,
} from './oracle-rules.ts';

export interface OracleWorld {
  readonly services: readonly ServiceRecord[];
  readonly pods: readonly PodRecord[];
}

export interface OracleEndpoints {
  readonly subsets: readonly EndpointSubset[];
  readonly labels: Readonly<Record<string, string>>;
  readonly overCapacity: boolean;
}

/**
 * @param key `<namespace>/<name>`
 * @returns null = the controller writes no Endpoints: the Service does not exist, has no selector, or is of type
 * ExternalName
 */
export function oracleEndpoints(
  world: OracleWorld,
  key: string,
  options: OracleOptions = { tolerateUnreadyEndpointsAnnotation: false },
): OracleEndpoints | null {
  const service = world.services.find((candidate) => `${candidate.namespace}/${candidate.name}` === key);
  if (service === undefined || service.selector === null || service.type === 'ExternalName') return null;
  const { selector } = service;
  const publish = publishes(service, options);

  const facts: Fact[] = [];
  const pods = world.pods.filter((pod) => pod.namespace === service.namespace && selects(selector, pod.labels));
  for (const pod of pods.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (pod.phase === 'Failed' || pod.phase === 'Succeeded' || (pod.deleting && !publish)) continue;
    const address = addressFor(service, pod);
    if (address === null) continue;
    const ready = publish || pod.ready;
    if (service.ports.length === 0) {
      if (service.clusterIP === 'None') facts.push({ port: null, address, ready });
      continue;
    }
    for (const servicePort of service.ports) {
      const number = targetNumber(servicePort, pod);
      if (number !== null) facts.push({ port: endpointPort(servicePort, number), address, ready });
    }
  }
  const subsets = pack(facts);
  const total = subsets.reduce((sum, { addresses = [], notReadyAddresses = [] }) => {
    return sum + addresses.length + notReadyAddresses.length;
  }, 0);
  return {
    subsets: total > 1000 ? truncate(subsets) : subsets,
    labels: labelsFor(service),
    overCapacity: total > 1000,
  };
}

/** One port of one pod. */
interface Fact {
  readonly port: EndpointPort | null;
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

function addressFor(service: ServiceRecord, pod: PodRecord): EndpointAddress | null {
  let wanted: IpFamily = parse(pod.podIP)?.family ?? 'IPv4';
  if (service.ipFamilies.length > 0) wanted = service.ipFamilies[0] === 'IPv6' ? 'IPv6' : 'IPv4';
  else if (service.clusterIP !== '' && service.clusterIP !== 'None')
    wanted = parse(service.clusterIP)?.family ?? 'IPv4';

  const ip = podIPsOf(pod)
    .map(parse)
    .find((candidate) => candidate?.family === wanted && !forbidden(candidate.text));
  if (ip === undefined || ip === null) return null;
  const hostname = hostnameOf(service, pod);
  const nodeName = nodeNameOf(pod);
  return {
    ip: ip.text,
    ...(hostname === '' ? {} : { hostname }),
    ...(nodeName === '' ? {} : { nodeName }),
    targetRef: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid },
  };
}

function endpointPort(servicePort: ServicePort, port: number): EndpointPort {
  const { name, protocol, appProtocol } = servicePort;
  return {
    ...(name === '' ? {} : { name }),
    port,
    ...(protocol === '' ? {} : { protocol }),
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function pack(facts: readonly Fact[]): EndpointSubset[] {
  const ports = new Map<string, { port: EndpointPort | null; addresses: Map<string, Fact> }>();
  const firstAddress = new Map<string, EndpointAddress>();
  for (const fact of facts) {
    const portKey = JSON.stringify(
      fact.port && [fact.port.name, fact.port.port, fact.port.protocol, fact.port.appProtocol],
    );
    const addressKey = JSON.stringify([fact.address.ip, fact.address.targetRef?.uid]);
    if (!firstAddress.has(addressKey)) firstAddress.set(addressKey, fact.address);
    const entry = ports.get(portKey) ?? { port: fact.port, addresses: new Map<string, Fact>() };
    ports.set(portKey, entry);
    const ready = fact.ready && (entry.addresses.get(addressKey)?.ready ?? true);
    entry.addresses.set(addressKey, { port: fact.port, address: firstAddress.get(addressKey)!, ready });
  }

  const groups = new Map<string, { ports: EndpointPort[]; facts: Fact[] }>();
  for (const { port, addresses } of ports.values()) {
    const states = [...addresses].map(([key, fact]) => `${key}${fact.ready}`).sort();
    const key = JSON.stringify(states);
    const group = groups.get(key) ?? { ports: [], facts: [...addresses.values()] };
    groups.set(key, group);
    if (port !== null && port.port > 0) group.ports.push(port);
  }

  const subsets = [...groups.values()].map((group): EndpointSubset => {
    const addressesThat = (ready: boolean): EndpointAddress[] =>
      group.facts
        .filter((fact) => fact.ready === ready)
        .map((fact) => fact.address)
        .sort(byIpThenUid);
    const ports = byHash(group.ports, (port) => `(v1.EndpointPort)${dumpPort(port)}`);
    return subset(addressesThat(true), addressesThat(false), ports);
  });
  return byHash(subsets, dumpSubset);
}

function subset(
  addresses: readonly EndpointAddress[],
  notReadyAddresses: readonly EndpointAddress[],
  ports: readonly EndpointPort[],
): EndpointSubset {
  return {
    ...(addresses.length > 0 ? { addresses } : {}),
    ...(notReadyAddresses.length > 0 ? { notReadyAddresses } : {}),
    ...(ports.length > 0 ? { ports } : {}),
  };
}

function byIpThenUid(a: EndpointAddress, b: EndpointAddress): number {
  return (
    Buffer.compare(Buffer.from(a.ip), Buffer.from(b.ip)) ||
    Buffer.compare(Buffer.from(a.targetRef?.uid ?? ''), Buffer.from(b.targetRef?.uid ?? ''))
  );
}

function byHash<T>(items: readonly T[], dump: (item: T) => string): T[] {
  if (items.length < 2) return [...items];
  const hashed = items.map((item) => ({ item, hash: fnv(dump(item)) }));
  return hashed.sort((a, b) => (a.hash < b.hash ? -1 : 1)).map(({ item }) => item);
}

/** FNV-1a of 128 bits, by its definition. */
function fnv(text: string): bigint {
  let hash = 0x6c62272e07bb014262b821756295c58dn;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * 0x1000000000000000000013bn);
  return hash;
}

function dumpSubset(subset: EndpointSubset): string {
  const list = (type: string, items: readonly string[]): string =>
    `([]v1.${type})${items.length === 0 ? '<nil>' : `[${items.join(' ')}]`}`;
  return [
    '(v1.EndpointSubset){Addresses:',
    list('EndpointAddress', (subset.addresses ?? []).map(dumpAddress)),
    ' NotReadyAddresses:',
    list('EndpointAddress', (subset.notReadyAddresses ?? []).map(dumpAddress)),
    ' Ports:',
    list('EndpointPort', (subset.ports ?? []).map(dumpPort)),
    '}',
  ].join('');
}

function dumpPort(port: EndpointPort): string {
  return dumpStruct([
    ['Name', 'string', port.name ?? ''],
    ['Port', 'int32', String(port.port)],
    ['Protocol', 'v1.Protocol', port.protocol ?? ''],
    ['AppProtocol', '*string', port.appProtocol ?? '<nil>'],
  ]);
}

function dumpAddress({ ip, hostname, nodeName, targetRef }: EndpointAddress): string {
  return dumpStruct([
    ['IP', 'string', ip],
    ['Hostname', 'string', hostname ?? ''],
    ['NodeName', '*string', nodeName ?? '<nil>'],
    [
      'TargetRef',
      '*v1.ObjectReference',
      targetRef === undefined
        ? '<nil>'
        : dumpStruct([
            ['Kind', 'string', targetRef.kind ?? ''],
            ['Namespace', 'string', targetRef.namespace ?? ''],
            ['Name', 'string', targetRef.name ?? ''],
            ['UID', 'types.UID', targetRef.uid ?? ''],
            ['APIVersion', 'string', ''],
            ['ResourceVersion', 'string', ''],
            ['FieldPath', 'string', ''],
          ]),
    ],
  ]);
}

function dumpStruct(fields: readonly (readonly [name: string, type: string, value: string])[]): string {
  return `{${fields.map(([name, type, value]) => `${name}:(${type})${value}`).join(' ')}}`;
}

function truncate(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const count = (list: 'addresses' | 'notReadyAddresses'): number =>
    subsets.reduce((sum, subset) => sum + (subset[list]?.length ?? 0), 0);
  const ready = count('addresses');
  const list = ready > 1000 ? 'addresses' : 'notReadyAddresses';
  const budget = ready > 1000 ? 1000 : 1000 - ready;
  const total = count(list);
  let left = budget;
  const kept: EndpointSubset[] = [];
  for (const { addresses, notReadyAddresses, ports } of subsets) {
    const full = { addresses, notReadyAddresses }[list] ?? [];
    const cut = full.slice(0, Math.min(Math.ceil((full.length / total) * budget), left));
    left -= cut.length;
    const newReady = list === 'addresses' ? cut : (addresses ?? []);
    const newNotReady = list === 'addresses' ? [] : cut;
    if (newReady.length + newNotReady.length > 0) kept.push(subset(newReady, newNotReady, ports ?? []));
  }
  return kept;
}

function labelsFor(service: ServiceRecord): Record<string, string> {
  const labels = toMap(service.labels);
  labels.delete('service.kubernetes.io/headless');
  if (['', 'None'].includes(service.clusterIP)) labels.set('service.kubernetes.io/headless', '');
  labels.set('endpoints.kubernetes.io/managed-by', 'endpoint-controller');
  return Object.fromEntries(labels);
}
