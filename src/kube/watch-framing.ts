/**
 * The two framings of a watch (docs/spec/wire.md "Watch framing"). Protobuf: a 4-byte big-endian length, then a bare
 * WatchEvent whose object is a whole envelope. JSON: one object a line. A frame may begin and end anywhere in the
 * chunks that arrive.
 */
import { decodeEnvelope, parseJsonObject, type Envelope } from './codec.ts';
import { encodingOf } from './media-type.ts';
import {
  createReader,
  createWriter,
  DecodeError,
  prependBytes,
  prependString,
  prependVarint,
  rangeSpells,
  readLength,
  readTag,
  reserve,
  skipField,
  writtenBytes,
} from './protobuf.ts';
import type { ObjectSource } from './source.ts';
import { tagOf } from './tags.ts';

const EVENT_TYPE = tagOf('WatchEvent', 'type');
const EVENT_OBJECT = tagOf('WatchEvent', 'object');
const EXTENSION_RAW = tagOf('RawExtension', 'raw');

export type WatchType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

export interface WatchFrame {
  readonly type: WatchType;
  readonly object: ObjectSource;
}

/** A longer frame is an error, as in client-go. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;

export interface WatchReader {
  /** Takes the next bytes of the stream. They must not change until their frames have been used. */
  push(chunk: Uint8Array): void;
  /**
   * The next whole frame, or null until more is pushed. The bytes of a protobuf object are valid only until the next
   * call. They are a view of the chunk, or of memory that is used again.
   * @throws DecodeError; the stream is of no use afterwards
   */
  next(): WatchFrame | null;
  /**
   * How many bytes of an incomplete frame have come. If it is not 0 at the end of the stream, the stream was cut off.
   */
  pendingBytes(): number;
}

/** @throws DecodeError when no watch can have this Content-Type */
export function createWatchReader(contentType: string): WatchReader {
  return encodingOf(contentType) === 'protobuf' ? createProtobufReader() : createJsonReader();
}

const TYPES: readonly WatchType[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'];

const NOTHING = new Uint8Array(0);

/** Chunks wait in order. Whole frames are cut from the first one, and only a frame over a border is copied. */
function createProtobufReader(): WatchReader {
  const chunks = createChunks();
  let last: Envelope | undefined;
  return {
    push: (chunk) => pushChunk(chunks, chunk),
    pendingBytes: () => chunks.bytesTotal,
    next() {
      if (chunks.bytesTotal < 4) return null;
      const length = peekUint32(chunks);
      if (length > FRAME_BYTES_MAX) throw new DecodeError(`watch frame of ${length} bytes`);
      if (chunks.bytesTotal < 4 + length) return null;
      drop(chunks, 4);
      const frame = peek(chunks, length);
      drop(chunks, length);
      const { type, start, end } = readWatchEvent(frame);
      last = decodeEnvelope(frame, start, end, last);
      const { apiVersion, kind, raw } = last;
      return { type, object: { encoding: 'protobuf', apiVersion, kind, bytes: frame.subarray(raw.start, raw.end) } };
    },
  };
}

function readWatchEvent(frame: Uint8Array): { type: WatchType; start: number; end: number } {
  const reader = createReader(frame);
  let type: WatchType | undefined;
  let start = -1;
  let end = -1;
  for (;;) {
    const tag = readTag(reader);
    if (tag === 0) break;
    if (tag === EVENT_TYPE) {
      const stop = readLength(reader);
      const from = reader.position;
      type = TYPES.find((known) => rangeSpells(frame, from, stop, known));
      reader.position = stop;
    } else if (tag === EVENT_OBJECT) {
      reader.end = readLength(reader);
      for (;;) {
        const inner = readTag(reader);
        if (inner === 0) break;
        if (inner === EXTENSION_RAW) {
          end = readLength(reader);
          start = reader.position;
          reader.position = end;
        } else skipField(reader, inner);
      }
      reader.end = frame.length;
    } else skipField(reader, tag);
  }
  if (type === undefined) throw new DecodeError('watch event: unknown type');
  if (start < 0) throw new DecodeError('watch event: no object');
  return { type, start, end };
}

interface Chunks {
  /** The first one holds the next byte at `from`. */
  list: Uint8Array[];
  from: number;
  bytesTotal: number;
  /** Where a frame that spans two chunks is put together. It is reused for the next one. */
  scratch: Uint8Array;
}

/** Nearly every object is smaller. A larger frame gets memory of its own, which is freed afterwards. */
const SCRATCH_BYTES = 256 * 1024;

function createChunks(): Chunks {
  return { list: [], from: 0, bytesTotal: 0, scratch: NOTHING };
}

/** The next four bytes, which must be there, as a big-endian number. */
function peekUint32(chunks: Chunks): number {
  const first = chunks.list[0]!;
  const at = chunks.from;
  const head = first.length - at >= 4 ? first : peek(chunks, 4);
  const i = head === first ? at : 0;
  return ((head[i]! << 24) | (head[i + 1]! << 16) | (head[i + 2]! << 8) | head[i + 3]!) >>> 0;
}

function pushChunk(chunks: Chunks, chunk: Uint8Array): void {
  if (chunk.length === 0) return;
  chunks.list.push(chunk);
  chunks.bytesTotal += chunk.length;
}

/** The next `count` bytes, which must be there: a view of the first chunk if that has them all, else of the scratch. */
function peek(chunks: Chunks, count: number): Uint8Array {
  if (count === 0) return NOTHING;
  const first = chunks.list[0]!;
  if (first.length - chunks.from >= count) return first.subarray(chunks.from, chunks.from + count);
  const copy = scratchOf(chunks, count);
  let filled = 0;
  let from = chunks.from;
  for (let i = 0; filled < count; i++) {
    const chunk = chunks.list[i]!;
    const part = chunk.subarray(from, Math.min(chunk.length, from + count - filled));
    copy.set(part, filled);
    filled += part.length;
    from = 0;
  }
  return copy;
}

function scratchOf(chunks: Chunks, count: number): Uint8Array {
  if (count > SCRATCH_BYTES) return new Uint8Array(count);
  if (chunks.scratch.length === 0) chunks.scratch = new Uint8Array(SCRATCH_BYTES);
  return chunks.scratch.subarray(0, count);
}

function drop(chunks: Chunks, count: number): void {
  chunks.bytesTotal -= count;
  let from = chunks.from + count;
  let gone = 0;
  while (gone < chunks.list.length && from >= chunks.list[gone]!.length) from -= chunks.list[gone++]!.length;
  if (gone > 0) chunks.list.splice(0, gone);
  chunks.from = from;
}

const NEWLINE = 0x0a;

/** Lines are cut as bytes, so a character over the border of two chunks stays whole. */
function createJsonReader(): WatchReader {
  const chunks = createChunks();
  /** How many bytes from the front have no newline. */
  let searched = 0;
  /** How many chunks of the list these bytes fill. */
  let searchedChunks = 0;
  return {
    push: (chunk) => pushChunk(chunks, chunk),
    pendingBytes: () => chunks.bytesTotal,
    next() {
      for (;;) {
        const chunk = chunks.list[searchedChunks];
        if (chunk === undefined) return null;
        const from = searchedChunks === 0 ? chunks.from : 0;
        const newline = chunk.indexOf(NEWLINE, from);
        const length = searched + (newline < 0 ? chunk.length : newline) - from;
        if (length > FRAME_BYTES_MAX) throw new DecodeError(`watch line over ${FRAME_BYTES_MAX} bytes`);
        if (newline < 0) {
          searched = length;
          searchedChunks++;
          continue;
        }
        const line = peek(chunks, length);
        drop(chunks, length + 1);
        searched = 0;
        searchedChunks = 0;
        if (!isBlank(line)) return readJsonFrame(line);
      }
    },
  };
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}

function readJsonFrame(line: Uint8Array): WatchFrame {
  const event = parseJsonObject(line);
  const type = TYPES.find((known) => known === event['type']);
  if (type === undefined) throw new DecodeError('watch event: unknown type');
  const value = event['object'];
  if (typeof value !== 'object' || value === null) throw new DecodeError('watch event: no object');
  const { kind, apiVersion } = value as Record<string, unknown>;
  return {
    type,
    object: {
      encoding: 'json',
      kind: typeof kind === 'string' ? kind : '',
      apiVersion: typeof apiVersion === 'string' ? apiVersion : '',
      value,
    },
  };
}

/**
 * Encodes a frame, for a server.
 * @param objectBytes with envelope (protobuf), or JSON text without a newline
 */
export function encodeWatchFrame(contentType: string, type: WatchType, objectBytes: Uint8Array): Uint8Array {
  return encodingOf(contentType) === 'protobuf'
    ? encodeProtobufFrame(type, objectBytes)
    : Buffer.concat([Buffer.from(`{"type":"${type}","object":`), objectBytes, Buffer.from('}\n')]);
}

function encodeProtobufFrame(type: WatchType, objectBytes: Uint8Array): Uint8Array {
  const writer = createWriter(objectBytes.length + 40);
  prependBytes(writer, objectBytes);
  prependVarint(writer, objectBytes.length);
  prependVarint(writer, EXTENSION_RAW);
  prependVarint(writer, writer.bytes.length - writer.position);
  prependVarint(writer, EVENT_OBJECT);
  prependString(writer, EVENT_TYPE, type);
  const length = writer.bytes.length - writer.position;
  const at = reserve(writer, 4);
  writer.bytes.writeUInt32BE(length, at);
  return writtenBytes(writer);
}
