import type { Writable } from 'node:stream';

/**
 * Writes a whole report, at the pace of its reader. Of a report in parts the next one is made when the reader has taken
 * the one before. If the reader has gone (`endpointd ... | head`), that is a quiet
 * end, as with other tools. Rejects when the report cannot be written for another reason, such as a full disk.
 */
export function writeReport(output: Writable, report: string | Iterable<string>): Promise<void> {
  const parts = (typeof report === 'string' ? [report] : report)[Symbol.iterator]();
  return new Promise((resolve, reject) => {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') resolve();
      else reject(error);
    });
    const next = (error?: Error | null): void => {
      // The event tells of it.
      if (error != null) return;
      try {
        const { done, value } = parts.next();
        if (done === true) resolve();
        else output.write(value, next);
      } catch (failure) {
        reject(failure);
      }
    };
    next();
  });
}
