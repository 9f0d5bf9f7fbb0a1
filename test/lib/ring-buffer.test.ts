import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRingBuffer, ringFirst, ringPush, ringShift } from '../../src/lib/ring-buffer.ts';

test('a ring buffer is first in, first out, and full at its bound', () => {
  const ring = createRingBuffer<string>(3);
  assert.deepEqual([ringFirst(ring), ringShift(ring)], [undefined, undefined]);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((item) => ringPush(ring, item)),
    [true, true, true, false],
  );
  assert.equal(ringShift(ring), 'a');
  assert.equal(ringPush(ring, 'e'), true);
  assert.equal(ringFirst(ring), 'b');
  assert.deepEqual([ringShift(ring), ringShift(ring), ringShift(ring), ringShift(ring)], ['b', 'c', 'e', undefined]);
});
