import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyPod, createMembership, subsetsOf } from '../../../src/core/endpoints/membership.ts';
import { type EndpointsPlan, planEndpoints } from '../../../src/core/endpoints/plan.ts';
import type { Endpoints, EndpointSubset, PodRecord, ServiceRecord } from '../../../src/kube/types.ts';
import { deepFreeze } from '../../support/deep-freeze.ts';
import { makePod, makeService, makeServicePort } from '../../support/records.ts';
import { subsetsByBits } from '../../support/subsets-by-bits.ts';

const MANAGED = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
const HEADLESS = { 'service.kubernetes.io/headless': '' };
const TRIGGER = 'endpoints.kubernetes.io/last-change-trigger-time';
const OVER = 'endpoints.kubernetes.io/over-capacity';

interface PlanCase {
  readonly service?: ServiceRecord;
  readonly pods?: readonly PodRecord[];
  readonly stored?: Endpoints | null;
  readonly triggerTime?: number;
}

/** All frozen: a plan that changes its input throws. */
function planFor({ service = makeService(), pods = [], stored = null, triggerTime = 0 }: PlanCase): EndpointsPlan {
  const subsets = subsetsFor(service, pods);
  return planEndpoints(deepFreeze({ service, subsets, stored, isCanonical: false, triggerTime }));
}

function subsetsFor(service: ServiceRecord, pods: readonly PodRecord[]): readonly EndpointSubset[] {
  const membership = createMembership(service, { tolerateUnreadyEndpointsAnnotation: false });
  for (const pod of pods) applyPod(membership, pod.name, pod);
  return subsetsOf(membership);
}

function storedEndpoints(
  subsets: readonly EndpointSubset[] | undefined,
  metadata: Endpoints['metadata'] = {},
): Endpoints {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'ns', uid: 'e', resourceVersion: '5', labels: MANAGED, ...metadata },
    ...(subsets && { subsets }),
  };
}

/** Pods p1, p2, ... at 10.0.0.1, 10.0.0.2, ...; the ones after `ready` are not ready. */
function manyPods(ready: number, notReady = 0, fields: Parameters<typeof makePod>[1] = {}): PodRecord[] {
  return Array.from({ length: ready + notReady }, (_, i) => {
    const podIPs = [`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`];
    return makePod(`p${i}`, { podIPs, ready: i < ready, ...fields });
  });
}

/** The same pod with a container port `http`. */
function offering(each: PodRecord, containerPort: number): PodRecord {
  return { ...each, ports: [{ name: 'http', containerPort, protocol: 'TCP' }] };
}

function addressOf(pod: PodRecord): NonNullable<EndpointSubset['addresses']>[number] {
  const { namespace, name, uid } = pod;
  return { ip: pod.podIP, nodeName: pod.nodeName, targetRef: { kind: 'Pod', namespace, name, uid } };
}

const pod = makePod('p');
const right = [{ addresses: [addressOf(pod)], ports: [{ port: 8080, protocol: 'TCP' }] }];

// Whose Endpoints are left alone

test('without a selector nothing is planned, whatever is stored', () => {
  const service = makeService({ selector: null });
  assert.equal(planFor({ service, stored: storedEndpoints([{ addresses: [{ ip: '6.7.8.9' }] }]) }).object, null);
  assert.equal(planFor({ service }).object, null);
});

for (const [name, fields] of [
  ['selector and ports', {}],
  ['ports', { selector: null }],
  ['selector', { ports: [] }],
  ['neither', { selector: null, ports: [] }],
] as const) {
  test(`ExternalName with ${name}: nothing is planned`, () => {
    const service = makeService({ type: 'ExternalName', clusterIP: '', ...fields });
    assert.equal(planFor({ service, pods: [pod] }).object, null);
    assert.equal(planFor({ service, pods: [pod], stored: storedEndpoints(right) }).object, null);
  });
}

// Create

test('a new object is whole, without namespace, version or uid', () => {
  const service = makeService({ labels: { foo: 'bar' } });
  assert.deepEqual(planFor({ service, pods: [pod], triggerTime: 1_785_848_518 }), {
    object: {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: {
        name: 'web',
        labels: { foo: 'bar', ...MANAGED },
        annotations: { [TRIGGER]: '2026-08-04T13:01:58Z' },
      },
      subsets: right,
    },
    ready: 1,
    notReady: 0,
    truncated: 0,
    problems: [],
  });
});

test('a new service without pods gets an object without subsets', () => {
  assert.deepEqual(planFor({}).object, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', labels: MANAGED },
  });
});

test('three pods with two ports are sorted', () => {
  const ports = [
    makeServicePort({ name: 'port0', targetPort: 8080 }),
    makeServicePort({ name: 'port1', port: 88, targetPort: 8088 }),
  ];
  const [subset] = planFor({ service: makeService({ ports }), pods: manyPods(3).reverse() }).object!.subsets!;
  assert.deepEqual(
    subset!.addresses!.map(({ ip }) => ip),
    ['10.0.0.0', '10.0.0.1', '10.0.0.2'],
  );
  assert.deepEqual(
    subset!.ports!.map(({ name }) => name),
    ['port1', 'port0'],
  );
});

test('an empty selector selects every pod it is given, ready or not', () => {
  const service = makeService({ selector: {} });
  const plan = planFor({ service, pods: manyPods(2, 3) });
  assert.deepEqual([plan.ready, plan.notReady], [2, 3]);
});

test('a headless service writes both labels', () => {
  const service = makeService({ clusterIP: 'None', ports: [] });
  const plan = planFor({ service, pods: [pod] });
  assert.deepEqual(plan.object!.metadata.labels, { ...MANAGED, ...HEADLESS });
  assert.deepEqual(plan.object!.subsets, [{ addresses: right[0]!.addresses }]);
});

// No write

function checkRight(name: string, planCase: PlanCase): void {
  test(`no write is planned: ${name}`, () => assert.equal(planFor(planCase).object, null));
}

checkRight('no pods, absent subsets', { stored: storedEndpoints(undefined) });
checkRight('no pods, empty subsets', { stored: storedEndpoints([]) });
checkRight('the same subsets', { pods: [pod], stored: storedEndpoints(right) });
checkRight('only the pod reference has a resourceVersion', {
  pods: [pod],
  stored: storedEndpoints([
    {
      ...right[0],
      addresses: [{ ...addressOf(pod), targetRef: { ...addressOf(pod).targetRef, resourceVersion: '1' } }],
    },
  ]),
});
checkRight('a new trigger time alone', { pods: [pod], stored: storedEndpoints(right), triggerTime: 5000 });
checkRight('foreign annotations', { pods: [pod], stored: storedEndpoints(right, { annotations: { mine: 'x' } }) });
checkRight('the headless label of a headless service', {
  service: makeService({ clusterIP: 'None' }),
  pods: [pod],
  stored: storedEndpoints(right, { labels: { ...MANAGED, ...HEADLESS } }),
});
checkRight('a service that carries the reserved labels itself', {
  service: makeService({ labels: { ...HEADLESS, 'endpoints.kubernetes.io/managed-by': 'me' } }),
  pods: [pod],
  stored: storedEndpoints(right),
});

const threePorts = makeService({
  ports: [
    makeServicePort({ name: 'http', targetPort: 8080 }),
    makeServicePort({ name: 'https', targetPort: 8443 }),
    makeServicePort({ name: 'metrics', targetPort: 9090 }),
  ],
});
const inAnyOrder = [
  {
    addresses: manyPods(2).map(addressOf).reverse(),
    ports: [
      { name: 'https', port: 8443, protocol: 'TCP' },
      { name: 'metrics', port: 9090, protocol: 'TCP' },
      { name: 'http', port: 8080, protocol: 'TCP' },
    ],
  },
];
checkRight('the order of ports that 1.34 wrote', {
  service: threePorts,
  pods: manyPods(2),
  stored: storedEndpoints(inAnyOrder),
});
checkRight('a subset for each port', {
  service: threePorts,
  pods: manyPods(2),
  stored: storedEndpoints(inAnyOrder[0]!.ports.map((port) => ({ addresses: inAnyOrder[0]!.addresses, ports: [port] }))),
});

// Update

function checkUpdate(name: string, planCase: PlanCase & { stored: Endpoints }): void {
  test(`an update is planned: ${name}`, () => {
    const plan = planFor(planCase);
    assert.notEqual(plan.object, null);
    assert.equal(plan.object!.metadata.resourceVersion, '5');
    assert.equal(plan.object!.metadata.uid, 'e');
    assert.deepEqual(planFor({ ...planCase, stored: plan.object }).object, null, 'and then it is right');
  });
}

for (const protocol of ['TCP', 'UDP', 'SCTP']) {
  checkUpdate(`another protocol, ${protocol}`, {
    service: makeService({ ports: [makeServicePort({ protocol })] }),
    pods: [pod],
    stored: storedEndpoints([{ addresses: [{ ip: '6.7.8.9' }], ports: [{ port: 1000, protocol: 'DCCP' }] }]),
  });
}
checkUpdate('another address', {
  pods: [pod],
  stored: storedEndpoints([{ ...right[0], addresses: [{ ip: '1.1.1.1' }] }]),
});
checkUpdate('an address without a node got one', {
  pods: [pod],
  stored: storedEndpoints([{ ...right[0], addresses: [{ ...addressOf(pod), nodeName: undefined }] }]),
});
checkUpdate('a pod turned not ready', { pods: [makePod('p', { ready: false })], stored: storedEndpoints(right) });
// Upstream compares a pointer: equal ports of two stored subsets are two ports, which no layout of its own has.
checkUpdate('two subsets that share a port with appProtocol', {
  service: makeService({ ports: [makeServicePort({ appProtocol: 'h2c' })] }),
  pods: manyPods(2),
  stored: storedEndpoints(
    manyPods(2).map((each) => ({
      addresses: [addressOf(each)],
      ports: [{ port: 8080, protocol: 'TCP', appProtocol: 'h2c' }],
    })),
  ),
});
checkUpdate('no pods any more', { stored: storedEndpoints(right) });
checkUpdate('a label of the service changed', {
  service: makeService({ labels: { foo: 'baz' } }),
  pods: [pod],
  stored: storedEndpoints(right, { labels: { ...MANAGED, foo: 'bar' } }),
});
checkUpdate('a label that somebody added', {
  pods: [pod],
  stored: storedEndpoints(right, { labels: { ...MANAGED, x: 'y' } }),
});
checkUpdate('an object of 1.32, without our label', { pods: [pod], stored: storedEndpoints(right, { labels: {} }) });
checkUpdate('no labels at all', { pods: [pod], stored: storedEndpoints(right, { labels: undefined }) });
checkUpdate('a headless label that is wrong', {
  pods: [pod],
  stored: storedEndpoints(right, { labels: { ...MANAGED, ...HEADLESS } }),
});
checkUpdate('a headless label that is missing', {
  service: makeService({ clusterIP: 'None' }),
  pods: [pod],
  stored: storedEndpoints(right),
});

test('terminal pods are no endpoints', () => {
  const pods = [
    makePod('a', { phase: 'Failed', ready: false }),
    makePod('b', { phase: 'Succeeded', ready: false }),
    makePod('c', { phase: 'Succeeded' }),
  ];
  assert.equal(planFor({ pods }).object!.subsets, undefined);
});

test('other fields that the server keeps in the object stay', () => {
  const metadata = {
    generateName: 'g',
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['f'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'web', uid: 'u' }],
    annotations: { mine: 'x', [TRIGGER]: '2020-01-01T00:00:00Z' },
  };
  const { object } = planFor({ pods: [pod], stored: storedEndpoints([], metadata), triggerTime: 86_400 });
  assert.deepEqual(object!.metadata, {
    name: 'web',
    namespace: 'ns',
    uid: 'e',
    resourceVersion: '5',
    labels: MANAGED,
    ...metadata,
    annotations: { mine: 'x', [TRIGGER]: '1970-01-02T00:00:00Z' },
  });
});

// Trigger time

test('the trigger time replaces an old one', () => {
  const stored = storedEndpoints([], { annotations: { [TRIGGER]: '2001-01-01T00:00:00Z' } });
  const plan = planFor({ pods: [pod], stored, triggerTime: 1000 });
  assert.deepEqual(plan.object!.metadata.annotations, { [TRIGGER]: '1970-01-01T00:16:40Z' });
});

test('without a trigger time the old one goes, and an empty list of annotations too', () => {
  const stored = storedEndpoints([], { annotations: { [TRIGGER]: '2001-01-01T00:00:00Z' } });
  assert.ok(!Object.hasOwn(planFor({ pods: [pod], stored }).object!.metadata, 'annotations'));
});

test('a time that no calendar knows is left out', () => {
  assert.equal(planFor({ pods: [pod], triggerTime: 1e15 }).object!.metadata.annotations, undefined);
});

// Over capacity

const capacity: [
  name: string,
  ready: number,
  notReady: number,
  stored: string | undefined,
  expected: string | undefined,
][] = [
  ['few addresses', 10, 0, undefined, undefined],
  ['few addresses, marked before', 10, 0, 'truncated', undefined],
  ['few addresses, marked as in 1.21', 10, 0, 'warning', undefined],
  ['exactly 1,000', 999, 1, undefined, undefined],
  ['too many', 1001, 0, undefined, 'truncated'],
  ['too many, marked as in 1.21', 1001, 0, 'warning', 'truncated'],
  ['too many, marked with nonsense', 1001, 0, 'invalid', 'truncated'],
  ['too many, marked before', 1001, 0, 'truncated', 'truncated'],
  ['ready ones fit, all do not', 900, 200, undefined, 'truncated'],
];
for (const [name, ready, notReady, before, expected] of capacity) {
  test(`capacity: ${name} has the mark that it needs`, () => {
    const annotations = before === undefined ? undefined : { [OVER]: before };
    const pods = manyPods(ready, notReady);
    const plan = planFor({ pods, stored: storedEndpoints([], { annotations }) });
    assert.notEqual(plan.object, null);
    assert.equal(plan.object!.metadata.annotations?.[OVER], expected);
    assert.deepEqual(
      [plan.ready, plan.notReady, plan.truncated],
      [Math.min(ready, 1000), Math.min(notReady, 1000 - Math.min(ready, 1000)), Math.max(0, ready + notReady - 1000)],
    );
    assert.equal(planFor({ pods, stored: plan.object }).object, null, 'and then it is right');
  });
}

test('a missing or surplus mark of capacity is reason enough to write', () => {
  const marked = planFor({ pods: manyPods(1001) }).object!;
  const { [OVER]: _, ...annotations } = marked.metadata.annotations!;
  const unmarked = { ...marked, metadata: { ...marked.metadata, annotations } };
  assert.equal(planFor({ pods: manyPods(1001), stored: unmarked }).object!.metadata.annotations![OVER], 'truncated');
  const surplus = storedEndpoints(right, { annotations: { [OVER]: 'truncated' } });
  assert.equal('annotations' in planFor({ pods: [pod], stored: surplus }).object!.metadata, false);
});

test('truncation is told once, by the plan that marks the object', () => {
  const pods = manyPods(1001);
  const first = planFor({ pods });
  assert.deepEqual(first.problems, [
    {
      kind: 'truncated',
      object: 'service ns/web',
      field: 'subsets',
      message: '1001 addresses, cut to 1000: an Endpoints object holds 1000',
    },
  ]);
  assert.deepEqual(planFor({ pods: manyPods(1002), stored: first.object }).problems, []);
});

test('a rolling update over capacity writes no subset without addresses', () => {
  const service = makeService({ ports: [makeServicePort({ name: 'http', targetPort: 'http' })] });
  const pods = manyPods(1001, 20).map((each) => offering(each, each.ready ? 8080 : 9090));
  const plan = planFor({ service, pods });
  assert.equal(plan.object!.subsets!.length, 1);
  assert.equal(planFor({ service, pods, stored: plan.object }).object, null);
});

test('truncated subsets in another order are left alone too', () => {
  const service = makeService({ ports: [makeServicePort({ name: 'http', targetPort: 'http' })] });
  const pods = manyPods(1200).map((each, i) => offering(each, 1 + (i % 3)));
  const { object } = planFor({ service, pods });
  assert.equal(object!.subsets!.length, 3);
  const stored = { ...object!, subsets: object!.subsets!.toReversed() };
  assert.equal(planFor({ service, pods, stored }).object, null);
});

test('canonical subsets are not repacked: any difference is written', () => {
  const service = makeService();
  const subsets = subsetsFor(service, [pod]);
  const input = { service, stored: storedEndpoints(subsets), isCanonical: true, triggerTime: 0 };
  assert.equal(planEndpoints({ ...input, subsets }).object, null);
  assert.notEqual(planEndpoints({ ...input, subsets: subsetsFor(service, manyPods(2)) }).object, null);
});

test('a full object in another order of subsets is left alone', () => {
  const service = makeService({ ports: [makeServicePort({ name: 'http', targetPort: 'http' })] });
  const pods = manyPods(1000).map((each, i) => offering(each, 1 + (i % 2)));
  const { object } = planFor({ service, pods });
  assert.equal(object!.subsets!.length, 2);
  assert.equal(planFor({ service, pods, stored: { ...object!, subsets: object!.subsets!.toReversed() } }).object, null);
});

test('stored Endpoints that are too large to be laid out are not right', () => {
  assert.notEqual(planFor({ pods: [pod], stored: storedEndpoints(subsetsByBits(14, 71, 8000)) }).object, null);
});
