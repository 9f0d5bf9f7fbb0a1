/** Slices of a service that has shrunk are merged, where that is asked for (D17). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ackSlice } from '../../../src/core/slices/plan.ts';
import { makeService, makeServicePort } from '../../support/records.ts';
import {
  carryOut,
  createSlicesWorld,
  endpointOf,
  manyPods,
  plan,
  putPod,
  putSlice,
  removePod,
  setService,
  sizes,
  slice,
  type SlicesWorld,
  sync,
  verbs,
} from './slices-world.ts';
import { propertyRuns } from '../../support/runs.ts';

/** Slices of so many endpoints each. */
function start(counts: readonly number[], max = 100, compactSlices = true): SlicesWorld {
  const pods = manyPods(counts.reduce((sum, count) => sum + count, 0));
  let at = 0;
  const stored = counts.map((count, i) =>
    slice(
      `web-${i}`,
      pods.slice(at, (at += count)).map((pod) => endpointOf(pod)),
    ),
  );
  return createSlicesWorld({ pods, stored, max, config: { compactSlices } });
}

function offering(containerPort: number): Parameters<typeof manyPods>[2] {
  return { ports: [{ name: 'http', containerPort, protocol: 'TCP' }] };
}

/** Each step as writes and what is left, until nothing is written. */
function steps(world: SlicesWorld): [string, number[]][] {
  const seen: [string, number[]][] = [];
  for (let written = verbs(sync(world)); written !== 'none'; written = verbs(sync(world))) {
    seen.push([written, sizes(world)]);
    assert.ok(seen.length < 100, 'it ends');
  }
  return seen;
}

test('the fullest slice takes the endpoints of three others, until one is left', () => {
  assert.deepEqual(steps(start(Array.from({ length: 10 }, () => 10))), [
    ['1 update, 3 delete', [40, 10, 10, 10, 10, 10, 10]],
    ['1 update, 3 delete', [70, 10, 10, 10]],
    ['1 update, 3 delete', [100]],
  ]);
});

test('merging stops as soon as more than half of the places are taken', () => {
  assert.deepEqual(steps(start([90, 5, 5, 60])), [['1 update, 2 delete', [100, 60]]]);
  assert.deepEqual(steps(start([60, 41])), []);
  assert.deepEqual(steps(start([50, 50])), [['1 update, 1 delete', [100]]]);
});

test('the fullest slice with room takes the emptiest one', () => {
  assert.deepEqual(steps(start([70, 40, 40])), [['1 update, 1 delete', [80, 70]]]);
});

test('slices are not merged unless that is asked for', () => {
  assert.deepEqual(steps(start([1, 1, 1], 100, false)), []);
  assert.equal('fragmented' in plan(start([1, 1], 100, false)).facts, false);
});

test('the slice that grows is written before the others go', () => {
  const { writes } = plan(start([10, 10, 10]));
  assert.deepEqual(
    writes.map(({ verb, phase }) => [verb, phase]),
    [
      ['update', 1],
      ['delete', 2],
      ['delete', 2],
    ],
  );
});

test('an empty slice is only deleted', () => {
  assert.deepEqual(steps(start([10, 0])), [['1 delete', [10]]]);
});

test('a change of pods goes first, alone', () => {
  const world = start([10, 10]);
  const [pod] = manyPods(1);
  putPod(world, { ...pod!, ready: false });
  assert.deepEqual(steps(world), [
    ['1 update', [10, 10]],
    ['1 update, 1 delete', [20]],
  ]);
});

test('groups of ports are merged one at a time', () => {
  const ports = [makeServicePort({ targetPort: 'http' })];
  const world = createSlicesWorld({ service: makeService({ ports }), max: 4, config: { compactSlices: true } });
  for (const pod of [...manyPods(12, 0, offering(80)), ...manyPods(12, 12, offering(81))]) putPod(world, pod);
  sync(world);
  assert.deepEqual(sizes(world), [4, 4, 4, 4, 4, 4]);
  const listed = (port: number): string[][] =>
    [...world.server.values()]
      .filter((one) => one.ports![0]!.port === port)
      .map(({ endpoints }) => endpoints!.map(({ targetRef }) => targetRef!.name!));
  for (const port of [80, 81])
    for (const [, ...others] of listed(port)) for (const name of others) removePod(world, name);
  sync(world);
  assert.deepEqual(sizes(world), [1, 1, 1, 1, 1, 1]);
  assert.deepEqual(steps(world), [
    ['1 update, 2 delete', [3, 1, 1, 1]],
    ['1 update, 2 delete', [3, 3]],
  ]);
});

test('facts say so while there is something to merge', () => {
  const world = start([10, 10]);
  assert.equal(sync(world).facts.fragmented, true);
  assert.equal(sync(world).facts.fragmented, false);
  assert.deepEqual(sizes(world), [20]);
});

for (const fragmented of ['IPv4', 'IPv6'] as const) {
  test(`facts say so when ${fragmented} alone has something to merge`, () => {
    const pods = manyPods(4).map((pod, i) => Object.assign({}, pod, { podIPs: [pod.podIP, `fd00::${i + 1}`] }));
    const world = createSlicesWorld({
      service: makeService({ ipFamilies: ['IPv4', 'IPv6'] }),
      pods,
      max: 10,
      config: { compactSlices: true },
    });
    sync(world);
    assert.equal(sync(world).facts.fragmented, false);
    const whole = [...world.server.values()].find(({ addressType }) => addressType === fragmented)!;
    const endpoints = whole.endpoints!;
    putSlice(world, { ...whole, endpoints: endpoints.slice(0, 2) });
    const metadata = { ...whole.metadata, name: 'web-half', uid: 'uid-half' };
    putSlice(world, { ...whole, metadata, endpoints: endpoints.slice(2) });
    const { facts, writes } = sync(world);
    assert.deepEqual([facts.fragmented, verbs({ writes })], [true, '1 update, 1 delete']);
    assert.equal(sync(world).facts.fragmented, false);
    assert.deepEqual(sizes(world), [4, 4]);
  });
}

test('facts of a merge have its writes and slices, and no endpoint added or removed', () => {
  const world = start([10, 10, 10, 10, 10]);
  const common = {
    family: 'IPv4',
    endpoints: 50,
    slicesDesired: 1,
    added: 0,
    removed: 0,
    hints: null,
    hintsFailure: '',
  };
  assert.deepEqual(sync(world).facts.families, [{ ...common, slices: 2, writes: 4 }]);
  assert.deepEqual(sync(world).facts.families, [{ ...common, slices: 1, writes: 2 }]);
  assert.deepEqual(sync(world).facts.families, [{ ...common, slices: 1, writes: 0 }]);
});

test('slices of ports that no pod offers are deleted, not merged', () => {
  const world = createSlicesWorld({
    service: makeService({ ports: [makeServicePort({ targetPort: 'http' })] }),
    pods: [...manyPods(1, 0, offering(80)), ...manyPods(8, 1, offering(81))],
    max: 4,
    config: { compactSlices: true },
  });
  sync(world);
  sync(world);
  for (const pod of manyPods(8, 1)) removePod(world, pod.name);
  const planned = plan(world);
  assert.equal(verbs(planned), '2 delete');
  assert.equal(planned.facts.fragmented, false);
});

test('moved endpoints come after those of the slice, in their order', () => {
  const world = start([3, 2, 2]);
  const names = manyPods(7).map(({ name }) => name);
  sync(world);
  const [only] = [...world.server.values()].map(({ endpoints }) => endpoints!.map(({ targetRef }) => targetRef!.name));
  assert.deepEqual(only, names);
});

test('facts name a merge with an empty slice before the new slice exists', () => {
  const world = start([0], 2);
  for (const pod of manyPods(2)) putPod(world, pod);
  const { facts, writes } = plan(world);
  assert.deepEqual([writes.map(({ verb }) => verb), facts.fragmented], [['create'], true]);
  sync(world);
  assert.deepEqual(steps(world), [['1 delete', [2]]]);
  assert.equal(sync(world).facts.fragmented, false);
});

test('moved endpoints have the hints that are asked for', () => {
  const world = start([2, 2]);
  setService(world, makeService({ trafficDistribution: 'PreferClose' }));
  for (const pod of manyPods(4)) putPod(world, pod, 'zone-a');
  steps(world);
  const [only] = world.server.values();
  assert.deepEqual(
    only!.endpoints!.map(({ hints }) => hints),
    Array.from({ length: 4 }, () => ({ forZones: [{ name: 'zone-a' }] })),
  );
});

test('slices of any sizes: few writes a step, no endpoint lost, an end', () => {
  // One takes from three; to undo a failed step costs at most a write for each of the four.
  const WRITES_MAX = 4;
  const counts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(counts, fc.array(fc.boolean(), { maxLength: 8 }), (before, fails) => {
      const max = 7;
      const world = start(before, max);
      const all = before.reduce((sum, count) => sum + count, 0);
      for (let step = 0; ; step++) {
        assert.ok(step < 30, 'it ends');
        const { writes } = plan(world);
        if (writes.length === 0) break;
        assert.ok(writes.length <= WRITES_MAX);
        // As the writer does it: phase 2 only when phase 1 succeeded. Of the steps that `fails` names the last delete
        // fails.
        writes.forEach((write, i) => {
          const lost = fails[step] === true && write.verb === 'delete' && i === writes.length - 1;
          ackSlice(
            world.slices,
            write,
            lost ? { result: 'refused', uid: '', resourceVersion: '' } : carryOut(world, write),
          );
          assert.equal(addresses(world).size, all);
        });
      }
      assert.equal(
        sizes(world).reduce((sum, size) => sum + size, 0),
        all,
      );
      const left = sizes(world).length;
      assert.ok(left === 1 || all * 2 > left * max, `${sizes(world).join()} of ${max}`);
    }),
    propertyRuns(200, 17),
  );
});

function addresses(world: SlicesWorld): Set<string> {
  return new Set([...world.server.values()].flatMap(({ endpoints }) => endpoints!.map((one) => one.addresses[0]!)));
}
