import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wrapWords } from '../../src/lib/wrap-words.ts';

test('words stay whole, and a line is as long as allowed', () => {
  assert.deepEqual(wrapWords('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrapWords('one two three', 6), ['one', 'two', 'three']);
  assert.deepEqual(wrapWords('a longest-of-all word\nand more', 8), ['a', 'longest-of-all', 'word and', 'more']);
});
