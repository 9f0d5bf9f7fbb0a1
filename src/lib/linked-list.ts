/** A doubly linked list through fields of its nodes: append and remove in O(1), nothing allocated. */
import { assert } from './assert.ts';

export interface LinkedNode<T> {
  /** Only the list writes these. A node is in one list at a time. */
  previous: T | null;
  next: T | null;
}

export interface LinkedList<T> {
  first: T | null;
  last: T | null;
  length: number;
}

export function createLinkedList<T>(): LinkedList<T> {
  return { first: null, last: null, length: 0 };
}

/** The node must be in no list. */
export function append<T extends LinkedNode<T>>(list: LinkedList<T>, node: T): void {
  assert(node.previous === null && node.next === null && list.first !== node, 'linked list: the node is in a list');
  node.previous = list.last;
  if (list.last === null) list.first = node;
  else list.last.next = node;
  list.last = node;
  list.length++;
}

/** The node must be in this list. */
export function remove<T extends LinkedNode<T>>(list: LinkedList<T>, node: T): void {
  assert(list.length > 0 && (node.previous !== null || list.first === node), 'linked list: the node is in another');
  if (node.previous === null) list.first = node.next;
  else node.previous.next = node.next;
  if (node.next === null) list.last = node.previous;
  else node.next.previous = node.previous;
  node.previous = null;
  node.next = null;
  list.length--;
}
