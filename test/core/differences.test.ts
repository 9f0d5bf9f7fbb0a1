import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINTS_DIFFERENCES } from '../../src/core/differences.ts';

test('every difference has an id of its own and says all of it', () => {
  const ids = ENDPOINTS_DIFFERENCES.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const difference of ENDPOINTS_DIFFERENCES) {
    for (const text of Object.values(difference)) assert.notEqual(text, '', difference.id);
  }
});
