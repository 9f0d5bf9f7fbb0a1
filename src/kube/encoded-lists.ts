/**
 * Lists of messages that were encoded before. If a new list shares items with an old one (the same objects, which never
 * change), their bytes are copied in runs. So encoding a large object with one changed item costs little more than a
 * comparison of pointers.
 */
import { lengthOf, prependBytes, type ProtoWriter } from './protobuf.ts';

interface EncodedList {
  /** The whole encoding that the list is part of. */
  body: Uint8Array;
  /** For each item, and for the end of the list: the number of bytes from its start to the end of the body. */
  readonly tails: Uint32Array;
}

/** An entry stays until a later state of its list is encoded, or until nobody holds the list any more. */
const encoded = new WeakMap<readonly object[], EncodedList>();

/**
 * Shorter lists are not remembered. They are encoded in no time, and what is remembered takes as much memory as the
 * encoding.
 */
const ITEMS_MIN = 64;

/** The lists of one encoding, until there is a body. */
export interface EncodingLists {
  readonly lists: {
    readonly items: readonly object[];
    readonly tails: Uint32Array;
    /** The same list in the encoding before. */
    readonly old: readonly object[];
  }[];
}

/**
 * Remembers the lists of a finished encoding. What was kept of the earlier lists is dropped at once. Otherwise it would
 * stay until the whole heap is marked.
 */
export function rememberLists({ lists }: EncodingLists, body: Uint8Array): void {
  for (const { old } of lists) encoded.delete(old);
  for (const { items, tails } of lists) encoded.set(items, { body, tails });
}

/**
 * Prepends all items of a list. Items that `before` has too are copied from their earlier encoding.
 * @param before the same list in an object that was encoded with its lists remembered. Any other value has no effect
 * @param prependItem encodes one item, with its tag
 */
export function prependList(
  writer: ProtoWriter,
  encoding: EncodingLists,
  items: readonly object[],
  before: unknown,
  prependItem: (item: object) => void,
): void {
  if (items.length < ITEMS_MIN) {
    for (let i = items.length - 1; i >= 0; i--) prependItem(items[i]!);
    return;
  }
  const tails = new Uint32Array(items.length + 1);
  tails[items.length] = lengthOf(writer);
  const old = Array.isArray(before) ? (before as readonly object[]) : [];
  const known = encoded.get(old);
  let j = known === undefined ? -1 : old.length - 1;
  for (let i = items.length - 1; i >= 0;) {
    const run = j < 0 ? 0 : commonRun(items, i, old, j);
    if (run > 0) {
      copyRun(writer, known!, i, j, run, tails);
      i -= run;
      j -= run;
      continue;
    }
    // An item of the old list that is gone is passed over. A new or changed item is encoded.
    if (j > 0 && items[i] === old[j - 1]) {
      j--;
      continue;
    }
    if (i === 0 || items[i - 1] !== old[j]) j--;
    prependItem(items[i]!);
    tails[i] = lengthOf(writer);
    i--;
  }
  encoding.lists.push({ items, tails, old });
}

function commonRun(items: readonly object[], i: number, old: readonly object[], j: number): number {
  let run = 0;
  while (run <= i && run <= j && items[i - run] === old[j - run]) run++;
  return run;
}

function copyRun(
  writer: ProtoWriter,
  { body, tails: oldTails }: EncodedList,
  i: number,
  j: number,
  run: number,
  tails: Uint32Array,
): void {
  const first = j - run + 1;
  const shift = lengthOf(writer) - oldTails[j + 1]!;
  prependBytes(writer, body.subarray(body.length - oldTails[first]!, body.length - oldTails[j + 1]!));
  for (let k = 0; k < run; k++) tails[i - k] = oldTails[j - k]! + shift;
}
