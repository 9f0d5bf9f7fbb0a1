/**
 * A bounded buffer of lines that wait to be written. Lines that it drops are counted, and a notice stands in their
 * place.
 */

export interface LineBuffer {
  readonly bytesMax: number;
  /** The line that tells how many lines were dropped before it. It is written when writing works again. */
  readonly dropNotice: (lines: number) => string;
  waiting: Entry[];
  /** Bytes that wait, including the chunk's. */
  waitingBytes: number;
  /** The chunk that is being written; null = none. */
  chunk: Chunk | null;
  /** Lines dropped since the last notice. */
  untold: number;
  /** Whether a line was cut off in its middle. Then the next line must not go on behind it. */
  torn: boolean;
  droppedLines: number;
  writeErrors: number;
}

interface Entry {
  readonly text: string;
  readonly bytes: number;
  /** How many dropped lines this one tells of; 0 = it is a line of the log. */
  readonly tellsOf: number;
}

/** What is written with one call. */
export interface Chunk {
  readonly entries: readonly Entry[];
  readonly bytes: Uint8Array;
  written: number;
}

const CHUNK_BYTES_MAX = 65_536;

export function createLineBuffer(bytesMax: number, dropNotice: (lines: number) => string): LineBuffer {
  return {
    bytesMax,
    dropNotice,
    waiting: [],
    waitingBytes: 0,
    chunk: null,
    untold: 0,
    torn: false,
    droppedLines: 0,
    writeErrors: 0,
  };
}

export function isEmpty({ chunk, waiting }: LineBuffer): boolean {
  return chunk === null && waiting.length === 0;
}

/** @param line with its end */
export function pushLine(buffer: LineBuffer, line: string): void {
  if (!enqueueNotice(buffer) || !enqueue(buffer, line, 0)) drop(buffer, 0);
}

/** The chunk to write next; null = none. It stays the same until `tookChunk` has seen its end. */
export function nextChunk(buffer: LineBuffer): Chunk | null {
  const { waiting, torn } = buffer;
  if (buffer.chunk !== null || waiting.length === 0) return buffer.chunk;
  let bytes = 0;
  let count = 0;
  while (count < waiting.length && (count === 0 || bytes + waiting[count]!.bytes <= CHUNK_BYTES_MAX)) {
    bytes += waiting[count++]!.bytes;
  }
  const entries = waiting.slice(0, count);
  buffer.waiting = waiting.slice(count);
  const text = (torn ? '\n' : '') + entries.map((entry) => entry.text).join('');
  buffer.chunk = { entries, bytes: Buffer.from(text), written: 0 };
  return buffer.chunk;
}

/** Notes what became of a write; false = the sink takes nothing now. */
export function tookChunk(
  buffer: LineBuffer,
  chunk: Chunk,
  error: NodeJS.ErrnoException | null,
  written: number,
): boolean {
  if (error?.code === 'EAGAIN' || (error === null && written === 0)) return false;
  chunk.written += written;
  if (error === null && chunk.written < chunk.bytes.length) return true;
  buffer.chunk = null;
  for (const entry of chunk.entries) buffer.waitingBytes -= entry.bytes;
  if (error === null) {
    buffer.torn = false;
    if (buffer.waiting.length === 0) enqueueNotice(buffer);
    return true;
  }
  buffer.writeErrors++;
  let end = chunk.bytes.length;
  for (const entry of chunk.entries.toReversed()) {
    if (end <= chunk.written) break;
    drop(buffer, entry.tellsOf);
    end -= entry.bytes;
  }
  if (chunk.written > 0) buffer.torn = chunk.written > end;
  return true;
}

function enqueue(buffer: LineBuffer, text: string, tellsOf: number): boolean {
  const bytes = Buffer.byteLength(text);
  if (buffer.waitingBytes + bytes > buffer.bytesMax) return false;
  buffer.waiting.push({ text, bytes, tellsOf });
  buffer.waitingBytes += bytes;
  return true;
}

/** Puts the notice of dropped lines at their place. */
function enqueueNotice(buffer: LineBuffer): boolean {
  const { untold, dropNotice } = buffer;
  if (untold > 0 && !enqueue(buffer, dropNotice(untold), untold)) return false;
  buffer.untold = 0;
  return true;
}

function drop(buffer: LineBuffer, tellsOf: number): void {
  buffer.untold += Math.max(tellsOf, 1);
  if (tellsOf === 0) buffer.droppedLines++;
}
