import type { IncomingMessage } from 'node:http';

/**
 * Calls `done` once with the body, or with null as soon as the body is larger than `bytesMax`. The rest of such a body
 * is read and dropped, so that the client gets to read the answer. If the client goes before the end of its body,
 * `done` is never called.
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
