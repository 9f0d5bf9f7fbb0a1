import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeObject } from '../../src/kube/codec.ts';
import { readList } from '../../src/kube/list.ts';
import { JSON_TYPE, PROTOBUF, PROTOBUF_WATCH } from '../../src/kube/media-type.ts';
import { objectSourceOf } from '../../src/kube/object.ts';
import { projectMeta } from '../../src/kube/object-meta.ts';
import { DecodeError } from '../../src/kube/protobuf.ts';
import {
  isNamespaceTerminating,
  isResourceVersionTooLarge,
  makeStatus,
  readStatus,
  readStatusSource,
} from '../../src/kube/status.ts';
import { createWatchReader, encodeWatchFrame, type WatchFrame } from '../../src/kube/watch-framing.ts';
import { encodeByOracle, envelopeByOracle, frameByOracle } from '../support/kube-proto.ts';
import { propertyRuns } from '../support/runs.ts';

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'));

// Bytes of the Go encoder: docs/spec/wire.md "Encoding".
const EXPIRED_FRAME = fromHex(
  '000000610a054552524f5212580a566b3873000a0c0a0276311206537461747573123e0a060a0012001a0012074661696c7572651a1f746f6f206f6c64207265736f757263652076657273696f6e3a203120283229220745787069726564309a031a002200',
);

function framesOf(contentType: string, chunks: readonly Uint8Array[]): WatchFrame[] {
  const reader = createWatchReader(contentType);
  const frames: WatchFrame[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let frame = reader.next(); frame !== null; frame = reader.next()) frames.push(kept(frame));
  }
  assert.equal(reader.pendingBytes(), 0);
  return frames;
}

/** The bytes of a frame hold only until the next one is read. */
function kept(frame: WatchFrame): WatchFrame {
  const { type, object } = frame;
  return object.encoding === 'json' ? frame : { type, object: { ...object, bytes: object.bytes.slice() } };
}

function shownFrames(contentType: string, chunks: readonly Uint8Array[]): string[] {
  return framesOf(contentType, chunks).map(({ type, object }) => {
    const { name, resourceVersion, annotations } = projectMeta(object);
    return [type, object.apiVersion, object.kind, name, resourceVersion, ...annotations].join(' ');
  });
}

const pod = (name: string, resourceVersion: string, note = 'é😀'): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, resourceVersion, annotations: { note } },
});

test('the Go-written ERROR frame reads as its Status', () => {
  const [frame] = framesOf(PROTOBUF_WATCH, [EXPIRED_FRAME]);
  assert.equal(frame?.type, 'ERROR');
  assert.deepEqual(readStatusSource(frame.object), {
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: 'Failure',
    message: 'too old resource version: 1 (2)',
    reason: 'Expired',
    code: 410,
  });
});

test('frames of another library read the same as our own', () => {
  const theirs = frameByOracle('ADDED', envelopeByOracle('v1', 'Pod', encodeByOracle('Pod', pod('a', '1'))));
  const ours = encodeWatchFrame(PROTOBUF_WATCH, 'MODIFIED', encodeObject(pod('a', '2')));
  assert.deepEqual(shownFrames(PROTOBUF_WATCH, [theirs, ours]), [
    'ADDED v1 Pod a 1 note é😀',
    'MODIFIED v1 Pod a 2 note é😀',
  ]);
});

/** `bytes` cut at the given places, whatever their order. */
function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, i) => bytes.subarray(places[i], place));
}

test('chunk borders do not matter, in either encoding', () => {
  const types = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] as const;
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...types), fc.string({ maxLength: 300 })), { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(100_000), { maxLength: 30 }),
      (events, cuts) => {
        for (const contentType of [PROTOBUF_WATCH, JSON_TYPE]) {
          const encode = contentType === JSON_TYPE ? (value: object) => bytesOf(JSON.stringify(value)) : encodeObject;
          const stream = Buffer.concat(
            events.map(([type, note], i) => encodeWatchFrame(contentType, type, encode(pod('p', String(i), note)))),
          );
          const expected = events.map(([type, note], i) => `${type} v1 Pod p ${i} note ${note}`);
          assert.deepEqual(shownFrames(contentType, cutAt(stream, cuts)), expected);
        }
      },
    ),
    propertyRuns(100, 6),
  );
});

test('a frame in one chunk is not copied', () => {
  const chunk = encodeWatchFrame(PROTOBUF_WATCH, 'ADDED', encodeObject(pod('a', '1')));
  const reader = createWatchReader(PROTOBUF_WATCH);
  reader.push(chunk);
  const frame = reader.next();
  assert.ok(frame?.object.encoding === 'protobuf' && frame.object.bytes.buffer === chunk.buffer);
});

test('a large frame in many small chunks is put together once', () => {
  for (const contentType of [PROTOBUF_WATCH, JSON_TYPE]) {
    const object = pod('a', '1', 'x'.repeat(2_000_000));
    const body = contentType === JSON_TYPE ? bytesOf(JSON.stringify(object)) : encodeObject(object);
    const frame = encodeWatchFrame(contentType, 'ADDED', body);
    const cuts = Array.from({ length: 2000 }, (_, i) => i * 1000);
    assert.equal(framesOf(contentType, cutAt(frame, cuts)).length, 1);
  }
});

test('a stream that is cut off has bytes pending', () => {
  for (const contentType of [PROTOBUF_WATCH, JSON_TYPE]) {
    const reader = createWatchReader(contentType);
    reader.push(bytesOf('\0\0\0{'));
    assert.equal(reader.next(), null);
    assert.equal(reader.pendingBytes(), 4);
  }
});

test('bytes that are no frame are a decode error', () => {
  const check = (contentType: string, bytes: Uint8Array, message: RegExp): void => {
    const reader = createWatchReader(contentType);
    reader.push(bytes);
    assert.throws(
      () => reader.next(),
      (error) => error instanceof DecodeError && message.test(error.message),
      String(message),
    );
  };
  check(PROTOBUF_WATCH, fromHex('01000001'), /watch frame of 16777217 bytes/);
  check(PROTOBUF_WATCH, fromHex('00000000'), /unknown type/);
  check(PROTOBUF_WATCH, fromHex('000000070a054144444544'), /no object/);
  check(PROTOBUF_WATCH, fromHex('0000000b0a05414444454412020a00'), /no k8s magic/);
  check(JSON_TYPE, bytesOf('{"type":"ADDED"\n'), /not JSON/);
  check(JSON_TYPE, bytesOf('[]\n'), /expected an object/);
  check(JSON_TYPE, bytesOf('{"type":"CHANGED","object":{}}\n'), /unknown type/);
  check(JSON_TYPE, bytesOf('{"type":"ADDED"}\n'), /no object/);
  check(JSON_TYPE, new Uint8Array(16 * 1024 * 1024 + 1).fill(0x20), /watch line over/);
  assert.throws(() => createWatchReader('text/html'), DecodeError);
});

test('a line of exactly 16 MiB is read, and so is what follows blank lines', () => {
  const frames = (bytes: Uint8Array): number => {
    const reader = createWatchReader(JSON_TYPE);
    reader.push(bytes);
    let count = 0;
    while (reader.next() !== null) count++;
    return count;
  };
  const event = '{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"}}}';
  const padded = new Uint8Array(16 * 1024 * 1024 + 1).fill(0x20);
  padded.set(bytesOf(event));
  padded.set(bytesOf('\n'), padded.length - 1);
  assert.equal(frames(padded), 1);
  assert.equal(frames(bytesOf(`\n \t\r\n${event}\n`)), 1);
});

test('garbage in a stream is a decode error or an incomplete frame', () => {
  const stream = Buffer.concat([EXPIRED_FRAME, encodeWatchFrame(PROTOBUF, 'ADDED', encodeObject(pod('a', '1')))]);
  fc.assert(
    fc.property(fc.nat(stream.length - 1), fc.nat(255), (at, byte) => {
      const bytes = Uint8Array.from(stream);
      bytes[at] = byte;
      const reader = createWatchReader(PROTOBUF);
      reader.push(bytes);
      try {
        for (let frame = reader.next(); frame !== null; frame = reader.next()) readStatusSource(frame.object);
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
      }
    }),
    propertyRuns(500, 7),
  );
});

test('a list is cut into items without reading them', () => {
  const metadata = { resourceVersion: '12', continue: 'more', remainingItemCount: 3 };
  const items = [pod('a', '1'), pod('b', '2')];
  const check = (contentType: string, body: Uint8Array): void => {
    const page = readList(contentType, body);
    assert.deepEqual(
      { ...page, items: page.items.map((item) => [item.kind, item.apiVersion, projectMeta(item).name]) },
      {
        kind: 'PodList',
        resourceVersion: '12',
        continueToken: 'more',
        items: [
          ['Pod', 'v1', 'a'],
          ['Pod', 'v1', 'b'],
        ],
      },
    );
  };
  check(PROTOBUF, envelopeByOracle('v1', 'PodList', encodeByOracle('PodList', { metadata, items })));
  check(JSON_TYPE, bytesOf(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata, items })));
});

test('a list may be empty, and its items null', () => {
  const empty = { kind: 'PodList', continueToken: '', items: [] };
  const go = fromHex('6b3873000a0d0a0276311207506f644c69737412080a060a0012001a001a002200');
  assert.deepEqual(readList(PROTOBUF, go), { ...empty, resourceVersion: '' });
  const json = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":null}';
  assert.deepEqual(readList(JSON_TYPE, bytesOf(json)), { ...empty, resourceVersion: '7' });
});

test('an error says that bytes are no list', () => {
  assert.throws(() => readList(PROTOBUF, encodeObject(pod('a', '1'))), /expected a list, got kind "Pod"/);
  assert.throws(
    () => readList(JSON_TYPE, bytesOf('{"kind":"PodList","items":[5]}')),
    /PodList.items\[0\]: expected an object/,
  );
  assert.throws(() => readList(JSON_TYPE, bytesOf('{"kind":"PodList","items":{}}')), /PodList.items: expected a list/);
  assert.throws(() => readList('text/plain', bytesOf('hello')), /unexpected Content-Type/);
});

test('a single object is cut out of its body', () => {
  assert.equal(projectMeta(objectSourceOf(PROTOBUF, encodeObject(pod('a', '1')))).name, 'a');
  assert.equal(projectMeta(objectSourceOf(JSON_TYPE, bytesOf(JSON.stringify(pod('a', '1'))))).name, 'a');
});

test('a Status is read from either encoding, whatever its Content-Type says', () => {
  const status = makeStatus(403, 'Forbidden', 'no', {
    name: 'web',
    causes: [{ reason: 'NamespaceTerminating', message: 'namespace is being terminated', field: 'metadata.namespace' }],
  });
  const json = bytesOf(JSON.stringify(status));
  assert.deepEqual(readStatus(JSON_TYPE, 403, json), status);
  assert.deepEqual(readStatus(PROTOBUF, 403, encodeObject(status)), status);
  assert.deepEqual(readStatus('text/plain', 403, encodeObject(status)), status);
  assert.ok(isNamespaceTerminating(status));
  assert.ok(!isResourceVersionTooLarge(status));
  const behind = makeStatus(504, 'Timeout', 'no', { causes: [{ reason: 'ResourceVersionTooLarge' }] });
  assert.ok(isResourceVersionTooLarge(behind));
  assert.ok(!isNamespaceTerminating(behind));
});

test('a Status is made up where the body holds none', () => {
  const check = (contentType: string, code: number, body: string, reason: string, message: string): void =>
    assert.deepEqual(readStatus(contentType, code, bytesOf(body)), makeStatus(code, reason, message));
  check(
    'text/plain',
    429,
    'Too many requests, please try again later.\n',
    'TooManyRequests',
    'Too many requests, please try again later.',
  );
  check(JSON_TYPE, 502, '<html>', 'Unknown', '<html>');
  check(PROTOBUF, 500, '', 'InternalError', 'HTTP status 500');
  check(JSON_TYPE, 404, '{"kind":"Pod"}', 'NotFound', '{"kind":"Pod"}');
  check('', 503, 'k8s\0\xff', 'ServiceUnavailable', 'HTTP status 503');
});

test('a Status that is made up has the reason of its code', () => {
  const reasons: readonly (readonly [number, string])[] = [
    [400, 'BadRequest'],
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [405, 'MethodNotAllowed'],
    [406, 'NotAcceptable'],
    [409, 'Conflict'],
    [410, 'Gone'],
    [413, 'RequestEntityTooLarge'],
    [415, 'UnsupportedMediaType'],
    [422, 'Invalid'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
    [504, 'Timeout'],
    [418, 'Unknown'],
  ];
  for (const [code, reason] of reasons) assert.equal(readStatus('', code, bytesOf('')).reason, reason);
});

test('parts of a Status with the wrong type are left out', () => {
  const body =
    '{"kind":"Status","message":5,"reason":"Expired","metadata":[],"details":{"causes":[null,{"reason":"x"}],"name":1}}';
  assert.deepEqual(readStatus(JSON_TYPE, 410, bytesOf(body)), {
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: 'Failure',
    reason: 'Expired',
    details: { causes: [{}, { reason: 'x' }] },
    code: 410,
  });
});

test('no bytes make readStatus throw', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(PROTOBUF, JSON_TYPE, ''),
      fc.uint8Array({ maxLength: 60 }),
      fc.boolean(),
      (type, tail, magic) => {
        const body = magic ? new Uint8Array([0x6b, 0x38, 0x73, 0, ...tail]) : tail;
        assert.equal(readStatus(type, 500, body).kind, 'Status');
      },
    ),
    propertyRuns(500, 8),
  );
});
