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

/**
 * The next item, which stays; undefined = there is none.
 * @param mayGo whether the first item of an owner may go now; the owner is skipped if not, and keeps its place
 */
export function nextTurn<O, T>({ order }: Turns<O, T>, mayGo?: (item: T) => boolean): T | undefined {
  return nextOf(order, mayGo)?.items[0];
}

/** Takes the next item out, as `nextTurn` tells it. undefined = there is none. */
export function takeTurn<O, T>(turns: Turns<O, T>, mayGo?: (item: T) => boolean): T | undefined {
  const { byOwner, order, length } = turns;
  const turn = nextOf(order, mayGo);
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

function nextOf<O, T>(order: LinkedList<Turn<O, T>>, mayGo?: (item: T) => boolean): Turn<O, T> | null {
  let turn = order.first;
  while (turn !== null && mayGo?.(turn.items[0]!) === false) turn = turn.next;
  return turn;
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
