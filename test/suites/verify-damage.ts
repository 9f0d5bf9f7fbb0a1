/**
 * Kinds of damage that somebody does to what the controllers have written, and what a verification says of each: the same
 * on the embedded API server and on a real one.
 */
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE, SERVICE_NAME_LABEL } from '../../src/kube/names.ts';
import type { Endpoint, Endpoints, EndpointSlice, KubeObject, ObjectMeta } from '../../src/kube/types.ts';

/** An API server. The body of PUT and POST is a whole object. */
export interface Api {
  send(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: object): Promise<KubeObject>;
}

export interface Damage {
  readonly title: string;
  readonly damage: (api: Api, service: string) => Promise<unknown>;
  /** `S` is the service; of its two pods one has the address 1 and the other 2. */
  readonly expected: readonly string[];
}

const SERVICES = '/api/v1/namespaces/default/services';
const PODS = '/api/v1/namespaces/default/pods';
const ENDPOINTS = '/api/v1/namespaces/default/endpoints';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

type Subset = NonNullable<Endpoints['subsets']>[number];

async function changeObject(api: Api, path: string, change: (object: KubeObject) => object): Promise<void> {
  const object = await api.send('GET', path);
  await api.send('PUT', path, { ...object, ...change(object) });
}

const endpointsPath = (service: string): string => `${ENDPOINTS}/${service}`;

/** Somebody changes the one subset of the Endpoints. */
const subset =
  (change: (subset: Subset) => object): Damage['damage'] =>
  (api, service) =>
    changeObject(api, endpointsPath(service), (object) => {
      const [only] = object['subsets'] as [Subset];
      return { subsets: [{ ...only, ...change(only) }] };
    });

async function sliceOf(api: Api, service: string): Promise<EndpointSlice> {
  const { items } = (await api.send('GET', SLICES)) as unknown as { items: EndpointSlice[] };
  return items.find(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === service)!;
}

async function slicePath(api: Api, service: string): Promise<string> {
  return `${SLICES}/${(await sliceOf(api, service)).metadata.name}`;
}

/** Somebody changes the one slice. */
const slice =
  (change: (slice: EndpointSlice) => object): Damage['damage'] =>
  async (api, service) =>
    changeObject(api, await slicePath(api, service), (object) => change(object as unknown as EndpointSlice));

/** Somebody changes the first endpoint of the slice. */
const endpoint = (change: (endpoint: Endpoint) => object): Damage['damage'] =>
  slice(({ endpoints }) => {
    const [first, ...others] = endpoints!.toSorted((a, b) => (a.addresses[0]! < b.addresses[0]! ? -1 : 1));
    return { endpoints: [{ ...first, ...change(first!) }, ...others] };
  });

const labels =
  (kind: 'endpoints' | 'slice', change: Record<string, string | undefined>): Damage['damage'] =>
  async (api, service) => {
    const path = kind === 'endpoints' ? endpointsPath(service) : await slicePath(api, service);
    await changeObject(api, path, ({ metadata }) => ({
      metadata: { ...metadata, labels: { ...metadata.labels, ...change } },
    }));
  };

export const DAMAGES: readonly Damage[] = [
  {
    title: 'Endpoints are deleted',
    damage: (api, service) => api.send('DELETE', endpointsPath(service)),
    expected: ['Endpoints S: (none) -> 2 endpoints: 1 2'],
  },
  {
    title: 'Endpoints are emptied',
    damage: (api, service) => changeObject(api, endpointsPath(service), () => ({ subsets: [] })),
    expected: [
      'Endpoints S subsets.addresses[1]: (none) -> ready=true, ports=http:8080/TCP, nodeName=node-1, targetRef=Pod default/S-1 UID',
      'Endpoints S subsets.addresses[2]: (none) -> ready=true, ports=http:8080/TCP, nodeName=node-1, targetRef=Pod default/S-2 UID',
    ],
  },
  {
    title: 'an address is taken out of Endpoints',
    damage: subset(({ addresses }) => ({ addresses: addresses!.slice(0, 1) })),
    expected: [
      'Endpoints S subsets.addresses[2]: (none) -> ready=true, ports=http:8080/TCP, nodeName=node-1, targetRef=Pod default/S-2 UID',
    ],
  },
  {
    title: 'an address is put into Endpoints',
    damage: subset(({ addresses }) => ({ addresses: [...addresses!, { ip: '192.0.2.7' }] })),
    expected: ['Endpoints S subsets.addresses[192.0.2.7]: ready=true, ports=http:8080/TCP -> (none)'],
  },
  {
    title: 'a ready address is listed as not ready',
    damage: subset(({ addresses }) => ({ addresses: addresses!.slice(0, 1), notReadyAddresses: addresses!.slice(1) })),
    expected: ['Endpoints S subsets.addresses[2].ready: false -> true'],
  },
  {
    title: 'the port of Endpoints is changed',
    damage: subset(({ ports }) => ({ ports: [{ ...ports![0]!, port: 9090 }] })),
    expected: ['Endpoints S subsets.addresses[1 and 1 more].ports: http:9090/TCP -> http:8080/TCP'],
  },
  {
    title: 'the name of a port of Endpoints is changed',
    damage: subset(({ ports }) => ({ ports: [{ ...ports![0]!, name: 'other' }] })),
    expected: ['Endpoints S subsets.addresses[1 and 1 more].ports: other:8080/TCP -> http:8080/TCP'],
  },
  {
    title: 'a port is put into Endpoints',
    damage: subset(({ ports }) => ({ ports: [...ports!, { name: 'extra', port: 1 }] })),
    expected: ['Endpoints S subsets.addresses[1 and 1 more].ports: extra:1/TCP, http:8080/TCP -> http:8080/TCP'],
  },
  {
    title: 'the protocol of an application is put into Endpoints',
    damage: subset(({ ports }) => ({ ports: [{ ...ports![0]!, appProtocol: 'h2c' }] })),
    expected: ['Endpoints S subsets.addresses[1 and 1 more].ports: http:8080/TCP h2c -> http:8080/TCP'],
  },
  {
    title: 'the reference to a pod names another uid',
    damage: subset(({ addresses: [first, ...more] = [] }) => ({
      addresses: [{ ...first, targetRef: { ...first!.targetRef, uid: 'another' } }, ...more],
    })),
    expected: ['Endpoints S subsets.addresses[1].targetRef: Pod default/S-1 another -> Pod default/S-1 UID'],
  },
  {
    title: 'the reference to a pod is gone',
    damage: subset(({ addresses: [first, ...more] = [] }) => ({
      addresses: [{ ...first, targetRef: undefined }, ...more],
    })),
    expected: ['Endpoints S subsets.addresses[1].targetRef: (none) -> Pod default/S-1 UID'],
  },
  {
    title: 'the node of an address is another',
    damage: subset(({ addresses: [first, ...more] = [] }) => ({
      addresses: [{ ...first, nodeName: 'node-9' }, ...more],
    })),
    expected: ['Endpoints S subsets.addresses[1].nodeName: node-9 -> node-1'],
  },
  {
    title: 'the node of an address is gone',
    damage: subset(({ addresses: [first, ...more] = [] }) => ({
      addresses: [{ ...first, nodeName: undefined }, ...more],
    })),
    expected: ['Endpoints S subsets.addresses[1].nodeName: (none) -> node-1'],
  },
  {
    title: 'an address has a hostname',
    damage: subset(({ addresses: [first, ...more] = [] }) => ({ addresses: [{ ...first, hostname: 'h' }, ...more] })),
    expected: ['Endpoints S subsets.addresses[1].hostname: h -> (none)'],
  },
  {
    title: 'a label of the Service is gone from Endpoints',
    damage: labels('endpoints', { team: undefined }),
    expected: ['Endpoints S metadata.labels[team]: (none) -> a'],
  },
  {
    title: 'a label of the Service is another in Endpoints',
    damage: labels('endpoints', { team: 'b' }),
    expected: ['Endpoints S metadata.labels[team]: b -> a'],
  },
  {
    title: 'Endpoints have one label more',
    damage: labels('endpoints', { more: 'x' }),
    expected: ['Endpoints S metadata.labels[more]: x -> (none)'],
  },
  {
    title: 'Endpoints do not say who manages them',
    damage: labels('endpoints', { 'endpoints.kubernetes.io/managed-by': undefined }),
    expected: [
      'Endpoints S metadata.labels[endpoints.kubernetes.io/managed-by]: (none) -> endpoint-controller (managed-by-label)',
    ],
  },
  {
    title: 'Endpoints are labelled as headless',
    damage: labels('endpoints', { 'service.kubernetes.io/headless': '' }),
    expected: ['Endpoints S metadata.labels[service.kubernetes.io/headless]:  -> (none) (headless-label)'],
  },
  {
    title: 'Endpoints are marked as truncated',
    damage: (api, service) =>
      changeObject(api, endpointsPath(service), ({ metadata }) => ({
        metadata: { ...metadata, annotations: { 'endpoints.kubernetes.io/over-capacity': 'truncated' } },
      })),
    expected: ['Endpoints S metadata.annotations[endpoints.kubernetes.io/over-capacity]: truncated -> (none)'],
  },
  {
    title: 'the slice is deleted',
    damage: async (api, service) => api.send('DELETE', await slicePath(api, service)),
    expected: ['EndpointSlice new: (none) -> IPv4, 2 endpoints: 1 2'],
  },
  {
    title: 'the slice is emptied',
    damage: slice(() => ({ endpoints: [] })),
    expected: [
      'EndpointSlice S-* endpoints[1]: (none) -> conditions.ready=true, conditions.serving=true, conditions.terminating=false, nodeName=node-1, zone=zone-a, targetRef=Pod default/S-1 UID',
      'EndpointSlice S-* endpoints[2]: (none) -> conditions.ready=true, conditions.serving=true, conditions.terminating=false, nodeName=node-1, zone=zone-a, targetRef=Pod default/S-2 UID',
    ],
  },
  {
    title: 'an endpoint is taken out of the slice',
    damage: slice(({ endpoints }) => ({
      endpoints: endpoints!.filter(({ addresses }) => !addresses[0]!.endsWith('.2')),
    })),
    expected: [
      'EndpointSlice S-* endpoints[2]: (none) -> conditions.ready=true, conditions.serving=true, conditions.terminating=false, nodeName=node-1, zone=zone-a, targetRef=Pod default/S-2 UID',
    ],
  },
  {
    title: 'an endpoint is put into the slice',
    damage: slice(({ endpoints }) => ({ endpoints: [...endpoints!, { addresses: ['192.0.2.7'], conditions: {} }] })),
    expected: ['EndpointSlice S-* endpoints[192.0.2.7]: nothing but its address -> (none)'],
  },
  {
    title: 'an endpoint is no longer ready',
    damage: endpoint(({ conditions }) => ({ conditions: { ...conditions, ready: false } })),
    expected: ['EndpointSlice S-* endpoints[1].conditions.ready: false -> true'],
  },
  {
    title: 'an endpoint no longer serves',
    damage: endpoint(({ conditions }) => ({ conditions: { ...conditions, serving: false } })),
    expected: ['EndpointSlice S-* endpoints[1].conditions.serving: false -> true'],
  },
  {
    title: 'an endpoint terminates',
    damage: endpoint(({ conditions }) => ({ conditions: { ...conditions, terminating: true } })),
    expected: ['EndpointSlice S-* endpoints[1].conditions.terminating: true -> false'],
  },
  {
    title: 'an endpoint has no conditions',
    damage: endpoint(() => ({ conditions: {} })),
    expected: [
      'EndpointSlice S-* endpoints[1].conditions.ready: (none) -> true',
      'EndpointSlice S-* endpoints[1].conditions.serving: (none) -> true',
      'EndpointSlice S-* endpoints[1].conditions.terminating: (none) -> false',
    ],
  },
  {
    title: 'the node of an endpoint is another',
    damage: endpoint(() => ({ nodeName: 'node-9' })),
    expected: ['EndpointSlice S-* endpoints[1].nodeName: node-9 -> node-1'],
  },
  {
    title: 'the zone of an endpoint is another',
    damage: endpoint(() => ({ zone: 'zone-z' })),
    expected: ['EndpointSlice S-* endpoints[1].zone: zone-z -> zone-a (slices-zone-change)'],
  },
  {
    title: 'an endpoint has no zone',
    damage: endpoint(() => ({ zone: undefined })),
    expected: ['EndpointSlice S-* endpoints[1].zone: (none) -> zone-a (slices-zone-change)'],
  },
  {
    title: 'the reference of an endpoint names another uid',
    damage: endpoint(({ targetRef }) => ({ targetRef: { ...targetRef, uid: 'another' } })),
    expected: ['EndpointSlice S-* endpoints[1].targetRef: Pod default/S-1 another -> Pod default/S-1 UID'],
  },
  {
    title: 'an endpoint has no reference',
    damage: endpoint(() => ({ targetRef: undefined })),
    expected: ['EndpointSlice S-* endpoints[1].targetRef: (none) -> Pod default/S-1 UID'],
  },
  {
    title: 'an endpoint has a hostname',
    damage: endpoint(() => ({ hostname: 'h' })),
    expected: ['EndpointSlice S-* endpoints[1].hostname: h -> (none)'],
  },
  {
    title: 'an endpoint has hints',
    damage: endpoint(() => ({ hints: { forZones: [{ name: 'zone-a' }] } })),
    expected: ['EndpointSlice S-* endpoints[1].hints.forZones: zone-a -> (none)'],
  },
  {
    title: 'the port of the slice is changed',
    damage: slice(({ ports }) => ({ ports: [{ ...ports![0]!, port: 9090 }] })),
    expected: ['EndpointSlice S-* ports[http].port: 9090 -> 8080'],
  },
  {
    title: 'the name of a port of the slice is changed',
    damage: slice(({ ports }) => ({ ports: [{ ...ports![0]!, name: 'other' }] })),
    expected: [
      'EndpointSlice S-* ports[other]: port=8080, protocol=TCP -> (none)',
      'EndpointSlice S-* ports[http]: (none) -> port=8080, protocol=TCP',
    ],
  },
  {
    title: 'the protocol of an application is put into the slice',
    damage: slice(({ ports }) => ({ ports: [{ ...ports![0]!, appProtocol: 'h2c' }] })),
    expected: ['EndpointSlice S-* ports[http].appProtocol: h2c -> (none)'],
  },
  {
    title: 'a label of the Service is gone from the slice',
    damage: labels('slice', { team: undefined }),
    expected: ['EndpointSlice S-* metadata.labels[team]: (none) -> a'],
  },
  {
    title: 'a label of the Service is another in the slice',
    damage: labels('slice', { team: 'b' }),
    expected: ['EndpointSlice S-* metadata.labels[team]: b -> a'],
  },
  {
    title: 'the slice says that somebody else manages it',
    damage: labels('slice', { 'endpointslice.kubernetes.io/managed-by': 'somebody' }),
    expected: ['EndpointSlice new: (none) -> IPv4, 2 endpoints: 1 2'],
  },
  {
    title: 'the slice is listed twice',
    async damage(api, service) {
      const { metadata, ...rest } = await sliceOf(api, service);
      const { labels: same, ownerReferences } = metadata;
      const twice = { name: `${service}-twice`, labels: same!, ownerReferences: ownerReferences! };
      await create(api, SLICES, twice, { ...rest, apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' });
    },
    expected: ['EndpointSlice S-*: IPv4, 2 endpoints: 1 2 -> (none)'],
  },
  {
    title: 'the slice names another owner',
    damage: slice(({ metadata }) => ({
      metadata: { ...metadata, ownerReferences: [{ ...metadata.ownerReferences![0]!, uid: 'another' }] },
    })),
    expected: [
      'EndpointSlice new: (none) -> IPv4, 2 endpoints: 1 2',
      'EndpointSlice S-*: IPv4, 2 endpoints: 1 2 -> (none)',
    ],
  },
  {
    title: 'a pod has ended, and stays listed',
    async damage(api, service) {
      // As upstream leaves it: the controller that wrote these objects runs no more.
      const pod = await api.send('GET', `${PODS}/${service}-2`);
      const status = { ...(pod['status'] as object), phase: 'Failed' };
      await api.send('PUT', `${PODS}/${service}-2/status`, { ...pod, status });
    },
    expected: [
      'Endpoints S subsets.addresses[2]: ready=true, ports=http:8080/TCP, nodeName=node-1, targetRef=Pod default/S-2 UID -> (none) (pod-phase)',
      'EndpointSlice S-* endpoints[2]: conditions.ready=true, conditions.serving=true, conditions.terminating=false, nodeName=node-1, zone=zone-a, targetRef=Pod default/S-2 UID -> (none) (slices-pod-phase)',
    ],
  },
  {
    title: 'Endpoints made by hand are not mirrored',
    async damage(api, service) {
      await create(api, SERVICES, { name: `${service}-hand` }, { kind: 'Service', spec: { ports: [{ port: 80 }] } });
      const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }];
      await create(api, ENDPOINTS, { name: `${service}-hand` }, { kind: 'Endpoints', subsets });
    },
    expected: ['mirrored EndpointSlice new: (none) -> IPv4, 1 endpoint: 192.0.2.1'],
  },
  {
    title: 'Endpoints of ours have no Service',
    damage: (api, service) =>
      create(
        api,
        ENDPOINTS,
        { name: `${service}-orphan`, labels: { [MANAGED_BY_LABEL]: MANAGED_BY_VALUE } },
        {
          kind: 'Endpoints',
        },
      ),
    expected: ['Endpoints S-orphan: 0 endpoints -> (none)'],
  },
];

function create(api: Api, path: string, metadata: ObjectMeta, rest: object): Promise<KubeObject> {
  return api.send('POST', path, { apiVersion: 'v1', ...rest, metadata });
}

function nameOf(damage: Damage): string {
  return `s${DAMAGES.indexOf(damage)}`;
}

/** A service with two pods for each kind. A node `node-1` in `zone-a` must be there. */
export async function createDamageWorld(api: Api): Promise<void> {
  for (const [i, damage] of DAMAGES.entries()) {
    const name = nameOf(damage);
    const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
    await create(
      api,
      SERVICES,
      { name, labels: { team: 'a' } },
      { kind: 'Service', spec: { selector: { app: name }, ports } },
    );
    for (const n of [1, 2]) await createPod(api, `${name}-${n}`, name, `10.0.${i}.${n}`);
  }
}

async function createPod(api: Api, name: string, app: string, ip: string): Promise<void> {
  const containers = [{ name: 'main', image: 'main:1', ports: [{ name: 'http', containerPort: 8080 }] }];
  const pod = await create(
    api,
    PODS,
    { name, labels: { app } },
    { kind: 'Pod', spec: { nodeName: 'node-1', containers } },
  );
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions };
  await api.send('PUT', `${PODS}/${name}/status`, { ...pod, status });
}

/** Everything happens at once, each to a service of its own. */
export async function doAllDamage(api: Api): Promise<void> {
  for (const one of DAMAGES) await one.damage(api, nameOf(one));
}

const UID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** What is said of the service of that kind, as `expected` writes it. @param linesOf the lines of one service */
export function saidOf(damage: Damage, linesOf: (service: string) => readonly string[]): string[] {
  const name = nameOf(damage);
  return [name, `${name}-hand`, `${name}-orphan`].flatMap(linesOf).map((line) =>
    line
      .replaceAll(new RegExp(`\\b${name}\\b`, 'g'), 'S')
      .replaceAll(`10.0.${DAMAGES.indexOf(damage)}.`, '')
      .replaceAll(UID, 'UID'),
  );
}
