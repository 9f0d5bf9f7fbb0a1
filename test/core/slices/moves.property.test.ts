/**
 * Endpoints that move between slices are never out of all of them, in whatever order the writes of a phase come about
 * (#93374, #93908): also pods that change their ports, and services that do.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { SliceWrite } from '../../../src/core/slices/slice-write.ts';
import type { EndpointSlice, PodRecord } from '../../../src/kube/types.ts';
import { makePod, makeService, makeServicePort } from '../../support/records.ts';
import {
  createSlicesWorld,
  endpointOf,
  plan,
  putPod,
  removePod,
  setService,
  slice,
  type SlicesWorld,
  sync,
} from './slices-world.ts';
import { propertyRuns } from '../../support/runs.ts';

const runs = propertyRuns(150);

/**
 * For each pod that is listed before and after: in each phase there is a slice that listed it when the phase began and that
 * no write of the phase takes it from. So the order within the phase does not matter.
 */
function checkNeverNowhere(before: ReadonlyMap<string, EndpointSlice>, writes: readonly SliceWrite[]): void {
  const slices = new Map(before);
  const after = new Map(before);
  for (const write of writes) apply(after, write);
  const settled = listedIn(after);
  for (let phase = 1; writes.some((write) => write.phase >= phase); phase++) {
    const mine = writes.filter((write) => write.phase === phase);
    const safe = new Map(slices);
    for (const { name, object } of mine) {
      const old = slices.get(name);
      if (old === undefined) continue;
      const stay = podsOf(object);
      safe.set(name, {
        ...old,
        endpoints: (old.endpoints ?? []).filter(({ targetRef }) => stay.has(targetRef!.name!)),
      });
    }
    const kept = listedIn(safe);
    for (const pod of listedIn(slices)) {
      if (settled.has(pod)) assert.ok(kept.has(pod), `${pod} is always in some slice: ${shown(slices, writes)}`);
    }
    for (const write of mine) apply(slices, write);
  }
}

function apply(slices: Map<string, EndpointSlice>, { name, object }: SliceWrite): void {
  if (object === null) slices.delete(name);
  else slices.set(name, object);
}

function listedIn(slices: ReadonlyMap<string, EndpointSlice>): Set<string> {
  let pods = new Set<string>();
  for (const each of slices.values()) pods = pods.union(podsOf(each));
  return pods;
}

function podsOf(object: EndpointSlice | null): Set<string> {
  return new Set((object?.endpoints ?? []).map(({ targetRef }) => targetRef!.name!));
}

function shown(slices: ReadonlyMap<string, EndpointSlice>, writes: readonly SliceWrite[]): string {
  const list = (object: EndpointSlice | null): string =>
    `${object?.ports?.[0]?.port}(${[...podsOf(object)].join(' ')})`;
  const held = [...slices].map(([name, each]) => `${name} ${list(each)}`);
  const written = writes.map(({ verb, name, phase, object }) => `${phase} ${verb} ${name} ${list(object)}`);
  return `${held.join(', ')}; ${written.join(', ')}`;
}

/** The first few have one address, as the pods of a node's network. */
function podAt(i: number, port: number): PodRecord {
  const ports = [{ name: 'http', containerPort: port, protocol: 'TCP' }];
  return makePod(`p${i}`, { podIPs: [`10.0.0.${Math.max(i, 4)}`], ports });
}

const byName = makeService({ ports: [makeServicePort({ targetPort: 'http' })] });
const byNumber = makeService({ ports: [makeServicePort({ targetPort: 8080 })] });

/** Slices of pods that offer port 1 or 2, the way they may have become over time: not packed. */
const history = fc.record({
  max: fc.constantFrom(1, 2, 3, 4, 5),
  ports: fc.array(fc.constantFrom(1, 2), { minLength: 1, maxLength: 16, size: 'max' }),
  gone: fc.array(fc.nat(15), { maxLength: 8, size: 'max' }),
});

function grownWorld(
  { max, ports, gone }: { max: number; ports: number[]; gone: number[] },
  named: boolean,
): SlicesWorld {
  const world = createSlicesWorld({ service: named ? byName : byNumber, max });
  ports.forEach((port, i) => {
    putPod(world, podAt(i, port));
    if (i % 3 === 0) sync(world);
  });
  for (const i of gone) removePod(world, `p${i}`);
  sync(world);
  return world;
}

function check(world: SlicesWorld): void {
  const before = new Map(world.server);
  const { writes } = sync(world);
  checkNeverNowhere(before, writes);
}

/** New pods, pods that go, pods that are not ready. */
const others = fc.array(
  fc.record({ i: fc.nat(20), what: fc.constantFrom('new', 'gone', 'unready'), port: fc.constantFrom(1, 2) }),
  { maxLength: 5 },
);

test('a service that changes its port keeps every endpoint in a slice', () => {
  fc.assert(
    fc.property(history, others, (grown, changes) => {
      const world = grownWorld(grown, false);
      setService(world, makeService({ ports: [makeServicePort({ targetPort: 9090 })] }));
      for (const { i, what } of changes) {
        if (what === 'gone') removePod(world, `p${i}`);
        else putPod(world, { ...podAt(i, 1), ready: what !== 'unready' });
      }
      check(world);
    }),
    runs,
  );
});

test('a service that is made anew keeps every endpoint in a slice', () => {
  fc.assert(
    fc.property(history, (grown) => {
      const world = grownWorld(grown, true);
      setService(world, { ...byName, uid: 'uid-another' });
      check(world);
    }),
    runs,
  );
});

test('a pod that changes its ports is never in no slice', () => {
  fc.assert(
    fc.property(history, others, fc.nat(15), (grown, changes, moved) => {
      const world = grownWorld(grown, true);
      for (const { i, what, port } of changes) {
        // Of those that stay, only one changes its ports.
        const known = grown.ports[i];
        if (what === 'gone') removePod(world, `p${i}`);
        else putPod(world, { ...podAt(i, known ?? port), ready: what !== 'unready' });
      }
      const from = grown.ports[moved % grown.ports.length]!;
      putPod(world, podAt(moved % grown.ports.length, 3 - from));
      check(world);
    }),
    runs,
  );
});

test('pods that change ports, one by one or all at once, are never in no slice', () => {
  fc.assert(
    fc.property(history, fc.array(fc.nat(15), { minLength: 1, maxLength: 16, size: 'max' }), (grown, moved) => {
      const world = grownWorld(grown, true);
      for (const i of moved) if (i < grown.ports.length && !grown.gone.includes(i)) putPod(world, podAt(i, 2));
      check(world);
    }),
    runs,
  );
});

test('this test notices an endpoint that is in no slice', () => {
  const before = new Map([['a', slice('a', [endpointOf(podAt(1, 1))])]]);
  const create = {
    verb: 'create',
    name: 'b',
    uid: '',
    resourceVersion: '',
    object: slice('b', [endpointOf(podAt(1, 1))]),
  };
  const remove = { verb: 'delete', name: 'a', uid: '', resourceVersion: '', object: null };
  const writes = (first: 1 | 2, second: 1 | 2): SliceWrite[] =>
    [
      { ...create, phase: first, waits: false },
      { ...remove, phase: second, waits: true },
    ] as SliceWrite[];
  checkNeverNowhere(before, writes(1, 2));
  assert.throws(() => checkNeverNowhere(before, writes(1, 1)));
  assert.throws(() => checkNeverNowhere(before, writes(2, 1)));
});

test('two slices that exchange their pods need no more writes for that', () => {
  const world = createSlicesWorld({ service: byName, pods: [podAt(0, 1), podAt(1, 1), podAt(2, 2), podAt(3, 2)] });
  sync(world);
  putPod(world, podAt(0, 2));
  putPod(world, podAt(2, 1));
  const { writes } = plan(world);
  assert.deepEqual(
    writes.map(({ verb, phase }) => [verb, phase]),
    [
      ['update', 2],
      ['update', 2],
    ],
  );
});
