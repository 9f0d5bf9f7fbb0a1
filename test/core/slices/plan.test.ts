/**
 * The golden vectors of packing (docs/spec/endpointslice.md "Packing: golden vectors"): how many writes, and what sizes
 * come of them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodRecord } from '../../../src/kube/types.ts';
import { makeService, makeServicePort } from '../../support/records.ts';
import {
  createSlicesWorld,
  endpointOf,
  manyPods,
  plan,
  putPod,
  setService,
  sizes,
  slice,
  type SlicesWorld,
  sliceLabelsOf,
  sync,
  verbs,
  type WorldOptions,
} from './slices-world.ts';

/** What is written and what is there then; and that all is well by then. */
function check(world: SlicesWorld, written: string, left: readonly number[]): void {
  assert.equal(verbs(sync(world)), written);
  assert.deepEqual(sizes(world), left);
  assert.equal(verbs(plan(world)), 'none');
}

/** Slices of `counts` endpoints each, of the first pods. */
function slicesOf(pods: readonly PodRecord[], counts: readonly number[], fields: Parameters<typeof slice>[2] = {}) {
  let at = 0;
  return counts.map((count, i) =>
    slice(
      `web-${i}`,
      pods.slice(at, (at += count)).map((p) => endpointOf(p)),
      fields,
    ),
  );
}

function start(counts: readonly number[], options: WorldOptions = {}): SlicesWorld {
  const pods = manyPods(counts.reduce((sum, count) => sum + count, 0));
  return createSlicesWorld({ pods, stored: slicesOf(pods, counts), ...options });
}

function otherPort(): ReturnType<typeof makeService> {
  return makeService({ ports: [makeServicePort({ targetPort: 9090 })] });
}

test('P1: 250 pods fill slices from nothing', () => {
  check(createSlicesWorld({ pods: manyPods(250) }), '3 create', [100, 100, 50]);
});

test('P2: a rest goes into the slice that it fills most', () => {
  const pods = manyPods(250);
  check(createSlicesWorld({ pods, stored: slicesOf(pods, [62, 61]) }), '1 create, 1 update', [100, 89, 61]);
});

test('P3: a rest that fits in no single slice makes a new one', () => {
  const pods = manyPods(300);
  check(createSlicesWorld({ pods, stored: slicesOf(pods, [74, 74]) }), '2 create', [100, 74, 74, 52]);
});

test('P4: after other ports every slice keeps its name and its endpoints', () => {
  const world = start([100, 100, 50]);
  const before = podsBySlice(world);
  setService(world, otherPort());
  check(world, '3 update', [100, 100, 50]);
  assert.deepEqual(podsBySlice(world), before);
});

test('P5: slices are not merged without another reason to write', () => {
  const world = start(Array.from({ length: 10 }, () => 30));
  assert.equal(verbs(plan(world)), 'none');
});

test('P6: slices are merged if all are written anyway', () => {
  const world = start(Array.from({ length: 10 }, () => 30));
  setService(world, otherPort());
  check(world, '3 update, 7 delete', [100, 100, 100]);
});

test('P7: written slices take new endpoints, the fullest first', () => {
  const world = start([80, 20]);
  putPod(world, { ...manyPods(1)[0]!, ready: false });
  putPod(world, { ...manyPods(1, 80)[0]!, ready: false });
  for (const pod of manyPods(15, 100)) putPod(world, pod);
  check(world, '2 update', [95, 20]);
});

test('P8: slices of an outdated address type are replaced', () => {
  const pods = manyPods(130);
  const world = createSlicesWorld({ pods, stored: slicesOf(pods, [80, 50], { addressType: 'IP' }) });
  check(world, '2 create, 2 delete', [100, 30]);
});

test('P9: the slice of an earlier service of the same name is replaced', () => {
  const world = start([1], { service: makeService({ uid: 'uid-another' }) });
  check(world, '1 create, 1 delete', [1]);
});

test('P10: a named port of five numbers makes five groups', () => {
  const pods = [8080, 8081, 8082, 8083, 8084].flatMap((containerPort, i) =>
    manyPods(60, i * 60, { ports: [{ name: 'http', containerPort, protocol: 'TCP' }] }),
  );
  const service = makeService({ ports: [makeServicePort({ targetPort: 'http' })] });
  check(createSlicesWorld({ service, pods }), '5 create', [60, 60, 60, 60, 60]);
});

for (const [max, expected] of [
  [50, [50, 50, 50, 50, 50]],
  [80, [80, 80, 80, 10]],
  [150, [150, 100]],
  [250, [250]],
  [500, [250]],
] as const) {
  test(`P11: 250 pods are in slices of at most ${max} each`, () => {
    check(createSlicesWorld({ pods: manyPods(250), max }), `${expected.length} create`, expected);
  });
}

const PLACEHOLDER = slice('web-0', null, { ports: null });

test('P12: without pods there is a placeholder', () => {
  check(createSlicesWorld(), '1 create', [0]);
});

test('P13: a right placeholder stays', () => {
  check(createSlicesWorld({ stored: [PLACEHOLDER] }), 'none', [0]);
});

test('P14: an empty slice with other labels becomes the placeholder', () => {
  const labels = sliceLabelsOf('web', { other: 'label' });
  check(createSlicesWorld({ stored: [slice('web-0', [], { ports: [], metadata: { labels } })] }), '1 update', [0]);
});

test('P15: of two empty slices one becomes the placeholder', () => {
  const labels = sliceLabelsOf('web', { other: 'label' });
  const stored = ['web-0', 'web-1'].map((name) => slice(name, [], { ports: [], metadata: { labels } }));
  check(createSlicesWorld({ stored }), '1 update, 1 delete', [0]);
});

test('a right placeholder is not written because another empty slice goes', () => {
  const labels = sliceLabelsOf('web', { other: 'label' });
  const other = slice('web-0', [], { ports: [], metadata: { labels } });
  check(createSlicesWorld({ stored: [other, slice('web-1', null, { ports: null })] }), '1 delete', [0]);
});

test('P16: if all nodes are unknown the endpoints go, and the group stays wanted', () => {
  const world = start([2]);
  for (const pod of manyPods(2)) putPod(world, pod, null);
  const planned = sync(world);
  assert.equal(verbs(planned), '1 update');
  assert.deepEqual(sizes(world), [0]);
  assert.equal(planned.facts.waitingForNode, 2);
  assert.equal([...world.server.values()][0]!.metadata.name, 'web-0');
});

test('P17: if one node is unknown its endpoint goes', () => {
  const world = start([2]);
  putPod(world, manyPods(2)[1]!, null);
  check(world, '1 update', [1]);
});

test('P18: published unready pods stay on unknown nodes', () => {
  const world = start([2], { service: makeService({ publishNotReadyAddresses: true }) });
  putPod(world, manyPods(2)[1]!, null);
  check(world, 'none', [2]);
});

test('P19: a label of the service is written to all slices', () => {
  const world = start([100, 100, 50]);
  setService(world, makeService({ labels: { team: 'a' } }));
  check(world, '3 update', [100, 100, 50]);
  for (const { metadata } of world.server.values()) {
    assert.deepEqual(metadata.labels, sliceLabelsOf('web', { team: 'a' }));
  }
});

test('P20: reserved labels of the service are not copied', () => {
  const world = start([100, 100, 50]);
  setService(world, makeService({ labels: { ...sliceLabelsOf('other'), 'service.kubernetes.io/headless': 'x' } }));
  check(world, 'none', [100, 100, 50]);
});

test('P21: headless without ports has `ports: null`', () => {
  const pods = manyPods(1);
  const labels = sliceLabelsOf('web', { 'service.kubernetes.io/headless': '' });
  const stored = [slice('web-0', [endpointOf(pods[0]!)], { ports: null, metadata: { labels } })];
  const service = makeService({ clusterIP: 'None', ports: [] });
  check(createSlicesWorld({ service, pods, stored }), 'none', [1]);
});

test('P22: nothing is created for a service that is being deleted', () => {
  check(createSlicesWorld({ service: makeService({ deleting: true }), pods: manyPods(3) }), 'none', []);
});

test('P23: a slice is recycled for a service that is being deleted', () => {
  const world = start([1]);
  setService(world, { ...otherPort(), deleting: true });
  check(world, '1 update', [1]);
});

test('P24: exactly one full slice makes a new one, though an empty one could take it', () => {
  const world = createSlicesWorld({ pods: manyPods(100), stored: [slice('web-empty', [])] });
  check(world, '1 create', [100, 0]);
});

function podsBySlice({ server }: SlicesWorld): Record<string, (string | undefined)[]> {
  const entries = [...server].map(([name, { endpoints }]) => [name, endpoints!.map((e) => e.targetRef?.name)] as const);
  return Object.fromEntries(entries);
}
