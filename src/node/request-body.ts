import type { IncomingMessage } from 'node:http';

/**
 * Calls `done` once with the body, or at once with null when it is larger than `bytesMax`. The rest of a body that is
 * too large is read and dropped, so that the client gets to read the answer. Of a client that goes before its body's
 * end nothing is heard.
 */
export function readRequestBody(request: IncomingMessage, bytesMax: number, done: (body: Buffer | null) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    const before = bytes;
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else if (before <= bytesMax) {
      chunks.length = 0;
      done(null);
    }
  });
  request.on('end', () => {
    if (bytes <= bytesMax) done(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
  });
}
