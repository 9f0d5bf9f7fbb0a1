/** A client that costs as little as possible, so that the server is measured: HTTP/1.1 on bare sockets. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { connect as connectTls } from 'node:tls';

export interface LoadTarget {
  readonly url: string;
  readonly token?: string;
  readonly caFile?: string;
}

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly accept: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

const HEAD_START = 'HTTP/1.1 ';
const DIGIT_TWO = 0x32;
const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/**
 * Sends `count` requests over `connections`. Request i goes to connection i modulo their number, when the request
 * before it there is answered. So requests for one object keep their order if the number of objects is a multiple of
 * the number of connections.
 * @returns seconds
 * @throws Error for an answer that is no success, or for a connection that breaks
 */
export async function sendAll(
  target: LoadTarget,
  connections: number,
  count: number,
  requestOf: (i: number) => LoadRequest,
): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(target)));
  const from = performance.now();
  const lanes = sockets.map(
    (socket, lane) =>
      new Promise<void>((resolve, reject) => {
        let next = lane;
        const send = (): void => {
          if (next >= count) {
            resolve();
            return;
          }
          socket.write(encodeRequest(target, requestOf(next)));
          next += connections;
        };
        socket.on('error', reject);
        socket.on('close', () => reject(new Error('the server has closed a connection')));
        onAnswer(socket, (answer) => {
          if (!isSuccess(answer)) reject(new Error(answer.toString('latin1')));
          send();
        });
        send();
      }),
  );
  try {
    await Promise.all(lanes);
    return (performance.now() - from) / 1000;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Calls `take` with each whole answer, including its head. One request at a time is under way on the socket. */
export function onAnswer(socket: Socket, take: (answer: Buffer) => void): void {
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const length = answerLength(received);
    if (length === -1 || received.length < length) return;
    const answer = received.subarray(0, length);
    received = received.subarray(length);
    take(answer);
  });
}

/** Whether the status is from 200 to 299. */
export function isSuccess(answer: Buffer): boolean {
  return answer[HEAD_START.length] === DIGIT_TWO;
}

/** Bytes of the answer with its head; -1 = more bytes are needed to tell. */
function answerLength(received: Buffer): number {
  const end = received.indexOf(HEAD_END);
  if (end < 0) return -1;
  const head = received.toString('latin1', 0, end);
  const length = /^content-length: (\d+)\r?$/im.exec(head);
  // Only one answer is under way, so the last chunk is at the end of the buffer.
  if (length === null) return received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? received.length : -1;
  return end + 4 + Number(length[1]);
}

/**
 * Calls `take` with the bytes of an answer in chunks as they come, and `onHead` with its head before. The socket is
 * destroyed at the end of the answer.
 */
export function onBody(
  socket: Socket,
  { onHead, take }: { readonly onHead: (head: string) => void; readonly take: (bytes: Buffer) => void },
): void {
  let received: Buffer = Buffer.alloc(0);
  let hasHead = false;
  /** Bytes of the chunk that are still to come, with the line end behind it; 0 = its length comes next. */
  let left = 0;
  /** false = more bytes are needed. */
  const step = (): boolean => {
    if (left > 0) {
      const body = received.subarray(0, Math.max(0, left - LINE_END.length));
      const taken = Math.min(left, received.length);
      received = received.subarray(taken);
      left -= taken;
      if (body.length > 0) take(body);
      return true;
    }
    const ending = hasHead ? LINE_END : HEAD_END;
    const end = received.indexOf(ending);
    if (end < 0) return false;
    const text = received.toString('latin1', 0, end);
    received = received.subarray(end + ending.length);
    if (hasHead) {
      const length = Number.parseInt(text, 16);
      if (length > 0) left = length + LINE_END.length;
      else socket.destroy();
    } else {
      hasHead = true;
      onHead(text);
    }
    return true;
  };
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    while (received.length > 0 && !socket.destroyed && step());
  });
}

export interface LoadWatch {
  /** How many bytes were received. */
  readonly bytes: () => number;
  /** Whether the server has ended the watch, in good order or not. */
  readonly hasEnded: () => boolean;
  readonly stop: () => void;
}

/** Opens a watch whose events are dropped. */
export async function openLoadWatch(target: LoadTarget, path: string, accept: string): Promise<LoadWatch> {
  const socket = await openSocket(target);
  let bytes = 0;
  let tail: Buffer = Buffer.alloc(0);
  const started = new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      tail = chunk.length < LAST_CHUNK.length ? Buffer.concat([tail, chunk]) : chunk;
      tail = tail.subarray(-LAST_CHUNK.length);
      resolve();
    });
  });
  socket.write(encodeRequest(target, { method: 'GET', path, accept, contentType: '', body: new Uint8Array(0) }));
  await started;
  return {
    bytes: () => bytes,
    hasEnded: () => socket.closed || tail.equals(LAST_CHUNK),
    stop: () => void socket.destroy(),
  };
}

/**
 * What the watches have received, before some of it is told as a figure.
 * @throws Error if the server has ended one of them, since the figure would be that of fewer
 */
export function receivedBy(watches: readonly LoadWatch[]): number {
  const ended = watches.filter(({ hasEnded }) => hasEnded()).length;
  if (ended > 0) throw new Error(`the server has ended ${ended} of ${watches.length} watches`);
  return watches.reduce((sum, { bytes }) => sum + bytes(), 0);
}

export function encodeRequest(
  { url, token }: LoadTarget,
  { method, path, accept, contentType, body }: LoadRequest,
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${new URL(url).host}`, `accept: ${accept}`];
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
  if (body.length > 0) lines.push(`content-type: ${contentType}`, `content-length: ${body.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]);
}

export async function openSocket({ url, caFile }: LoadTarget): Promise<Socket> {
  const { protocol, hostname, port } = new URL(url);
  const ca = caFile === undefined ? undefined : readFileSync(caFile);
  const secure = protocol === 'https:';
  const address = { host: hostname, port: Number(port) };
  const socket = secure ? connectTls({ ...address, ca: ca!, ALPNProtocols: ['http/1.1'] }) : connect(address);
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      // It would take a later error in silence.
      socket.off('error', reject);
      resolve();
    });
  });
  socket.setNoDelay(true);
  return socket;
}
