/** A first-in first-out queue with a fixed bound, without allocation once it is made. */

export interface RingBuffer<T> {
  readonly slots: (T | undefined)[];
  /** Slot of the oldest. */
  start: number;
  length: number;
}

export function createRingBuffer<T>(lengthMax: number): RingBuffer<T> {
  return { slots: Array.from({ length: lengthMax }, () => undefined), start: 0, length: 0 };
}

/** False = full, and nothing was added. */
export function ringPush<T>(ring: RingBuffer<T>, item: T): boolean {
  if (ring.length === ring.slots.length) return false;
  ring.slots[(ring.start + ring.length) % ring.slots.length] = item;
  ring.length++;
  return true;
}

/** The oldest. */
export function ringFirst<T>(ring: RingBuffer<T>): T | undefined {
  return ring.length === 0 ? undefined : ring.slots[ring.start];
}

/** Removes the oldest and returns it. */
export function ringShift<T>(ring: RingBuffer<T>): T | undefined {
  if (ring.length === 0) return undefined;
  const item = ring.slots[ring.start];
  ring.slots[ring.start] = undefined;
  ring.start = (ring.start + 1) % ring.slots.length;
  ring.length--;
  return item;
}
