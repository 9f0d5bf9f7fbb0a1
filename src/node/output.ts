import type { Writable } from 'node:stream';

/**
 * Writes a whole report, at the pace of its reader. If the reader has gone (`endpointd ... | head`), that is a quiet
 * end, as with other tools. Rejects when the report cannot be written for another reason, such as a full disk.
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
