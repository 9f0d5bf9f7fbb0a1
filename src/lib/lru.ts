/** A map that forgets its least recently used entry when it is full. */

export interface Lru<K, V> {
  readonly entriesMax: number;
  /** In the order of their last use, the least recent first. */
  readonly entries: Map<K, V>;
}

export function createLru<K, V>(entriesMax: number): Lru<K, V> {
  return { entriesMax, entries: new Map() };
}

/** Looking an entry up counts as a use. */
export function lruGet<K, V>(lru: Lru<K, V>, key: K): V | undefined {
  const value = lru.entries.get(key);
  if (value !== undefined) {
    lru.entries.delete(key);
    lru.entries.set(key, value);
  }
  return value;
}

/** Adds or replaces an entry. A full map first forgets the least recently used one. */
export function lruSet<K, V>(lru: Lru<K, V>, key: K, value: V): void {
  lru.entries.delete(key);
  if (lru.entries.size >= lru.entriesMax) lru.entries.delete(lru.entries.keys().next().value!);
  lru.entries.set(key, value);
}
