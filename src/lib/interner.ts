import { latin1, spells } from './bytes-text.ts';

/**
 * Direct-mapped tables from byte ranges to the strings, or the values, that they spell: one slot for each hash, and the
 * newest wins. The number of slots and the length of what is kept bound the memory. So hostile input can only cause
 * misses, which cost a fresh copy.
 */
export interface Interner {
  readonly mask: number;
  readonly strings: string[];
  /** Keys of `values`: the bytes as a Latin-1 string, which takes a third of the room of a small array of bytes. */
  readonly spans: (string | undefined)[];
  readonly values: unknown[];
  /** The `kind` of each value: two readings of the same bytes are kept apart. */
  readonly kinds: number[];
}

/** Longer ranges are never kept. */
const STRING_BYTES_MAX = 256;
const SPAN_BYTES_MAX = 2048;

const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** @param slots a power of two; more than there are nodes, label sets and namespaces, so that few fall together */
export function createInterner(slots = 16_384): Interner {
  if (slots < 1 || (slots & (slots - 1)) !== 0) throw new RangeError(`interner slots must be a power of two: ${slots}`);
  return {
    mask: slots - 1,
    strings: new Array<string>(slots).fill(''),
    spans: new Array<string | undefined>(slots).fill(undefined),
    values: new Array<unknown>(slots).fill(undefined),
    kinds: new Array<number>(slots).fill(0),
  };
}

/** The Latin-1 string of `bytes[start, end)`, shared with earlier ranges of the same content where still known. */
export function internLatin1(interner: Interner, bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length <= 0) return '';
  if (length > STRING_BYTES_MAX) return latin1(bytes, start, end);
  let hash = FNV_OFFSET;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
  const slot = slotOf(interner, hash);
  const known = interner.strings[slot]!;
  if (known.length === length && spells(known, bytes, start)) return known;
  const fresh = latin1(bytes, start, end);
  interner.strings[slot] = fresh;
  return fresh;
}

/** The same table for strings that exist already: returns the copy to keep. */
export function internString(interner: Interner, text: string): string {
  if (text.length === 0 || text.length > STRING_BYTES_MAX) return text;
  let hash = FNV_OFFSET;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  const slot = slotOf(interner, hash);
  const known = interner.strings[slot]!;
  if (known === text) return known;
  interner.strings[slot] = text;
  return text;
}

/**
 * The value that `read` makes of `bytes[start, end)`, shared with earlier ranges of the same content and `kind`. The
 * value must depend on the bytes alone and never be changed. Errors of `read` pass through and keep nothing.
 */
export function internSpan<T>(
  interner: Interner,
  kind: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  read: (interner: Interner, bytes: Uint8Array, start: number, end: number) => T,
): T {
  const length = end - start;
  if (length > SPAN_BYTES_MAX) return read(interner, bytes, start, end);
  let hash = FNV_OFFSET ^ kind;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
  const slot = slotOf(interner, hash);
  const known = interner.spans[slot];
  if (known !== undefined && interner.kinds[slot] === kind && known.length === length && spells(known, bytes, start)) {
    return interner.values[slot] as T;
  }
  const value = read(interner, bytes, start, end);
  interner.spans[slot] = latin1(bytes, start, end);
  interner.values[slot] = value;
  interner.kinds[slot] = kind;
  return value;
}

/** FNV's low bits alone mix badly for short keys that differ in one character. */
function slotOf(interner: Interner, hash: number): number {
  return (hash ^ (hash >>> 15)) & interner.mask;
}
