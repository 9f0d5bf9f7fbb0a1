/**
 * A set that is usually empty or a single item: null, the item itself, or a real `Set`. It saves 150 bytes and more for
 * each object that has such a set. Items are strings, or objects other than sets; objects are compared by identity.
 */
export type Few<T extends object | string> = null | T | Set<T>;

/** @param items all different */
export function fewOf<T extends object | string>(items: readonly T[]): Few<T> {
  return items.length > 1 ? new Set(items) : (items[0] ?? null);
}

/** Returns the set with `item`. The set given must not be used any more. */
export function fewWith<T extends object | string>(few: Few<T>, item: T): Few<T> {
  if (few === null || few === item) return item;
  if (few instanceof Set) return few.add(item);
  return new Set([few, item]);
}

/** Returns the set without `item`. The set given must not be used any more. */
export function fewWithout<T extends object | string>(few: Few<T>, item: T): Few<T> {
  if (few instanceof Set) {
    few.delete(item);
    return few.size > 0 ? few : null;
  }
  return few === item ? null : few;
}

export function fewSize<T extends object | string>(few: Few<T>): number {
  return few === null ? 0 : few instanceof Set ? few.size : 1;
}

export function fewHas<T extends object | string>(few: Few<T>, item: T): boolean {
  return few instanceof Set ? few.has(item) : few === item;
}

/** The set must not change while the caller iterates. */
export function fewItems<T extends object | string>(few: Few<T>): Iterable<T> {
  return few === null ? [] : few instanceof Set ? few : [few];
}
