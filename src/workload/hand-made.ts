/** Services without a selector, and their Endpoints as somebody keeps them by hand. */
import type { EndpointSubset, KubeObject } from '../kube/types.ts';

export interface HandMadeService {
  readonly namespace: string;
  readonly name: string;
  /** Of both families. */
  readonly addresses: { readonly ip: string; ready: boolean }[];
  /** The second half of the addresses is a subset of its own, with a port of its own. */
  twoPorts: boolean;
  /** Value of a label and of an annotation of the Endpoints; empty = absent. */
  owner: string;
  /** The Endpoints say that they are not to be mirrored. */
  skipMirror: boolean;
  busy: boolean;
}

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
        twoPorts: index % 2 === 1,
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

export function handMadeSubsets({ addresses, twoPorts }: HandMadeService): EndpointSubset[] {
  const half = twoPorts ? addresses.length >>> 1 : addresses.length;
  return [
    { addresses: addresses.slice(0, half), port: { name: 'http', port: 8080, protocol: 'TCP' } },
    { addresses: addresses.slice(half), port: { name: 'https', port: 8443, protocol: 'TCP' } },
  ].flatMap((part) => {
    const those = (ready: boolean): { ip: string }[] =>
      part.addresses.filter((address) => address.ready === ready).map(({ ip }) => ({ ip }));
    if (part.addresses.length === 0) return [];
    return [{ addresses: those(true), notReadyAddresses: those(false), ports: [part.port] }];
  });
}
