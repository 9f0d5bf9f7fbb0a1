import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { apply as answer, createApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { CHURN_MIXES, createChurn, nextChange } from '../../src/workload/churn.ts';
import type { Change, ChurnMix } from '../../src/workload/change.ts';
import { makeCluster, type Cluster } from '../../src/workload/cluster.ts';
import { findProfile } from '../../src/workload/profile.ts';
import type { WorkloadRequest } from '../../src/workload/request.ts';
import { clusterRequests } from '../support/cluster-requests.ts';

const WALL_MS = Date.UTC(2026, 0, 2);

function changes(mix: ChurnMix, count: number, seed = 1, cluster = makeCluster(findProfile('tiny'), 1)): Change[] {
  const churn = createChurn(cluster, mix, seed);
  return Array.from({ length: count }, () => nextChange(churn, WALL_MS)!);
}

/** What a server knows of an object: whether it is there, and whether it is terminating. */
type Known = Map<string, 'there' | 'terminating'>;

/** Refuses what a server would refuse: a second create, a change of something absent. */
function apply(known: Known, { method, path, body }: WorkloadRequest): void {
  const object = path.replace(/\/status$/, '');
  if (method === 'POST') {
    const { name } = (body as { metadata: { name: string } }).metadata;
    assert.equal(known.get(`${path}/${name}`), undefined, `${path}/${name} is created once`);
    known.set(`${path}/${name}`, 'there');
    return;
  }
  assert.notEqual(known.get(object), undefined, `${method} ${path}: the object is there`);
  if (method !== 'DELETE') return;
  if ((body as { gracePeriodSeconds: number }).gracePeriodSeconds === 0) known.delete(object);
  else known.set(object, 'terminating');
}

for (const [name, mix] of Object.entries(CHURN_MIXES)) {
  test(`${name}: every request is valid, and model and server agree at the end`, () => {
    for (const profile of ['tiny', 'small']) {
      const cluster = makeCluster(findProfile(profile), 1);
      const known: Known = new Map();
      for (const request of clusterRequests(makeCluster(findProfile(profile), 1))) apply(known, request);
      const churn = createChurn(cluster, mix, 2);
      for (let i = 0; i < 3000; i++) apply(known, nextChange(churn, WALL_MS)!.request);
      assert.deepEqual(differences(known, cluster), []);
    }
  });
}

/** Objects that one side has and the other has not, but for what is on its way in or out. */
function differences(known: Known, cluster: Cluster): string[] {
  const expected = new Map<string, boolean>();
  for (const { namespace, name } of cluster.services) {
    expected.set(`/api/v1/namespaces/${namespace}/services/${name}`, false);
  }
  for (const { namespace, name, busy } of cluster.handMade) {
    expected.set(`/api/v1/namespaces/${namespace}/services/${name}`, false);
    expected.set(`/api/v1/namespaces/${namespace}/endpoints/${name}`, busy);
  }
  for (const { name, busy } of cluster.nodes) expected.set(`/api/v1/nodes/${name}`, busy);
  for (const { app, name, busy } of cluster.pods) {
    expected.set(`/api/v1/namespaces/${app.namespace}/pods/${name}`, busy);
  }
  const missing = [...expected].filter(([path, busy]) => !busy && !known.has(path)).map(([path]) => path);
  const surplus = [...known.keys()].filter(
    (path) => /\/(pods|services|endpoints|nodes)\//.test(path) && !expected.has(path),
  );
  return [...missing, ...surplus];
}

test('the same seed gives the same changes, another seed gives others', () => {
  const text = (seed: number): string =>
    JSON.stringify(changes(CHURN_MIXES.everything, 300, seed).map(({ request }) => request));
  assert.equal(text(1), text(1));
  assert.notEqual(text(1), text(2));
});

test('a flip turns the two readiness conditions, and later back', () => {
  const cluster = makeCluster({ ...findProfile('tiny'), notReadyShare: 0 }, 1);
  const flips = changes({ readiness: 1 }, 200, 1, cluster);
  const first = flips[0]!;
  const ofPod = flips.filter(({ object }) => object === first.object);
  const lastTransitionTime = '2026-01-02T00:00:00Z';
  assert.deepEqual(
    ofPod.slice(0, 2).map(({ request }) => request.body),
    ['False', 'True'].map((status) => ({
      status: {
        conditions: [
          { type: 'ContainersReady', status, lastTransitionTime },
          { type: 'Ready', status, lastTransitionTime },
        ],
      },
    })),
  );
});

test('a replaced pod is there and ready before the old one goes', () => {
  const profile = { ...findProfile('tiny'), headlessShare: 0, namespaces: 1, servicesPerNamespace: 1 };
  const steps = changes({ 'pod-replace': 1 }, 6, 1, makeCluster(profile, 1));
  assert.deepEqual(
    steps.map(({ request }) => request.method),
    ['POST', 'PATCH', 'PATCH', 'DELETE', 'PATCH', 'DELETE'],
  );
});

test('a long churn leaves about as many pods as there were', () => {
  const cluster = makeCluster(findProfile('small'), 1);
  const before = cluster.pods.length;
  changes(CHURN_MIXES.steady, 20_000, 1, cluster);
  assert.ok(cluster.pods.length > before / 2 && cluster.pods.length < before * 2, `${cluster.pods.length} pods`);
});

test('a selector edit removes the labels that it no longer names', () => {
  const profile = { ...findProfile('tiny'), overlapShare: 0 };
  const edits = changes({ 'service-selector': 1 }, 40, 1, makeCluster(profile, 1));
  const selectors = edits.map(({ request }) => (request.body as { spec: { selector: object } }).spec.selector);
  assert.ok(selectors.some((selector) => JSON.stringify(selector) === '{"group":"app-0000","app":null}'));
});

test('a node changes its zone or readiness, and comes back', () => {
  const steps = (kind: 'node-zone' | 'node-readiness' | 'node-replace'): Change[] =>
    changes({ [kind]: 1 }, 2, 1, makeCluster({ ...findProfile('tiny'), nodes: 1 }, 1));
  assert.deepEqual(
    steps('node-zone').map(({ request }) => request.body),
    ['zone-c', 'zone-a'].map((zone) => ({ metadata: { labels: { 'topology.kubernetes.io/zone': zone } } })),
  );
  assert.deepEqual(
    steps('node-readiness').map(({ request }) => request.body),
    ['False', 'True'].map((status) => ({
      status: { conditions: [{ type: 'Ready', status, lastTransitionTime: '2026-01-02T00:00:00Z' }] },
    })),
  );
  assert.deepEqual(
    steps('node-replace').map(({ request: { method, path } }) => `${method} ${path}`),
    ['DELETE /api/v1/nodes/tiny-node-0000', 'POST /api/v1/nodes'],
  );
});

test('a recreated service is deleted and made again under its name', () => {
  const profile = { ...findProfile('tiny'), namespaces: 1, servicesPerNamespace: 1 };
  const steps = changes({ 'service-recreate': 1 }, 2, 1, makeCluster(profile, 1));
  assert.deepEqual(
    steps.map(({ object, request }) => `${request.method} ${object}`),
    ['DELETE tiny-000/app-0000', 'POST tiny-000/app-0000'],
  );
});

test('trafficDistribution and topology-mode are set and removed', () => {
  const values = (mix: ChurnMix): Set<string> =>
    new Set(changes(mix, 60).map(({ request }) => JSON.stringify(request.body)));
  assert.deepEqual(
    [...values({ 'service-traffic': 1 })].toSorted(),
    ['"PreferClose"', '"PreferSameNode"', '"PreferSameZone"', 'null'].map(
      (value) => `{"spec":{"trafficDistribution":${value}}}`,
    ),
  );
  assert.deepEqual(
    [...values({ 'service-topology': 1 })].toSorted(),
    ['"Auto"', 'null'].map((value) => `{"metadata":{"annotations":{"service.kubernetes.io/topology-mode":${value}}}}`),
  );
});

test('hand-made Endpoints are edited in every part, down to none and up again', () => {
  const cluster = makeCluster(findProfile('tiny'), 1);
  const bodies = changes({ 'endpoints-edit': 1 }, 200, 1, cluster).map(
    ({ request }) =>
      request.body as { metadata?: object; subsets?: { addresses: object[]; notReadyAddresses: object[] }[] },
  );
  assert.ok(bodies.some(({ metadata }) => JSON.stringify(metadata)?.includes('skip-mirror')));
  assert.ok(bodies.some(({ metadata }) => JSON.stringify(metadata)?.includes('annotations')));
  const counts = bodies.flatMap(({ subsets }) => (subsets === undefined ? [] : [subsets.length]));
  assert.deepEqual(
    [0, 1, 2].filter((count) => counts.includes(count)),
    [0, 1, 2],
  );
  assert.ok(bodies.some(({ subsets }) => subsets?.some(({ notReadyAddresses }) => notReadyAddresses.length > 0)));
});

test('a mix without weights is refused', () => {
  const cluster = makeCluster(findProfile('tiny'), 1);
  assert.throws(() => createChurn(cluster, {}, 1), { message: 'churn mix: some weight must be positive' });
  assert.throws(() => createChurn(cluster, { readiness: -1 }, 1), {
    message: 'churn mix: readiness: weight must not be negative, got -1',
  });
});

test('a cluster with nothing to change gives null, not an error', () => {
  const empty = makeCluster({ ...findProfile('tiny'), servicesPerNamespace: 0 }, 1);
  assert.equal(nextChange(createChurn(empty, { readiness: 1 }, 1), WALL_MS), null);
});

describe('on a server of both families', () => {
  for (const [name, mix] of Object.entries(CHURN_MIXES)) {
    test(`${name}: a server of both families accepts every request`, () => {
      const prng = createPrng(1);
      const server = createApiServer({
        random: () => nextFloat(prng),
        serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:10:96::/112'],
      });
      const send = ({ method, path, body, contentType }: WorkloadRequest): void => {
        const reply = answer(server, WALL_MS, {
          method,
          path,
          headers: { accept: 'application/json', contentType },
          body: Buffer.from(JSON.stringify(body)),
        });
        const text = 'body' in reply ? Buffer.from(reply.body).toString() : '';
        assert.ok(reply.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${text}`);
      };
      const cluster = makeCluster(findProfile('patchy'), 1);
      for (const request of clusterRequests(cluster)) send(request);
      const churn = createChurn(cluster, mix, 2);
      for (let i = 0; i < 500; i++) send(nextChange(churn, WALL_MS)!.request);
    });
  }
});
