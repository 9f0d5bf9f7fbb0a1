/**
 * How many items a page of a list asks for. The transport takes only so many bytes as a page. Objects differ a
 * thousandfold in size, so the number follows what came: half after a page that was too big, twice as many after a full
 * page that was small. A list goes on from where it was with the new number.
 */

/** client-go's page size. */
export const PAGE_ITEMS_MAX = 500;
/** A quarter of what the transport takes as a page: twice as many items then fit even if they are twice as big. */
const SMALL_PAGE_BYTES = 16 * 2 ** 20;

/**
 * The number for the page that was too big, once more; 0 = it had one item, and a shorter page does not help. etcd
 * takes no object of more than some megabytes, so whatever answers so is no API server.
 */
export function itemsAfterTooBig(items: number): number {
  return items >> 1;
}

/** The number for the page after a full one. The last page of a list says nothing about the items of the next list. */
export function itemsAfterFullPage(items: number, bytes: number): number {
  return bytes > SMALL_PAGE_BYTES ? items : Math.min(items * 2, PAGE_ITEMS_MAX);
}
