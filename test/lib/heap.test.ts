import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createHeap, heapFirst, heapPlace, heapRemove, type HeapItem } from '../../src/lib/heap.ts';
import { propertyRuns } from '../support/runs.ts';

interface Timer extends HeapItem {
  readonly name: string;
  atMs: number;
}

const timer = (name: string, atMs: number): Timer => ({ name, atMs, heapIndex: -1 });
const createTimers = () => createHeap<Timer>((a, b) => a.atMs < b.atMs);

test('the earliest item comes first, also after one was moved or removed', () => {
  const heap = createTimers();
  const [a, b, c] = [timer('a', 30), timer('b', 20), timer('c', 10)];
  for (const item of [a, b, c]) heapPlace(heap, item);
  assert.equal(heapFirst(heap)!.name, 'c');
  c.atMs = 40;
  heapPlace(heap, c);
  assert.equal(heapFirst(heap)!.name, 'b');
  heapRemove(heap, b);
  assert.equal(heapFirst(heap)!.name, 'a');
  heapRemove(heap, b);
  assert.equal(heap.items.length, 2);
});

test('property: the first item is a smallest one, and every item knows its place', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ item: fc.nat(15), atMs: fc.nat(20), remove: fc.boolean() }), {
        maxLength: 100,
        size: 'max',
      }),
      (steps) => {
        const heap = createTimers();
        const items = Array.from({ length: 16 }, (_, index) => timer(String(index), 0));
        const inside = new Set<Timer>();
        for (const step of steps) {
          const item = items[step.item]!;
          if (step.remove) {
            heapRemove(heap, item);
            inside.delete(item);
          } else {
            item.atMs = step.atMs;
            heapPlace(heap, item);
            inside.add(item);
          }
          assert.equal(heapFirst(heap)?.atMs ?? Infinity, Math.min(Infinity, ...[...inside].map(({ atMs }) => atMs)));
          for (const item of items) assert.equal(heap.items[item.heapIndex] === item, inside.has(item));
          assert.equal(heap.items.length, inside.size);
        }
      },
    ),
    propertyRuns(100),
  );
});
