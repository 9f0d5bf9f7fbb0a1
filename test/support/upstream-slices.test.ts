/**
 * The golden vectors of docs/spec/endpointslice.md "Packing: golden vectors", "Trigger time: golden vectors", on the
 * port that ours is judged by.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint, EndpointSlice, NodeRecord, PodRecord, ServiceRecord } from '../../src/kube/types.ts';
import { TOPOLOGY_MODE_ANNOTATION, TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import { createPrng } from '../../src/lib/prng.ts';
import { makePod, makeService, makeServicePort, makeNode, makePods } from './records.ts';
import { createSliceServer, putSlice, serveSliceRequest, type SliceServer } from './slice-server.ts';
import { countWrites, sliceSizes } from './slice-content.ts';
import { createUpstream, type Upstream, upstreamNodes, upstreamSync } from './upstream-slices.ts';
import { allocate, givingAndReceiving, isOverloaded, upstreamShares } from './upstream-topology.ts';

const KEY = 'ns/web';
/** Every vector has to hold whatever the order of maps is. */
const SEEDS = [1, 2, 3, 4, 5];

interface Scene {
  readonly upstream: Upstream;
  readonly server: SliceServer;
  readonly seed: number;
  service: ServiceRecord;
  pods: readonly PodRecord[];
  nodes: readonly NodeRecord[];
}

function scene(seed: number, service = makeService(), maxEndpointsPerSlice = 100): Scene {
  const upstream = createUpstream(maxEndpointsPerSlice);
  return { upstream, server: createSliceServer([], seed), seed, service, pods: [], nodes: [makeNode('node-1')] };
}

/** The writes of one sync, which the server then has done. */
function sync(s: Scene): { writes: string; errors: number; events: readonly string[] } {
  upstreamNodes(s.upstream, s.nodes);
  const world = { service: s.service, pods: s.pods, nodes: s.nodes, slices: [...s.server.slices.values()] };
  const result = upstreamSync(s.upstream, world, KEY, createPrng(s.seed));
  for (const write of result.writes) serveSliceRequest(s.server, write);
  return { writes: countWrites(result.writes), errors: result.errors.length, events: result.events };
}

function sizes(s: Scene): number[] {
  return sliceSizes(s.server.slices.values());
}

/** Deals the endpoints of a service into slices of these sizes, as older syncs may have left them. */
function deal(s: Scene, ...counts: readonly number[]): void {
  const whole: Scene = { ...s, upstream: createUpstream(1000), server: createSliceServer([], s.seed) };
  sync(whole);
  const [template] = whole.server.slices.values();
  let at = 0;
  for (const [i, count] of counts.entries()) {
    const endpoints = template!.endpoints!.slice(at, at + count);
    putSlice(s.server, {
      ...template!,
      metadata: { ...template!.metadata, name: `web-${i}`, uid: `s${i}` },
      endpoints,
    });
    at += count;
  }
}

function vector(title: string, check: (seed: number) => void): void {
  test(title, () => {
    for (const seed of SEEDS) check(seed);
  });
}

function retarget(service: ServiceRecord, targetPort: number | string): ServiceRecord {
  return { ...service, ports: [makeServicePort({ targetPort })] };
}

vector('P1: 250 pods fill three slices', (seed) => {
  const s = scene(seed);
  s.pods = makePods(250);
  assert.equal(sync(s).writes, '3 create');
  assert.deepEqual(sizes(s), [100, 100, 50]);
  assert.equal(sync(s).writes, 'none');
});

vector('P2: more than fits beside 62 and 61: one new slice, the rest into the fuller one', (seed) => {
  const s = scene(seed);
  s.pods = makePods(123);
  deal(s, 62, 61);
  s.pods = makePods(250);
  assert.equal(sync(s).writes, '1 create, 1 update');
  assert.deepEqual(sizes(s), [100, 89, 61]);
});

vector('P3: what fits into no slice as a whole gets one of its own', (seed) => {
  const s = scene(seed);
  s.pods = makePods(148);
  deal(s, 74, 74);
  s.pods = makePods(300);
  assert.equal(sync(s).writes, '2 create');
  assert.deepEqual(sizes(s), [100, 74, 74, 52]);
});

vector('P4: another target port rewrites the slices under their names', (seed) => {
  const s = scene(seed);
  s.pods = makePods(250);
  sync(s);
  const names = [...s.server.slices.keys()].toSorted();
  s.service = retarget(s.service, 9090);
  assert.equal(sync(s).writes, '3 update');
  assert.deepEqual(sizes(s), [100, 100, 50]);
  assert.deepEqual([...s.server.slices.keys()].toSorted(), names);
});

vector('P5: slices that are not full are left alone', (seed) => {
  const s = scene(seed);
  s.pods = makePods(300);
  deal(s, ...new Array<number>(10).fill(30));
  assert.equal(sync(s).writes, 'none');
});

vector('P6: another target port packs them', (seed) => {
  const s = scene(seed);
  s.pods = makePods(300);
  deal(s, ...new Array<number>(10).fill(30));
  s.service = retarget(s.service, 9090);
  assert.equal(sync(s).writes, '3 update, 7 delete');
  assert.deepEqual(sizes(s), [100, 100, 100]);
});

vector('P7: new pods go into the fullest slice that is written anyway', (seed) => {
  const s = scene(seed);
  s.pods = makePods(100);
  deal(s, 80, 20);
  const stored = [...s.server.slices.values()];
  const flipped = stored.map((slice) => slice.endpoints![0]!.targetRef!.name);
  s.pods = makePods(115);
  s.pods = s.pods.map((pod) => makePod(pod.name, { podIPs: pod.podIPs, ready: !flipped.includes(pod.name) }));
  assert.equal(sync(s).writes, '2 update');
  assert.deepEqual(sizes(s), [95, 20]);
});

vector('P8: slices of the ancient type IP are replaced', (seed) => {
  const s = scene(seed);
  s.pods = makePods(130);
  deal(s, 80, 50);
  for (const slice of s.server.slices.values()) putSlice(s.server, { ...slice, addressType: 'IP' });
  assert.equal(sync(s).writes, '2 create, 2 delete');
  assert.deepEqual(sizes(s), [100, 30]);
});

vector('P9: the slice of another uid is not adopted', (seed) => {
  const s = scene(seed);
  s.pods = makePods(2);
  sync(s);
  s.service = makeService({ uid: 'another' });
  assert.equal(sync(s).writes, '1 create, 1 delete');
  assert.deepEqual(sizes(s), [2]);
});

vector('P10: a named port with five numbers makes five groups', (seed) => {
  const s = scene(seed, retarget(makeService(), 'http'));
  s.pods = makePods(300, (i) => ({ ports: [{ name: 'http', containerPort: 8080 + (i % 5), protocol: 'TCP' }] }));
  assert.equal(sync(s).writes, '5 create');
  assert.deepEqual(sizes(s), [60, 60, 60, 60, 60]);
});

for (const [max, expected] of [
  [50, [50, 50, 50, 50, 50]],
  [80, [80, 80, 80, 10]],
  [150, [150, 100]],
  [250, [250]],
  [500, [250]],
] as const) {
  vector(`P11: 250 pods at ${max} a slice`, (seed) => {
    const s = scene(seed, makeService(), max);
    s.pods = makePods(250);
    assert.equal(sync(s).writes, `${expected.length} create`);
    assert.deepEqual(sizes(s), expected);
  });
}

vector('P12, P13: without pods there is a placeholder, once', (seed) => {
  const s = scene(seed);
  assert.equal(sync(s).writes, '1 create');
  const [slice] = s.server.slices.values();
  assert.deepEqual([slice!.ports, slice!.endpoints], [[], []]);
  assert.equal(sync(s).writes, 'none');
});

vector('P14: an empty slice with other labels becomes the placeholder', (seed) => {
  const s = scene(seed);
  sync(s);
  s.service = makeService({ labels: { team: 'a' } });
  const [name] = s.server.slices.keys();
  assert.equal(sync(s).writes, '1 update');
  assert.deepEqual([...s.server.slices.keys()], [name]);
});

vector('P15: of two empty slices one goes', (seed) => {
  const s = scene(seed);
  sync(s);
  const [slice] = s.server.slices.values();
  putSlice(s.server, { ...slice!, metadata: { ...slice!.metadata, name: 'web-second', uid: 's2' } });
  assert.equal(sync(s).writes, '1 update, 1 delete');
  assert.deepEqual(sizes(s), [0]);
});

for (const [title, onLostNode, publish, writes, errors, left] of [
  ['P16: pods on unknown nodes leave a placeholder', 2, false, '1 update', 2, 0],
  ['P17: the pod on an unknown node goes', 1, false, '1 update', 1, 1],
  ['P18: it stays where unready addresses are published', 1, true, 'none', 0, 2],
] as const) {
  vector(title, (seed) => {
    const s = scene(seed, makeService({ publishNotReadyAddresses: publish }));
    s.nodes = [makeNode('node-1', ''), makeNode('node-2', '')];
    s.pods = makePods(2, (i) => ({ nodeName: i < onLostNode ? 'node-1' : 'node-2' }));
    sync(s);
    s.nodes = [makeNode('node-2', '')];
    const result = sync(s);
    assert.deepEqual([result.writes, result.errors, sizes(s)], [writes, errors, [left]]);
  });
}

vector('P19, P20: a label of the service goes to all slices, a reserved one to none', (seed) => {
  const s = scene(seed);
  s.pods = makePods(250);
  sync(s);
  s.service = makeService({ labels: { team: 'a' } });
  assert.equal(sync(s).writes, '3 update');
  s.service = makeService({ labels: { team: 'a', 'service.kubernetes.io/headless': 'x' } });
  assert.equal(sync(s).writes, 'none');
});

vector('P21: a headless service without ports is at rest', (seed) => {
  const s = scene(seed, makeService({ clusterIP: 'None', ports: [] }));
  s.pods = makePods(2);
  sync(s);
  const [slice] = s.server.slices.values();
  putSlice(s.server, { ...slice!, ports: null });
  assert.equal(sync(s).writes, 'none');
});

vector('P22, P23: a service being deleted creates nothing, but recycles', (seed) => {
  const s = scene(seed, makeService({ deleting: true }));
  assert.equal(sync(s).writes, 'none');
  s.service = makeService();
  s.pods = makePods(2);
  sync(s);
  s.service = retarget(makeService({ deleting: true }), 9090);
  assert.equal(sync(s).writes, '1 update');
});

vector('P24: a whole slice of new pods takes no empty one', (seed) => {
  const s = scene(seed);
  s.pods = makePods(100);
  deal(s, 0);
  assert.equal(sync(s).writes, '1 create');
  assert.deepEqual(sizes(s), [100, 0]);
});

vector('a new port group and a scale to zero recycle, so the name survives', (seed) => {
  const s = scene(seed);
  s.pods = makePods(3);
  sync(s);
  const names = [...s.server.slices.keys()];
  s.pods = [];
  assert.equal(sync(s).writes, '1 update');
  s.pods = makePods(3);
  assert.equal(sync(s).writes, '1 update');
  assert.deepEqual([...s.server.slices.keys()], names);
});

test('hints: with equal zones hints need enough endpoints', () => {
  const possible = (zones: readonly string[]): number[] => {
    const shares = new Map(zones.map((zone) => [zone, 1 / zones.length]));
    return Array.from({ length: 14 }, (_, n) => n).filter((n) => typeof allocate(shares, n) !== 'string');
  };
  assert.deepEqual(possible(['a', 'b']), [2, 4, 6, 7, 8, 9, 10, 11, 12, 13]);
  assert.deepEqual(possible(['a', 'b', 'c']), [3, 6, 7, 9, 10, 12, 13]);
});

test('hints: each zone has a minimum, a maximum and a wish', () => {
  const uneven = new Map([
    ['a', 0.5],
    ['b', 0.45],
    ['c', 0.05],
  ]);
  const allocated = (shares: ReadonlyMap<string, number>, n: number): unknown => {
    const result = allocate(shares, n);
    return typeof result === 'string'
      ? result.split(' ')[0]
      : [...result.values()].map(({ minimum, maximum, desired }) => [minimum, maximum, desired]);
  };
  for (const n of [3, 4, 5, 6]) assert.equal(allocated(uneven, n), 'Unable');
  assert.deepEqual(allocated(uneven, 10), [
    [5, 5, 5],
    [4, 4, 4.5],
    [1, 1, 1],
  ]);
  assert.deepEqual(allocated(uneven, 20), [
    [9, 11, 10],
    [8, 10, 9],
    [1, 3, 1],
  ]);
});

test('hints: zones give and receive', () => {
  const random = createPrng(1);
  const check = (desired: readonly number[], counts: readonly number[], give: unknown, receive: unknown): void => {
    const zones = ['a', 'b', 'c'];
    const allocations = new Map(zones.map((zone, i) => [zone, { desired: desired[i]! }]));
    const result = givingAndReceiving(allocations, new Map(zones.map((zone, i) => [zone, counts[i]!])), random);
    assert.deepEqual([Object.fromEntries(result.give), Object.fromEntries(result.receive)], [give, receive]);
  };
  check([5.1, 5.1, 5.8], [16, 0, 0], { a: 10 }, { b: 5, c: 5 });
  check([5, 5.6, 5.4], [16, 0, 0], { a: 11 }, { b: 6, c: 5 });
  check([5, 5.6, 5.4], [0, 8, 8], { b: 2, c: 3 }, { a: 5 });
  check([1.2, 1.1, 1], [1, 1, 1], {}, {});
  check([5, 5, 5], [-40, 20, 20], { b: 15, c: 15 }, { a: 30 });
});

test('hints: a zone below its minimum is overloaded', () => {
  const overloaded = (shares: readonly number[], counts: readonly number[]): boolean => {
    const total = shares.reduce((sum, share) => sum + share, 0);
    return isOverloaded(
      new Map(counts.map((count, i) => [String(i), count])),
      new Map(shares.map((share, i) => [String(i), share / total])),
    );
  };
  assert.deepEqual(
    [
      [5, 4],
      [6, 4],
      [6, 5],
      [7, 5],
    ].map((counts) => overloaded([1, 1], counts)),
    [false, true, false, false],
  );
  assert.equal(overloaded([2000, 1000, 100], [20, 10, 1]), false);
  assert.equal(overloaded([2000, 1000, 100], [20, 10, 0]), true);
  assert.equal(isOverloaded(new Map([['a', 1]]), null), true);
});

test('hints: zones have shares of CPU', () => {
  const shares = (...nodes: NodeRecord[]): unknown => {
    const result = upstreamShares(nodes);
    return result && Object.fromEntries(result);
  };
  assert.equal(shares(makeNode('1', 'a'), makeNode('2', 'a')), null);
  assert.equal(shares(makeNode('1', 'a'), makeNode('2', 'b', { ready: false })), null);
  const master = makeNode('2', 'b', { labels: [...makeNode('2', 'b').labels, 'node-role.kubernetes.io/master', ''] });
  assert.equal(shares(makeNode('1', 'a'), master), null);
  assert.equal(shares(makeNode('1', 'a'), makeNode('2', 'b'), makeNode('3', '')), null);
  assert.deepEqual(
    shares(
      makeNode('1', 'a', { allocatableCpu: '5000m' }),
      makeNode('2', 'b', { allocatableCpu: '4500m' }),
      makeNode('3', 'c', { allocatableCpu: '500m' }),
    ),
    { a: 0.5, b: 0.45, c: 0.05 },
  );
});

const ZONE_NODES = ['a', 'b', 'c'].map((zone) => makeNode(`node-${zone}`, zone));

function hintCounts(slices: Iterable<EndpointSlice>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const slice of slices) {
    for (const { hints } of slice.endpoints ?? []) {
      for (const { name } of hints?.forZones ?? []) counts[name] = (counts[name] ?? 0) + 1;
      for (const { name } of hints?.forNodes ?? []) counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  return counts;
}

function crossings(slices: Iterable<EndpointSlice>): number {
  const crosses = ({ zone, hints }: Endpoint): boolean => hints?.forZones?.[0]?.name !== zone;
  return [...slices].flatMap((slice) => slice.endpoints ?? []).filter(crosses).length;
}

vector('hints: three pods in one zone are shared out', (seed) => {
  const s = scene(seed, makeService({ annotations: { [TOPOLOGY_MODE_ANNOTATION]: 'Auto' } }));
  s.nodes = ZONE_NODES;
  s.pods = makePods(3, () => ({ nodeName: 'node-c' }));
  assert.deepEqual(sync(s).events, [
    'TopologyAwareHintsEnabled: Topology Aware Hints has been enabled, addressType: IPv4',
  ]);
  assert.deepEqual(hintCounts(s.server.slices.values()), { a: 1, b: 1, c: 1 });
  assert.equal(crossings(s.server.slices.values()), 2);
  assert.equal(sync(s).writes, 'none');
  s.nodes = ZONE_NODES.slice(0, 1);
  s.service = makeService();
  s.nodes = ZONE_NODES;
  assert.equal(sync(s).writes, '1 update');
  assert.deepEqual(hintCounts(s.server.slices.values()), {});
});

vector('hints: two slices get hints together, one of them across zones', (seed) => {
  const s = scene(seed, makeService(), 5);
  s.nodes = ZONE_NODES;
  s.pods = makePods(9, (i) => ({ nodeName: `node-${'aaccaabbb'[i]}` }));
  deal(s, 4, 5);
  s.service = makeService({ annotations: { [TOPOLOGY_MODE_ANNOTATION]: 'Auto' } });
  assert.equal(sync(s).writes, '2 update');
  assert.deepEqual(hintCounts(s.server.slices.values()), { a: 3, b: 3, c: 3 });
  assert.equal(crossings(s.server.slices.values()), 1);
});

for (const [mode, expected] of [
  ['PreferClose', { a: 1, b: 3, c: 2 }],
  ['PreferSameZone', { a: 1, b: 3, c: 2 }],
  ['PreferSameNode', { a: 1, b: 3, c: 2, 'node-a': 1, 'node-b': 3, 'node-c': 2 }],
  ['Elsewhere', {}],
] as const) {
  vector(`traffic distribution: ${mode}`, (seed) => {
    const s = scene(seed, makeService({ trafficDistribution: mode }));
    s.nodes = ZONE_NODES;
    s.pods = makePods(6, (i) => ({ nodeName: `node-${'abbbcc'[i]}` }));
    sync(s);
    assert.deepEqual(hintCounts(s.server.slices.values()), expected);
    assert.equal(sync(s).writes, 'none');
    s.service = makeService({
      trafficDistribution: mode,
      annotations: { [TOPOLOGY_MODE_ANNOTATION]: 'Auto' },
    });
    sync(s);
    assert.deepEqual(hintCounts(s.server.slices.values()), { a: 2, b: 2, c: 2 }, 'Auto wins');
    assert.equal(crossings(s.server.slices.values()), 1);
  });
}

test("trigger times are upstream's", () => {
  const s = scene(1);
  const told = (): string | undefined => {
    s.service = { ...s.service, labels: ['nonce', String(s.server.version)] };
    sync(s);
    const [slice] = s.server.slices.values();
    return slice!.metadata.annotations?.[TRIGGER_TIME_ANNOTATION]?.slice(11, 19);
  };
  const timed = (...times: number[]): PodRecord[] =>
    times.map((readyTime, i) => makePod(`pod-${i}`, { readyTime, podIPs: [`10.0.0.${i + 1}`] }));
  s.service = makeService({ creationTime: 3600 });
  assert.equal(told(), '01:00:00', 'first sync: the creation of the service');
  s.pods = timed(3602, 3601);
  assert.equal(told(), '01:00:01');
  s.pods = timed(3603, 3604);
  assert.equal(told(), '01:00:03');
  assert.equal(told(), undefined, 'nothing moved');
  s.pods = timed(3603);
  assert.equal(told(), undefined, 'a pod less');
  s.pods = timed(3603, 3605);
  assert.equal(told(), '01:00:05');
});
