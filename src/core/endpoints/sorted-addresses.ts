import type { EndpointAddress } from '../../kube/types.ts';
import { assert } from '../../lib/assert.ts';
import { type Few, fewHas, fewItems, fewSize, fewWith, fewWithout } from '../../lib/few.ts';
import { compareAddresses } from './identity.ts';

/**
 * A sorted list of addresses that changes. Changes collect until the list is read. Then a few changes are put in place,
 * at the cost of one copy and a memmove each; many changes are merged. A list that was handed out never changes. While
 * nothing has changed, or all changes were taken back, the same list is handed out. Addresses are compared by object
 * identity.
 */
export interface SortedAddresses {
  sorted: readonly EndpointAddress[];
  added: Few<EndpointAddress>;
  removed: Few<EndpointAddress>;
}

/**
 * From this many changes on, merging is cheaper than inserting one by one, for lists of hundreds of addresses and more.
 */
const MERGE_CHANGES_MIN = 16;

export function createSortedAddresses(): SortedAddresses {
  return { sorted: [], added: null, removed: null };
}

/** The address must not be in the list. */
export function addAddress(list: SortedAddresses, address: EndpointAddress): void {
  if (fewHas(list.removed, address)) list.removed = fewWithout(list.removed, address);
  else list.added = fewWith(list.added, address);
}

/** The address must be in the list, as the same object. */
export function removeAddress(list: SortedAddresses, address: EndpointAddress): void {
  if (fewHas(list.added, address)) list.added = fewWithout(list.added, address);
  else list.removed = fewWith(list.removed, address);
}

/** The list as it is now. It costs a copy if anything has changed since the last call. */
export function sortedAddresses(list: SortedAddresses): readonly EndpointAddress[] {
  const { added, removed } = list;
  const changes = fewSize(added) + fewSize(removed);
  if (changes === 0) return list.sorted;
  list.sorted = changes < MERGE_CHANGES_MIN ? splice(list.sorted, added, removed) : merge(list.sorted, added, removed);
  list.added = null;
  list.removed = null;
  return list.sorted;
}

/**
 * Sorted lists as one. Of equal elements those of the earlier list come first. Halves are merged with each other, so that
 * no address is copied once for each of many lists.
 */
export function mergeAddresses(lists: readonly (readonly EndpointAddress[])[]): readonly EndpointAddress[] {
  if (lists.length < 2) return lists[0] ?? [];
  const middle = lists.length >>> 1;
  return mergeTwo(mergeAddresses(lists.slice(0, middle)), mergeAddresses(lists.slice(middle)));
}

function mergeTwo(a: readonly EndpointAddress[], b: readonly EndpointAddress[]): readonly EndpointAddress[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const merged: EndpointAddress[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) merged.push(compareAddresses(a[i]!, b[j]!) <= 0 ? a[i++]! : b[j++]!);
  while (i < a.length) merged.push(a[i++]!);
  while (j < b.length) merged.push(b[j++]!);
  return merged;
}

function splice(
  sorted: readonly EndpointAddress[],
  added: Few<EndpointAddress>,
  removed: Few<EndpointAddress>,
): EndpointAddress[] {
  const copy = sorted.slice();
  for (const address of fewItems(removed)) {
    let at = lowerBound(copy, address);
    while (at < copy.length && copy[at] !== address) at++;
    assert(at < copy.length, 'a removed address is in the list');
    copy.splice(at, 1);
  }
  for (const address of fewItems(added)) copy.splice(lowerBound(copy, address), 0, address);
  return copy;
}

function merge(
  sorted: readonly EndpointAddress[],
  added: Few<EndpointAddress>,
  removed: Few<EndpointAddress>,
): readonly EndpointAddress[] {
  const kept = removed === null ? sorted : sorted.filter((address) => !fewHas(removed, address));
  assert(kept.length === sorted.length - fewSize(removed), 'removed addresses are in the list');
  return mergeTwo(kept, [...fewItems(added)].sort(compareAddresses));
}

/** The first index at which `address` may stand. */
function lowerBound(sorted: readonly EndpointAddress[], address: EndpointAddress): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareAddresses(sorted[middle]!, address) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
