import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLru, lruGet, lruSet } from '../../src/lib/lru.ts';

test('a full map forgets the entry that was not used for the longest time', () => {
  const lru = createLru<string, number>(2);
  lruSet(lru, 'a', 1);
  lruSet(lru, 'b', 2);
  assert.equal(lruGet(lru, 'a'), 1);
  lruSet(lru, 'c', 3);
  assert.deepEqual([lruGet(lru, 'a'), lruGet(lru, 'b'), lruGet(lru, 'c')], [1, undefined, 3]);
});

test('setting a known key forgets nothing else', () => {
  const lru = createLru<string, number>(2);
  lruSet(lru, 'a', 1);
  lruSet(lru, 'b', 2);
  lruSet(lru, 'a', 3);
  assert.deepEqual(
    [...lru.entries],
    [
      ['b', 2],
      ['a', 3],
    ],
  );
});
