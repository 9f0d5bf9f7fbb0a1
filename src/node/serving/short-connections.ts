import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Peer } from './gate.ts';
import { oneRequest } from './one-request.ts';
import type { Handshakes } from './handshakes.ts';

// An import asks node:http for all that it exports, so for WebSocket too, and Node loads its own undici for that: 37 ms of
// CPU and 6 MB at start.
const { createServer: createHttpServer } = process.getBuiltinModule('node:http');

export interface ConnectionLimits {
  /** Most open connections. */
  readonly countMax: number;
  /** From being accepted to being closed, whatever the client does or leaves undone. */
  readonly lifeMsMax: number;
  readonly headerBytesMax: number;
}

export interface Connection {
  readonly peer: Peer;
  /** It lives so long from now on, and no other takes its place. For few: it is counted no longer. */
  readonly extend: (lifeMs: number) => void;
}

export type Listener = (request: IncomingMessage, response: ServerResponse, connection: Connection) => void;

export interface ShortServer {
  readonly server: Server;
  readonly destroyConnections: () => void;
}

/**
 * An HTTP server, not listening yet, whose connections make one request each and are closed after the answer: few are
 * open at any time, and none holds more than one answer. Who is new always gets in: one too many takes the place of one
 * of the client address that has most of them, of the oldest that has not sent its request, else of the oldest.
 * @param handshakes null = without TLS
 */
export function createShortServer(
  limits: ConnectionLimits,
  handshakes: Handshakes | null,
  listener: Listener,
): ShortServer {
  const { countMax, lifeMsMax, headerBytesMax } = limits;
  // The life of a connection bounds the time for its request as well.
  const timeouts = { headersTimeout: 0, requestTimeout: 0 };
  /** By what node:http takes for the socket. */
  const connections = new WeakMap<object, Connection>();
  const http = createHttpServer({ maxHeaderSize: headerBytesMax, ...timeouts }, (request, response) => {
    response.setHeader('Connection', 'close');
    listener(request, response, connections.get(request.socket)!);
  });
  /** Oldest first. */
  const open = new Map<Socket, OpenConnection>();
  const extended = new Set<Socket>();

  function serve(accepted: Socket, socket: Socket | TLSSocket, peer: Peer, extend: Connection['extend']): void {
    const connection = oneRequest(socket, 2 * headerBytesMax, () => {
      const own = open.get(accepted);
      if (own !== undefined) own.hasAsked = true;
    });
    connections.set(connection, { peer, extend });
    http.emit('connection', connection);
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: handshakes !== null }, (socket) => {
    open.set(socket, { address: socket.remoteAddress ?? '', hasAsked: false });
    const live = (lifeMs: number): NodeJS.Timeout => setTimeout(() => socket.destroy(), lifeMs).unref();
    let timer = live(lifeMsMax);
    const extend = (lifeMs: number): void => {
      clearTimeout(timer);
      timer = live(lifeMs);
      if (open.delete(socket)) extended.add(socket);
    };
    // 'close' follows.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      open.delete(socket);
      extended.delete(socket);
    });
    if (handshakes === null) {
      const { remoteAddress } = socket;
      serve(socket, socket, { remoteAddress, certificate: null, isVerified: false }, extend);
    } else {
      handshakes.begin(socket, (secured, peer) => serve(socket, secured, peer, extend));
    }
    if (open.size <= countMax) return;
    const oldest = leastNeeded(open, socket);
    // Now and not on 'close', which comes later than further connections may.
    open.delete(oldest);
    oldest.destroy();
  });
  const destroyConnections = (): void => {
    for (const socket of [...open.keys(), ...extended]) socket.destroy();
  };
  return { server, destroyConnections };
}

interface OpenConnection {
  /** Of the client. */
  readonly address: string;
  /** The head of its request has come. */
  hasAsked: boolean;
}

/** Never the newest: it has had no time to ask. By address, so that one client ends none but its own while it has most. */
function leastNeeded(open: ReadonlyMap<Socket, OpenConnection>, newest: Socket): Socket {
  const counts = new Map<string, number>();
  for (const { address } of open.values()) counts.set(address, (counts.get(address) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const few = [...open].filter(([socket, { address }]) => socket !== newest && counts.get(address) === most);
  const [socket] = few.find(([, { hasAsked }]) => !hasAsked) ?? few[0]!;
  return socket;
}
