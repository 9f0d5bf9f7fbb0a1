/** Tests of `toy.ts` that notice less than those of `toy-tests.ts`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { larger } from './toy.ts';

test('the larger of one and two is two', () => {
  assert.equal(larger(1, 2), 2);
});
