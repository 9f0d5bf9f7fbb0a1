/**
 * Hints within a plan: which slices are written for them, and what the facts say (docs/spec/endpointslice.md "When
 * hints apply", "Traffic distribution").
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SlicesPlan } from '../../../src/core/slices/plan.ts';
import { TOPOLOGY_HINTS_ANNOTATION, TOPOLOGY_MODE_ANNOTATION } from '../../../src/kube/names.ts';
import type { ServiceRecord } from '../../../src/kube/types.ts';
import { makePod, makeService } from '../../support/records.ts';
import {
  createSlicesWorld,
  endpointOf,
  plan,
  putPod,
  putSlice,
  setService,
  type SlicesWorld,
  sync,
  verbs,
} from './slices-world.ts';

const AUTO = makeService({ annotations: { [TOPOLOGY_MODE_ANNOTATION]: 'Auto' } });
const THIRDS = ['a', 'b', 'c'].map((zone) => ({ zone, share: 1 / 3 }));

/** One pod in zone a on node-0, three in b on node-1, two in c on node-2. */
function zonedWorld(service: ServiceRecord, max = 100): SlicesWorld {
  const world = createSlicesWorld({ service, max });
  world.shares = { version: 1, zones: THIRDS };
  ['a', 'b', 'b', 'b', 'c', 'c'].forEach((zone, i) => putPod(world, podAt(i, zone), zone));
  return world;
}

function podAt(i: number, zone: string): ReturnType<typeof makePod> {
  return makePod(`p${i}`, { podIPs: [`10.0.0.${i}`], nodeName: `node-${'abc'.indexOf(zone)}` });
}

/** Such as `zone a 1, node node-0 1`: how many endpoints on the server are meant for what. */
function hintsOf({ server }: SlicesWorld): string {
  const counts = new Map<string, number>();
  const count = (key: string): unknown => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { endpoints } of server.values()) {
    for (const { hints } of endpoints ?? []) {
      for (const { name } of hints?.forZones ?? []) count(`zone ${name}`);
      for (const { name } of hints?.forNodes ?? []) count(`node ${name}`);
    }
  }
  return [...counts]
    .map(([key, value]) => `${key} ${value}`)
    .sort()
    .join(', ');
}

function hintFacts({ facts }: SlicesPlan): unknown[] {
  const { hints, hintsFailure } = facts.families[0]!;
  const counts = hints?.map(({ zone, count }) => `${zone}${count}`).join(' ') ?? null;
  return [facts.topology, facts.trafficDistribution, counts, hintsFailure];
}

// trafficDistribution (docs/spec/endpointslice.md "Traffic distribution: golden vectors")

const distributions: [trafficDistribution: string, expected: string][] = [
  ['PreferClose', 'zone a 1, zone b 3, zone c 2'],
  ['PreferSameZone', 'zone a 1, zone b 3, zone c 2'],
  ['PreferSameNode', 'node node-0 1, node node-1 3, node node-2 2, zone a 1, zone b 3, zone c 2'],
  ['', ''],
  ['Elsewhere', ''],
];
for (const [trafficDistribution, expected] of distributions) {
  const effective = expected === '' ? '' : trafficDistribution;
  test(`trafficDistribution ${trafficDistribution || 'unset'} gives ${expected || 'no hints'}`, () => {
    const world = zonedWorld(makeService({ trafficDistribution }));
    assert.deepEqual(hintFacts(sync(world)), [false, effective, null, '']);
    assert.equal(hintsOf(world), expected);
    assert.equal(verbs(plan(world)), 'none');
  });
}

test('the annotation has precedence over trafficDistribution', () => {
  const world = zonedWorld({ ...AUTO, trafficDistribution: 'PreferClose' });
  assert.deepEqual(hintFacts(sync(world)), [true, '', 'a2 b2 c2', '']);
  assert.equal(hintsOf(world), 'zone a 2, zone b 2, zone c 2');
});

test('each change of trafficDistribution writes each slice once', () => {
  const world = zonedWorld(makeService(), 2);
  sync(world);
  for (const trafficDistribution of ['PreferClose', 'PreferSameNode', '']) {
    setService(world, makeService({ trafficDistribution }));
    assert.equal(verbs(sync(world)), '3 update');
    assert.equal(verbs(plan(world)), 'none');
  }
  assert.equal(hintsOf(world), '');
});

test('a flip writes its own slice only, and keeps its hints', () => {
  const world = zonedWorld(makeService({ trafficDistribution: 'PreferClose' }), 2);
  sync(world);
  putPod(world, { ...podAt(0, 'a'), ready: false }, 'a');
  assert.equal(verbs(sync(world)), '1 update');
  assert.equal(hintsOf(world), 'zone b 3, zone c 2');
  assert.equal(verbs(plan(world)), 'none');
});

test('the hint follows the zone of the node', () => {
  const world = zonedWorld(makeService({ trafficDistribution: 'PreferClose' }));
  sync(world);
  putPod(world, podAt(0, 'a'), 'c');
  assert.equal(verbs(sync(world)), '1 update');
  assert.equal(hintsOf(world), 'zone b 3, zone c 3');
});

// topology-mode (9)

test('Auto: hints by CPU come in one write with other changes', () => {
  const world = zonedWorld(AUTO, 2);
  const planned = sync(world);
  assert.equal(verbs(planned), '3 create');
  assert.deepEqual(hintFacts(planned), [true, '', 'a2 b2 c2', '']);
  assert.deepEqual(hintFacts(plan(world)), [true, '', 'a2 b2 c2', '']);
  assert.equal(verbs(plan(world)), 'none');
});

test('hints follow Auto as it is switched on and off', () => {
  const world = zonedWorld(makeService(), 2);
  sync(world);
  setService(world, AUTO);
  assert.equal(verbs(sync(world)), '3 update');
  setService(
    world,
    makeService({ annotations: { [TOPOLOGY_HINTS_ANNOTATION]: 'Disabled', [TOPOLOGY_MODE_ANNOTATION]: 'Auto' } }),
  );
  const off = sync(world);
  assert.equal(verbs(off), '3 update');
  assert.deepEqual(hintFacts(off), [false, '', null, '']);
  assert.equal(hintsOf(world), '');
});

test('Auto without shares gives no hints, and the reason', () => {
  const world = zonedWorld(AUTO);
  sync(world);
  world.shares = null;
  const planned = sync(world);
  assert.equal(verbs(planned), '1 update');
  assert.equal(hintsOf(world), '');
  const reason = 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  assert.deepEqual(hintFacts(planned), [true, '', null, reason]);
  assert.deepEqual(hintFacts(plan(world)), [true, '', null, reason]);
  assert.equal(verbs(plan(world)), 'none');
});

test('Auto writes only slices whose hints new shares make impossible', () => {
  const world = zonedWorld(AUTO, 2);
  sync(world);
  world.shares = { version: 2, zones: THIRDS.map(({ zone }) => ({ zone, share: zone === 'b' ? 0.38 : 0.31 })) };
  assert.equal(verbs(plan(world)), 'none');
  // Nothing may go to zone a any more but what is there.
  world.shares = { version: 3, zones: ['b', 'c'].map((zone) => ({ zone, share: 0.5 })) };
  const planned = sync(world);
  assert.equal(verbs(planned), '1 update');
  assert.deepEqual(hintFacts(planned), [true, '', 'a1 b3 c2', '']);
  assert.equal(verbs(plan(world)), 'none');
});

test('hints of each family are judged alone (#126004)', () => {
  const world = createSlicesWorld({ service: { ...AUTO, ipFamilies: ['IPv4', 'IPv6'] } });
  world.shares = { version: 1, zones: THIRDS };
  ['a', 'b', 'c'].forEach((zone, i) => {
    putPod(world, makePod(`p${i}`, { podIPs: i === 0 ? ['10.0.0.1', 'fd00::1'] : [`10.0.0.${i + 1}`] }), zone);
  });
  const { families } = sync(world).facts;
  assert.deepEqual(
    families.map(({ family, hintsFailure }) => [family, hintsFailure]),
    [
      ['IPv4', ''],
      ['IPv6', 'Insufficient number of endpoints (1 endpoints, 3 zones)'],
    ],
  );
});

// Hints of others

test('hints of others are removed where none are wanted', () => {
  const world = zonedWorld(makeService());
  sync(world);
  const [held] = [...world.server.values()];
  const endpoints = held!.endpoints!.map((endpoint, i) =>
    i === 0 ? endpointOf(podAt(0, 'a'), { zone: 'a', hints: { forZones: [{ name: 'b' }] } }) : endpoint,
  );
  putSlice(world, { ...held!, endpoints });
  const planned = sync(world);
  assert.equal(verbs(planned), '1 update');
  assert.equal(hintsOf(world), '');
  assert.equal(verbs(plan(world)), 'none');
});

test('a write for hints alone keeps labels and order, and has a trigger time', () => {
  const world = zonedWorld(makeService());
  sync(world);
  const [before] = [...world.server.values()];
  setService(world, makeService({ trafficDistribution: 'PreferClose', clusterIP: 'None' }));
  const { object } = plan(world, 1_785_848_518).writes[0]!;
  assert.deepEqual(object!.metadata.labels, before!.metadata.labels);
  assert.deepEqual(
    object!.endpoints!.map(({ addresses }) => addresses),
    before!.endpoints!.map(({ addresses }) => addresses),
  );
  assert.deepEqual(Object.values(object!.metadata.annotations!), ['2026-08-04T13:01:58Z']);
});
