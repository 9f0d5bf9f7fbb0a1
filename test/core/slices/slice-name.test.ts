import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newSliceName } from '../../../src/core/slices/slice-name.ts';

function check(name: string, owner: string, expected: { generateName: string; name: string }): void {
  test(name, () => assert.deepEqual(newSliceName(owner, 'bcd24'), expected));
}

check('a usual name', 'web', { generateName: 'web-', name: 'web-bcd24' });
check('the longest name that keeps its dash', 'x'.repeat(57), {
  generateName: `${'x'.repeat(57)}-`,
  name: `${'x'.repeat(57)}-bcd24`,
});
check('a long name is cut, and no name is longer than 63', 'x'.repeat(63), {
  generateName: `${'x'.repeat(63)}-`,
  name: `${'x'.repeat(58)}bcd24`,
});
