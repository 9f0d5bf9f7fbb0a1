import { once } from 'node:events';
import type { Writable } from 'node:stream';

/**
 * Writes a whole report, at the pace of who reads it. A reader that has gone (`endpointd ... | head`) wants no more: that
 * is a quiet end, as with other tools.
 */
export async function writeReport(output: Writable, text: string): Promise<void> {
  let gone = false;
  const onError = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error;
    gone = true;
  };
  output.on('error', onError);
  const written = new Promise<void>((resolve) => output.write(text, () => resolve()));
  await Promise.race([written, once(output, 'close')]);
  if (!gone) output.off('error', onError);
}
