/** What the planner takes in of pods, services and slices, and what it makes of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ackSlice, type SlicesPlan } from '../../../src/core/slices/plan.ts';
import {
  applySlicesPod,
  createServiceSlices,
  forgetStoredSlices,
  observeSlice,
  setSlicesSpec,
  slicePodNames,
  slicePodState,
  storedSlice,
} from '../../../src/core/slices/service-slices.ts';
import type { FamilyFacts } from '../../../src/core/slices/facts.ts';
import { slicesListing } from '../../../src/core/slices/family-slices.ts';
import { makePod, makeService, makeServicePort } from '../../support/records.ts';
import {
  carryOut,
  createSlicesWorld,
  endpointOf,
  manyPods,
  ownedBy,
  plan,
  putPod,
  putSlice,
  removePod,
  removeSlice,
  setService,
  sizes,
  slice,
  type SlicesWorld,
  sliceLabelsOf,
  sync,
  verbs,
} from './slices-world.ts';

const CONFIG = { maxEndpointsPerSlice: 100, tolerateUnreadyEndpointsAnnotation: false, compactSlices: false };

function familyFacts({ facts }: SlicesPlan): Partial<FamilyFacts> {
  const { added, removed, endpoints, slices, slicesDesired } = facts.families[0]!;
  return { added, removed, endpoints, slices, slicesDesired };
}

/** Of the writes, such as `update web-0`. */
function named({ writes }: SlicesPlan): string[] {
  return writes.map(({ verb, name }) => `${verb} ${name}`);
}

// Pods

test('a pod replaces the one of its name, and the old record is returned', () => {
  const s = createServiceSlices(CONFIG);
  const first = makePod('p');
  const second = makePod('p', { ready: false });
  assert.equal(applySlicesPod(s, 'p', { pod: first, zone: 'a' }), null);
  assert.equal(applySlicesPod(s, 'p', { pod: first, zone: 'b' }), first);
  assert.equal(applySlicesPod(s, 'p', { pod: second, zone: 'b' }), first);
  assert.deepEqual([...slicePodNames(s)], ['p']);
  assert.equal(applySlicesPod(s, 'p', null), second);
  assert.equal(applySlicesPod(s, 'p', null), null);
  assert.deepEqual([...slicePodNames(s)], []);
});

test('pods and slices may come before the service', () => {
  const s = createServiceSlices(CONFIG);
  const pod = makePod('p');
  applySlicesPod(s, 'p', { pod, zone: '' });
  observeSlice(s, 'web-0', slice('web-0', [endpointOf(pod)]));
  setSlicesSpec(s, makeService());
  const world: SlicesWorld = { service: makeService(), slices: s, server: new Map(), revision: 1, shares: null };
  assert.equal(verbs(plan(world)), 'none');
});

const excluded: [name: string, fields: Parameters<typeof makePod>[1]][] = [
  ['Succeeded', { phase: 'Succeeded' }],
  ['Failed', { phase: 'Failed' }],
  ['Failed though it is terminating', { phase: 'Failed', deleting: true }],
  ['without an address', { podIP: '', podIPs: [] }],
];
for (const [name, fields] of excluded) {
  for (const publishNotReadyAddresses of [false, true]) {
    test(`a pod that is ${name} is left out${publishNotReadyAddresses ? ', published or not' : ''}`, () => {
      const service = makeService({ publishNotReadyAddresses });
      assert.equal(plan(createSlicesWorld({ service, pods: [makePod('p', fields)] })).facts.families[0]!.endpoints, 0);
    });
  }
}

test('a terminating pod stays, and is not ready', () => {
  const world = createSlicesWorld({ pods: [makePod('p', { deleting: true })] });
  const [endpoint] = plan(world).writes[0]!.object!.endpoints!;
  assert.deepEqual(endpoint!.conditions, { ready: false, serving: true, terminating: true });
});

test('with publishNotReadyAddresses all pods are ready, though a third is not', () => {
  const pods = manyPods(6).map((pod, i) => Object.assign({}, pod, { ready: i % 3 !== 0 }));
  const ready = (publishNotReadyAddresses: boolean): number => {
    const world = createSlicesWorld({ pods, service: makeService({ publishNotReadyAddresses }) });
    return plan(world).writes[0]!.object!.endpoints!.filter(({ conditions }) => conditions!.ready!).length;
  };
  assert.deepEqual([ready(true), ready(false)], [6, 4]);
});

test('publishNotReadyAddresses counts from the moment that it is set', () => {
  const world = createSlicesWorld({ pods: [makePod('p', { ready: false })] });
  sync(world);
  setService(world, makeService({ publishNotReadyAddresses: true }));
  const [endpoint] = plan(world).writes[0]!.object!.endpoints!;
  assert.deepEqual(endpoint!.conditions, { ready: true, serving: false, terminating: false });
});

test('two pods with one address are two endpoints', () => {
  const world = createSlicesWorld({ pods: [makePod('p'), makePod('q')] });
  assert.equal(verbs(sync(world)), '1 create');
  assert.deepEqual(sizes(world), [2]);
});

test('a pod that comes back with its name and address keeps its place', () => {
  const world = createSlicesWorld({ pods: manyPods(3), max: 2 });
  sync(world);
  removePod(world, 'p000');
  putPod(world, { ...manyPods(1)[0]!, uid: 'another' });
  const planned = sync(world);
  assert.equal(verbs(planned), '1 update');
  const places = planned.writes[0]!.object!.endpoints!.map(({ targetRef }) => `${targetRef!.name} ${targetRef!.uid}`);
  assert.deepEqual(places, ['p000 another', 'p001 uid-p001']);
});

test('a pod that comes back with another address is another endpoint', () => {
  const world = createSlicesWorld({ pods: manyPods(2) });
  sync(world);
  putPod(world, { ...manyPods(1)[0]!, podIP: '10.0.9.9', podIPs: null });
  const planned = sync(world);
  assert.deepEqual(familyFacts(planned), { added: 1, removed: 1, endpoints: 2, slices: 1, slicesDesired: 1 });
  assert.deepEqual(
    planned.writes[0]!.object!.endpoints!.map(({ addresses }) => addresses[0]),
    ['10.0.0.1', '10.0.9.9'],
  );
});

test('changes that come to nothing write nothing', () => {
  const world = createSlicesWorld({ pods: manyPods(3) });
  sync(world);
  const [pod] = manyPods(1);
  putPod(world, { ...pod!, ready: false });
  putPod(world, { ...pod!, resourceVersion: '7' });
  removePod(world, 'p001');
  putPod(world, manyPods(1, 1)[0]!);
  assert.equal(verbs(plan(world)), 'none');
});

test('a pod that offers no port is in a slice without ports (ingress-nginx #9141)', () => {
  const service = makeService({ ports: [makeServicePort({ targetPort: 'http' })] });
  const { object } = plan(createSlicesWorld({ service, pods: [makePod('p')] })).writes[0]!;
  assert.deepEqual([object!.ports, object!.endpoints!.length], [[], 1]);
});

// Nodes

test('a pod on an unknown node waits, is reported once, and comes when the node does', () => {
  const world = createSlicesWorld();
  putPod(world, makePod('p'), null);
  const first = plan(world);
  assert.deepEqual([first.facts.waitingForNode, first.facts.families[0]!.endpoints], [1, 0]);
  assert.deepEqual(first.problems, [
    {
      kind: 'unknown-node',
      object: 'pod ns/p',
      field: 'spec.nodeName',
      message: 'no such node, left out until there is: "node-1"',
    },
  ]);
  putPod(world, makePod('p', { ready: false }), null);
  assert.deepEqual(plan(world).problems, []);
  putPod(world, makePod('p'), 'zone-a');
  const then = plan(world);
  assert.equal(then.facts.waitingForNode, 0);
  assert.equal(then.writes[0]!.object!.endpoints![0]!.zone, 'zone-a');
});

test('a pod on an unknown node is told once its Service hides unready pods', () => {
  const world = createSlicesWorld({ service: makeService({ publishNotReadyAddresses: true }) });
  putPod(world, makePod('p'), null);
  assert.deepEqual(sync(world).problems, []);
  setService(world, makeService());
  const { problems, facts } = plan(world);
  assert.deepEqual([problems.map(({ kind }) => kind), facts.waitingForNode], [['unknown-node'], 1]);
});

test('a new zone of its node updates an endpoint', () => {
  const world = createSlicesWorld({ pods: manyPods(2) });
  sync(world);
  putPod(world, manyPods(1)[0]!, 'zone-b');
  assert.equal(verbs(sync(world)), '1 update');
  putPod(world, manyPods(1)[0]!, 'zone-b');
  assert.equal(verbs(plan(world)), 'none');
});

test('a bad address is reported once and affects no other (#109152)', () => {
  const bad = makePod('bad', { podIPs: ['169.254.1.1'] });
  const world = createSlicesWorld({ pods: [bad, makePod('good')] });
  const planned = sync(world);
  assert.deepEqual(sizes(world), [1]);
  assert.deepEqual(
    planned.problems.map(({ kind, object }) => [kind, object]),
    [['bad-address', 'pod ns/bad']],
  );
  putPod(world, { ...bad, ready: false });
  assert.deepEqual(plan(world).problems, []);
});

test('the annotation that publishes unready pods counts if it is honoured', () => {
  const key = 'service.alpha.kubernetes.io/tolerate-unready-endpoints';
  const ready = (value: string, tolerateUnreadyEndpointsAnnotation: boolean): [boolean, number] => {
    const service = makeService({ annotations: { [key]: value } });
    const pods = [makePod('p', { ready: false })];
    const { writes, problems } = plan(
      createSlicesWorld({ service, pods, config: { tolerateUnreadyEndpointsAnnotation } }),
    );
    return [writes[0]!.object!.endpoints![0]!.conditions!.ready!, problems.length];
  };
  assert.deepEqual(ready('true', true), [true, 0]);
  assert.deepEqual(ready('true', false), [false, 0]);
  assert.deepEqual(ready('perhaps', true), [false, 1]);
});

// The service

for (const [name, fields] of [
  ['a selector', { selector: null }],
  ['a type that has slices', { type: 'ExternalName' }],
] as const) {
  test(`without ${name} the slices stay untouched`, () => {
    const world = createSlicesWorld({ pods: manyPods(2), stored: [slice('web-x', [])] });
    setService(world, makeService(fields));
    const planned = plan(world);
    assert.equal(verbs(planned), 'none');
    assert.deepEqual(planned.facts, { families: [], topology: false, trafficDistribution: '', waitingForNode: 0 });
    setService(world, makeService());
    assert.equal(verbs(plan(world)), '1 update');
  });
}

test('slices of a family that is no longer wanted go, and come back with it', () => {
  const pods = manyPods(2).map((pod, i) => Object.assign({}, pod, { podIPs: [pod.podIP, `fd00::${i + 1}`] }));
  const world = createSlicesWorld({ pods, service: makeService({ ipFamilies: ['IPv4', 'IPv6'] }) });
  assert.equal(verbs(sync(world)), '2 create');
  setService(world, makeService());
  assert.equal(verbs(sync(world)), '1 delete');
  assert.deepEqual(sizes(world), [2]);
  setService(world, makeService({ ipFamilies: ['IPv4', 'IPv6'] }));
  assert.equal(verbs(sync(world)), '1 create');
});

test('a Service made anew gets new slices before its old ones go', () => {
  const world = createSlicesWorld({ pods: manyPods(3) });
  sync(world);
  setService(world, makeService({ uid: 'uid-another' }));
  const { writes } = sync(world);
  assert.deepEqual(
    writes.map(({ verb, phase }) => [verb, phase]),
    [
      ['create', 1],
      ['delete', 2],
    ],
  );
  assert.deepEqual(sizes(world), [3]);
});

test('a right placeholder is not written when one of an earlier service goes', () => {
  const world = createSlicesWorld();
  sync(world);
  putSlice(world, slice('web-before', [], { ports: [], metadata: { ownerReferences: [ownedBy('uid-before')] } }));
  assert.deepEqual(named(plan(world)), ['delete web-before']);
});

test("a slice with the service among its owners is the service's", () => {
  const ownerReferences = [ownedBy('uid-another'), ownedBy('uid-web')];
  const pods = manyPods(1);
  const stored = [slice('web-x', [endpointOf(pods[0]!)], { metadata: { ownerReferences } })];
  assert.equal(verbs(plan(createSlicesWorld({ pods, stored }))), 'none');
});

const strangers: [name: string, metadata: NonNullable<Parameters<typeof slice>[2]>['metadata']][] = [
  ['kind', { ownerReferences: [{ ...ownedBy('uid-web'), kind: 'Pod' }] }],
  ['apiVersion', { ownerReferences: [{ ...ownedBy('uid-web'), apiVersion: 'v2' }] }],
  ['uid', { ownerReferences: [ownedBy('uid-another')] }],
  ['nothing', { ownerReferences: [] }],
];
for (const [name, metadata] of strangers) {
  test(`a slice with an owner of another ${name} is replaced, never recycled`, () => {
    const pods = manyPods(1);
    const stored = [slice('web-x', [endpointOf(pods[0]!)], { metadata: metadata! })];
    assert.deepEqual(named(plan(createSlicesWorld({ pods, stored }))), ['create web-00000', 'delete web-x']);
  });
}

test('the headless label is written with the next write, not for its own sake', () => {
  const world = createSlicesWorld({ pods: manyPods(1) });
  sync(world);
  setService(world, makeService({ clusterIP: 'None' }));
  assert.equal(verbs(plan(world)), 'none');
  putPod(world, { ...manyPods(1)[0]!, ready: false });
  const { labels } = sync(world).writes[0]!.object!.metadata;
  assert.deepEqual(labels, sliceLabelsOf('web', { 'service.kubernetes.io/headless': '' }));
});

test('the placeholder of a headless service without ports takes the first pods', () => {
  const world = createSlicesWorld({ service: makeService({ clusterIP: 'None', ports: [] }) });
  assert.equal(verbs(sync(world)), '1 create');
  for (const pod of manyPods(3)) putPod(world, pod);
  assert.equal(verbs(sync(world)), '1 update');
  assert.deepEqual(sizes(world), [3]);
});

test('a slice keeps its name when pods go to none and come back', () => {
  const world = createSlicesWorld({ pods: manyPods(3) });
  sync(world);
  const names = [...world.server.keys()];
  for (const { name } of manyPods(3)) removePod(world, name);
  assert.equal(verbs(sync(world)), '1 update');
  for (const pod of manyPods(3)) putPod(world, pod);
  assert.equal(verbs(sync(world)), '1 update');
  assert.deepEqual([...world.server.keys()], names);
});

// A service on its way out (docs/spec/endpointslice.md "Upstream's tests")

test('nothing is created for a service that is being deleted', () => {
  const service = makeService({ deleting: true });
  assert.equal(verbs(plan(createSlicesWorld({ service, pods: manyPods(3), max: 2 }))), 'none');
  assert.equal(verbs(plan(createSlicesWorld({ service }))), 'none');
});

test('slices of a service that is being deleted are deleted as usual', () => {
  const stored = [slice('web-x', null, { ports: null }), slice('web-y', null, { ports: null })];
  assert.equal(verbs(plan(createSlicesWorld({ service: makeService({ deleting: true }), stored }))), '1 delete');
});

test('slices of a deleted service stay right, and what does not fit waits', () => {
  const world = createSlicesWorld({ pods: manyPods(2), max: 2 });
  sync(world);
  setService(world, makeService({ deleting: true }));
  putPod(world, { ...manyPods(1)[0]!, ready: false });
  for (const pod of manyPods(3, 2)) putPod(world, pod);
  const planned = sync(world);
  assert.equal(verbs(planned), '1 update');
  assert.deepEqual(familyFacts(planned), { added: 3, removed: 0, endpoints: 5, slices: 1, slicesDesired: 3 });
  setService(world, makeService());
  assert.equal(verbs(sync(world)), '2 create');
});

// What the server holds

test("the planner's state is what was observed or acknowledged", () => {
  const world = createSlicesWorld({ pods: manyPods(1) });
  const write = plan(world).writes[0]!;
  assert.equal(storedSlice(world.slices, write.name), undefined);
  ackSlice(world.slices, write, { result: 'applied', uid: 'u', resourceVersion: '5' });
  const stored = storedSlice(world.slices, write.name)!;
  assert.deepEqual([stored.metadata.uid, stored.metadata.resourceVersion], ['u', '5']);
  assert.equal(stored.endpoints, write.object!.endpoints);
});

for (const result of ['refused', 'not-sent', 'unknown'] as const) {
  test(`a write that was ${result} is planned again`, () => {
    const world = createSlicesWorld({ pods: manyPods(5), max: 2 });
    const first = plan(world);
    first.writes.forEach((write, i) =>
      ackSlice(world.slices, write, i === 1 ? { result, uid: '', resourceVersion: '' } : carryOut(world, write)),
    );
    assert.equal(verbs(sync(world)), '1 create');
    assert.deepEqual(sizes(world), [2, 2, 1]);

    putPod(world, { ...manyPods(1)[0]!, ready: false });
    removePod(world, 'p004');
    const second = plan(world);
    assert.equal(verbs(second), '1 update, 1 delete');
    for (const write of second.writes) ackSlice(world.slices, write, { result, uid: '', resourceVersion: '' });
    assert.deepEqual(named(plan(world)), named(second));
    assert.equal(verbs(sync(world)), '1 update, 1 delete');
    assert.equal(verbs(plan(world)), 'none');
  });
}

test('a create whose answer was lost is found when its slice is read', () => {
  const world = createSlicesWorld({ pods: manyPods(1) });
  const write = plan(world).writes[0]!;
  carryOut(world, write);
  ackSlice(world.slices, write, { result: 'unknown', uid: '', resourceVersion: '' });
  observeSlice(world.slices, write.name, world.server.get(write.name)!);
  assert.equal(verbs(plan(world)), 'none');
});

test('the delete of a slice does not concern a new one of its name', () => {
  const stored = slice('web-x', [], { metadata: { ownerReferences: [] } });
  const world = createSlicesWorld({ pods: manyPods(1), stored: [stored] });
  const write = plan(world).writes.find(({ verb }) => verb === 'delete')!;
  putSlice(world, slice('web-x', [], { metadata: { uid: 'another' } }));
  ackSlice(world.slices, write, { result: 'applied', uid: '', resourceVersion: '' });
  assert.equal(storedSlice(world.slices, 'web-x')!.metadata.uid, 'another');
});

test('a planner can forget its slices and be told them anew', () => {
  const world = createSlicesWorld({ pods: manyPods(5), max: 2 });
  sync(world);
  forgetStoredSlices(world.slices);
  assert.equal(verbs(plan(world)), '3 create');
  for (const [name, object] of world.server) observeSlice(world.slices, name, object);
  assert.equal(verbs(plan(world)), 'none');
});

test('slices and endpoints that somebody deletes come back (#85353)', () => {
  const world = createSlicesWorld({ pods: manyPods(4), max: 2 });
  sync(world);
  const [first, second] = [...world.server.keys()];
  removeSlice(world, first!);
  assert.equal(verbs(sync(world)), '1 create');
  putSlice(world, { ...world.server.get(second!)!, endpoints: world.server.get(second!)!.endpoints!.slice(1) });
  assert.equal(verbs(sync(world)), '1 update');
  assert.deepEqual(sizes(world), [2, 2]);
});

test('a slice with a deletionTimestamp counts as gone (#108779)', () => {
  const pods = manyPods(1);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const stored = [slice('web-x', [endpointOf(pods[0]!)], { metadata: { deletionTimestamp } })];
  assert.deepEqual(named(plan(createSlicesWorld({ pods, stored }))), ['create web-00000']);
});

test('a slice that loses our labels is replaced by another one', () => {
  const world = createSlicesWorld({ pods: manyPods(1) });
  sync(world);
  const [held] = [...world.server.values()];
  const labels = { ...held!.metadata.labels, 'endpointslice.kubernetes.io/managed-by': 'somebody' };
  putSlice(world, { ...held!, metadata: { ...held!.metadata, labels } });
  assert.equal(verbs(sync(world)), '1 create');
  assert.equal(world.server.size, 2);
});

test('labels of others are removed from a slice, and hints and order stay', () => {
  const pods = manyPods(3);
  const labels = sliceLabelsOf('web', { mine: 'yes' });
  const endpoints = pods.map((pod) => endpointOf(pod)).toReversed();
  const world = createSlicesWorld({ pods, stored: [slice('web-x', endpoints, { metadata: { labels } })] });
  const [write] = plan(world).writes;
  assert.deepEqual([write!.object!.metadata.labels, write!.object!.endpoints], [sliceLabelsOf('web'), endpoints]);
});

test("endpoints that are no pods, or other services' pods, are dropped", () => {
  const [pod] = manyPods(1);
  const other = { ...endpointOf(pod!), targetRef: { kind: 'Pod', namespace: 'other', name: pod!.name, uid: 'x' } };
  const stored = [slice('web-x', [{ addresses: ['10.0.0.0'] }, other, endpointOf(pod!)])];
  const planned = plan(createSlicesWorld({ pods: [pod!], stored }));
  assert.deepEqual(planned.writes[0]!.object!.endpoints, [endpointOf(pod!)]);
  assert.deepEqual(familyFacts(planned), { added: 0, removed: 2, endpoints: 1, slices: 1, slicesDesired: 1 });
});

// Duplicates

test('an address that somebody adds to an endpoint is removed', () => {
  const world = createSlicesWorld({ pods: manyPods(2) });
  sync(world);
  const [stored] = world.server.values();
  const [first, second] = stored!.endpoints!;
  putSlice(world, { ...stored!, endpoints: [{ ...first!, addresses: [...first!.addresses, '10.9.9.9'] }, second!] });
  assert.equal(verbs(sync(world)), '1 update');
  assert.deepEqual(
    [...world.server.values()].flatMap(({ endpoints }) => endpoints!.map(({ addresses }) => addresses.join())),
    ['10.0.0.1', '10.0.0.0'],
  );
});

test('a pod that gets a second address of its family has both', () => {
  const [pod] = manyPods(1);
  const world = createSlicesWorld({ pods: [pod!] });
  sync(world);
  putPod(world, { ...pod!, podIPs: [pod!.podIP, '10.9.9.9'] });
  assert.equal(verbs(sync(world)), '1 update');
  const [stored] = world.server.values();
  assert.deepEqual(
    stored!.endpoints!.map(({ addresses }) => addresses),
    [[pod!.podIP, '10.9.9.9']],
  );
});

test('of two places of an endpoint the first slice by name keeps it', () => {
  const pods = manyPods(3);
  const [a, b, c] = pods.map((pod) => endpointOf(pod));
  const world = createSlicesWorld({ pods, stored: [slice('web-b', [a!, b!]), slice('web-a', [b!, c!])] });
  assert.deepEqual(named(sync(world)), ['update web-b']);
  assert.deepEqual(sizes(world), [2, 1]);
});

test('an endpoint twice in one slice is removed once', () => {
  const [pod] = manyPods(1);
  const world = createSlicesWorld({ pods: [pod!], stored: [slice('web-x', [endpointOf(pod!), endpointOf(pod!)])] });
  assert.equal(verbs(sync(world)), '1 update');
  assert.deepEqual(sizes(world), [1]);
});

test('a slice that lists a pod thousands of times counts for two', () => {
  const [pod] = manyPods(1);
  const [right, other] = [endpointOf(pod!), endpointOf(pod!, { addresses: ['10.9.9.9'] })];
  for (const endpoint of [right, other]) {
    const stored = Array.from({ length: 20 }, (_, i) =>
      slice(
        `web-${10 + i}`,
        Array.from({ length: 1000 }, () => endpoint),
      ),
    );
    const world = createSlicesWorld({ pods: [pod!], stored });
    const [family] = world.slices.families;
    assert.equal(slicesListing(family!, pod!.name).length, 40);
    sync(world);
    assert.deepEqual(sizes(world), [1]);
    const [left] = world.server.values();
    assert.deepEqual(left!.endpoints, [right]);
    assert.equal(slicesListing(family!, pod!.name).length, 1);
    putSlice(world, { ...left!, endpoints: [] });
    assert.equal(slicesListing(family!, pod!.name).length, 0);
  }
});

test('a duplicate that cannot be deleted stays a duplicate', () => {
  const [pod] = manyPods(1);
  const stored = [slice('web-a', [endpointOf(pod!)]), slice('web-b', [endpointOf(pod!)])];
  const world = createSlicesWorld({ pods: [pod!], stored });
  for (let i = 0; i < 3; i++) {
    const { writes } = plan(world);
    assert.deepEqual(
      writes.map(({ verb, name }) => `${verb} ${name}`),
      ['delete web-b'],
    );
    ackSlice(world.slices, writes[0]!, { result: 'refused', uid: '', resourceVersion: '' });
  }
});

test('a duplicate that somebody makes under an earlier name is found', () => {
  const world = createSlicesWorld({ pods: manyPods(2) });
  sync(world);
  const [mine] = [...world.server.keys()];
  putSlice(world, slice('web-!', [endpointOf(manyPods(1)[0]!)]));
  assert.deepEqual(named(sync(world)), [`update ${mine}`]);
  assert.deepEqual(sizes(world), [1, 1]);
});

// Facts

test('facts have endpoints, slices and the fewest possible slices, by family', () => {
  const pods = manyPods(5).map((pod, i) =>
    Object.assign({}, pod, { podIPs: i < 3 ? [pod.podIP, `fd00::${i + 1}`] : [pod.podIP] }),
  );
  const world = createSlicesWorld({ pods, service: makeService({ ipFamilies: ['IPv4', 'IPv6'] }), max: 2 });
  assert.deepEqual(plan(world).facts, {
    families: [
      {
        family: 'IPv4',
        endpoints: 5,
        slices: 3,
        slicesDesired: 3,
        added: 5,
        removed: 0,
        writes: 3,
        hints: null,
        hintsFailure: '',
      },
      {
        family: 'IPv6',
        endpoints: 3,
        slices: 2,
        slicesDesired: 2,
        added: 3,
        removed: 0,
        writes: 2,
        hints: null,
        hintsFailure: '',
      },
    ],
    topology: false,
    trafficDistribution: '',
    waitingForNode: 0,
  });
});

test('facts: each port group has its own fewest slices, and a service at least one', () => {
  const service = makeService({ ports: [makeServicePort({ targetPort: 'http' })] });
  const pods = [1, 2].flatMap((containerPort, i) =>
    manyPods(3, i * 3, { ports: [{ name: 'http', containerPort, protocol: 'TCP' }] }),
  );
  assert.equal(plan(createSlicesWorld({ service, pods, max: 2 })).facts.families[0]!.slicesDesired, 4);
  assert.equal(plan(createSlicesWorld()).facts.families[0]!.slicesDesired, 1);
});

test('added and removed count placed and dropped endpoints, not a vanished group', () => {
  const world = createSlicesWorld({ pods: manyPods(4), max: 2 });
  sync(world);
  removePod(world, 'p000');
  putPod(world, manyPods(1, 9)[0]!);
  assert.deepEqual(familyFacts(sync(world)), { added: 1, removed: 1, endpoints: 4, slices: 2, slicesDesired: 2 });
  setService(world, makeService({ ports: [makeServicePort({ targetPort: 9090 })] }));
  assert.deepEqual(familyFacts(sync(world)), { added: 4, removed: 0, endpoints: 4, slices: 2, slicesDesired: 2 });
});

// O(change)

for (const [name, fields] of [
  ['', {}],
  [' with trafficDistribution', { trafficDistribution: 'PreferClose' }],
  [' with topology-mode', { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } }],
] as const) {
  test(`a pod that flips${name} touches no other slice`, () => {
    const world = createSlicesWorld({ pods: manyPods(40), max: 4, service: makeService(fields) });
    world.shares = { version: 1, zones: ['a', 'b'].map((zone) => ({ zone, share: 0.5 })) };
    manyPods(40).forEach((pod, i) => putPod(world, pod, i % 2 === 0 ? 'a' : 'b'));
    sync(world);
    assert.equal(verbs(plan(world)), 'none');
    for (const entry of world.slices.stored.values()) {
      const { object, summary } = entry.stored;
      if (object.endpoints!.some(({ targetRef }) => targetRef!.name === 'p020')) continue;
      const closed = {
        get endpoints(): never {
          throw new Error(`${entry.name} is looked into`);
        },
      };
      entry.stored = {
        object: Object.defineProperties({ ...object }, Object.getOwnPropertyDescriptors(closed)),
        summary,
      };
    }
    putPod(world, { ...manyPods(1, 20)[0]!, ready: false }, 'a');
    assert.equal(verbs(sync(world)), '1 update');
    putPod(world, manyPods(1, 20)[0]!, 'a');
    assert.equal(verbs(sync(world)), '1 update');
    removePod(world, 'p020');
    assert.equal(verbs(sync(world)), '1 update');
    assert.equal(verbs(plan(world)), 'none');
  });
}

test('a slice that is right keeps the endpoints of its pods, and its own hints', () => {
  const pods = manyPods(2);
  const hints = { forZones: [{ name: 'a' }] };
  const stored = [slice('web-x', [endpointOf(pods[0]!), endpointOf(pods[1]!, { hints })])];
  const world = createSlicesWorld({ pods, stored });
  const read = storedSlice(world.slices, 'web-x')!.endpoints!;
  plan(world);
  const kept = storedSlice(world.slices, 'web-x')!.endpoints!;
  assert.deepEqual(kept, read);
  for (const [i, { name }] of pods.entries()) {
    const { endpoint } = slicePodState(world.slices, name, 'IPv4')!;
    assert.notEqual(read[i]!.targetRef, endpoint!.targetRef);
    assert.equal(kept[i]!.targetRef, endpoint!.targetRef);
  }
  plan(world);
  assert.equal(storedSlice(world.slices, 'web-x')!.endpoints, kept);
});
