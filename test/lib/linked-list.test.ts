import assert from 'node:assert/strict';
import { test } from 'node:test';
import { append, createLinkedList, remove, type LinkedNode } from '../../src/lib/linked-list.ts';

interface Node extends LinkedNode<Node> {
  readonly name: string;
}

test('nodes leave from the front, the middle and the end', () => {
  const list = createLinkedList<Node>();
  const nodes = ['a', 'b', 'c', 'd'].map((name): Node => ({ name, previous: null, next: null }));
  const [a, b, , d] = nodes as [Node, Node, Node, Node];
  const forwards = (): string => {
    let names = '';
    for (let node = list.first; node !== null; node = node.next) names += node.name;
    return names;
  };
  const backwards = (): string => {
    let names = '';
    for (let node = list.last; node !== null; node = node.previous) names = node.name + names;
    return names;
  };
  const check = (expected: string): void => {
    assert.deepEqual([forwards(), backwards(), list.length], [expected, expected, expected.length]);
  };

  check('');
  for (const node of nodes) append(list, node);
  check('abcd');
  remove(list, b);
  check('acd');
  remove(list, a);
  check('cd');
  remove(list, d);
  check('c');
  append(list, b);
  check('cb');
});
