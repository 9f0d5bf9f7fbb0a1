/** Small worlds of one service in which everything that may collide does, and what can happen to them. */
import fc from 'fast-check';
import { TOPOLOGY_MODE_ANNOTATION } from '../../../src/kube/names.ts';
import type { Endpoint, EndpointSlice, NodeRecord, PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { labelsFromRecord } from '../../support/labels.ts';
import { makePod, makeService, makeServicePort, makeNode } from '../../support/records.ts';

export interface World {
  service: ServiceRecord;
  readonly pods: Map<string, PodRecord>;
  readonly nodes: Map<string, NodeRecord>;
}

export type Change = (world: World) => void;

export function startWorld(): World {
  const nodes = ['a', 'a', 'b', 'c'].map((zone, i) => makeNode(`node-${i}`, zone));
  return { service: makeService(), pods: new Map(), nodes: new Map(nodes.map((node) => [node.name, node])) };
}

/** A named function prints as what it does. */
function named(name: string, change: Change): Change {
  return Object.assign(change, { [fc.toStringMethod]: () => name });
}

export function setService(fields: Partial<ServiceRecord>): Change {
  return named(`service ${JSON.stringify(fields)}`, (world) => {
    world.service = { ...world.service, ...fields };
  });
}

const podIndex = fc.nat(9);
const nodeIndex = fc.nat(3);

function newPod(i: number, life: number, node: number): PodRecord {
  return makePod(`pod-${i}`, {
    uid: `uid-${i}-${life}`,
    podIPs: life === 2 ? [`10.0.1.${i}`] : [`10.0.0.${i}`, `fd00::${i + 1}`],
    nodeName: `node-${node}`,
    readyTime: 1000 + life,
    ports: [
      { name: 'http', containerPort: i % 3 === 0 ? 80 : 8080, protocol: 'TCP' },
      ...(i % 4 === 0 ? [] : [{ name: 'metrics', containerPort: 9090, protocol: 'TCP' }]),
    ],
  });
}

const createPod = fc.record({ i: podIndex, life: fc.nat(2), node: nodeIndex }).map(({ i, life, node }) =>
  named(`pod ${i} life ${life} node ${node}`, ({ pods }) => {
    pods.set(`pod-${i}`, newPod(i, life, node));
  }),
);

const deletePod = podIndex.map((i) => named(`no pod ${i}`, ({ pods }) => void pods.delete(`pod-${i}`)));

const changePod = fc
  .record({
    i: podIndex,
    fields: fc.constantFrom<Partial<PodRecord>[]>(
      { ready: false },
      { ready: true },
      { ready: false, readyTime: 1500 },
      { deleting: true },
      { phase: 'Succeeded' },
      { podIPs: [], podIP: '' },
      { hostname: 'host', subdomain: 'web' },
      { nodeName: 'node-3' },
      { nodeName: 'node-9' },
      { labels: labelsFromRecord({ app: 'other' }) },
      { labels: labelsFromRecord({ app: 'web' }) },
    ),
  })
  .map(({ i, fields }) =>
    named(`pod ${i} ${JSON.stringify(fields)}`, ({ pods }) => {
      const pod = pods.get(`pod-${i}`);
      if (pod !== undefined) pods.set(pod.name, { ...pod, ...fields });
    }),
  );

function scaleTo(count: number, node: number): Change {
  return named(`${count} pods`, ({ pods }) => {
    for (let i = 0; i < 10; i++) {
      if (i >= count) pods.delete(`pod-${i}`);
      else if (!pods.has(`pod-${i}`)) pods.set(`pod-${i}`, newPod(i, 0, (i + node) % 4));
    }
  });
}

export const TEN_PODS = scaleTo(10, 0);

const scale = fc
  .record({ count: fc.constantFrom(0, 0, 3, 6, 10), node: nodeIndex })
  .map(({ count, node }) => scaleTo(count, node));

const changeService = fc
  .constantFrom<Partial<ServiceRecord>[]>(
    { labels: labelsFromRecord({ team: 'a' }) },
    { labels: labelsFromRecord({ team: 'b', 'service.kubernetes.io/headless': 'x' }) },
    { labels: [] },
    { ports: [makeServicePort({ targetPort: 8080 })] },
    { ports: [makeServicePort({ targetPort: 9090 })] },
    { ports: [makeServicePort({ name: 'http', targetPort: 'http' })] },
    {
      ports: [
        makeServicePort({ name: 'http', targetPort: 'http' }),
        makeServicePort({ name: 'metrics', targetPort: 'metrics' }),
      ],
    },
    { ports: [makeServicePort({ targetPort: 8080, appProtocol: 'h2c' })] },
    { publishNotReadyAddresses: true },
    { publishNotReadyAddresses: false },
    { ipFamilies: ['IPv4', 'IPv6'] },
    { ipFamilies: ['IPv6'] },
    { ipFamilies: ['IPv4'] },
    { uid: 'uid-web-2', creationTime: 2000 },
    // What a living service cannot change.
    { uid: 'uid-web-3', creationTime: 3000, clusterIP: 'None', ports: [] },
    { uid: 'uid-web-4', creationTime: 4000, clusterIP: '10.96.0.10' },
    { deleting: true },
    { deleting: false },
  )
  .map(setService);

export const changeDistribution = fc
  .constantFrom<Partial<ServiceRecord>[]>(
    { trafficDistribution: 'PreferClose' },
    { trafficDistribution: 'PreferSameZone' },
    { trafficDistribution: 'PreferSameNode' },
    { trafficDistribution: '' },
    { trafficDistribution: 'Elsewhere' },
  )
  .map(setService);

export const changeTopology = fc
  .constantFrom<Partial<ServiceRecord>[]>(
    { annotations: labelsFromRecord({ [TOPOLOGY_MODE_ANNOTATION]: 'Auto' }) },
    { annotations: labelsFromRecord({ [TOPOLOGY_MODE_ANNOTATION]: 'auto' }) },
    { annotations: [] },
  )
  .map(setService);

export const changeNode = fc
  .record({
    i: nodeIndex,
    node: fc.constantFrom(
      null,
      { zone: 'a' },
      { zone: 'b' },
      { zone: 'c' },
      { zone: '' },
      { zone: 'd', ready: false },
      { zone: 'a', allocatableCpu: '500m' },
    ),
  })
  .map(({ i, node }) =>
    named(`node ${i} ${JSON.stringify(node)}`, ({ nodes }) => {
      if (node === null) nodes.delete(`node-${i}`);
      else {
        const { zone, ...fields } = node;
        nodes.set(`node-${i}`, makeNode(`node-${i}`, zone, fields));
      }
    }),
  );

export const ORDINARY: fc.WeightedArbitrary<Change>[] = [
  { weight: 4, arbitrary: createPod },
  { weight: 2, arbitrary: deletePod },
  { weight: 4, arbitrary: changePod },
  { weight: 2, arbitrary: scale },
  { weight: 4, arbitrary: changeService },
  { weight: 1, arbitrary: changeNode },
];

// What others do to slices

export type Edit = (slice: EndpointSlice) => EndpointSlice | null;

export function withMetadata(slice: EndpointSlice, fields: Partial<EndpointSlice['metadata']>): EndpointSlice {
  return { ...slice, metadata: { ...slice.metadata, ...fields } };
}

function editEndpoints(change: (endpoints: readonly Endpoint[]) => readonly Endpoint[]): Edit {
  return (slice) => ({ ...slice, endpoints: change(slice.endpoints ?? []) });
}

function hint(endpoint: Endpoint, zone: string): Endpoint {
  return { ...endpoint, hints: { forZones: [{ name: zone }] } };
}

function unhinted({ addresses, targetRef }: Endpoint): Endpoint {
  return { addresses, ...(targetRef && { targetRef }) };
}

/** Null = the slice is deleted. */
const EDITS = {
  'is deleted': () => null,
  'loses an endpoint': editEndpoints((endpoints) => endpoints.slice(1)),
  'gets an endpoint': editEndpoints((endpoints) => [...endpoints, { addresses: ['10.9.9.9'] }]),
  'has an endpoint with an address more': editEndpoints(([first, ...others]) =>
    first ? [{ ...first, addresses: [...first.addresses, '10.9.9.8'] }, ...others] : [],
  ),
  'loses all endpoints': editEndpoints(() => []),
  'loses conditions': editEndpoints((endpoints) => endpoints.map(unhinted)),
  'has an endpoint in zone z': editEndpoints(([first, ...others]) =>
    first ? [{ ...first, zone: 'z' }, ...others] : [],
  ),
  'has a hint': editEndpoints(([first, ...others]) => (first ? [hint(first, 'a'), ...others] : [])),
  'gets a label': (slice) => withMetadata(slice, { labels: { ...slice.metadata.labels, mine: 'yes' } }),
  'has no owner': (slice) => withMetadata(slice, { ownerReferences: [] }),
  'is being deleted': (slice) => withMetadata(slice, { deletionTimestamp: '2024-05-01T10:00:00Z' }),
  'has no ports': (slice) => ({ ...slice, ports: [] }),
  'is copied': (slice) => withMetadata(slice, { name: `${slice.metadata.name}-too`, uid: 'copy' }),
} satisfies Record<string, Edit>;

const HINT_EDITS = {
  'hints all to a': editEndpoints((endpoints) => endpoints.map((endpoint) => hint(endpoint, 'a'))),
  'hints all to b': editEndpoints((endpoints) => endpoints.map((endpoint) => hint(endpoint, 'b'))),
  'hints one to a': EDITS['has a hint'],
  'hints one to c': editEndpoints(([first, ...others]) => (first ? [hint(first, 'c'), ...others] : [])),
} satisfies Record<string, Edit>;

export interface ForeignEdit {
  /** Which slice, by name. */
  readonly at: number;
  readonly edit: Edit;
}

function arbitraryEdits(edits: Readonly<Record<string, Edit>>): fc.Arbitrary<readonly ForeignEdit[]> {
  const edit = fc
    .record({ at: fc.nat(4), name: fc.constantFrom(...Object.keys(edits)) })
    .map(({ at, name }): ForeignEdit & { [fc.toStringMethod]: () => string } => {
      return { at, edit: edits[name]!, [fc.toStringMethod]: () => `slice ${at} ${name}` };
    });
  return fc.array(edit, { minLength: 1, maxLength: 3 });
}

export const foreignEdits = arbitraryEdits({ ...EDITS, ...HINT_EDITS });
export const hintEdits = arbitraryEdits(HINT_EDITS);

/** Nothing that keeps hints by CPU from being possible for long. */
export const STEADY: readonly fc.WeightedArbitrary<Change>[] = [
  { weight: 2, arbitrary: createPod },
  { weight: 1, arbitrary: deletePod },
  {
    weight: 1,
    arbitrary: fc.record({ i: nodeIndex, cpu: fc.constantFrom('1', '4', '9') }).map(({ i, cpu }) =>
      named(`node ${i} has ${cpu} CPUs`, ({ nodes }) => {
        const node = nodes.get(`node-${i}`);
        if (node !== undefined) nodes.set(node.name, { ...node, allocatableCpu: cpu });
      }),
    ),
  },
];
