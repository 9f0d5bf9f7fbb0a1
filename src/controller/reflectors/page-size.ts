/**
 * How many items a page of a list asks for. The transport takes a page of so many bytes only; objects differ a
 * thousandfold in size, so the number follows what came: half of it after a page that was too big, twice as many after a
 * full one that was small. A list goes on from where it was with the new number.
 */

/** client-go's page size. */
export const PAGE_ITEMS_MAX = 500;
/** A quarter of what the transport takes as a page: twice as many items then fit although they are twice as big. */
const SMALL_PAGE_BYTES = 16 * 2 ** 20;

/**
 * For the page that was too big, once more; 0 = it had one item, and a shorter page does not help. etcd takes no object of
 * more than some megabytes, so what answers so is no API server.
 */
export function itemsAfterTooBig(items: number): number {
  return items >> 1;
}

/** For the page after a full one: the last page of a list says nothing about the items of the next list. */
export function itemsAfterFullPage(items: number, bytes: number): number {
  return bytes > SMALL_PAGE_BYTES ? items : Math.min(items * 2, PAGE_ITEMS_MAX);
}
