/**
 * Writes lines to an output that may be slow, full, stuck or gone. Nobody ever waits for it. What does not fit into a
 * bounded buffer, or cannot be written, is dropped and counted.
 */
import { performance } from 'node:perf_hooks';

/** Where the bytes go. A short write is continued. The code EAGAIN means: takes nothing now, ask again later. */
export interface LineSink {
  /** Calls `done` once, never before it returns. It may never call it. */
  readonly write: (bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null, written: number) => void) => void;
  /** Gives how many bytes were written. @throws ErrnoException */
  readonly writeSync: (bytes: Uint8Array) => number;
}

export interface LineWriterConfig {
  readonly sink: LineSink;
  /** Bytes that wait at most, those being written included; lines beyond that are dropped. */
  readonly bytesMax: number;
  /** The line that tells, once writing works again, how many were dropped before it. */
  readonly dropNotice: (lines: number) => string;
}

export interface LineWriter {
  /** A line with its end. */
  readonly push: (line: string) => void;
  /** Writes out what waits. False when that took longer than `msMax`. */
  readonly flush: (msMax: number) => Promise<boolean>;
  /** The same on the spot, for a process that ends. Returns after about `msMax` even if lines are left. */
  readonly flushNow: (msMax: number) => void;
  readonly droppedLines: () => number;
  readonly writeErrors: () => number;
}

/** A line waits at most this long for others to share a write with; so does what the sink would not take. */
const PAUSE_MS = 100;
const CHUNK_BYTES_MAX = 65_536;
/** A write that has not come back for so long is stuck: another one would be as well. */
const STUCK_MS = 250;
const POLL_MS = 5;

interface Entry {
  readonly text: string;
  readonly bytes: number;
  /** Lines that have been dropped already and that this one tells of; 0 = a line of the log. */
  readonly tellsOf: number;
}

/** What is written with one call. */
interface Chunk {
  readonly entries: readonly Entry[];
  readonly bytes: Uint8Array;
  written: number;
}

// oxlint-disable-next-line max-lines-per-function -- one object: its functions share its state, and each of them is short
export function createLineWriter({ sink, bytesMax, dropNotice }: LineWriterConfig): LineWriter {
  let waiting: Entry[] = [];
  let waitingBytes = 0;
  let chunk: Chunk | null = null;
  /** Since when the sink has had the chunk; null = it has nothing. */
  let inFlightSinceMs: number | null = null;
  let pause: NodeJS.Timeout | undefined;
  /** Dropped since the last notice. */
  let untold = 0;
  /** A line was cut off in its middle: the next one must not go on behind it. */
  let torn = false;
  let droppedLines = 0;
  let writeErrors = 0;
  let onEmpty: (() => void) | null = null;

  function drop(entry: Pick<Entry, 'tellsOf'>): void {
    untold += Math.max(entry.tellsOf, 1);
    if (entry.tellsOf === 0) droppedLines++;
  }

  function enqueue(text: string, tellsOf: number): boolean {
    const bytes = Buffer.byteLength(text);
    if (waitingBytes + bytes > bytesMax) return false;
    waiting.push({ text, bytes, tellsOf });
    waitingBytes += bytes;
    return true;
  }

  /** Puts the notice of dropped lines at their place. */
  function enqueueNotice(): boolean {
    if (untold > 0 && !enqueue(dropNotice(untold), untold)) return false;
    untold = 0;
    return true;
  }

  function push(line: string): void {
    if (!enqueueNotice() || !enqueue(line, 0)) drop({ tellsOf: 0 });
    startLater();
  }

  function startLater(): void {
    if (inFlightSinceMs !== null || (chunk === null && waiting.length === 0)) return;
    pause ??= setTimeout(start, PAUSE_MS).unref();
  }

  function start(): void {
    clearTimeout(pause);
    pause = undefined;
    if (inFlightSinceMs !== null) return;
    chunk ??= nextChunk();
    if (chunk === null) {
      onEmpty?.();
      return;
    }
    inFlightSinceMs = performance.now();
    const at = chunk;
    sink.write(at.bytes.subarray(at.written), (error, written) => {
      inFlightSinceMs = null;
      if (took(at, error, written)) start();
      else startLater();
    });
  }

  function nextChunk(): Chunk | null {
    if (waiting.length === 0) return null;
    let bytes = 0;
    let count = 0;
    while (count < waiting.length && (count === 0 || bytes + waiting[count]!.bytes <= CHUNK_BYTES_MAX)) {
      bytes += waiting[count++]!.bytes;
    }
    const entries = waiting.slice(0, count);
    waiting = waiting.slice(count);
    const text = (torn ? '\n' : '') + entries.map((entry) => entry.text).join('');
    return { entries, bytes: Buffer.from(text), written: 0 };
  }

  /** Notes what became of a write; false = the sink takes nothing now. */
  function took(at: Chunk, error: NodeJS.ErrnoException | null, written: number): boolean {
    if (error?.code === 'EAGAIN' || (error === null && written === 0)) return false;
    at.written += written;
    if (error === null && at.written < at.bytes.length) return true;
    chunk = null;
    for (const entry of at.entries) waitingBytes -= entry.bytes;
    if (error === null) {
      torn = false;
      if (waiting.length === 0) enqueueNotice();
      return true;
    }
    writeErrors++;
    let end = at.bytes.length;
    for (const entry of at.entries.toReversed()) {
      if (end <= at.written) break;
      drop(entry);
      end -= entry.bytes;
    }
    if (at.written > 0) torn = at.written > end;
    return true;
  }

  async function flush(msMax: number): Promise<boolean> {
    if (chunk === null && waiting.length === 0) return true;
    return await new Promise((resolve) => {
      const late = setTimeout(end, msMax, false);
      function end(done: boolean): void {
        clearTimeout(late);
        onEmpty = null;
        resolve(done);
      }
      onEmpty = () => end(true);
      start();
    });
  }

  function flushNow(msMax: number): void {
    const untilMs = performance.now() + msMax;
    // What the sink has is left to it. A write that is about to come back does not keep the rest from its place.
    if (inFlightSinceMs !== null) {
      if (performance.now() - inFlightSinceMs > STUCK_MS) return;
      chunk = null;
    }
    for (;;) {
      const at = (chunk ??= nextChunk());
      if (at === null) return;
      try {
        took(at, null, sink.writeSync(at.bytes.subarray(at.written)));
      } catch (error) {
        if (took(at, error as NodeJS.ErrnoException, 0)) continue;
        if (performance.now() >= untilMs) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
      }
    }
  }

  return { push, flush, flushNow, droppedLines: () => droppedLines, writeErrors: () => writeErrors };
}
