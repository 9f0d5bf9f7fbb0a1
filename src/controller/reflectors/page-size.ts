/**
 * How many items a page of a list asks for. The transport accepts a limited number of bytes as a page, and objects
 * differ a thousandfold in size. So the number follows what came: half after a page that was too big, twice as many
 * after a full page that was small. The list goes on from where it was with the new number.
 */

/** client-go's page size. */
export const PAGE_ITEMS_MAX = 500;
/** A quarter of what the transport accepts as a page: twice as many items fit even if each is twice as big. */
const SMALL_PAGE_BYTES = 16 * 2 ** 20;

/**
 * The number of items for a second try of a page that was too big; 0 = the page had one item, so a shorter page does
 * not help. etcd stores no object of more than a few megabytes, so what answers with such a page is no API server.
 */
export function itemsAfterTooBig(items: number): number {
  return items >> 1;
}

/** The number of items after a full page. The last page of a list says nothing about the items of the next list. */
export function itemsAfterFullPage(items: number, bytes: number): number {
  return bytes > SMALL_PAGE_BYTES ? items : Math.min(items * 2, PAGE_ITEMS_MAX);
}
