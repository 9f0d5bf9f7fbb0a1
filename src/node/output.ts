import { fstatSync, writeSync } from 'node:fs';
import process from 'node:process';
import type { Writable } from 'node:stream';

type Done = (error?: Error | null) => void;

/**
 * Writes the whole text, or fails. Into a file a stream on stdout would write what a full disk has room for, and say
 * that all is written.
 */
export function writeWhole(output: Writable, text: string, done: Done): void {
  const { fd } = output as Writable & { readonly fd?: unknown };
  if (typeof fd !== 'number' || !fstatSync(fd).isFile()) {
    output.write(text, done);
    return;
  }
  let failure: Error | null = null;
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
  } catch (error) {
    failure = error as Error;
  }
  process.nextTick(done, failure);
}

/**
 * Writes a whole report, at the pace of its reader. Of a report in parts the next one is made when the reader has taken
 * the one before. If the reader has gone (`endpointd ... | head`), that is a quiet
 * end, as with other tools. Rejects when the report cannot be written for another reason, such as a full disk.
 */
export function writeReport(output: Writable, report: string | Iterable<string>): Promise<void> {
  const parts = (typeof report === 'string' ? [report] : report)[Symbol.iterator]();
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'EPIPE') resolve();
      else reject(error);
    };
    output.on('error', fail);
    const next: Done = (error) => {
      if (error != null) {
        fail(error);
        return;
      }
      try {
        const { done, value } = parts.next();
        if (done === true) resolve();
        else writeWhole(output, value, next);
      } catch (failure) {
        reject(failure);
      }
    };
    next();
  });
}
