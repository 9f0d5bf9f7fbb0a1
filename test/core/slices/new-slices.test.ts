/** Which slices are recycled for what, shown as `name(pods)` before and after. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePod, makeService, makeServicePort } from '../../support/records.ts';
import { createSlicesWorld, endpointOf, plan, putPod, slice, type SlicesWorld, sync, verbs } from './slices-world.ts';

const byName = makeService({ ports: [makeServicePort({ targetPort: 'http' })] });

/** Pods by the port that they offer, such as `1: a b c`; pod `a` has the address 10.0.0.97. */
function podsOf(text: string) {
  const [port, names] = text.split(': ');
  return (names ?? '')
    .split(' ')
    .filter(Boolean)
    .map((name) =>
      makePod(name, {
        podIPs: [`10.0.0.${name.charCodeAt(0)}`],
        ports: [{ name: 'http', containerPort: Number(port), protocol: 'TCP' }],
      }),
    );
}

/** Slices such as `x 1: a b`, in a service whose port is named. */
function worldOf(max: number, slices: readonly string[]): SlicesWorld {
  const pods = slices.flatMap((text) => podsOf(text.slice(2)));
  const stored = slices.map((text) =>
    slice(
      text[0]!,
      podsOf(text.slice(2)).map((pod) => endpointOf(pod)),
      { ports: [{ name: '', protocol: 'TCP', port: Number(text.slice(2).split(':')[0]) }] },
    ),
  );
  const world = createSlicesWorld({ service: byName, pods, stored, max });
  assert.equal(verbs(plan(world)), 'none');
  return world;
}

function shown({ server }: SlicesWorld): string[] {
  return [...server.values()]
    .map(({ metadata, ports, endpoints }) => {
      const pods = (endpoints ?? []).map(({ targetRef }) => targetRef!.name);
      return [metadata.name!.startsWith('web-') ? 'new' : metadata.name, `${ports![0]?.port ?? '-'}:`, ...pods].join(
        ' ',
      );
    })
    .sort();
}

function check(world: SlicesWorld, written: string, expected: readonly string[]): void {
  assert.equal(verbs(sync(world)), written);
  assert.deepEqual(shown(world), expected);
  assert.equal(verbs(plan(world)), 'none');
}

function move(world: SlicesWorld, text: string): void {
  for (const pod of podsOf(text)) putPod(world, pod);
}

test('a slice whose pods all change their port changes with them', () => {
  const world = worldOf(3, ['x 1: a b', 'y 1: c']);
  move(world, '2: a b');
  check(world, '1 update', ['x 2: a b', 'y 1: c']);
});

test('two slices that change at once both stay', () => {
  const world = worldOf(2, ['x 1: a b', 'y 1: c d']);
  move(world, '2: a b c d');
  check(world, '2 update', ['x 2: a b', 'y 2: c d']);
});

test('of full slices the last gives its excess, as with upstream', () => {
  const world = worldOf(4, ['x 1: a b c', 'y 1: d e f']);
  move(world, '2: a b c d e f');
  check(world, '2 update', ['x 2: a b c f', 'y 2: d e']);
});

test('each slice goes with its pods to different ports', () => {
  const world = worldOf(2, ['x 1: a b', 'y 1: c d']);
  move(world, '3: a b');
  move(world, '2: c d');
  check(world, '2 update', ['x 3: a b', 'y 2: c d']);
});

test('a slice whose pods part goes with most of them', () => {
  const world = worldOf(3, ['x 1: a b c']);
  move(world, '2: a');
  move(world, '3: b c');
  check(world, '1 create, 1 update', ['new 2: a', 'x 3: b c']);
});

test('the fullest of several slices is recycled, and the others empty into it', () => {
  const world = worldOf(4, ['x 1: a', 'y 1: b c d', 'z 1: e']);
  move(world, '2: a b c d e');
  check(world, '2 update, 1 delete', ['x 2: a', 'y 2: b c d e']);
});

test('endpoints for an updated slice are taken from the slice with the fewest', () => {
  const world = worldOf(3, ['w 2: f', 'x 1: a b', 'y 1: c']);
  move(world, '2: a b c');
  // Three are exactly one slice full: they make one, though one of them would fit into w.
  check(world, '1 update, 1 delete', ['w 2: f', 'x 2: a b c']);
});

test('a rest that fits into a slice leaves fuller slices as they are', () => {
  const world = worldOf(3, ['w 2: f g', 'x 1: a b c', 'y 1: d']);
  move(world, '2: a b c d');
  check(world, '2 update, 1 delete', ['w 2: f g d', 'x 2: a b c']);
});

test('new pods go with those that move', () => {
  const world = worldOf(3, ['x 1: a b']);
  move(world, '2: a b');
  move(world, '2: n o p q');
  check(world, '1 create, 1 update', ['new 2: o p q', 'x 2: a b n']);
});

test('a slice that has lost all its pods is recycled for others', () => {
  const world = worldOf(2, ['x 1: a']);
  for (const pod of podsOf('1: a')) putPod(world, { ...pod, phase: 'Failed' });
  move(world, '2: b');
  check(world, '1 update', ['x 2: b']);
});

test('slices above a lowered maximum keep their pods until they are recycled', () => {
  const world = worldOf(2, ['x 1: a b c d e']);
  move(world, '2: a b c d e');
  check(world, '2 create, 1 update', ['new 2: c d', 'new 2: e', 'x 2: a b']);
});
