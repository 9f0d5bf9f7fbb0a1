/** Tests of `toy.ts` with a gap: nobody asks about two equal numbers, where it makes no difference, nor about `isSmall`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { comparisons, larger } from './toy.ts';

test('the larger of two numbers is returned', () => {
  assert.equal(larger(1, 2), 2);
  assert.equal(larger(2, 1), 2);
});

test('three numbers take two comparisons', () => {
  assert.equal(comparisons(3), 2);
});
