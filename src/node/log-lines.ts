/** Lines of a file, plain or compressed by gzip, or of standard input. */
import { createReadStream } from 'node:fs';
import process from 'node:process';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** No event of an audit log is longer: kube-apiserver takes requests of 3 MiB, and writes request and answer. */
const LINE_BYTES_MAX = 32 * 2 ** 20;
const NEWLINE = 10;
const GZIP_MAGIC = [0x1f, 0x8b] as const;

/**
 * Gives each line without its end. Empty lines are left out. null = a line that is too long to be kept.
 * @param path '-' = standard input
 * @throws Error when the file cannot be read to its end
 */
export async function* logLines(path: string): AsyncGenerator<string | null, void, void> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of plain(path === '-' ? process.stdin : createReadStream(path))) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, end));
      from = end + 1;
      if (bytes > 0) yield line();
    }
    take(chunk.subarray(from));
  }
  if (bytes > 0) yield line();

  function take(part: Buffer): void {
    bytes += part.length;
    if (bytes <= LINE_BYTES_MAX) parts.push(part);
    else parts = [];
  }

  function line(): string | null {
    const text = bytes > LINE_BYTES_MAX ? null : Buffer.concat(parts).toString();
    parts = [];
    bytes = 0;
    return text;
  }
}

/** gzip is recognised by its first bytes, whatever the file is called. */
async function* plain(source: Readable): AsyncGenerator<Buffer, void, void> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const head = await atLeast(chunks, GZIP_MAGIC.length);
  const whole = Readable.from(joined(head, chunks));
  if (head[0] !== GZIP_MAGIC[0] || head[1] !== GZIP_MAGIC[1]) {
    yield* whole as AsyncIterable<Buffer>;
    return;
  }
  // Errors of either side come out of the iteration.
  yield* pipeline(whole, createGunzip(), () => undefined) as AsyncIterable<Buffer>;
}

async function atLeast(chunks: AsyncIterator<Buffer>, bytes: number): Promise<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < bytes) {
    const { done, value } = await chunks.next();
    if (done === true) break;
    head = Buffer.concat([head, value]);
  }
  return head;
}

async function* joined(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, void> {
  yield head;
  for (;;) {
    const { done, value } = await rest.next();
    if (done === true) return;
    yield value;
  }
}
