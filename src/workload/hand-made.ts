/** Services without a selector, and Endpoints that somebody makes for them by hand. */
import type { EndpointPort, EndpointSubset, KubeObject } from '../kube/types.ts';

/**
 * One subset, or two with half of the addresses each. Two subsets have a port each, the same ports, or one port in
 * common. One of the common ports has an appProtocol: controllers compare it by pointer.
 */
export const HAND_MADE_LAYOUTS = ['one subset', 'a port each', 'same ports', 'one shared port'] as const;
export type HandMadeLayout = (typeof HAND_MADE_LAYOUTS)[number];

export interface HandMadeService {
  readonly namespace: string;
  readonly name: string;
  /** Addresses of both families. */
  readonly addresses: { readonly ip: string; ready: boolean }[];
  layout: HandMadeLayout;
  /** The value of a label and of an annotation of the Endpoints; '' = absent. */
  owner: string;
  /** Whether the Endpoints ask not to be mirrored. */
  skipMirror: boolean;
  busy: boolean;
}

const HTTP: EndpointPort = { name: 'http', port: 8080, protocol: 'TCP' };
const HTTPS: EndpointPort = { name: 'https', port: 8443, protocol: 'TCP' };
const GRPC: EndpointPort = { name: 'grpc', port: 9090, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' };
/** The ports of the first and of the second subset; null = there is no second one. */
const PORTS: Readonly<Record<HandMadeLayout, readonly [EndpointPort[], EndpointPort[] | null]>> = {
  'one subset': [[HTTP], null],
  'a port each': [[HTTP], [HTTPS]],
  'same ports': [
    [HTTP, HTTPS, GRPC],
    [HTTP, HTTPS, GRPC],
  ],
  'one shared port': [[HTTP, HTTPS, GRPC], [GRPC]],
};

const ADDRESSES = 4;
const ADDRESSES_MAX = 250;

/** Makes `count` Services in each namespace. */
export function makeHandMade(namespaces: readonly string[], count: number): HandMadeService[] {
  return namespaces.flatMap((namespace) =>
    Array.from({ length: count }, (_, index) => {
      const service: HandMadeService = {
        namespace,
        name: `outside-${String(index).padStart(3, '0')}`,
        addresses: [],
        layout: HAND_MADE_LAYOUTS[index % HAND_MADE_LAYOUTS.length]!,
        owner: '',
        skipMirror: index % 8 === 7,
        busy: false,
      };
      while (service.addresses.length < ADDRESSES) addAddress(service, true);
      return service;
    }),
  );
}

/** Returns false if the Service has the most addresses that it may have. */
export function addAddress({ addresses }: HandMadeService, ready: boolean): boolean {
  const used = new Set(addresses.map(({ ip }) => ip));
  for (let at = 1; at <= ADDRESSES_MAX; at++) {
    // The addresses are of documentation networks, so no pod has them.
    const ip = at % 3 === 0 ? `2001:db8::${at.toString(16)}` : `198.51.100.${at}`;
    if (used.has(ip)) continue;
    addresses.push({ ip, ready });
    return true;
  }
  return false;
}

export function handMadeServiceObject({ namespace, name }: HandMadeService): KubeObject {
  const ports = [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }];
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec: { type: 'ClusterIP', ports } };
}

export function handMadeEndpointsObject(service: HandMadeService): KubeObject {
  const { namespace, name, owner, skipMirror } = service;
  const labels: Record<string, string> = {
    ...(owner === '' ? {} : { owner }),
    ...(skipMirror ? { 'endpointslice.kubernetes.io/skip-mirror': 'true' } : {}),
  };
  const annotations: Record<string, string> = owner === '' ? {} : { owner };
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace, name, labels, annotations },
    subsets: handMadeSubsets(service),
  };
}

export function handMadeSubsets({ addresses, layout }: HandMadeService): EndpointSubset[] {
  const [firstPorts, secondPorts] = PORTS[layout];
  const half = secondPorts === null ? addresses.length : addresses.length >>> 1;
  return [
    { addresses: addresses.slice(0, half), ports: firstPorts },
    { addresses: addresses.slice(half), ports: secondPorts ?? [] },
  ].flatMap((part) => {
    const those = (ready: boolean): { ip: string }[] =>
      part.addresses.filter((address) => address.ready === ready).map(({ ip }) => ({ ip }));
    if (part.addresses.length === 0) return [];
    return [{ addresses: those(true), notReadyAddresses: those(false), ports: part.ports }];
  });
}
