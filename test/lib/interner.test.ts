import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInterner, internLatin1, internSpan, internString } from '../../src/lib/interner.ts';

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'));

test('a range gives its Latin-1 characters', () => {
  const interner = createInterner(16);
  const bytes = bytesOf('xxnode-1yy');
  assert.equal(internLatin1(interner, bytes, 2, 8), 'node-1');
  assert.equal(internLatin1(interner, bytes, 2, 8), 'node-1');
  assert.equal(internLatin1(interner, bytes, 3, 3), '');
  assert.equal(internLatin1(interner, bytesOf('é'), 0, 1), 'é');
});

test('one slot serves any number of different strings', () => {
  const interner = createInterner(1);
  for (let round = 0; round < 3; round++) {
    for (const text of ['a', 'b', 'ab', 'ba', 'aa'])
      assert.equal(internLatin1(interner, bytesOf(text), 0, text.length), text);
  }
});

test('long strings are not kept, so memory has a bound', () => {
  const interner = createInterner(4);
  const text = 'x'.repeat(10_000);
  assert.equal(internLatin1(interner, bytesOf(text), 0, text.length), text);
  assert.equal(internString(interner, text), text);
  assert.deepEqual(interner.strings, ['', '', '', '']);
});

test('strings from JSON and from bytes share the table', () => {
  const interner = createInterner(16);
  assert.equal(internString(interner, 'default'), internLatin1(interner, bytesOf('default'), 0, 7));
});

test('equal spans give the identical value, each kind for itself', () => {
  const interner = createInterner(16);
  const read = (_: unknown, bytes: Uint8Array, start: number, end: number): number[] => [...bytes.subarray(start, end)];
  const first = internSpan(interner, 1, bytesOf('--abc'), 2, 5, read);
  assert.deepEqual(first, [97, 98, 99]);
  assert.equal(internSpan(interner, 1, bytesOf('abc'), 0, 3, read), first);
  assert.notEqual(internSpan(interner, 2, bytesOf('abc'), 0, 3, read), first);
});

test('a span that cannot be read leaves nothing behind', () => {
  const interner = createInterner(1);
  const fail = (): never => {
    throw new Error('no');
  };
  assert.throws(() => internSpan(interner, 1, bytesOf('abc'), 0, 3, fail));
  assert.equal(interner.spans[0], undefined);
});

test('the number of slots is a power of two', () => {
  assert.throws(() => createInterner(1000), /power of two: 1000/);
});
