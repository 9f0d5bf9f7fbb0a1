/** The objects that are written, to the last field. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SliceWrite } from '../../../src/core/slices/slice-write.ts';
import type { EndpointSlice } from '../../../src/kube/types.ts';
import { makePod, makeService, makeServicePort } from '../../support/records.ts';
import {
  createSlicesWorld,
  endpointOf,
  HTTP,
  ownedBy,
  plan,
  putSlice,
  setService,
  slice,
  type SlicesWorld,
  sliceLabelsOf,
  type WorldOptions,
} from './slices-world.ts';

const TRIGGER = 'endpoints.kubernetes.io/last-change-trigger-time';
const pod = makePod('p');

function onlyWrite(world: SlicesWorld, triggerTime = 0): SliceWrite {
  const { writes } = plan(world, triggerTime);
  assert.equal(writes.length, 1);
  return writes[0]!;
}

function created(options: WorldOptions, triggerTime = 0): EndpointSlice {
  const { verb, object } = onlyWrite(createSlicesWorld(options), triggerTime);
  assert.equal(verb, 'create');
  return object!;
}

// New slices

test('a new slice has all its fields', () => {
  const world = createSlicesWorld({ pods: [pod], service: makeService({ labels: { team: 'a' } }) });
  assert.deepEqual(onlyWrite(world, 1_785_848_518), {
    verb: 'create',
    name: 'web-00000',
    uid: '',
    resourceVersion: '',
    phase: 1,
    waits: false,
    family: 'IPv4',
    object: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: 'web-00000',
        generateName: 'web-',
        namespace: 'ns',
        labels: sliceLabelsOf('web', { team: 'a' }),
        annotations: { [TRIGGER]: '2026-08-04T13:01:58Z' },
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'Service',
            name: 'web',
            uid: 'uid-web',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      addressType: 'IPv4',
      endpoints: [endpointOf(pod)],
      ports: HTTP,
    },
  });
});

test('a placeholder has no endpoints and no ports', () => {
  const { endpoints, ports, metadata } = created({});
  assert.deepEqual([endpoints, ports, metadata.labels], [[], [], sliceLabelsOf('web')]);
});

test("without a trigger time a slice has no annotation, not even the service's", () => {
  assert.equal('annotations' in created({ service: makeService({ annotations: { mine: 'yes' } }) }).metadata, false);
});

test('the name of a long service is cut as the server cuts it', () => {
  const name = 'w'.repeat(63);
  const { metadata } = created({ service: makeService({ name }) });
  assert.deepEqual([metadata.name, metadata.generateName], [`${'w'.repeat(58)}00000`, `${name}-`]);
});

test('a name of another new slice in the same plan is not drawn again', () => {
  const service = makeService({ ipFamilies: ['IPv4', 'IPv6'] });
  const suffixes = ['aaaaa', 'aaaaa', 'bbbbb'];
  const { writes } = plan(createSlicesWorld({ service }), 0, () => suffixes.shift()!);
  assert.deepEqual(
    writes.map(({ name }) => name),
    ['web-aaaaa', 'web-bbbbb'],
  );
});

test('each family has a slice, IPv4 first', () => {
  const dual = makePod('p', { podIPs: ['10.0.0.1', 'fd00::1'] });
  const world = createSlicesWorld({ service: makeService({ ipFamilies: ['IPv6', 'IPv4'] }), pods: [dual] });
  assert.deepEqual(
    plan(world).writes.map(({ object }) => [object!.addressType, object!.endpoints![0]!.addresses]),
    [
      ['IPv4', ['10.0.0.1']],
      ['IPv6', ['fd00::1']],
    ],
  );
});

test('a family without pods gets a placeholder', () => {
  const world = createSlicesWorld({ service: makeService({ ipFamilies: ['IPv4', 'IPv6'] }), pods: [pod] });
  assert.deepEqual(
    plan(world).writes.map(({ object }) => [object!.addressType, object!.endpoints!.length, object!.ports!.length]),
    [
      ['IPv4', 1, 1],
      ['IPv6', 0, 0],
    ],
  );
});

test("a new slice has the service's port names, not another slice's", () => {
  const stored = slice('web-x', [endpointOf(pod)], { ports: [{ port: 8080 }] });
  const another = makePod('q', { podIPs: ['10.0.0.2'] });
  const world = createSlicesWorld({ stored: [stored], pods: [pod, another], max: 1 });
  assert.deepEqual(onlyWrite(world).object!.ports, HTTP);
});

test("ports are sorted by name, protocol and number, whatever the service's order", () => {
  const ports = [
    makeServicePort({ name: 'b', targetPort: 2 }),
    makeServicePort({ name: 'a', targetPort: 3, appProtocol: 'h2c' }),
  ];
  assert.deepEqual(created({ service: makeService({ ports }), pods: [pod] }).ports, [
    { name: 'a', protocol: 'TCP', port: 3, appProtocol: 'h2c' },
    { name: 'b', protocol: 'TCP', port: 2 },
  ]);
});

// Changed slices

const theirs = {
  annotations: { mine: 'yes', [TRIGGER]: '2020-01-01T00:00:00Z' },
  finalizers: ['mine/finalizer'],
  creationTimestamp: '2020-01-01T00:00:00Z',
  generation: 7,
};

function changed(triggerTime: number): EndpointSlice {
  const ownerReferences = [ownedBy('uid-web'), { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c' }];
  const labels = sliceLabelsOf('web', { theirs: 'label' });
  const stored = slice('web-x', [], { metadata: { ...theirs, labels, ownerReferences } });
  const write = onlyWrite(createSlicesWorld({ stored: [stored], pods: [pod] }), triggerTime);
  assert.deepEqual([write.verb, write.uid, write.resourceVersion], ['update', 'uid-web-x', '101']);
  return write.object!;
}

test('an update keeps metadata of others, except labels', () => {
  const { metadata } = changed(1_785_848_518);
  assert.deepEqual(metadata, {
    name: 'web-x',
    generateName: 'web-',
    namespace: 'ns',
    uid: 'uid-web-x',
    resourceVersion: '101',
    ...theirs,
    annotations: { mine: 'yes', [TRIGGER]: '2026-08-04T13:01:58Z' },
    labels: sliceLabelsOf('web'),
    ownerReferences: [ownedBy('uid-web'), { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c' }],
  });
});

test('an update without a trigger time removes the old one', () => {
  assert.deepEqual(changed(0).metadata.annotations, { mine: 'yes' });
});

test('an update that removes the only annotation leaves none', () => {
  const annotations = { [TRIGGER]: '2026-08-04T13:01:58Z' };
  const stored = slice('web-x', [], { metadata: { annotations } });
  const { object } = onlyWrite(createSlicesWorld({ stored: [stored], pods: [pod] }));
  assert.equal('annotations' in object!.metadata, false);
});

test('a trigger time alone is no reason to write, and its absence neither', () => {
  const stored = slice('web-x', [endpointOf(pod)], { metadata: theirs });
  assert.deepEqual(plan(createSlicesWorld({ stored: [stored], pods: [pod] }), 1_785_848_518).writes, []);
});

// Recycled slices

test('a recycled slice keeps finalizers and annotations of others (#108267)', () => {
  const labels = sliceLabelsOf('web', { theirs: 'label' });
  const stored = slice('web-x', [endpointOf(pod)], { metadata: { ...theirs, labels } });
  const world = createSlicesWorld({ stored: [stored], pods: [pod] });
  setService(world, makeService({ ports: [makeServicePort({ targetPort: 9090 })] }));
  const write = onlyWrite(world);
  assert.deepEqual([write.verb, write.uid, write.resourceVersion], ['update', 'uid-web-x', '101']);
  assert.deepEqual(write.object, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'web-x',
      generateName: 'web-',
      namespace: 'ns',
      uid: 'uid-web-x',
      resourceVersion: '101',
      ...theirs,
      annotations: { mine: 'yes' },
      labels: sliceLabelsOf('web'),
      ownerReferences: [ownedBy('uid-web')],
    },
    addressType: 'IPv4',
    endpoints: [endpointOf(pod)],
    ports: [{ name: '', protocol: 'TCP', port: 9090 }],
  });
});

test('a recycled slice is owned by the Service alone, as upstream', () => {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c' }, ownedBy('uid-web')];
  const stored = slice('web-x', [endpointOf(pod)], { metadata: { ownerReferences } });
  const world = createSlicesWorld({ stored: [stored], pods: [pod] });
  setService(world, makeService({ ports: [makeServicePort({ targetPort: 9090 })] }));
  assert.deepEqual(onlyWrite(world).object!.metadata.ownerReferences, [ownedBy('uid-web')]);
});

// Deletes

test('a delete carries the uid and resourceVersion of its slice', () => {
  const world = createSlicesWorld({ stored: [slice('web-x', null, { ports: null })] });
  putSlice(world, slice('web-y', null, { ports: null, metadata: { ownerReferences: [] } }));
  const deletes = plan(world).writes.filter(({ verb }) => verb === 'delete');
  assert.deepEqual(deletes, [
    {
      verb: 'delete',
      name: 'web-y',
      uid: 'uid-web-y',
      resourceVersion: '102',
      phase: 2,
      waits: false,
      family: 'IPv4',
      object: null,
    },
  ]);
});

// What passes for a placeholder

function placeholder(name: string, fields: Parameters<typeof slice>[2], expected: 'stays' | 'is written'): void {
  test(`a placeholder with ${name}: it ${expected}`, () => {
    const stored = slice('web-x', null, { ports: null, ...fields });
    const world = createSlicesWorld({ stored: [stored] });
    assert.equal(plan(world).writes.length, expected === 'stays' ? 0 : 1);
  });
}

placeholder('all as it should be', {}, 'stays');
placeholder('empty lists', { endpoints: [], ports: [] }, 'stays');
placeholder('annotations and a creation time', { metadata: theirs }, 'stays');
placeholder('another name', { metadata: { name: 'other', generateName: 'other-' } }, 'stays');
placeholder('ports', { ports: HTTP }, 'is written');
placeholder('an endpoint', { endpoints: [endpointOf(pod)] }, 'is written');
placeholder('another label', { metadata: { labels: sliceLabelsOf('web', { a: '1' }) } }, 'is written');

test('the placeholder of an earlier service of the name is none (#141593)', () => {
  const stored = slice('web-x', null, { ports: null, metadata: { ownerReferences: [ownedBy('uid-before')] } });
  const { writes } = plan(createSlicesWorld({ stored: [stored] }));
  assert.deepEqual(
    writes.map(({ verb, name, phase }) => [verb, name, phase]),
    [
      ['create', 'web-00000', 1],
      ['delete', 'web-x', 2],
    ],
  );
});
