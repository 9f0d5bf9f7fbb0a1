/**
 * A queue whose owners take turns: the items of an owner keep their order, and after so many of them the next owner is
 * served. So an owner with many items holds up nobody with few.
 */
import { append, createLinkedList, type LinkedList, type LinkedNode, remove } from './linked-list.ts';

export interface Turns<O, T> {
  readonly byOwner: Map<O, Turn<O, T>>;
  readonly order: LinkedList<Turn<O, T>>;
  /** The most items of a turn. */
  readonly length: number;
}

interface Turn<O, T> extends LinkedNode<Turn<O, T>> {
  readonly owner: O;
  /** Never empty. */
  readonly items: T[];
  /** How many items the turn may still have. */
  left: number;
}

export function createTurns<O, T>(length: number): Turns<O, T> {
  return { byOwner: new Map(), order: createLinkedList(), length };
}

export function addTurn<O, T>({ byOwner, order, length }: Turns<O, T>, owner: O, item: T): void {
  const known = byOwner.get(owner);
  if (known !== undefined) {
    known.items.push(item);
    return;
  }
  const turn: Turn<O, T> = { owner, items: [item], left: length, previous: null, next: null };
  byOwner.set(owner, turn);
  append(order, turn);
}

/** The next item, which stays; undefined = there is none. */
export function nextTurn<O, T>({ order }: Turns<O, T>): T | undefined {
  return order.first?.items[0];
}

/** Takes the next item out. undefined = there is none. */
export function takeTurn<O, T>({ byOwner, order, length }: Turns<O, T>): T | undefined {
  const turn = order.first;
  if (turn === null) return undefined;
  const item = turn.items.shift();
  turn.left--;
  if (turn.items.length > 0 && turn.left > 0) return item;
  remove(order, turn);
  turn.left = length;
  if (turn.items.length > 0) append(order, turn);
  else byOwner.delete(turn.owner);
  return item;
}

/** Takes all items out, owner by owner. */
export function takeAllTurns<O, T>(turns: Turns<O, T>): T[] {
  const { byOwner, order } = turns;
  const all = allTurns(turns);
  byOwner.clear();
  for (let turn = order.first; turn !== null; turn = order.first) remove(order, turn);
  return all;
}

/** All items, owner by owner. */
export function allTurns<O, T>({ byOwner }: Turns<O, T>): T[] {
  return [...byOwner.values()].flatMap(({ items }) => items);
}
