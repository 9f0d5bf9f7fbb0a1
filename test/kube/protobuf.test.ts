import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  createReader,
  createWriter,
  DecodeError,
  prependBytes,
  prependInt,
  prependString,
  prependVarint,
  readInt32,
  readInt64,
  readLength,
  readTag,
  readUtf8,
  skipField,
  takeScratch,
  writtenBytes,
  type ProtoWriter,
} from '../../src/kube/protobuf.ts';
import { propertyRuns } from '../support/runs.ts';

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
const written = (write: (writer: ProtoWriter) => void): string => {
  const writer = createWriter(1);
  write(writer);
  return Buffer.from(writtenBytes(writer)).toString('hex');
};

test('varints of every length go both ways', () => {
  const check = (value: number, hex: string): void => {
    assert.equal(
      written((writer) => prependInt(writer, value)),
      hex,
    );
    assert.equal(readInt64(createReader(bytesOf(hex))), value);
  };
  check(0, '00');
  check(127, '7f');
  check(128, '8001');
  check(8080, '903f');
  check(2 ** 32, '8080808010');
  check(Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f');
  check(-1, 'ffffffffffffffffff01');
  check(-62_135_596_800, '8092b8c398feffffff01');
});

test('an int32 is the low 32 bits', () => {
  assert.equal(readInt32(createReader(bytesOf('ffffffffffffffffff01'))), -1);
  assert.equal(readInt32(createReader(bytesOf('ffffffff0f'))), -1);
  assert.equal(readInt32(createReader(bytesOf('ffffffff07'))), 2_147_483_647);
});

test('a string field is tag, length in bytes, text', () => {
  assert.equal(
    written((writer) => prependString(writer, 0x0a, 'http')),
    '0a0468747470',
  );
  assert.equal(
    written((writer) => prependString(writer, 0x0a, 'é€😀')),
    '0a09c3a9e282acf09f9880',
  );
  assert.equal(
    written((writer) => prependString(writer, (16 << 3) | 2, '')),
    '820100',
  );
});

test('any text comes back from its bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      const writer = createWriter(1);
      prependString(writer, 0x0a, text);
      const reader = createReader(writtenBytes(writer));
      assert.equal(readTag(reader), 0x0a);
      assert.equal(readUtf8(reader), text.toWellFormed());
      assert.equal(readTag(reader), 0);
    }),
    propertyRuns(200, 1),
  );
});

test('an error says where bytes are cut off, too long or impossible', () => {
  const check = (hex: string, message: RegExp): void => {
    const read = (): void => {
      const reader = createReader(bytesOf(hex));
      for (let tag = readTag(reader); tag !== 0; tag = readTag(reader)) skipField(reader, tag);
    };
    assert.throws(read, (error) => error instanceof DecodeError && message.test(error.message), hex);
  };
  check('0a', /varint cut off \(at byte 1\)/);
  check('0a05 6162', /length 5 exceeds its message \(at byte 1\)/);
  check('0affffffff0f', /length 4294967295 exceeds/);
  check('0affffffffff01', /varint over 32 bits/);
  check('08ffffffffffffffffffff01', /varint over 10 bytes/);
  check('02 00', /field number 0/);
  check('0b', /wire type 3 of field 1/);
  check('09 01020304', /value cut off/);
});

test('a length never reaches past its message into what follows', () => {
  const reader = createReader(bytesOf('0a03 0a05 61 6263646566'));
  readTag(reader);
  reader.end = readLength(reader);
  readTag(reader);
  assert.throws(() => readLength(reader), DecodeError);
});

test('a number never reaches past its message into what follows', () => {
  for (const read of [readTag, readInt32, readInt64, readLength]) {
    assert.throws(() => read(createReader(bytesOf('ff01'), 0, 1)), DecodeError, read.name);
  }
});

test('memory for a large message is freed in time', () => {
  const writer = takeScratch();
  prependBytes(writer, new Uint8Array(2 * 1024 * 1024));
  assert.ok(writer.bytes.length > 1024 * 1024);
  assert.ok(takeScratch().bytes.length <= 1024 * 1024);
});

test('ranges outside the buffer are refused', () => {
  assert.throws(() => createReader(bytesOf('0a00'), 0, 3), DecodeError);
  assert.throws(() => createReader(bytesOf('0a00'), 2, 1), DecodeError);
});

test('prepending grows the buffer and keeps its bytes', () => {
  const hex = written((writer) => {
    for (let i = 0; i < 100; i++) prependVarint(writer, i);
  });
  assert.equal(hex, Array.from({ length: 100 }, (_, i) => (99 - i).toString(16).padStart(2, '0')).join(''));
});
