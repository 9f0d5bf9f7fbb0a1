import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EndpointSlice, NodeRecord, PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { judgeSlices } from '../../src/judge/slices-judge.ts';
import { oracleSlices, portsKey, type ExpectedSlices } from '../../src/judge/slices-oracle.ts';
import { labelsFromRecord } from '../support/labels.ts';
import { makePod, makeService, makeServicePort } from '../support/records.ts';

const LABELS = {
  'kubernetes.io/service-name': 'web',
  'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
};
const OWNER = {
  apiVersion: 'v1',
  kind: 'Service',
  name: 'web',
  uid: 'uid-web',
  controller: true,
  blockOwnerDeletion: true,
};
const PORTS = [{ name: '', protocol: 'TCP', port: 8080 }];

function node(name: string, zone = 'a'): NodeRecord {
  const labels: Record<string, string> = zone === '' ? {} : { 'topology.kubernetes.io/zone': zone };
  return { name, uid: name, resourceVersion: '1', labels: labelsFromRecord(labels), ready: true, allocatableCpu: '4' };
}

function ask(service: ServiceRecord, pods: readonly PodRecord[], nodes = [node('node-1')]): ExpectedSlices {
  return oracleSlices(service, { pods, nodes: new Map(nodes.map((each) => [each.name, each])) })!;
}

type SliceFields = Partial<Omit<EndpointSlice, 'metadata'>> & { metadata?: EndpointSlice['metadata'] };

function slice(fields: SliceFields = {}): EndpointSlice {
  const { metadata = {}, ...others } = fields;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'ns', name: 'web-1', labels: LABELS, ownerReferences: [OWNER], ...metadata },
    addressType: 'IPv4',
    endpoints: [ENDPOINT],
    ports: PORTS,
    ...others,
  };
}

const ENDPOINT = {
  addresses: ['10.0.0.1'],
  conditions: { ready: true, serving: true, terminating: false },
  targetRef: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'uid-p' },
  nodeName: 'node-1',
  zone: 'a',
};
const SECOND = { ...ENDPOINT, addresses: ['10.0.0.2'], targetRef: { ...ENDPOINT.targetRef, name: 'q', uid: 'uid-q' } };

function reasons(expected: ExpectedSlices, slices: readonly EndpointSlice[], maxEndpointsPerSlice = 100): string[] {
  return judgeSlices(expected, slices, { maxEndpointsPerSlice, shares: null }).map(
    ({ object, reason }) => `${object}: ${reason}`,
  );
}

/** The endpoints of the only port group of IPv4. */
function endpoints(service: ServiceRecord, pods: readonly PodRecord[], nodes?: NodeRecord[]): readonly object[] {
  return [...ask(service, pods, nodes).families[0]!.groups.values()].flat();
}

describe('what there should be', () => {
  test('the oracle gives whole endpoints', () => {
    const service = makeService({ labels: { a: 'b', 'service.kubernetes.io/headless': 'mine' } });
    assert.deepEqual(ask(service, [makePod('p')]), {
      service,
      labels: { a: 'b', ...LABELS },
      families: [{ family: 'IPv4', groups: new Map([[portsKey(PORTS), [ENDPOINT]]]) }],
      hints: 'none',
    });
  });

  test('there are no slices without a selector, and for ExternalName', () => {
    const world = { pods: [], nodes: new Map() };
    assert.equal(oracleSlices(makeService({ selector: null }), world), null);
    assert.equal(oracleSlices(makeService({ type: 'ExternalName' }), world), null);
  });

  test('there is one set for each family: as told, by the cluster IP, or both', () => {
    const families = (fields: Parameters<typeof makeService>[0]): string[] =>
      ask(makeService(fields), []).families.map(({ family }) => family);
    assert.deepEqual(families({ ipFamilies: ['IPv6', 'IPv4'] }), ['IPv4', 'IPv6']);
    assert.deepEqual(families({ ipFamilies: [], clusterIP: 'fd00::1' }), ['IPv6']);
    assert.deepEqual(families({ ipFamilies: [], clusterIP: 'None' }), ['IPv4', 'IPv6']);
  });

  test('conditions are true, but ready follows publishNotReadyAddresses', () => {
    const pods = [makePod('p', { deleting: true }), makePod('q', { ready: false })];
    const conditions = (publishNotReadyAddresses: boolean): unknown[] =>
      endpoints(makeService({ publishNotReadyAddresses }), pods).map((each) => (each as typeof ENDPOINT).conditions);
    assert.deepEqual(conditions(false), [
      { ready: false, serving: true, terminating: true },
      { ready: false, serving: false, terminating: false },
    ]);
    assert.deepEqual(conditions(true), [
      { ready: true, serving: true, terminating: true },
      { ready: true, serving: false, terminating: false },
    ]);
  });

  test('a pod that is over or has no IP has no endpoint', () => {
    const pods = [makePod('p', { phase: 'Succeeded' }), makePod('q', { podIPs: [] }), makePod('r', { nodeName: 'x' })];
    assert.deepEqual(endpoints(makeService(), pods), []);
    assert.deepEqual(endpoints(makeService({ publishNotReadyAddresses: true }), pods.slice(2)), [
      {
        addresses: ['10.0.0.1'],
        conditions: ENDPOINT.conditions,
        targetRef: { kind: 'Pod', namespace: 'ns', name: 'r', uid: 'uid-r' },
        nodeName: 'x',
      },
    ]);
  });

  test('a pod of another namespace has no endpoint, whatever its labels', () => {
    assert.deepEqual([...ask(makeService(), [makePod('p', { namespace: 'other' })]).families[0]!.groups], []);
  });

  test('a hostname needs the own subdomain, and a zone needs a node with one', () => {
    const pod = { hostname: 'h', podIPs: ['010.0.0.1', 'fd00::1', '169.254.0.1'] };
    const pods = [makePod('p', { ...pod, subdomain: 'web' }), makePod('q', { ...pod, subdomain: 'other' })];
    const common = { addresses: ['10.0.0.1'], conditions: ENDPOINT.conditions, nodeName: 'node-1' };
    assert.deepEqual(endpoints(makeService(), pods, [node('node-1', '')]), [
      { ...common, hostname: 'h', targetRef: ENDPOINT.targetRef },
      { ...common, targetRef: SECOND.targetRef },
    ]);
  });

  test('pods with another number or none for a named port are groups of their own', () => {
    const service = makeService({ ports: [makeServicePort({ name: 'http', targetPort: 'web', appProtocol: 'x/y' })] });
    const ports = (containerPort: number): PodRecord['ports'] => [{ name: 'web', containerPort, protocol: 'TCP' }];
    const pods = [makePod('p', { ports: ports(1) }), makePod('q', { ports: ports(2) }), makePod('r')];
    const port = { name: 'http', protocol: 'TCP', appProtocol: 'x/y' };
    assert.deepEqual(
      [...ask(service, pods).families[0]!.groups.keys()],
      [portsKey([{ ...port, port: 1 }]), portsKey([{ ...port, port: 2 }]), ''],
    );
  });

  test('topology-mode precedes trafficDistribution, and its deprecated key precedes it', () => {
    const rule = (annotations: Record<string, string>, trafficDistribution = 'PreferClose'): string =>
      ask(makeService({ annotations, trafficDistribution }), []).hints;
    const [old, mode] = ['service.kubernetes.io/topology-aware-hints', 'service.kubernetes.io/topology-mode'];
    assert.equal(rule({}), 'PreferClose');
    assert.equal(rule({ [mode]: 'Auto' }), 'cpu');
    assert.equal(rule({ [mode]: 'AUTO' }), 'PreferClose');
    assert.equal(rule({ [mode]: 'auto', [old]: 'Disabled' }), 'PreferClose');
    assert.equal(rule({}, 'Whatever'), 'none');
  });
});

describe('the judgement', () => {
  const two = ask(makeService(), [makePod('p'), makePod('q', { podIPs: ['10.0.0.2'] })]);
  const second = (fields: SliceFields = {}): EndpointSlice =>
    slice({ endpoints: [SECOND], ...fields, metadata: { name: 'web-2', ...fields.metadata } });

  test('any packing of the endpoints is right', () => {
    assert.deepEqual(reasons(two, [slice({ endpoints: [SECOND, ENDPOINT] })]), []);
    assert.deepEqual(reasons(two, [slice(), second()]), []);
    assert.deepEqual(reasons(two, [slice(), second(), slice({ endpoints: null })]), []);
  });

  test('each endpoint once, and nothing else, is right', () => {
    const text = (name: string, last: number): string =>
      `10.0.0.${last} ready, serving, not terminating on node-1 in a for Pod ns/${name} uid-${name}`;
    const tcp = `["","TCP",8080,null]`;
    assert.deepEqual(reasons(two, [slice()]), [`ns/web: IPv4 ${tcp}: ${text('q', 2)} is missing`]);
    assert.deepEqual(reasons(two, [slice(), second({ endpoints: [SECOND, ENDPOINT] })]), [
      `ns/web-2: ${text('p', 1)} is listed twice`,
    ]);
    const other = { ...SECOND, targetRef: { ...SECOND.targetRef, name: 'z', uid: 'uid-z' } };
    assert.deepEqual(reasons(two, [slice({ endpoints: [ENDPOINT, SECOND, other] })]), [
      `ns/web-1: ${text('z', 2)} should not be there`,
    ]);
    const again = { ...SECOND, targetRef: { ...SECOND.targetRef, uid: 'uid-old' } };
    assert.deepEqual(reasons(two, [slice({ endpoints: [ENDPOINT, again] })]), [
      `ns/web-1: ${text('q', 2).replace('uid-q', 'uid-old')} should be ${text('q', 2)}`,
    ]);
  });

  test('conditions, node and zone are compared, the version of the pod is not', () => {
    const one = ask(makeService(), [makePod('p')]);
    const wrongs = [
      { ...ENDPOINT, conditions: { ready: true } },
      { ...ENDPOINT, nodeName: 'node-2' },
      { ...ENDPOINT, zone: 'b' },
      { ...ENDPOINT, targetRef: { ...ENDPOINT.targetRef, apiVersion: 'v1' } },
    ];
    for (const wrong of wrongs) assert.equal(reasons(one, [slice({ endpoints: [wrong] })]).length, 1);
    const versioned = { ...ENDPOINT, targetRef: { ...ENDPOINT.targetRef, resourceVersion: '7' } };
    assert.deepEqual(reasons(one, [slice({ endpoints: [versioned] })]), []);
  });

  test('ports, labels, owner and size of each slice are compared', () => {
    const judged = (fields: SliceFields): string[] => reasons(two, [slice(), second(fields)], 1);
    assert.deepEqual(judged({}), []);
    assert.deepEqual(judged({ metadata: { labels: { ...LABELS, x: 'y' } } }), [
      'ns/web-2: label x should not be there',
    ]);
    assert.deepEqual(judged({ metadata: { ownerReferences: [{ ...OWNER, uid: 'old' }] } }), [
      'ns/web-2: is not owned by Service uid uid-web',
    ]);
    assert.match(judged({ ports: [{ name: '', protocol: 'TCP', port: 9 }] })[0]!, /^ns\/web-2: no pod has its ports/);
    assert.deepEqual(reasons(two, [slice({ endpoints: [ENDPOINT, SECOND] })], 1), [
      'ns/web-1: 2 endpoints, at most 1 are allowed',
    ]);
  });

  test('a wanted family has a slice, and an unwanted one has none', () => {
    assert.deepEqual(reasons(ask(makeService(), []), []), ['ns/web: no slice for IPv4']);
    const ipv6 = slice({ addressType: 'IPv6', endpoints: null, ports: null });
    assert.deepEqual(reasons(ask(makeService(), []), [ipv6, slice({ endpoints: null, ports: null })]), [
      'ns/web-1: address type IPv6 is not wanted',
    ]);
  });

  test('a placeholder is right only alone', () => {
    const placeholder = slice({ endpoints: null, ports: null });
    assert.deepEqual(reasons(ask(makeService(), []), [placeholder]), []);
    assert.deepEqual(reasons(two, [slice({ endpoints: [ENDPOINT, SECOND] }), placeholder]), [
      'ns/web-1: a placeholder beside other slices',
    ]);
  });

  test("hints of ready endpoints are exactly trafficDistribution's", () => {
    const pods = [makePod('p'), makePod('q', { podIPs: ['10.0.0.2'], ready: false })];
    const notReady = { ...SECOND, conditions: { ready: false, serving: false, terminating: false } };
    const judged = (trafficDistribution: string, hints: object | undefined, others?: object): string[] =>
      reasons(ask(makeService({ trafficDistribution }), pods), [
        slice({
          endpoints: [
            { ...ENDPOINT, ...(hints && { hints }) },
            { ...notReady, ...(others && { hints: others }) },
          ],
        }),
      ]);
    const zone = { forZones: [{ name: 'a' }] };
    const both = { ...zone, forNodes: [{ name: 'node-1' }] };
    assert.deepEqual(judged('PreferClose', zone), []);
    assert.deepEqual(judged('PreferSameNode', both), []);
    assert.deepEqual(judged('PreferSameZone', zone, { forZones: [{ name: 'old' }] }), []);
    assert.deepEqual(judged('PreferSameZone', undefined), [
      'ns/web-1: 10.0.0.1: hints "", not "zone a" (PreferSameZone)',
    ]);
    assert.deepEqual(judged('PreferClose', both), [
      'ns/web-1: 10.0.0.1: hints "zone a, node node-1", not "zone a" (PreferClose)',
    ]);
    assert.deepEqual(judged('', undefined, zone), ['ns/web-1: 10.0.0.2: hints "zone a", not "" (none)']);
  });
});
