/**
 * The protobuf wire format as the API uses it: proto2, wire types 0 and 2; others are only skipped.
 *
 * The reader is a cursor that never leaves [position, end) and never allocates by a length it was told. The writer
 * fills its buffer from the back to the front: a nested message is written before its length, so one pass is enough.
 */
import { latin1, utf8 } from '../lib/bytes-text.ts';

/** Bytes or JSON that cannot be what they claim to be. The message names object and field if they are known. */
export class DecodeError extends Error {
  /** @param offset in bytes into the buffer that was read; -1 = there is none, as for JSON */
  constructor(message: string, offset = -1) {
    super(offset < 0 ? message : `${message} (at byte ${offset})`);
    this.name = 'DecodeError';
  }
}

export const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

export interface ProtoReader {
  readonly bytes: Uint8Array;
  position: number;
  /** The end of the message that is being read. */
  end: number;
}

/** @throws DecodeError when [start, end) is not inside `bytes`. */
export function createReader(bytes: Uint8Array, start = 0, end = bytes.length): ProtoReader {
  if (!(start >= 0 && start <= end && end <= bytes.length)) throw new DecodeError('range outside the buffer', start);
  return { bytes, position: start, end };
}

/** Field number << 3 | wire type; 0 = the message ends here. */
export function readTag(reader: ProtoReader): number {
  const at = reader.position;
  if (at >= reader.end) return 0;
  const first = reader.bytes[at]!;
  if (first < 0x80 && first > 7) {
    reader.position = at + 1;
    return first;
  }
  const tag = readUint32(reader);
  if (tag >>> 3 === 0) throw new DecodeError('field number 0', at);
  return tag;
}

/** A varint that has to fit into 32 bits unsigned. */
function readUint32(reader: ProtoReader): number {
  const { bytes, position, end } = reader;
  let value = 0;
  for (let i = 0; ; i++) {
    const at = position + i;
    if (at >= end) throw new DecodeError('varint cut off', position);
    const byte = bytes[at]!;
    if (i === 4 && byte > 0x0f) throw new DecodeError('varint over 32 bits', position);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      reader.position = at + 1;
      return value >>> 0;
    }
  }
}

/** Reads a length and returns where the content ends; the content starts at `position`. */
export function readLength(reader: ProtoReader): number {
  const at = reader.position;
  const end = reader.end;
  if (at < end) {
    const first = reader.bytes[at]!;
    if (first < 0x80) {
      const stop = at + 1 + first;
      if (stop <= end) {
        reader.position = at + 1;
        return stop;
      }
    }
  }
  const length = readUint32(reader);
  const stop = reader.position + length;
  if (stop > end) throw new DecodeError(`length ${length} exceeds its message`, at);
  return stop;
}

/** An int64 as a number: exact up to 2^53, rounded beyond; negative as two's complement. */
export function readInt64(reader: ProtoReader): number {
  const { bytes, position, end } = reader;
  if (position < end && bytes[position]! < 0x80) {
    reader.position = position + 1;
    return bytes[position]!;
  }
  let low = 0;
  let high = 0;
  for (let i = 0; i < 10; i++) {
    const at = position + i;
    if (at >= end) throw new DecodeError('varint cut off', position);
    const byte = bytes[at]!;
    const bits = byte & 0x7f;
    if (i < 4) low |= bits << (7 * i);
    else if (i === 4) {
      low |= bits << 28;
      high |= bits >>> 4;
    } else high |= bits << (7 * i - 32);
    if (byte < 0x80) {
      reader.position = at + 1;
      return high * 4294967296 + (low >>> 0);
    }
  }
  throw new DecodeError('varint over 10 bytes', position);
}

/** An int32: the low 32 bits of the varint, as Go reads it. */
export function readInt32(reader: ProtoReader): number {
  const { bytes, position, end } = reader;
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const at = position + i;
    if (at >= end) throw new DecodeError('varint cut off', position);
    const byte = bytes[at]!;
    if (i < 5) value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      reader.position = at + 1;
      return value;
    }
  }
  throw new DecodeError('varint over 10 bytes', position);
}

export function readBool(reader: ProtoReader): boolean {
  return readInt64(reader) !== 0;
}

/** Reads a string that may hold any text. */
export function readUtf8(reader: ProtoReader): string {
  const stop = readLength(reader);
  const start = reader.position;
  reader.position = stop;
  if (start === stop) return '';
  return utf8(reader.bytes, start, stop);
}

/** Reads a string that the server has checked to be ASCII. */
export function readLatin1(reader: ProtoReader): string {
  const stop = readLength(reader);
  const start = reader.position;
  reader.position = stop;
  if (start === stop) return '';
  return latin1(reader.bytes, start, stop);
}

/** Skips the value after a tag. */
export function skipField(reader: ProtoReader, tag: number): void {
  switch (tag & 7) {
    case WIRE_BYTES: {
      reader.position = readLength(reader);
      return;
    }
    case WIRE_VARINT: {
      readInt64(reader);
      return;
    }
    case WIRE_FIXED64: {
      skipBytes(reader, 8);
      return;
    }
    case WIRE_FIXED32: {
      skipBytes(reader, 4);
      return;
    }
    default: {
      throw new DecodeError(`wire type ${tag & 7} of field ${tag >>> 3}`, reader.position);
    }
  }
}

function skipBytes(reader: ProtoReader, count: number): void {
  if (reader.position + count > reader.end) throw new DecodeError('value cut off', reader.position);
  reader.position += count;
}

/** Whether `bytes[start, end)` is exactly the ASCII `text`. All pods are read through it, so the loop is its own. */
export function rangeSpells(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** `bytes.subarray(position)` is what was written so far. */
export interface ProtoWriter {
  bytes: Buffer;
  position: number;
}

export function createWriter(bytesInitial = 1024): ProtoWriter {
  const bytes = Buffer.allocUnsafeSlow(bytesInitial);
  return { bytes, position: bytes.length };
}

/** The writer that all encodings share, one after the other. What was written is valid until the next `takeScratch`. */
let scratch = createWriter(64 * 1024);
/** A buffer that has grown beyond this is given up before the next encoding, so that no large one is held for good. */
const SCRATCH_BYTES_MAX = 1024 * 1024;

/** The shared writer, emptied. A new buffer for each encoding would cost page faults and garbage collections. */
export function takeScratch(): ProtoWriter {
  if (scratch.bytes.length > SCRATCH_BYTES_MAX) scratch = createWriter(SCRATCH_BYTES_MAX);
  scratch.position = scratch.bytes.length;
  return scratch;
}

/** A copy of what was written, in a buffer of its own. */
export function writtenBytes(writer: ProtoWriter): Uint8Array {
  return new Uint8Array(writer.bytes.subarray(writer.position));
}

/** Bytes written so far. */
export function lengthOf(writer: ProtoWriter): number {
  return writer.bytes.length - writer.position;
}

/** Makes room for `count` bytes in front and returns the new position, already moved. */
export function reserve(writer: ProtoWriter, count: number): number {
  if (count > writer.position) grow(writer, count);
  return (writer.position -= count);
}

function grow(writer: ProtoWriter, count: number): void {
  const used = writer.bytes.length - writer.position;
  const bytes = Buffer.allocUnsafeSlow(Math.max(writer.bytes.length * 2, (used + count) * 2));
  writer.bytes.copy(bytes, bytes.length - used, writer.position);
  writer.bytes = bytes;
  writer.position = bytes.length - used;
}

/** An unsigned value up to 2^53. */
export function prependVarint(writer: ProtoWriter, value: number): void {
  if (value < 0x80) {
    const at = reserve(writer, 1);
    writer.bytes[at] = value;
    return;
  }
  let count = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) count++;
  let at = reserve(writer, count);
  let rest = value;
  for (; count > 1; count--) {
    writer.bytes[at++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  writer.bytes[at] = rest;
}

/** A signed value: negative ones take ten bytes, as int32 and int64 of proto2 do. */
export function prependInt(writer: ProtoWriter, value: number): void {
  if (value >= 0) {
    prependVarint(writer, value);
    return;
  }
  let at = reserve(writer, 10);
  let rest = BigInt.asUintN(64, BigInt(value));
  for (let i = 0; i < 9; i++) {
    writer.bytes[at++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  writer.bytes[at] = Number(rest);
}

/**
 * Up to this length, writing characters one by one is faster than a call into the runtime. The length takes one byte.
 */
const SHORT_TEXT = 48;

/** Prepends the text alone. Returns its length in bytes. */
export function prependText(writer: ProtoWriter, text: string): number {
  const length = text.length;
  if (length <= SHORT_TEXT) {
    const at = reserve(writer, length);
    const bytes = writer.bytes;
    let i = 0;
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) break;
      bytes[at + i] = code;
    }
    if (i === length) return length;
    writer.position = at + length;
  }
  const count = Buffer.byteLength(text);
  const at = reserve(writer, count);
  writer.bytes.write(text, at, count, 'utf8');
  return count;
}

/** Tag, length and text of a string field. */
export function prependString(writer: ProtoWriter, tag: number, text: string): void {
  const length = text.length;
  if (length <= SHORT_TEXT && tag < 0x80) {
    // Nearly all text is short ASCII. For such text one reservation is enough for tag, length and text.
    const at = reserve(writer, length + 2);
    const bytes = writer.bytes;
    let i = 0;
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) break;
      bytes[at + 2 + i] = code;
    }
    if (i === length) {
      bytes[at] = tag;
      bytes[at + 1] = length;
      return;
    }
    writer.position = at + length + 2;
  }
  prependVarint(writer, prependText(writer, text));
  prependVarint(writer, tag);
}

export function prependBytes(writer: ProtoWriter, bytes: Uint8Array): void {
  const at = reserve(writer, bytes.length);
  writer.bytes.set(bytes, at);
}
