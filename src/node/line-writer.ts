/**
 * Writes lines to an output that may be slow, full, stuck or gone. Nobody ever waits for it. What does not fit into a
 * bounded buffer, or cannot be written, is dropped and counted.
 */
import { performance } from 'node:perf_hooks';
import { createLineBuffer, isEmpty, nextChunk, pushLine, tookChunk, type LineBuffer } from './line-buffer.ts';

/** Where the bytes go. A short write is continued. The code EAGAIN means: takes nothing now, ask again later. */
export interface LineSink {
  /** Calls `done` once, never before it returns. It may never call it. */
  readonly write: (bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null, written: number) => void) => void;
  /** Gives how many bytes were written. @throws ErrnoException */
  readonly writeSync: (bytes: Uint8Array) => number;
}

export interface LineWriterConfig {
  readonly sink: LineSink;
  /** Most bytes that wait, including those that are being written. Lines beyond that are dropped. */
  readonly bytesMax: number;
  /** The line that tells how many lines were dropped before it. It is written when writing works again. */
  readonly dropNotice: (lines: number) => string;
}

export interface LineWriter {
  /** A line with its end. */
  readonly push: (line: string) => void;
  /** Writes out what waits. False = that took longer than `msMax`. */
  readonly flush: (msMax: number) => Promise<boolean>;
  /** Writes out what waits at once, for a process that ends. Returns after about `msMax` even if lines are left. */
  readonly flushNow: (msMax: number) => void;
  readonly droppedLines: () => number;
  readonly writeErrors: () => number;
}

/**
 * A line waits at most this long for other lines to share its write. What the sink would not take is tried again after
 * it.
 */
const PAUSE_MS = 100;
/** A write that has not come back for so long is stuck, and another write would be stuck as well. */
const STUCK_MS = 250;
const POLL_MS = 5;

export function createLineWriter({ sink, bytesMax, dropNotice }: LineWriterConfig): LineWriter {
  const buffer = createLineBuffer(bytesMax, dropNotice);
  /** Since when the sink has had a chunk; null = it has none. */
  let inFlightSinceMs: number | null = null;
  let pause: NodeJS.Timeout | undefined;
  let onEmpty: (() => void) | null = null;

  function startLater(): void {
    if (inFlightSinceMs === null && !isEmpty(buffer)) pause ??= setTimeout(start, PAUSE_MS).unref();
  }

  function start(): void {
    clearTimeout(pause);
    pause = undefined;
    if (inFlightSinceMs !== null) return;
    const chunk = nextChunk(buffer);
    if (chunk === null) {
      onEmpty?.();
      return;
    }
    inFlightSinceMs = performance.now();
    sink.write(chunk.bytes.subarray(chunk.written), (error, written) => {
      inFlightSinceMs = null;
      if (tookChunk(buffer, chunk, error, written)) start();
      else startLater();
    });
  }

  return {
    push: (line) => {
      pushLine(buffer, line);
      startLater();
    },
    flush: async (msMax) => {
      if (isEmpty(buffer)) return true;
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
    },
    flushNow: (msMax) => {
      const untilMs = performance.now() + msMax;
      // A chunk that the sink has is left to it. If its write is stuck, nothing more is written. Else the rest follows,
      // after the time in which the write ends. The event loop would tell that it has ended, and runs no more.
      if (inFlightSinceMs !== null) {
        const stuckAtMs = inFlightSinceMs + STUCK_MS;
        if (performance.now() > stuckAtMs) return;
        wait(Math.min(untilMs, stuckAtMs) - performance.now());
        buffer.chunk = null;
      }
      writeNow(buffer, sink, untilMs);
    },
    droppedLines: () => buffer.droppedLines,
    writeErrors: () => buffer.writeErrors,
  };
}

/** Writes all that waits, or what the sink takes until `untilMs`. */
function writeNow(buffer: LineBuffer, sink: LineSink, untilMs: number): void {
  for (let chunk = nextChunk(buffer); chunk !== null; chunk = nextChunk(buffer)) {
    try {
      tookChunk(buffer, chunk, null, sink.writeSync(chunk.bytes.subarray(chunk.written)));
    } catch (error) {
      if (tookChunk(buffer, chunk, error as NodeJS.ErrnoException, 0)) continue;
      if (performance.now() >= untilMs) return;
      wait(POLL_MS);
    }
  }
}

/** Stops this thread for `ms`. */
function wait(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
