import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ZSTD } from '../../src/cli/record/recording-file.ts';
import { createFrameWriter } from '../../src/recording/frames.ts';
import { RECORDING_VERSION } from '../../src/recording/lines.ts';
import { fileOf, pod, read } from './made.ts';

/** A header and ten pods, a frame each, and where each frame begins. */
function tenFrames(): { file: Buffer; starts: number[] } {
  const file = fileOf((encoder, flush) => {
    flush();
    for (let i = 0; i < 10; i++) {
      encoder.put('pods', pod(`web-${i}`), 'other', i);
      flush();
    }
  });
  const starts: number[] = [];
  for (let at = 0; at < file.length;) {
    starts.push(at);
    // The title is a skippable frame alone, every other one has a frame of zstd behind it.
    at += 8 + file.readUInt32LE(at + 4) + (at === 0 ? 0 : file.readUInt32LE(at + 8));
  }
  return { file, starts };
}

function lookAt(file: Uint8Array): { pods: number; broken: unknown } {
  const { events, broken } = read(file);
  return { pods: [...events].length, broken: broken() };
}

describe('a recording that is not whole', () => {
  const { file, starts } = tenFrames();

  it('a whole recording is read to its end', () => {
    assert.deepEqual(lookAt(file), { pods: 10, broken: null });
  });

  it('a cut recording is read up to the last whole frame', () => {
    for (let length = starts[2]!; length < file.length; length += 5) {
      const whole = starts.filter((start) => start <= length).length - 1;
      const isBorder = starts.includes(length);
      assert.deepEqual(lookAt(file.subarray(0, length)), {
        // The title and the header are no pods.
        pods: whole - 2,
        broken: isBorder ? null : { kind: 'cut', atByte: starts[whole] },
      });
    }
  });

  it('a damaged recording is read up to the damage, which is named by its frame', () => {
    for (const offset of [0, 5, 9, 13, 17, 22, 40]) {
      const damaged = Buffer.from(file);
      damaged[starts[6]! + offset]! ^= 0x55;
      const { pods, broken } = lookAt(damaged);
      assert.equal(pods, 4);
      assert.deepEqual(broken, { kind: 'damaged', atByte: starts[6] }, String(offset));
    }
  });

  it('a recording that is cut or damaged in its first frame says which', () => {
    assert.throws(() => read(file.subarray(0, starts[1]! + 30)), { message: 'it ends in its first frame' });
    const damaged = Buffer.from(file);
    damaged[starts[1]! + 22]! ^= 0x55;
    assert.throws(() => read(damaged), { message: `it is damaged at byte ${starts[1]}, before any change` });
  });

  it('a recording is damaged if its lines tell impossible things', () => {
    const parts: Uint8Array[] = [];
    const frames = createFrameWriter(ZSTD, (bytes) => parts.push(bytes));
    frames.add('{"recording":"endpointd","version":1,"program":"1","names":"plain"}');
    frames.add('{"pod":1,"t":0,"new":{"name":"a"}}');
    frames.flush();
    for (const line of [
      '{"pod":2,"t":0,"set":{}}',
      'null',
      '{"t":-1,"end":true}',
      '{"pod":1,"t":0,"set":{"ready":3}}',
      '{"t":1e999,"end":true}',
      '{"t":316224000001,"end":true}',
      '{"t":200000000000,"listing":"pods","since":0}\n{"t":200000000000,"end":true}',
      '{"t":0,"irrelevant":{"pods":100001}}',
      '{"t":0,"irrelevant":{"pods":-1}}',
      '{"slice":9,"t":0,"new":{"addressType":"IPv4","endpoints":[[0.5,0]]}}',
      `{"slice":9,"t":0,"new":{"addressType":"IPv4","endpoints":[${Array(100_001).fill(1).join()}]}}`,
      '{"slice":9,"t":0,"new":{"addressType":"IPv4","endpoints":[{"conditions":"constructor"}]}}',
      '\n'.repeat(2 ** 25),
      '{"t":0}',
      '{"pod":2,"t":0,"new":{},"gone":true}',
      '{"pod":1,"t":0}',
      '{"pod":1,"t":0,"set":{"labels":["a","1","a","1"]}}',
      '{"pod":1,"t":0,"set":{"labels":["b","1","a","1"]}}',
      '{"service":2,"t":0,"new":{"name":"a","selector":["a"]}}',
      '{"service":2,"t":0,"new":{"name":"a","selector":["a","1","a","2"]}}',
      '{"service":2,"t":0,"new":{"name":"a","annotations":["a"]}}',
      '{"pod":1,"t":0,"set":{"name":"b"}}',
      '{"pod":1,"t":0,"set":{"namespace":"b"}}',
      '{"pod":2,"t":0,"new":{"name":"a"}}',
    ]) {
      const at = Buffer.concat(parts).length;
      const more: Uint8Array[] = [...parts];
      const other = createFrameWriter(ZSTD, (bytes) => more.push(bytes));
      other.add(line);
      other.flush();
      // Without the title of the second writer.
      more.splice(parts.length, 1);
      assert.deepEqual(
        lookAt(Buffer.concat(more)),
        { pods: 1, broken: { kind: 'damaged', atByte: at } },
        line.slice(0, 100),
      );
    }
  });

  it('a frame that tells outputs of more than 10 million endpoints is damaged', () => {
    const bigSlice = `{"slice":1,"t":0,"new":{"name":"a","endpoints":[${Array(1000).fill('{}').join()}]}}`;
    const parts: Uint8Array[] = [];
    const frames = createFrameWriter(ZSTD, (bytes) => parts.push(bytes));
    const tell = (line: string, times: number): void => {
      for (let i = 0; i < times; i++) frames.add(line);
      frames.flush();
    };
    tell('{"recording":"endpointd","version":1,"program":"1","names":"plain"}', 1);
    tell(bigSlice, 1);
    // Short lines of a large slice, as many as a frame of a recorder can have.
    tell('{"slice":1,"t":0,"set":{}}', 10_000);
    tell('{"slice":1,"t":0,"set":{"endpoints":[[0,999],{}]}}', 4000);
    const at = Buffer.concat(parts).length;
    assert.deepEqual(lookAt(Buffer.concat(parts)), { pods: 14_001, broken: null });
    const longFrame = Array(10_001).fill('{"slice":1,"t":0,"set":{}}').join('\n');
    tell(longFrame, 1);
    assert.deepEqual(lookAt(Buffer.concat(parts)), { pods: 24_001, broken: { kind: 'damaged', atByte: at } });
  });

  it('too many lines in a frame, and too many objects, are damage', () => {
    const parts: Uint8Array[] = [];
    const frames = createFrameWriter(ZSTD, (bytes) => parts.push(bytes));
    const tell = (line: string): number => {
      const at = Buffer.concat(parts).length;
      frames.add(line);
      frames.flush();
      return at;
    };
    tell('{"recording":"endpointd","version":1,"program":"1","names":"plain"}');
    tell(Array.from({ length: 10 }, (_, i) => `{"pod":${i},"t":0,"new":{"name":"${i}"}}`).join('\n'));
    tell(Array(20_000).fill('{"pod":1,"t":0,"set":{}}').join('\n'));
    const whole = Buffer.concat(parts);
    assert.deepEqual(lookAt(whole), { pods: 20_010, broken: null });
    const at = tell(Array(20_001).fill('{"pod":1,"t":0,"set":{}}').join('\n'));
    assert.deepEqual(lookAt(Buffer.concat(parts)), { pods: 20_010, broken: { kind: 'damaged', atByte: at } });
    const { events, broken } = read(whole, 9);
    assert.equal([...events].length, 9);
    assert.equal(broken()!.kind, 'damaged');
  });

  it('a recording may last 366 days, and tell of 100,000 events at once', () => {
    const parts: Uint8Array[] = [];
    const frames = createFrameWriter(ZSTD, (bytes) => parts.push(bytes));
    frames.add('{"recording":"endpointd","version":1,"program":"1","names":"plain"}');
    frames.add('{"t":316224000000,"irrelevant":{"pods":100000}}');
    frames.flush();
    const { events, broken } = read(Buffer.concat(parts));
    assert.deepEqual([...events], [{ type: 'irrelevant', atMs: 31_622_400_000, counts: { pods: 100_000 } }]);
    assert.equal(broken(), null);
  });

  it('a recording of a newer program, and any other file, is refused', () => {
    const newer = Buffer.from(file);
    newer.writeUInt32LE(RECORDING_VERSION + 1, 8 + 'endpointd recording\n'.length);
    assert.throws(
      () => read(newer),
      /it has version 5 of the format, and this program knows those up to 4: a newer endpointd reads it/,
    );
    assert.throws(
      () => read(Buffer.from('apiVersion: v1\nkind: Config\nclusters: []\n')),
      /this is no recording of endpointd/,
    );
    assert.throws(() => read(file.subarray(0, starts[1])), /it ends before its first frame/);
    assert.throws(() => read(Buffer.alloc(0)), /this is no recording of endpointd/);
  });
});
