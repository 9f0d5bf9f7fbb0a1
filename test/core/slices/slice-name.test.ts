import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawSliceName, newSliceName } from '../../../src/core/slices/slice-name.ts';

function check(name: string, owner: string, expected: { generateName: string; name: string }): void {
  test(`the name of a new slice: ${name}`, () => assert.deepEqual(newSliceName(owner, 'bcd24'), expected));
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

test('a name that is taken is drawn again', () => {
  const suffixes = ['bcd24', 'bcd25', 'bcd26'].values();
  const taken = new Set(['web-bcd24', 'web-bcd25']);
  const { name } = drawSliceName(
    'web',
    () => suffixes.next().value!,
    (drawn) => taken.has(drawn),
  );
  assert.equal(name, 'web-bcd26');
});

test('drawing a name gives up when all are taken', () => {
  assert.throws(
    () =>
      drawSliceName(
        'web',
        () => 'bcd24',
        () => true,
      ),
    /a slice of web are all taken/,
  );
});
