/** A binary heap whose items know their place, so that any of them can be removed or moved in O(log n). */
import { assert } from './assert.ts';

export interface HeapItem {
  /** Place in the heap; -1 = in none. Only the heap writes it. An item is in one heap at a time. */
  heapIndex: number;
}

export interface Heap<T extends HeapItem> {
  readonly items: T[];
  /** Whether `a` leaves before `b`. */
  readonly before: (a: T, b: T) => boolean;
}

export function createHeap<T extends HeapItem>(before: (a: T, b: T) => boolean): Heap<T> {
  return { items: [], before };
}

/** The item that leaves next. */
export function heapFirst<T extends HeapItem>(heap: Heap<T>): T | undefined {
  return heap.items[0];
}

/** Adds the item, or finds its new place after its order has changed. */
export function heapPlace<T extends HeapItem>(heap: Heap<T>, item: T): void {
  if (item.heapIndex === -1) {
    item.heapIndex = heap.items.length;
    heap.items.push(item);
  }
  const index = item.heapIndex;
  assert(heap.items[index] === item, 'heap: the item is in another heap');
  siftUp(heap, item);
  if (item.heapIndex === index) siftDown(heap, item);
}

/** Does nothing when the item is in no heap. */
export function heapRemove<T extends HeapItem>(heap: Heap<T>, item: T): void {
  const index = item.heapIndex;
  if (index === -1) return;
  assert(heap.items[index] === item, 'heap: the item is in another heap');
  item.heapIndex = -1;
  const last = heap.items.pop()!;
  if (last === item) return;
  last.heapIndex = index;
  heap.items[index] = last;
  heapPlace(heap, last);
}

function siftUp<T extends HeapItem>(heap: Heap<T>, item: T): void {
  const { items, before } = heap;
  let index = item.heapIndex;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = items[parentIndex]!;
    if (!before(item, parent)) break;
    items[index] = parent;
    parent.heapIndex = index;
    index = parentIndex;
  }
  items[index] = item;
  item.heapIndex = index;
}

function siftDown<T extends HeapItem>(heap: Heap<T>, item: T): void {
  const { items, before } = heap;
  let index = item.heapIndex;
  for (;;) {
    let childIndex = 2 * index + 1;
    if (childIndex >= items.length) break;
    if (childIndex + 1 < items.length && before(items[childIndex + 1]!, items[childIndex]!)) childIndex++;
    const child = items[childIndex]!;
    if (!before(child, item)) break;
    items[index] = child;
    child.heapIndex = index;
    index = childIndex;
  }
  items[index] = item;
  item.heapIndex = index;
}
