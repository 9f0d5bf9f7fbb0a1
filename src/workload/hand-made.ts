/** Services without a selector, and their Endpoints as somebody keeps them by hand. */
import type { EndpointPort, EndpointSubset, KubeObject } from '../kube/types.ts';

/**
 * One subset, or two, each with half of the addresses: with a port each, with the same ports, or the second with one of
 * the first's. Of the ports that both have one has an appProtocol, which controllers tell apart by pointer.
 */
export const HAND_MADE_LAYOUTS = ['one subset', 'a port each', 'same ports', 'one shared port'] as const;
export type HandMadeLayout = (typeof HAND_MADE_LAYOUTS)[number];

export interface HandMadeService {
  readonly namespace: string;
  readonly name: string;
  /** Of both families. */
  readonly addresses: { readonly ip: string; ready: boolean }[];
  layout: HandMadeLayout;
  /** Value of a label and of an annotation of the Endpoints; empty = absent. */
  owner: string;
  /** The Endpoints say that they are not to be mirrored. */
  skipMirror: boolean;
  busy: boolean;
}

const HTTP: EndpointPort = { name: 'http', port: 8080, protocol: 'TCP' };
const HTTPS: EndpointPort = { name: 'https', port: 8443, protocol: 'TCP' };
const GRPC: EndpointPort = { name: 'grpc', port: 9090, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' };
/** Of the first subset and of the second; null = there is none. */
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

/** `count` in each namespace. */
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

/** False when it has as many as it may. */
export function addAddress({ addresses }: HandMadeService, ready: boolean): boolean {
  const used = new Set(addresses.map(({ ip }) => ip));
  for (let at = 1; at <= ADDRESSES_MAX; at++) {
    // Documentation networks: no pod has such an address.
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
