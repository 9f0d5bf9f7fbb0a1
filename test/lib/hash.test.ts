import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fnv1a128, fnv1a32, fnv1a32Continue } from '../../src/lib/hash.ts';
import { propertyRuns } from '../support/runs.ts';

// From the authors' list of test vectors.
for (const [text, hash] of [
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
] as const) {
  test(`the 32-bit hash of "${text}" is right`, () => assert.equal(fnv1a32(text), hash));
}

test('a 32-bit hash may be computed piece by piece', () =>
  assert.equal(fnv1a32Continue(fnv1a32('foo'), 'bar'), fnv1a32('foobar')));

test('the 128-bit hash of nothing is right', () => assert.equal(fnv1a128(''), '6c62272e07bb014262b821756295c58d'));
test('the 128-bit hash of "a" is right', () => assert.equal(fnv1a128('a'), 'd228cb696f1a8caf78912b704e4a8964'));

test('128-bit hashes equal the definition in big integers, for any text', () => {
  const slow = (text: string): string => {
    let hash = 0x6c62272e07bb014262b821756295c58dn;
    for (const byte of Buffer.from(text)) hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * (2n ** 88n + 0x13bn));
    return hash.toString(16).padStart(32, '0');
  };
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => assert.equal(fnv1a128(text), slow(text))),
    propertyRuns(300),
  );
});
