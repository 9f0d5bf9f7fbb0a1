import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../src/kube/types.ts';
import { addPod, makeCluster, recreatePod, removePod } from '../../src/workload/cluster.ts';
import { clusterObjects } from '../../src/workload/objects.ts';
import { findProfile } from '../../src/workload/profile.ts';
import { clusterRequests } from '../support/cluster-requests.ts';

const tiny = findProfile('tiny');

function objectsOf(kind: string, profile = tiny, seed = 1): KubeObject[] {
  return [...clusterObjects(makeCluster(profile, seed))].filter((object) => object.kind === kind);
}

test('the same profile and seed give the same objects, another seed gives others', () => {
  const text = (seed: number): string => JSON.stringify([...clusterObjects(makeCluster(tiny, seed))]);
  assert.equal(text(1), text(1));
  assert.notEqual(text(1), text(2));
});

test('namespaces and nodes come before the objects in them', () => {
  const kinds = new Set([...clusterObjects(makeCluster(tiny, 1))].map((object) => object.kind));
  assert.deepEqual([...kinds], ['Namespace', 'Node', 'Service', 'Pod', 'Endpoints']);
});

test('each pod has a name and an address of its own', () => {
  const { pods } = makeCluster(findProfile('small'), 1);
  assert.equal(new Set(pods.map((pod) => `${pod.app.namespace}/${pod.name}`)).size, pods.length);
  assert.equal(new Set(pods.map((pod) => pod.address)).size, pods.length);
});

test('a share of 0 leaves a trait out, a share of 1 gives it to all', () => {
  const headless = (share: number): number =>
    objectsOf('Service', { ...tiny, headlessShare: share }).filter(
      ({ spec }) => (spec as { clusterIP?: string }).clusterIP === 'None',
    ).length;
  assert.deepEqual([headless(0), headless(1)], [0, 10]);
});

test('nodes are spread over the zones of the profile, the last ones may have none', () => {
  const zones = objectsOf('Node', findProfile('patchy')).map(
    ({ metadata }) => metadata.labels!['topology.kubernetes.io/zone'] ?? 'none',
  );
  assert.deepEqual(
    ['zone-a', 'zone-b', 'none'].map((zone) => zones.filter((each) => each === zone).length),
    [5, 4, 3],
  );
});

test('services differ in the fields for slices, and pods have both families', () => {
  const all = { dualStackShare: 1, trafficShare: 1, topologyShare: 1, appProtocolShare: 1 };
  const [service] = objectsOf('Service', { ...tiny, ...all });
  const { ipFamilyPolicy, trafficDistribution, ports } = service!['spec'] as Record<string, unknown>;
  assert.equal(ipFamilyPolicy, 'PreferDualStack');
  assert.match(String(trafficDistribution), /^Prefer(Close|SameZone|SameNode)$/);
  assert.equal((ports as { appProtocol: string }[])[0]!.appProtocol, 'kubernetes.io/h2c');
  assert.deepEqual(service!.metadata.annotations, { 'service.kubernetes.io/topology-mode': 'Auto' });
  const { podIPs } = objectsOf('Pod', { ...tiny, ...all })[0]!['status'] as { podIPs: object };
  assert.deepEqual(podIPs, [{ ip: '10.64.0.0' }, { ip: 'fd00:10:64:40::1' }]);
});

test('objects lack the traits that a profile leaves out', () => {
  const spread = { ...findProfile('spread'), namespaces: 1, servicesPerNamespace: 20 };
  const text = JSON.stringify([...clusterObjects(makeCluster(spread, 1))]);
  for (const trait of ['Dual', 'Prefer', 'topology-mode', 'appProtocol', 'Endpoints', 'fd00', '8081']) {
    assert.ok(!text.includes(trait), trait);
  }
});

test('half-way through a roll-out a named port has two numbers', () => {
  const profile = {
    ...tiny,
    namespaces: 1,
    servicesPerNamespace: 1,
    sizes: [{ pods: 5, weight: 1 }],
    halfUpdatedShare: 1,
  };
  const ports = objectsOf('Pod', profile).map(
    ({ spec }) =>
      (spec as { containers: { ports: { containerPort: number }[] }[] }).containers[0]!.ports[0]!.containerPort,
  );
  assert.deepEqual(ports, [8080, 8080, 8081, 8081, 8081]);
  const [{ spec }] = objectsOf('Service', profile) as [KubeObject];
  assert.equal((spec as { ports: { targetPort: string }[] }).ports[0]!.targetPort, 'http');
});

test('Services without a selector have Endpoints of both families', () => {
  const profile = { ...tiny, namespaces: 1, handMadeShare: 0.4 };
  const selectorless = objectsOf('Service', profile).filter(({ spec }) => !('selector' in (spec as object)));
  assert.deepEqual(
    selectorless.map(({ metadata }) => metadata.name),
    ['outside-000', 'outside-001'],
  );
  const subsets = objectsOf('Endpoints', profile).map((object) =>
    (object['subsets'] as { addresses: { ip: string }[] }[]).map(({ addresses }) =>
      addresses.map(({ ip }) => ip).join(' '),
    ),
  );
  assert.deepEqual(subsets, [
    ['198.51.100.1 198.51.100.2 2001:db8::3 198.51.100.4'],
    ['198.51.100.1 198.51.100.2', '2001:db8::3 198.51.100.4'],
  ]);
});

test('the pods of a headless service carry hostname and subdomain', () => {
  const [pod] = objectsOf('Pod', { ...tiny, headlessShare: 1 });
  const { hostname, subdomain } = pod!['spec'] as { hostname: string; subdomain: string };
  assert.deepEqual([hostname, subdomain], ['app-0000-0', 'app-0000']);
});

test('an overlapping service selects by the label that it shares with its neighbour', () => {
  const services = objectsOf('Service', { ...tiny, overlapShare: 1 });
  assert.deepEqual(
    services.slice(0, 2).map(({ spec }) => (spec as { selector: object }).selector),
    [{ app: 'app-0000' }, { group: 'app-0000' }],
  );
});

test('a pod is sent in two requests, because a create drops the status', () => {
  const requests = [...clusterRequests(makeCluster(tiny, 1))].filter(({ path }) => path.includes('/pods'));
  const [create, status] = requests;
  assert.equal(requests.length, 2 * makeCluster(tiny, 1).pods.length);
  assert.equal(create!.path, '/api/v1/namespaces/tiny-000/pods');
  assert.equal('status' in create!.body, false);
  assert.match(status!.path, /^\/api\/v1\/namespaces\/tiny-000\/pods\/app-0000-[a-z0-9]+\/status$/);
  assert.deepEqual(Object.keys(status!.body), ['status']);
});

test('a recreated pod keeps its name and place and gets another address', () => {
  const cluster = makeCluster({ ...tiny, headlessShare: 1 }, 1);
  const [first] = cluster.pods;
  const fresh = recreatePod(cluster, first!, true);
  assert.equal(fresh.name, first!.name);
  assert.notEqual(fresh.address, first!.address);
  assert.equal(cluster.pods[fresh.slot], fresh);
  assert.equal(fresh.app.pods[fresh.appSlot], fresh);
});

test('the address of a removed pod is taken over sooner or later', () => {
  const cluster = makeCluster(tiny, 1);
  const gone = cluster.pods[0]!;
  removePod(cluster, gone);
  const taken = Array.from({ length: 50 }, () => addPod(cluster, gone.app, true).address);
  assert.ok(taken.includes(gone.address));
});
