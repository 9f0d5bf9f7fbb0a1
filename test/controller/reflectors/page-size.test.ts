import assert from 'node:assert/strict';
import { test } from 'node:test';
import { itemsAfterFullPage, itemsAfterTooBig, PAGE_ITEMS_MAX } from '../../../src/controller/reflectors/page-size.ts';

const MIB = 2 ** 20;

test('a page that is too big is halved until it has one item', () => {
  const asked = [];
  for (let items = PAGE_ITEMS_MAX; items > 0; items = itemsAfterTooBig(items)) asked.push(items);
  assert.deepEqual(asked, [500, 250, 125, 62, 31, 15, 7, 3, 1]);
});

const cases: [title: string, items: number, bytes: number, next: number][] = [
  ['up to 16 MiB doubles the items', 62, 16 * MIB, 124],
  ['of more leaves them: twice as much might not fit', 62, 16 * MIB + 1, 62],
  ['never leads to more than client-go asks for', 300, 5 * MIB, 500],
  ['of one item grows too', 1, 1 * MIB, 2],
];
for (const [title, items, bytes, next] of cases) {
  test(`a full page ${title}`, () => assert.equal(itemsAfterFullPage(items, bytes), next));
}
