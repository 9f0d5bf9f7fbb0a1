import type { Writable } from 'node:stream';

/**
 * Writes a whole report, at the pace of who reads it. A reader that has gone (`endpointd ... | head`) wants no more: that
 * is a quiet end, as with other tools. Rejects when it cannot be written for another reason, such as a full disk.
 */
export function writeReport(output: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') resolve();
      else reject(error);
    });
    output.write(text, (error) => {
      if (error == null) resolve();
    });
  });
}
