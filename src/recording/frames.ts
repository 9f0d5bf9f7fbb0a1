/**
 * The bytes of a recording. It is a sequence of zstd frames, so `zstd -dc FILE` prints its lines. A skippable frame
 * before each frame has the frame's length and checksum. The first one has the version of the format.
 */
import { LineError } from './fields.ts';
import { checkVersion } from './decode.ts';
import { RECORDING_VERSION } from './lines.ts';

/** The compression as a port: it is done at the edge. */
export interface Compression {
  readonly compress: (bytes: Uint8Array) => Uint8Array;
  /** @throws Error if the bytes are no whole frame, or hold more than `bytesMax` */
  readonly decompress: (bytes: Uint8Array, bytesMax: number) => Uint8Array;
  readonly crc32: (bytes: Uint8Array) => number;
}

/** The magic number of zstd's skippable frames, which readers of zstd skip. */
const SKIPPABLE = 0x184d2a5e;
const TITLE = 'endpointd recording\n';
const HEAD_BYTES = 8 + TITLE.length + 4;
const FRAME_HEAD_BYTES = 8 + 12;
const FRAME_BEGIN = skippable(12).subarray(0, 8);
/** Beyond so many bytes a new frame begins, so a longer frame is none of ours. */
const LINES_BYTES = 256 * 1024;
const LINES_BYTES_MAX = 32 * 2 ** 20;
/** The shortest line has 18 bytes, and only the last one may reach beyond `LINES_BYTES`. */
const LINES_MAX = 20_000;

export interface FrameWriter {
  /** @param line without its end */
  readonly add: (line: string) => void;
  /** Makes a whole frame of the added lines. */
  readonly flush: () => void;
}

/** @param write appends to the file */
export function createFrameWriter(compression: Compression, write: (bytes: Uint8Array) => void): FrameWriter {
  let lines: string[] = [];
  let length = 0;
  let begun = false;
  const flush = (): void => {
    if (lines.length === 0) return;
    if (!begun) write(titleFrame());
    begun = true;
    const raw = Buffer.from(`${lines.join('\n')}\n`);
    lines = [];
    length = 0;
    const frame = compression.compress(raw);
    const head = skippable(12);
    head.writeUInt32LE(frame.length, 8);
    head.writeUInt32LE(raw.length, 12);
    head.writeUInt32LE(compression.crc32(frame), 16);
    write(Buffer.concat([head, frame]));
  };
  return {
    add(line) {
      lines.push(line);
      length += line.length;
      if (length >= LINES_BYTES) flush();
    },
    flush,
  };
}

function titleFrame(): Uint8Array {
  const title = skippable(TITLE.length + 4);
  title.write(TITLE, 8, 'latin1');
  title.writeUInt32LE(RECORDING_VERSION, 8 + TITLE.length);
  return title;
}

function skippable(bytes: number): Buffer {
  const head = Buffer.alloc(8 + bytes);
  head.writeUInt32LE(SKIPPABLE, 0);
  head.writeUInt32LE(bytes, 4);
  return head;
}

/** Reads a part of a file. It is shorter where the file ends. */
export type ReadAt = (at: number, bytes: number) => Uint8Array;

/** Why a recording could be read up to a place and no further. */
export interface Broken {
  /** `cut`: the file ends within a frame, as after a crash. `damaged`: the bytes are wrong. */
  readonly kind: 'cut' | 'damaged';
  readonly atByte: number;
}

export interface Frame {
  readonly atByte: number;
  readonly lines: readonly string[];
}

/**
 * Whole frames, up to the end or to the broken place, which comes last.
 * @throws LineError if the file is no recording, or one of a newer program
 */
export function* readFrames(readAt: ReadAt, { decompress, crc32 }: Compression): Generator<Frame | Broken> {
  const title = Buffer.from(readAt(0, HEAD_BYTES));
  if (title.length < HEAD_BYTES || title.toString('latin1', 8, 8 + TITLE.length) !== TITLE) {
    throw new LineError('this is no recording of endpointd');
  }
  checkVersion(title.readUInt32LE(8 + TITLE.length));
  for (let at = HEAD_BYTES; ;) {
    const head = Buffer.from(readAt(at, FRAME_HEAD_BYTES));
    if (head.length === 0) return;
    if (head.length < FRAME_HEAD_BYTES) {
      yield { kind: 'cut', atByte: at };
      return;
    }
    const length = head.readUInt32LE(8);
    const rawLength = head.readUInt32LE(12);
    if (head.readUInt32LE(0) !== SKIPPABLE || head.readUInt32LE(4) !== 12 || rawLength > LINES_BYTES_MAX) {
      yield { kind: 'damaged', atByte: at };
      return;
    }
    const frame = readAt(at + FRAME_HEAD_BYTES, length);
    if (frame.length < length) {
      // The length itself is not in the checksum. If it is wrong, other frames follow.
      yield {
        kind: Buffer.from(frame.buffer, frame.byteOffset, frame.length).includes(FRAME_BEGIN) ? 'damaged' : 'cut',
        atByte: at,
      };
      return;
    }
    const lines = crc32(frame) === head.readUInt32LE(16) ? linesOf(frame, rawLength, decompress) : null;
    if (lines === null) {
      yield { kind: 'damaged', atByte: at };
      return;
    }
    yield { atByte: at, lines };
    at += FRAME_HEAD_BYTES + length;
  }
}

function linesOf(frame: Uint8Array, rawLength: number, decompress: Compression['decompress']): string[] | null {
  let raw: Uint8Array;
  try {
    raw = decompress(frame, rawLength);
  } catch {
    return null;
  }
  if (raw.length !== rawLength || countOf(raw, LINE_END) > LINES_MAX) return null;
  const lines = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8').split('\n');
  // Behind the last end of line there is nothing.
  lines.pop();
  return lines;
}

const LINE_END = 0x0a;

function countOf(bytes: Uint8Array, wanted: number): number {
  let count = 0;
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) count++;
  return count;
}
