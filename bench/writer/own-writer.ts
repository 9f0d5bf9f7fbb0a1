/**
 * The cost of a writer of our own that could take undici's place with the least code. Connections are kept. The
 * constant part of a head is encoded once. Head and body are one write. Replies are read from the socket's buffer. Each
 * request has a deadline. A connection is checked before it is used again. It only reads the replies of the bench's
 * server: chunks, replies without a length and broken connections are missing, and cost nothing where they do not
 * occur.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

export interface OwnWriter {
  /** @param answered gets the status, the headers by lower-case names, and the body */
  readonly put: (path: string, body: Uint8Array, answered: Answered) => void;
}

type Answered = (status: number, headers: ReadonlyMap<string, string>, body: Uint8Array) => void;

interface Exchange {
  readonly bytes: Buffer;
  readonly answered: Answered;
  readonly deadline: NodeJS.Timeout;
}

interface Connection {
  readonly socket: Socket;
  exchange: Exchange | null;
  /** The bytes of an incomplete reply. */
  received: Buffer;
}

const READ_BYTES = 16 * 1024;
const DEADLINE_MS = 10_000;
const NOTHING = Buffer.alloc(0);
const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.[01] ([0-9]{3})/;

/** @param headers the lines between the request line and the length, each with its CR LF */
export async function createOwnWriter(
  origin: string,
  ca: string | null,
  connections: number,
  headers: string,
): Promise<OwnWriter> {
  const constant = Buffer.from(headers, 'latin1');
  const waiting: Exchange[] = [];
  const idle: Connection[] = [];
  let flush: NodeJS.Immediate | null = null;

  /**
   * The event loop polls once before an idle connection is used, so bytes that the server has sent on it are noticed.
   */
  function flushSoon(): void {
    flush ??= setImmediate(() => {
      flush = null;
      while (waiting.length > 0 && idle.length > 0) {
        const connection = idle.pop()!;
        connection.exchange = waiting.shift()!;
        connection.socket.write(connection.exchange.bytes);
      }
    });
  }

  function onBytes(connection: Connection, bytes: Buffer): void {
    const { exchange, received } = connection;
    const whole = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
    const reply = exchange === null ? null : replyIn(whole);
    if (reply === null) {
      connection.received = Buffer.from(whole);
      return;
    }
    clearTimeout(exchange!.deadline);
    connection.exchange = null;
    connection.received = NOTHING;
    idle.push(connection);
    if (waiting.length > 0) flushSoon();
    exchange!.answered(reply.status, reply.headers, reply.body);
  }

  idle.push(...(await Promise.all(Array.from({ length: connections }, () => open(origin, ca, onBytes)))));
  return {
    put(path, body, answered) {
      const deadline = setTimeout(() => {
        throw new Error(`PUT ${path}: no answer`);
      }, DEADLINE_MS);
      waiting.push({ bytes: encoded(path, constant, body), answered, deadline });
      flushSoon();
    },
  };
}

function encoded(path: string, constant: Buffer, body: Uint8Array): Buffer {
  const first = `PUT ${path} HTTP/1.1\r\n`;
  const last = `content-length: ${body.length}\r\n\r\n`;
  const head = first.length + constant.length + last.length;
  const bytes = Buffer.allocUnsafe(head + body.length);
  bytes.write(first, 0, 'latin1');
  bytes.set(constant, first.length);
  bytes.write(last, first.length + constant.length, 'latin1');
  bytes.set(body, head);
  return bytes;
}

/** null = the reply is incomplete. */
function replyIn(bytes: Buffer): { status: number; headers: ReadonlyMap<string, string>; body: Buffer } | null {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return null;
  const [statusLine, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const from = end + HEAD_END.length;
  const until = from + Number(headers.get('content-length'));
  if (bytes.length < until) return null;
  // The bytes are copied: the socket uses the buffer again.
  const body = Buffer.from(bytes.subarray(from, until));
  return { status: Number(STATUS_LINE.exec(statusLine!)![1]), headers, body };
}

async function open(
  origin: string,
  ca: string | null,
  onBytes: (connection: Connection, bytes: Buffer) => void,
): Promise<Connection> {
  const { hostname: host, port } = new URL(origin);
  const onread = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback(length: number, buffer: Uint8Array): boolean {
      onBytes(connection, (buffer as Buffer).subarray(0, length));
      return true;
    },
  };
  const address = { host, port: Number(port), onread };
  // The types do not know that a TLS socket takes `onread` too.
  const socket = ca === null ? connect(address) : connectTls({ ...address, ca } as ConnectionOptions);
  const connection: Connection = { socket, exchange: null, received: NOTHING };
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once(ca === null ? 'connect' : 'secureConnect', resolve);
  });
  return connection;
}
