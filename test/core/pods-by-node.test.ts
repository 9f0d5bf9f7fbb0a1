import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addPodToNode, podNamesOnNode, removePodFromNode, type PodsByNode } from '../../src/core/pods-by-node.ts';
import { propertyRuns } from '../support/runs.ts';

const SEED = 20261121;

function namesOn(all: PodsByNode, nodeName: string): string[] {
  const flat = podNamesOnNode(all, nodeName);
  return Array.from({ length: flat.length / 2 }, (_, i) => `${flat[2 * i]}/${flat[2 * i + 1]}`).sort();
}

test('a node has pods of several namespaces, also with the same name', () => {
  const all: PodsByNode = new Map();
  addPodToNode(all, 'n1', 'a', 'web-0');
  addPodToNode(all, 'n1', 'b', 'web-0');
  addPodToNode(all, 'n2', 'a', 'web-1');
  assert.deepEqual(namesOn(all, 'n1'), ['a/web-0', 'b/web-0']);
  assert.deepEqual(namesOn(all, 'n2'), ['a/web-1']);
  assert.deepEqual(namesOn(all, 'n3'), []);
});

test('a pod that comes back under its name is there once', () => {
  const all: PodsByNode = new Map();
  addPodToNode(all, 'n', 'a', 'web-0');
  addPodToNode(all, 'n', 'a', 'web-1');
  for (let i = 0; i < 50; i++) {
    removePodFromNode(all, 'n', 'a', 'web-0');
    addPodToNode(all, 'n', 'a', 'web-0');
  }
  assert.deepEqual(namesOn(all, 'n'), ['a/web-0', 'a/web-1']);
});

test('a node without pods costs nothing', () => {
  const all: PodsByNode = new Map();
  addPodToNode(all, 'n', 'a', 'web-0');
  removePodFromNode(all, 'n', 'a', 'web-0');
  assert.equal(all.size, 0);
});

test('a pod cannot leave a node on which it never was', () => {
  assert.throws(() => removePodFromNode(new Map(), 'n', 'a', 'web-0'), /a pod leaves the node/);
});

test('spare room and pending removals are at most an eighth of the list, or a few', () => {
  const all: PodsByNode = new Map();
  for (let i = 0; i < 10_000; i++) addPodToNode(all, 'n', 'ns', `pod-${i}`);
  const list = all.get('n')!;
  assert.ok(list.slots.length <= 20_000 * 1.125 + 8, `${list.slots.length}`);
  for (let i = 0; i < 9990; i++) {
    removePodFromNode(all, 'n', 'ns', `pod-${i}`);
    assert.ok(list.gone.length <= Math.max(8, list.used / 8 + 2), `${list.gone.length} of ${list.used}`);
  }
  assert.ok(list.slots.length <= 28, `${list.slots.length}`);
  assert.equal(namesOn(all, 'n').length, 10);
});

test('after any changes the set is that of the existing pods', () => {
  const change = fc.record({
    node: fc.constantFrom('n1', 'n2'),
    namespace: fc.constantFrom('a', 'b'),
    name: fc.nat(11).map((n) => `pod-${n}`),
    look: fc.constantFrom(false, false, false, false, true),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 150 }), (changes) => {
      const all: PodsByNode = new Map();
      const there: Record<string, Set<string>> = { n1: new Set(), n2: new Set() };
      for (const { node, namespace, name, look } of changes) {
        const key = `${namespace}/${name}`;
        if (there[node]!.delete(key)) removePodFromNode(all, node, namespace, name);
        else {
          there[node]!.add(key);
          addPodToNode(all, node, namespace, name);
        }
        if (look) assert.deepEqual(namesOn(all, node), [...there[node]!].sort());
      }
      for (const node of ['n1', 'n2']) assert.deepEqual(namesOn(all, node), [...there[node]!].sort());
    }),
    propertyRuns(200, SEED),
  );
});
