/**
 * The contents that the EndpointSlices of a Service should have, found the slow way. Which slice has which endpoint is
 * left open, because that depends on the past: `slices-judge.ts` compares a whole set of slices with this. Rules:
 * docs/spec/endpointslice.md "Which pods count", "Traffic distribution", "New slices". It shares no code with the
 * planning that it judges.
 */
import { podIPsOf } from '../kube/record.ts';
import type { Endpoint, IpFamily, NodeRecord, PodRecord, ServiceRecord, SlicePort } from '../kube/types.ts';
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

export interface SlicesWorld {
  readonly pods: readonly PodRecord[];
  /** Nodes by name. */
  readonly nodes: ReadonlyMap<string, NodeRecord>;
}

export interface ExpectedSlices {
  readonly service: ServiceRecord;
  readonly labels: Readonly<Record<string, string>>;
  /** One entry for each wanted address family. */
  readonly families: readonly ExpectedFamily[];
  readonly hints: HintsRule;
}

export interface ExpectedFamily {
  readonly family: IpFamily;
  /** Endpoints by `portsKey`. A group may have none: existing empty slices with these ports are left alone. */
  readonly groups: ReadonlyMap<string, readonly Endpoint[]>;
}

/** `cpu` = by the zones' shares of allocatable CPU. The others are values of spec.trafficDistribution. */
export type HintsRule = 'none' | 'cpu' | 'PreferClose' | 'PreferSameZone' | 'PreferSameNode';

/** null = the controller writes no slices: the Service has no selector, or is of type ExternalName. */
export function oracleSlices(
  service: ServiceRecord,
  world: SlicesWorld,
  options: OracleOptions = { tolerateUnreadyEndpointsAnnotation: false },
): ExpectedSlices | null {
  const { selector, namespace } = service;
  if (selector === null || service.type === 'ExternalName') return null;
  const publish = publishes(service, options);
  const pods = world.pods.filter((pod) => pod.namespace === namespace && selects(selector, pod.labels));
  return {
    service,
    labels: labelsFor(service),
    families: familiesOf(service).map((family) => ({
      family,
      groups: groupsOf(service, family, pods, world, publish),
    })),
    hints: hintsRule(service),
  };
}

/** The same text for lists of the same ports, in any order. */
export function portsKey(ports: readonly SlicePort[]): string {
  const texts = ports.map(({ name = '', protocol = 'TCP', port = null, appProtocol = null }) =>
    JSON.stringify([name, protocol, port, appProtocol]),
  );
  return texts.toSorted().join(' ');
}

function familiesOf({ ipFamilies, clusterIP }: ServiceRecord): IpFamily[] {
  const both: readonly IpFamily[] = ['IPv4', 'IPv6'];
  if (ipFamilies.length > 0) return both.filter((family) => ipFamilies.includes(family));
  if (clusterIP === '' || clusterIP === 'None') return [...both];
  return [parse(clusterIP)?.family ?? 'IPv4'];
}

function groupsOf(
  service: ServiceRecord,
  family: IpFamily,
  pods: readonly PodRecord[],
  { nodes }: SlicesWorld,
  publish: boolean,
): Map<string, readonly Endpoint[]> {
  const groups = new Map<string, Endpoint[]>();
  for (const pod of pods) {
    if (pod.phase === 'Succeeded' || pod.phase === 'Failed') continue;
    const podIPs = podIPsOf(pod);
    if (pod.podIP === '' && podIPs.length === 0) continue;
    const key = portsKey(portsOf(service, pod));
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    const node = nodes.get(pod.nodeName);
    if (node === undefined && !publish) continue;
    const addresses = podIPs.flatMap((text) => {
      const ip = parse(text);
      return ip?.family === family && !forbidden(ip.text) ? [ip.text] : [];
    });
    if (addresses.length > 0) group.push(endpointOf(service, pod, addresses, node, publish));
  }
  return groups;
}

function portsOf(service: ServiceRecord, pod: PodRecord): SlicePort[] {
  return service.ports.flatMap((servicePort) => {
    const port = targetNumber(servicePort, pod);
    const { name, protocol, appProtocol } = servicePort;
    return port === null ? [] : [{ name, protocol, port, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

function endpointOf(
  service: ServiceRecord,
  pod: PodRecord,
  addresses: readonly string[],
  node: NodeRecord | undefined,
  publish: boolean,
): Endpoint {
  const hostname = hostnameOf(service, pod);
  const nodeName = nodeNameOf(pod);
  const zone = toMap(node?.labels ?? []).get('topology.kubernetes.io/zone') ?? '';
  return {
    addresses,
    conditions: { ready: publish || (pod.ready && !pod.deleting), serving: pod.ready, terminating: pod.deleting },
    targetRef: { kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid },
    ...(hostname === '' ? {} : { hostname }),
    ...(nodeName === '' ? {} : { nodeName }),
    ...(zone === '' ? {} : { zone }),
  };
}

function labelsFor({ name, labels, clusterIP }: ServiceRecord): Record<string, string> {
  const wanted = toMap(labels);
  wanted.delete('service.kubernetes.io/headless');
  if (clusterIP === 'None' || clusterIP === '') wanted.set('service.kubernetes.io/headless', '');
  wanted.set('kubernetes.io/service-name', name);
  wanted.set('endpointslice.kubernetes.io/managed-by', 'endpointslice-controller.k8s.io');
  return Object.fromEntries(wanted);
}

function hintsRule({ annotations, trafficDistribution }: ServiceRecord): HintsRule {
  const known = toMap(annotations);
  const mode =
    known.get('service.kubernetes.io/topology-aware-hints') ?? known.get('service.kubernetes.io/topology-mode');
  if (mode === 'Auto' || mode === 'auto') return 'cpu';
  switch (trafficDistribution) {
    case 'PreferClose':
    case 'PreferSameZone':
    case 'PreferSameNode':
      return trafficDistribution;
    default:
      return 'none';
  }
}
