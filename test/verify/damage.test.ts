/** What a verification says of each kind of damage: the object, the field, and both sides. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createPod, createService, createSim, deleteObject, type Sim } from '../support/sim.ts';
import { createNode, edit, ENDPOINTS, makeEndpoints, SLICES } from '../support/sim-objects.ts';
import { slicesOf } from '../support/sim-slices.ts';
import { differenceLines, startVerify } from '../support/sim-verify.ts';
import { SERVICE_NAME_LABEL } from '../../src/kube/names.ts';
import type { Endpoint, Endpoints, EndpointSlice, KubeObject } from '../../src/kube/types.ts';
import type { Report } from '../../src/verify/report.ts';

interface Damage {
  readonly title: string;
  readonly damage: (sim: Sim, service: string) => void;
  /** `S` is the service; of its two pods one has the address 1 and the other 2. */
  readonly expected: readonly string[];
}

type Subset = NonNullable<Endpoints['subsets']>[number];

function changeObject(sim: Sim, path: string, change: (object: KubeObject) => object): void {
  const object = sim.request('GET', path);
  sim.request('PUT', path, { ...object, ...change(object) });
}

/** Somebody changes the one subset of the Endpoints. */
const subset =
  (change: (subset: Subset) => object) =>
  (sim: Sim, service: string): void =>
    changeObject(sim, `${ENDPOINTS}/${service}`, (object) => {
      const [only] = object['subsets'] as [Subset];
      return { subsets: [{ ...only, ...change(only) }] };
    });

function sliceOf(sim: Sim, service: string): EndpointSlice {
  return slicesOf(sim).find(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === service)!;
}

/** Somebody changes the one slice. */
const slice =
  (change: (slice: EndpointSlice) => object) =>
  (sim: Sim, service: string): void =>
    changeObject(sim, `${SLICES}/${sliceOf(sim, service).metadata.name}`, (object) =>
      change(object as unknown as EndpointSlice),
    );

/** Somebody changes the first endpoint of the slice. */
const endpoint = (change: (endpoint: Endpoint) => object): Damage['damage'] =>
  slice(({ endpoints }) => {
    const [first, ...others] = endpoints!.toSorted((a, b) => (a.addresses[0]! < b.addresses[0]! ? -1 : 1));
    return { endpoints: [{ ...first, ...change(first!) }, ...others] };
  });

const labels =
  (kind: 'endpoints' | 'slice', change: Record<string, string | undefined>) =>
  (sim: Sim, service: string): void => {
    const path = kind === 'endpoints' ? `${ENDPOINTS}/${service}` : `${SLICES}/${sliceOf(sim, service).metadata.name}`;
    edit(sim, path, { labels: { ...sim.request('GET', path).metadata.labels, ...change } as Record<string, string> });
  };

const DAMAGES: readonly Damage[] = [
  {
    title: 'Endpoints are deleted',
    damage: (sim, service) => deleteObject(sim, `${ENDPOINTS}/${service}`),
    expected: ['Endpoints S: (none) -> 2 endpoints: 1 2'],
  },
  {
    title: 'Endpoints are emptied',
    damage: (sim, service) => changeObject(sim, `${ENDPOINTS}/${service}`, () => ({ subsets: [] })),
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
    expected: [
      'Endpoints S subsets.addresses[1].ports: http:9090/TCP -> http:8080/TCP',
      'Endpoints S subsets.addresses[2].ports: http:9090/TCP -> http:8080/TCP',
    ],
  },
  {
    title: 'the name of a port of Endpoints is changed',
    damage: subset(({ ports }) => ({ ports: [{ ...ports![0]!, name: 'other' }] })),
    expected: [
      'Endpoints S subsets.addresses[1].ports: other:8080/TCP -> http:8080/TCP',
      'Endpoints S subsets.addresses[2].ports: other:8080/TCP -> http:8080/TCP',
    ],
  },
  {
    title: 'a port is put into Endpoints',
    damage: subset(({ ports }) => ({ ports: [...ports!, { name: 'extra', port: 1 }] })),
    expected: [
      'Endpoints S subsets.addresses[1].ports: extra:1/TCP, http:8080/TCP -> http:8080/TCP',
      'Endpoints S subsets.addresses[2].ports: extra:1/TCP, http:8080/TCP -> http:8080/TCP',
    ],
  },
  {
    title: 'the protocol of an application is put into Endpoints',
    damage: subset(({ ports }) => ({ ports: [{ ...ports![0]!, appProtocol: 'h2c' }] })),
    expected: [
      'Endpoints S subsets.addresses[1].ports: http:8080/TCP h2c -> http:8080/TCP',
      'Endpoints S subsets.addresses[2].ports: http:8080/TCP h2c -> http:8080/TCP',
    ],
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
    damage: (sim, service) =>
      void edit(sim, `${ENDPOINTS}/${service}`, {
        annotations: { 'endpoints.kubernetes.io/over-capacity': 'truncated' },
      }),
    expected: ['Endpoints S metadata.annotations[endpoints.kubernetes.io/over-capacity]: truncated -> (none)'],
  },
  {
    title: 'the slice is deleted',
    damage: (sim, service) => deleteObject(sim, `${SLICES}/${sliceOf(sim, service).metadata.name}`),
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
    title: 'an endpoint is ready no more',
    damage: endpoint(({ conditions }) => ({ conditions: { ...conditions, ready: false } })),
    expected: ['EndpointSlice S-* endpoints[1].conditions.ready: false -> true'],
  },
  {
    title: 'an endpoint serves no more',
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
    title: 'the slice is there twice',
    damage(sim, service) {
      const { metadata, ...rest } = sliceOf(sim, service);
      const { labels: same, ownerReferences } = metadata;
      sim.request('POST', SLICES, { ...rest, metadata: { name: `${service}-twice`, labels: same, ownerReferences } });
    },
    expected: ['EndpointSlice S-*: IPv4, 2 endpoints: 1 2 -> (none)'],
  },
  {
    title: 'the slice names another owner',
    damage: (sim, service) =>
      changeObject(sim, `${SLICES}/${sliceOf(sim, service).metadata.name}`, ({ metadata }) => ({
        metadata: { ...metadata, ownerReferences: [{ ...metadata.ownerReferences![0]!, uid: 'another' }] },
      })),
    expected: [
      'EndpointSlice new: (none) -> IPv4, 2 endpoints: 1 2',
      'EndpointSlice S-*: IPv4, 2 endpoints: 1 2 -> (none)',
    ],
  },
  {
    title: 'a pod has ended, and stays listed',
    damage(sim, service) {
      // As upstream leaves it: the controller that wrote these objects runs no more.
      const path = `/api/v1/namespaces/default/pods/${service}-2`;
      const pod = sim.request('GET', path);
      sim.request('PUT', `${path}/status`, { ...pod, status: { ...(pod['status'] as object), phase: 'Failed' } });
    },
    expected: [
      'Endpoints S subsets.addresses[2]: ready=true, ports=http:8080/TCP, nodeName=node-1, targetRef=Pod default/S-2 UID -> (none) (pod-phase)',
      'EndpointSlice S-* endpoints[2]: conditions.ready=true, conditions.serving=true, conditions.terminating=false, nodeName=node-1, zone=zone-a, targetRef=Pod default/S-2 UID -> (none) (slices-pod-phase)',
    ],
  },
  {
    title: 'a mirrored slice is deleted',
    damage(sim, service) {
      mirrored(sim, service);
    },
    expected: ['mirrored EndpointSlice new: (none) -> IPv4, 1 endpoint: 192.0.2.1'],
  },
  {
    title: 'Endpoints of ours have no Service',
    damage: (sim, service) =>
      makeEndpoints(sim, `${service}-orphan`, [], {
        labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' },
      }),
    expected: ['Endpoints S-orphan: 0 endpoints -> (none)'],
  },
];

/** A Service without selector, whose Endpoints are made by hand and are not mirrored yet. */
function mirrored(sim: Sim, service: string): void {
  createService(sim, { name: `${service}-hand`, spec: { selector: null } });
  makeEndpoints(sim, `${service}-hand`, [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }]);
}

function nameOf(damage: Damage): string {
  return `s${DAMAGES.indexOf(damage)}`;
}

/** A cluster that was right until everything happened at once, each to a service of its own. */
function damagedCluster(): Sim {
  const sim = createSim({ options: { endpoints: true, slices: true, mirroring: true } });
  createNode(sim, { name: 'node-1', zone: 'zone-a' });
  for (const [i, damage] of DAMAGES.entries()) {
    const name = nameOf(damage);
    createService(sim, { name, labels: { team: 'a' }, spec: { selector: { app: name } } });
    for (const n of [1, 2]) createPod(sim, { name: `${name}-${n}`, labels: { app: name }, ip: `10.0.${i}.${n}` });
  }
  sim.start();
  sim.run(30_000);
  sim.kill();
  for (const one of DAMAGES) one.damage(sim, nameOf(one));
  return sim;
}

const UID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

describe('damage is named', () => {
  let report: Report;
  before(() => {
    report = startVerify(damagedCluster()).report();
  });

  for (const damage of DAMAGES) {
    it(damage.title, () => {
      const name = nameOf(damage);
      const i = DAMAGES.indexOf(damage);
      const lines = [name, `${name}-hand`, `${name}-orphan`].flatMap((one) => differenceLines(report, one));
      const readable = lines.map((line) =>
        line
          .replaceAll(new RegExp(`\\b${name}\\b`, 'g'), 'S')
          .replaceAll(`10.0.${i}.`, '')
          .replaceAll(UID, 'UID'),
      );
      assert.deepEqual(readable, damage.expected);
    });
  }
});
