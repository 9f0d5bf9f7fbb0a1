import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import fc from 'fast-check';
import { createInterner } from '../../src/lib/interner.ts';
import { encodeBare, encodeObject } from '../../src/kube/codec.ts';
import { hasMetadataAsSent, projectMeta } from '../../src/kube/object-meta.ts';
import { projectNode, projectOutput, projectPod, projectService } from '../../src/kube/project.ts';
import { DecodeError } from '../../src/kube/protobuf.ts';
import { podIPsOf } from '../../src/kube/record.ts';
import type { ObjectSource } from '../../src/kube/source.ts';
import type { ServiceRecord } from '../../src/kube/types.ts';
import { encodeByOracle } from '../support/kube-proto.ts';
import { generatePod } from '../support/pods.ts';
import { propertyRuns } from '../support/runs.ts';

const json = (kind: string, value: object): ObjectSource => ({ encoding: 'json', apiVersion: 'v1', kind, value });
const protobuf = (kind: string, bytes: Uint8Array): ObjectSource => ({
  encoding: 'protobuf',
  apiVersion: 'v1',
  kind,
  bytes,
});
const encoded = (kind: string, value: object): ObjectSource => protobuf(kind, encodeByOracle(kind, value));

const POD = {
  metadata: {
    name: 'web-0',
    namespace: 'default',
    uid: 'u-1',
    resourceVersion: '42',
    labels: { tier: 'web', app: 'shop' },
    managedFields: [{ manager: 'kubelet', fieldsV1: { 'f:x': {} } }],
  },
  spec: {
    containers: [
      { name: 'a', ports: [{ name: 'http', containerPort: 80, protocol: 'TCP' }, { containerPort: 81 }] },
      { name: 'b', ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }] },
    ],
    initContainers: [
      { name: 'once', ports: [{ name: 'never', containerPort: 1 }] },
      { name: 'side', ports: [{ name: 'mesh', containerPort: 15_000, protocol: 'TCP' }], restartPolicy: 'Always' },
    ],
    nodeName: 'node-1',
    hostname: 'web-0',
    subdomain: 'web',
  },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'Initialized', status: 'False' },
      { type: 'Ready', status: 'True', lastTransitionTime: '2026-08-04T13:01:58Z' },
      { type: 'Ready', status: 'False' },
    ],
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
  },
};

const POD_RECORD = {
  namespace: 'default',
  name: 'web-0',
  uid: 'u-1',
  resourceVersion: '42',
  labels: ['app', 'shop', 'tier', 'web'],
  deleting: false,
  nodeName: 'node-1',
  hostname: 'web-0',
  subdomain: 'web',
  phase: 'Running',
  ready: true,
  readyTime: 1_785_848_518,
  podIP: '10.0.0.1',
  podIPs: ['10.0.0.1', 'fd00::1'],
  ports: [
    { name: 'http', containerPort: 80, protocol: 'TCP' },
    { name: 'dns', containerPort: 53, protocol: 'UDP' },
    { name: 'mesh', containerPort: 15_000, protocol: 'TCP' },
  ],
};

/** Both encodings of `value` give `expected`. */
function checkPod(value: object, expected: object): void {
  assert.deepEqual(projectPod(json('Pod', value), createInterner(64)), expected);
  assert.deepEqual(projectPod(encoded('Pod', value), createInterner(64)), expected);
}

test('a pod keeps the fields that planning reads, named ports only, sidecars last', () => {
  checkPod(POD, POD_RECORD);
});

test('an empty pod is all defaults', () => {
  const expected = { ...POD_RECORD, namespace: '', name: '', uid: '', resourceVersion: '', labels: [], nodeName: '' };
  const rest = { hostname: '', subdomain: '', phase: '', ready: false, readyTime: 0, podIP: '', podIPs: [], ports: [] };
  checkPod({}, { ...expected, ...rest });
});

test('only the first Ready condition counts, and only a status of exactly True', () => {
  const check = (conditions: object[], ready: boolean, readyTime = 0): void =>
    checkPod({ ...POD, status: { ...POD.status, conditions } }, { ...POD_RECORD, ready, readyTime });
  check([], false);
  check([{ type: 'Ready', status: 'true' }], false);
  check([{ type: 'Ready', status: 'Unknown', lastTransitionTime: '2026-08-04T13:01:58Z' }], false, 1_785_848_518);
  check([{ status: 'True', type: 'Ready' }], true);
  check([{ type: 'ContainersReady', status: 'True' }], false);
});

test('a pod that its kubelet terminates counts as deleting if that is asked for (D30)', () => {
  const end = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'node shutdown' };
  const check = (condition: object, deleting: boolean): void => {
    // The order of the conditions says nothing; the Ready one is still found.
    for (const conditions of [
      [condition, ...POD.status.conditions],
      [...POD.status.conditions, condition],
    ]) {
      const value = { ...POD, status: { ...POD.status, conditions } };
      for (const source of [json('Pod', value), encoded('Pod', value)]) {
        assert.deepEqual(projectPod(source, createInterner(64), true), { ...POD_RECORD, deleting });
        assert.deepEqual(projectPod(source, createInterner(64)), POD_RECORD);
      }
    }
  };
  check(end, true);
  check({ ...end, status: 'False' }, false);
  check({ ...end, reason: 'EvictionByEvictionAPI' }, false);
  check({ ...end, type: 'Disrupted' }, false);
  const deleted = { ...POD, metadata: { ...POD.metadata, deletionTimestamp: '2026-08-04T13:01:58Z' } };
  assert.equal(projectPod(encoded('Pod', deleted), createInterner(64), true).deleting, true);
});

test('podIPs stay as sent, also if only podIP is there', () => {
  const { podIPs: _, ...status } = POD.status;
  checkPod({ ...POD, status }, { ...POD_RECORD, podIPs: [] });
  const one = (ip: string): object => ({ ...POD, status: { ...POD.status, podIPs: [{ ip }] } });
  checkPod(one('10.0.0.2'), { ...POD_RECORD, podIPs: ['10.0.0.2'] });
});

test('a pod whose only IP is podIP keeps no list of it', () => {
  const value = { ...POD, status: { ...POD.status, podIPs: [{ ip: '10.0.0.1' }] } };
  checkPod(value, { ...POD_RECORD, podIPs: null });
  assert.deepEqual(podIPsOf(projectPod(json('Pod', value), createInterner(4))), ['10.0.0.1']);
});

test('a pod with a deletion timestamp counts as deleting', () => {
  const metadata = { ...POD.metadata, deletionTimestamp: '2026-08-04T13:01:58Z' };
  checkPod({ ...POD, metadata }, { ...POD_RECORD, deleting: true });
});

test('every pod has the same record from JSON and from protobuf', () => {
  const shared = createInterner(16);
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const pod = generatePod(seed);
      const expected = projectPod(json('Pod', pod), createInterner(16));
      assert.deepEqual(projectPod(encoded('Pod', pod), shared), expected);
    }),
    propertyRuns(200, 4),
  );
});

test('pods of one template share labels, ports, namespace and node', () => {
  const interner = createInterner();
  const project = (seed: number): ReturnType<typeof projectPod> =>
    projectPod(encoded('Pod', generatePod(seed, { app: 'shop', namespace: 'team', node: 'node-1' })), interner);
  const pods = Array.from({ length: 40 }, (_, seed) => project(seed));
  assert.equal(new Set(pods.map((pod) => pod.ports)).size, 1);
  // Generated label values: 3 versions x 2 tiers.
  assert.ok(new Set(pods.map((pod) => pod.labels)).size <= 6);
});

test('label entries out of order or in two runs are one sorted set', () => {
  const entry = (key: string, value: string): number[] => {
    const content = [0x0a, key.length, ...Buffer.from(key), 0x12, value.length, ...Buffer.from(value)];
    return [0x5a, content.length, ...content];
  };
  const metadata = [...entry('b', '1'), ...entry('a', '2'), 0x0a, 1, 0x78, ...entry('aa', '3'), ...entry('b', '4')];
  const pod = projectPod(protobuf('Pod', new Uint8Array([0x0a, metadata.length, ...metadata])), createInterner(4));
  assert.deepEqual(pod.labels, ['a', '2', 'aa', '3', 'b', '4']);
  assert.equal(pod.name, 'x');
});

const SERVICE = {
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u-2',
    resourceVersion: '43',
    creationTimestamp: '2026-08-04T13:01:58Z',
    labels: { a: 'b' },
    annotations: { other: 'x', 'service.alpha.kubernetes.io/tolerate-unready-endpoints': 'true' },
  },
  spec: {
    ports: [
      { name: 'http', protocol: 'TCP', port: 80, targetPort: 'web', appProtocol: 'http' },
      { protocol: 'UDP', port: 53, targetPort: 5353 },
      { port: 99 },
    ],
    selector: { tier: 'web', app: 'shop' },
    clusterIP: 'None',
    type: 'ClusterIP',
    ipFamilies: ['IPv6', 'IPv4'],
    publishNotReadyAddresses: true,
    trafficDistribution: 'PreferClose',
  },
};

test('a service keeps ports, selector and the annotations that are read', () => {
  const expected = {
    namespace: 'default',
    name: 'web',
    uid: 'u-2',
    resourceVersion: '43',
    labels: ['a', 'b'],
    annotations: ['service.alpha.kubernetes.io/tolerate-unready-endpoints', 'true'],
    creationTime: 1_785_848_518,
    deleting: false,
    type: 'ClusterIP',
    clusterIP: 'None',
    ipFamilies: ['IPv6', 'IPv4'],
    selector: ['app', 'shop', 'tier', 'web'],
    ports: [
      { name: 'http', protocol: 'TCP', port: 80, targetPort: 'web', appProtocol: 'http' },
      { name: '', protocol: 'UDP', port: 53, targetPort: 5353, appProtocol: undefined },
      { name: '', protocol: '', port: 99, targetPort: 0, appProtocol: undefined },
    ],
    publishNotReadyAddresses: true,
    trafficDistribution: 'PreferClose',
  };
  assert.deepEqual(projectService(json('Service', SERVICE), createInterner(64)), expected);
  assert.deepEqual(projectService(encoded('Service', SERVICE), createInterner(64)), expected);
});

test('an unknown field in an annotation is skipped', () => {
  const field = (tag: number, content: Uint8Array): Uint8Array => Uint8Array.of(tag, content.length, ...content);
  const key = 'service.alpha.kubernetes.io/tolerate-unready-endpoints';
  const unknown = Uint8Array.of(0x18, 0x05);
  const entry = Buffer.concat([field(0x0a, Buffer.from(key)), field(0x12, Buffer.from('true')), unknown]);
  const service = projectService(protobuf('Service', field(0x0a, field(0x62, entry))), createInterner());
  assert.deepEqual(service.annotations, [key, 'true']);
});

test('services with the same ports share them, and ports in two runs are one list', () => {
  const interner = createInterner();
  const project = (name: string): ServiceRecord =>
    projectService(encoded('Service', { metadata: { name }, spec: { ports: [{ port: 80 }, { port: 81 }] } }), interner);
  const { ports } = project('a');
  assert.equal(project('b').ports, ports);

  const port = (value: number): number[] => [0x0a, 2, 0x18, value];
  const clusterIP = [0x1a, 1, 0x78];
  const spec = [...port(80), ...port(81), ...clusterIP, ...port(82)];
  const service = projectService(protobuf('Service', new Uint8Array([0x12, spec.length, ...spec])), interner);
  assert.deepEqual(
    service.ports.map((p) => p.port),
    [80, 81, 82],
  );
  assert.equal(service.clusterIP, 'x');
});

test('a selector without entries is absent, as on the wire', () => {
  for (const spec of [{}, { selector: {} }, { selector: null }]) {
    const service = { metadata: { name: 'web' }, spec };
    assert.equal(projectService(json('Service', service), createInterner(4)).selector, null);
  }
  assert.equal(projectService(encoded('Service', { spec: { selector: {} } }), createInterner(4)).selector, null);
});

test('a node keeps labels, readiness and CPU', () => {
  const value = {
    metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels: { zone: 'a' } },
    status: {
      allocatable: { cpu: '3920m', memory: '1Gi' },
      conditions: [
        { type: 'MemoryPressure', status: 'False' },
        { type: 'Ready', status: 'True' },
      ],
    },
  };
  const expected = {
    name: 'n',
    uid: 'u',
    resourceVersion: '1',
    labels: ['zone', 'a'],
    ready: true,
    allocatableCpu: '3920m',
  };
  assert.deepEqual(projectNode(json('Node', value), createInterner(4)), expected);
  assert.deepEqual(projectNode(encoded('Node', value), createInterner(4)), expected);
});

test('an output keeps its metadata, and whether it is of an election, or deleted', () => {
  const metadata = { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '9', labels: { a: 'b' } };
  const value = { metadata, subsets: [{ addresses: [{ ip: '10.0.0.1' }] }] };
  const expected = { ...metadata, labels: ['a', 'b'], leaderElection: false, deleting: false };
  assert.deepEqual(projectOutput(json('Endpoints', value)), expected);
  assert.deepEqual(projectOutput(encoded('Endpoints', value)), expected);
  const annotations = { a: 'x', 'control-plane.alpha.kubernetes.io/leader': '{}', z: 'y' };
  const leader = { metadata: { ...metadata, annotations } };
  assert.equal(projectOutput(json('Endpoints', leader)).leaderElection, true);
  assert.equal(projectOutput(encoded('Endpoints', leader)).leaderElection, true);
  const deleted = {
    metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/f'] },
  };
  assert.equal(projectOutput(json('Endpoints', deleted)).deleting, true);
  assert.equal(projectOutput(encoded('Endpoints', deleted)).deleting, true);
});

test('bookmarks and replies to writes keep their metadata', () => {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const owner = { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 's' };
  const value = {
    metadata: {
      name: 'web',
      namespace: 'd',
      uid: 'u',
      resourceVersion: '9',
      labels: { b: '1' },
      annotations,
      ownerReferences: [owner],
      finalizers: ['example.com/f'],
      deletionTimestamp: '2026-01-01T00:00:00Z',
    },
  };
  const expected = {
    namespace: 'd',
    name: 'web',
    uid: 'u',
    resourceVersion: '9',
    labels: ['b', '1'],
    annotations: ['k8s.io/initial-events-end', 'true'],
    owners: ['s'],
    finalizers: ['example.com/f'],
    deleting: true,
    initialEventsEnd: true,
  };
  assert.deepEqual(projectMeta(json('Pod', value)), expected);
  assert.deepEqual(projectMeta(encoded('Pod', value)), expected);
  const { deleting, initialEventsEnd } = projectMeta(json('Pod', { metadata: {} }));
  assert.deepEqual([deleting, initialEventsEnd], [false, false]);
});

test('an answer to a write has the metadata that were sent if the bytes are equal', () => {
  const owner = { apiVersion: 'v1', kind: 'Service', name: 'web', uid: 's', controller: true };
  const lists = {
    labels: { a: '', b: '1' },
    annotations: { note: 'ü' },
    ownerReferences: [owner],
    finalizers: ['example.com/f'],
  };
  const sent = encodeObject({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'd', ...lists },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
  });
  const stored = { name: 'web', namespace: 'd', uid: 'u', resourceVersion: '9', ...lists };
  const isSame = (more: object, kind = 'PartialObjectMetadata', rest = {}): boolean =>
    hasMetadataAsSent(encoded(kind, { metadata: { ...stored, ...more }, ...rest }), sent);
  const managedFields = [{ manager: 'endpointd', operation: 'Update' }];
  assert.ok(isSame({ managedFields, deletionTimestamp: '2026-01-01T00:00:00Z' }));
  const others: readonly object[] = [
    { labels: { a: '', b: '2' } },
    { labels: { a: '', b: '1', c: '' } },
    { labels: {} },
    { annotations: {} },
    { ownerReferences: [{ ...owner, uid: 'other' }] },
    { ownerReferences: [owner, owner] },
    { finalizers: [] },
    { labels: {}, annotations: {}, ownerReferences: [], finalizers: [] },
  ];
  for (const more of others) assert.equal(isSame(more), false, JSON.stringify(more));
  assert.equal(isSame({}, 'Endpoints', { subsets: [{}] }), false, 'something follows');
  assert.equal(hasMetadataAsSent(json('Endpoints', { metadata: stored }), sent), false);
});

test('metadata without anything to compare are read', () => {
  const metadata = { name: 'web', namespace: 'd' };
  const sent = encodeObject({ apiVersion: 'v1', kind: 'Endpoints', metadata });
  assert.equal(hasMetadataAsSent(encoded('PartialObjectMetadata', { metadata }), sent), false);
});

test('100,000 finalizers cost no square of their number', () => {
  const finalizers = Array.from({ length: 100_000 }, (_, i) => `example.com/${i}`);
  const ownerReferences = Array.from({ length: 20_000 }, (_, i) => ({ kind: 'Pod', name: 'p', uid: `u-${i}` }));
  const source = encoded('Pod', { metadata: { name: 'web', finalizers, ownerReferences } });
  const before = getHeapStatistics().total_allocated_bytes;
  const meta = projectMeta(source);
  const allocated = getHeapStatistics().total_allocated_bytes - before;
  // Some ten megabytes. Copies of the list, one with each, are 40 GB.
  assert.ok(allocated < 1e9, `${allocated} bytes`);
  assert.deepEqual([meta.finalizers.length, meta.owners.length], [100_000, 20_000]);
  assert.deepEqual([meta.finalizers.at(-1), meta.owners.at(-1)], ['example.com/99999', 'u-19999']);
});

test('a Status is no object with metadata', () => {
  assert.throws(() => projectMeta(json('Status', { metadata: {} })), /got a Status/);
});

test('an error names a malformed object, with the field in JSON', () => {
  const interner = createInterner(4);
  const check = (value: object, message: string): void =>
    assert.throws(
      () => projectPod(json('Pod', value), interner),
      (error) => {
        assert.ok(error instanceof DecodeError);
        assert.equal(error.message, message);
        return true;
      },
    );
  const metadata = { namespace: 'default', name: 'web-0' };
  const pod = (part: object): object => ({ metadata, ...part });
  check(pod({ spec: { nodeName: 5 } }), 'pod default/web-0: spec.nodeName: expected a string, got 5');
  check(pod({ status: { podIPs: {} } }), 'pod default/web-0: status.podIPs: expected a list, got {}');
  check(pod({ spec: { containers: [null] } }), 'pod default/web-0: spec.containers[0]: expected an object, got null');
  check(
    pod({ spec: { containers: [{ ports: [{ name: 'x', containerPort: '80' }] }] } }),
    'pod default/web-0: spec.containers[0].ports[0].containerPort: expected an int32, got "80"',
  );
  check({ metadata: [] }, 'pod (no name read): metadata: expected an object, got []');
  const whole = encodeByOracle('Pod', { ...POD, metadata });
  assert.throws(
    () => projectPod(protobuf('Pod', whole.subarray(0, -1)), interner),
    /^DecodeError: pod default\/web-0: length/,
  );
});

/** What is said when each value in its turn has another type: what is not read may have any. */
function complaints(value: object, project: (value: object) => void): string[] {
  const said = new Set<string>();
  const visit = (parent: Record<string, unknown>): void => {
    for (const [key, child] of Object.entries(parent)) {
      if (typeof child === 'object' && child !== null) visit(child as Record<string, unknown>);
      parent[key] = typeof child === 'object' ? 5 : {};
      try {
        project(value);
      } catch (error) {
        assert.ok(error instanceof DecodeError);
        said.add(error.message.replace(/^.*?: (.*): expected (.*), got (5|{})$/, '$1: $2'));
      }
      parent[key] = child;
    }
  };
  visit(value as Record<string, unknown>);
  return [...said];
}

test('an error names each field of a pod whose type is wrong', () => {
  const interner = createInterner(4);
  const pod = structuredClone(POD);
  assert.deepEqual(
    complaints(pod, (value) => projectPod(json('Pod', value), interner, true)),
    [
      'metadata.name: a string',
      'metadata.namespace: a string',
      'metadata.uid: a string',
      'metadata.resourceVersion: a string',
      'metadata.labels.tier: a string',
      'metadata.labels.app: a string',
      'metadata.labels: an object',
      'metadata: an object',
      'spec.containers[0].ports[0].name: a string',
      'spec.containers[0].ports[0].containerPort: an int32',
      'spec.containers[0].ports[0].protocol: a string',
      'spec.containers[0].ports[0]: an object',
      'spec.containers[0].ports[1]: an object',
      'spec.containers[0].ports: a list',
      'spec.containers[0]: an object',
      'spec.containers[1].ports[0].name: a string',
      'spec.containers[1].ports[0].containerPort: an int32',
      'spec.containers[1].ports[0].protocol: a string',
      'spec.containers[1].ports[0]: an object',
      'spec.containers[1].ports: a list',
      'spec.containers[1]: an object',
      'spec.containers: a list',
      'spec.initContainers[0]: an object',
      'spec.initContainers[1].ports[0].name: a string',
      'spec.initContainers[1].ports[0].containerPort: an int32',
      'spec.initContainers[1].ports[0].protocol: a string',
      'spec.initContainers[1].ports[0]: an object',
      'spec.initContainers[1].ports: a list',
      'spec.initContainers[1].restartPolicy: a string',
      'spec.initContainers[1]: an object',
      'spec.initContainers: a list',
      'spec.nodeName: a string',
      'spec.hostname: a string',
      'spec.subdomain: a string',
      'spec: an object',
      'status.phase: a string',
      'status.conditions[0]: an object',
      'status.conditions[].lastTransitionTime: a string',
      'status.conditions[1]: an object',
      'status.conditions[]: an object',
      'status.conditions: a list',
      'status.podIP: a string',
      'status.podIPs[0].ip: a string',
      'status.podIPs[0]: an object',
      'status.podIPs[1].ip: a string',
      'status.podIPs[1]: an object',
      'status.podIPs: a list',
      'status: an object',
    ],
  );
});

test('an error names each field of a service whose type is wrong', () => {
  const interner = createInterner(4);
  const service = structuredClone(SERVICE);
  assert.deepEqual(
    complaints(service, (value) => projectService(json('Service', value), interner)),
    [
      'metadata.name: a string',
      'metadata.namespace: a string',
      'metadata.uid: a string',
      'metadata.resourceVersion: a string',
      'metadata.creationTimestamp: a string',
      'metadata.labels.a: a string',
      'metadata.labels: an object',
      'metadata.annotations.service.alpha.kubernetes.io/tolerate-unready-endpoints: a string',
      'metadata.annotations: an object',
      'metadata: an object',
      'spec.ports[0].name: a string',
      'spec.ports[0].protocol: a string',
      'spec.ports[0].port: an int32',
      'spec.ports[0].targetPort: an int32',
      'spec.ports[0].appProtocol: a string',
      'spec.ports[0]: an object',
      'spec.ports[1].protocol: a string',
      'spec.ports[1].port: an int32',
      'spec.ports[1].targetPort: an int32',
      'spec.ports[1]: an object',
      'spec.ports[2].port: an int32',
      'spec.ports[2]: an object',
      'spec.ports: a list',
      'spec.selector.tier: a string',
      'spec.selector.app: a string',
      'spec.selector: an object',
      'spec.clusterIP: a string',
      'spec.type: a string',
      'spec.ipFamilies[0]: a string',
      'spec.ipFamilies[1]: a string',
      'spec.ipFamilies: a list',
      'spec.publishNotReadyAddresses: a boolean',
      'spec.trafficDistribution: a string',
      'spec: an object',
    ],
  );
});

test('an error names each field of a node whose type is wrong', () => {
  const interner = createInterner(4);
  const node = {
    metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels: { a: 'b' } },
    status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { cpu: '4' } },
  };
  assert.deepEqual(
    complaints(node, (value) => projectNode(json('Node', value), interner)),
    [
      'metadata.name: a string',
      'metadata.uid: a string',
      'metadata.resourceVersion: a string',
      'metadata.labels.a: a string',
      'metadata.labels: an object',
      'metadata: an object',
      'status.conditions[0]: an object',
      'status.conditions: a list',
      'status.allocatable.cpu: a string',
      'status.allocatable: an object',
      'status: an object',
    ],
  );
});

test('cut or scribbled bytes give a decode error or some record', () => {
  const interner = createInterner(64);
  const readers = [projectPod, projectService, projectNode, projectOutput];
  const whole = encodeBare({ apiVersion: 'v1', kind: 'Pod', ...POD });
  fc.assert(
    fc.property(
      fc.constantFrom(...readers),
      fc.nat(whole.length),
      fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 }),
      (project, cut, scribbles) => {
        const bytes = whole.slice(0, cut);
        for (const [at, byte] of scribbles) if (at < bytes.length) bytes[at] = byte;
        try {
          project(protobuf('Pod', bytes), interner);
        } catch (error) {
          assert.ok(error instanceof DecodeError, String(error));
        }
      },
    ),
    propertyRuns(1000, 5),
  );
  // What garbage left in the tables must not change what comes after it.
  assert.deepEqual(projectPod(protobuf('Pod', whole), interner), POD_RECORD);
});
