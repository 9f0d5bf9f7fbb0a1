import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInputs } from '../../src/judge/check-inputs.ts';
import { wrongObjects, wrongText, type CheckOptions, type ClusterObjects } from '../../src/judge/cluster-check.ts';
import { createPrng } from '../../src/lib/prng.ts';
import { FOREIGN_DEEDS, foreignChange } from '../support/foreign-hand.ts';
import type { KubeObject, ObjectMeta } from '../../src/kube/types.ts';

function object(kind: string, metadata: ObjectMeta, fields: object): KubeObject {
  return { apiVersion: 'v1', kind, metadata: { namespace: 'shop', ...metadata }, ...fields };
}

function service(name: string, spec: object = {}, metadata: ObjectMeta = {}): KubeObject {
  const ports = [{ name: '', port: 80, protocol: 'TCP', targetPort: 8080 }];
  return object(
    'Service',
    { name, uid: `${name}-uid`, ...metadata },
    { spec: { type: 'ClusterIP', clusterIP: '10.96.0.9', ipFamilies: ['IPv4'], ports, ...spec } },
  );
}

const WEB = service('web', { selector: { app: 'web' } });
const HAND = service('hand');
const POD = object(
  'Pod',
  { name: 'web-1', uid: 'p', labels: { app: 'web', tier: 'front' } },
  {
    spec: { nodeName: 'node-1', containers: [{ name: 'web' }] },
    status: {
      phase: 'Running',
      podIP: '10.64.0.1',
      podIPs: [{ ip: '10.64.0.1' }],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  },
);
const NODE: KubeObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-1', labels: { 'topology.kubernetes.io/zone': 'a' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};
const TARGET = { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'p' };
const WEB_ENDPOINTS = object(
  'Endpoints',
  { name: 'web', labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
  {
    subsets: [
      {
        addresses: [{ ip: '10.64.0.1', nodeName: 'node-1', targetRef: TARGET }],
        ports: [{ port: 8080, protocol: 'TCP' }],
      },
    ],
  },
);
const HAND_ENDPOINTS = object(
  'Endpoints',
  { name: 'hand', uid: 'e' },
  { subsets: [{ addresses: [{ ip: '1.2.3.4' }] }] },
);

function slice(name: string, owner: KubeObject, controller: string, endpoints: object[], ports: object[]): KubeObject {
  const { kind, metadata } = owner;
  return object(
    'EndpointSlice',
    {
      name,
      labels: {
        'kubernetes.io/service-name': metadata.name!,
        'endpointslice.kubernetes.io/managed-by': `${controller}.k8s.io`,
      },
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind,
          name: metadata.name!,
          uid: metadata.uid!,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    { addressType: 'IPv4', endpoints, ports },
  );
}

const WEB_SLICE = slice(
  'web-abc',
  WEB,
  'endpointslice-controller',
  [
    {
      addresses: ['10.64.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: 'node-1',
      zone: 'a',
      targetRef: TARGET,
    },
  ],
  [{ name: '', port: 8080, protocol: 'TCP' }],
);
const HAND_SLICE = slice(
  'hand-abc',
  HAND_ENDPOINTS,
  'endpointslicemirroring-controller',
  [{ addresses: ['1.2.3.4'], conditions: { ready: true } }],
  [],
);
const RIGHT: ClusterObjects = {
  services: [WEB, HAND],
  pods: [POD],
  nodes: [NODE],
  endpoints: [WEB_ENDPOINTS, HAND_ENDPOINTS],
  slices: [WEB_SLICE, HAND_SLICE],
};

function wrong(change: Partial<ClusterObjects>, options: Partial<CheckOptions> = {}): string[] {
  return wrongObjects({ ...RIGHT, ...change }, options).map(({ kind, name, reason }) => `${kind} ${name}: ${reason}`);
}

test('a cluster with right objects has no faults', () => assert.deepEqual(wrong({}), []));

test('a missing object is reported for each controller that runs', () => {
  const nothing = { endpoints: [HAND_ENDPOINTS], slices: [] };
  assert.deepEqual(wrong(nothing), [
    'Endpoints shop/web: is missing',
    'EndpointSlice shop/web: no slice for IPv4',
    'EndpointSlice shop/hand: IPv4 : 1.2.3.4 ready is not mirrored',
  ]);
  assert.deepEqual(wrong(nothing, { slicesController: false, mirroringController: false }), [
    'Endpoints shop/web: is missing',
  ]);
  assert.deepEqual(wrong(nothing, { except: new Set(['shop']) }), []);
});

test('a wrong object is reported with its first difference', () => {
  const notReady = { ...POD, status: { ...(POD['status'] as object), conditions: [] } };
  assert.deepEqual(wrong({ pods: [notReady] }), [
    'Endpoints shop/web: lacks "not ready 10.64.0.1  node-1 Pod shop/web-1 p"',
    'EndpointSlice shop/web-abc: 10.64.0.1 ready, serving, not terminating on node-1 in a for Pod shop/web-1 p' +
      ' should be 10.64.0.1 not ready, not serving, not terminating on node-1 in a for Pod shop/web-1 p',
  ]);
});

test('left-over Endpoints and mirrored slices are wrong, other slices once collected', () => {
  const gone = { services: [] };
  const leftOver = ['Endpoints shop/web: has no Service', 'EndpointSlice shop/hand-abc: mirrors nothing'];
  assert.deepEqual(wrong(gone), leftOver);
  assert.deepEqual(wrong(gone, { garbageCollected: true }), [
    leftOver[0],
    'EndpointSlice shop/web-abc: has no Service',
    leftOver[1],
  ]);
});

test('a Service that lost its selector keeps its objects, and is mirrored', () => {
  const services = [service('web'), HAND];
  const endpoints = [{ ...WEB_ENDPOINTS, metadata: { ...WEB_ENDPOINTS.metadata, uid: 'w' } }, HAND_ENDPOINTS];
  assert.deepEqual(wrong({ services, endpoints }), [
    'EndpointSlice shop/web: IPv4 ["","TCP",8080,null]: 10.64.0.1 ready on node-1 for Pod shop/web-1 p is not mirrored',
  ]);
});

test('slices that are being deleted, or of nobody or others, are not judged', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const going = { ...WEB_SLICE, metadata: { ...WEB_SLICE.metadata, name: 'going', deletionTimestamp } };
  const others = slice('theirs', WEB, 'theirs', [], []);
  const nobodys = { ...WEB_SLICE, metadata: { ...WEB_SLICE.metadata, labels: {} } };
  assert.deepEqual(wrong({ slices: [WEB_SLICE, HAND_SLICE, going, others, nobodys] }), []);
  const ending = service('web', { selector: { app: 'web' } }, { deletionTimestamp });
  assert.deepEqual(wrong({ services: [ending, HAND], slices: [HAND_SLICE] }), []);
});

test('every edit of a foreign hand shows', () => {
  for (const deed of FOREIGN_DEEDS) {
    const { request } = foreignChange(createPrng(1), [WEB_SLICE], [deed])!;
    const body = request.body as Partial<KubeObject>;
    const labels = { ...WEB_SLICE.metadata.labels, ...body.metadata?.labels };
    const changed = { ...WEB_SLICE, ...body, metadata: { ...WEB_SLICE.metadata, ...body.metadata, labels } };
    const held = { POST: [WEB_SLICE, changed], PATCH: [changed], DELETE: [] }[request.method];
    assert.equal(wrong({ slices: [...held, HAND_SLICE] }).length > 0, true, deed);
  }
});

test('a message shows the first few faults', () => {
  const faults = wrongObjects({ ...RIGHT, endpoints: [HAND_ENDPOINTS], slices: [] });
  assert.equal(wrongText(faults, 1), 'Endpoints shop/web: is missing\nand 2 more');
});

test('a service is matched with the pods that have its first label alone', () => {
  const services = Array.from({ length: 100 }, (_, i) => service(`s${i}`, { selector: { app: `s${i}` } }));
  const pods = Array.from({ length: 500 }, (_, i) => ({
    ...POD,
    metadata: { ...POD.metadata, name: `p${i}`, labels: { app: `s${i % 100}`, tier: 'front' } },
  }));
  assert.equal(wrongObjects({ ...RIGHT, services, pods, endpoints: [], slices: [] }).length, 200);
  const inputs = readInputs(services, pods, [NODE]);
  for (const record of inputs.services.values()) assert.equal(inputs.podsFor(record).length, 5, record.name);
});
