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
 * open at any time, and none holds more than one answer. One too many takes the place of the oldest that has not sent
 * its request, else of the oldest: who is new always gets in.
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
  /** Oldest first; true = the request has come. */
  const open = new Map<Socket, boolean>();
  const extended = new Set<Socket>();

  function serve(accepted: Socket, socket: Socket | TLSSocket, peer: Peer, extend: Connection['extend']): void {
    const connection = oneRequest(socket, 2 * headerBytesMax, () => {
      if (open.has(accepted)) open.set(accepted, true);
    });
    connections.set(connection, { peer, extend });
    http.emit('connection', connection);
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: handshakes !== null }, (socket) => {
    open.set(socket, false);
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

/** Never the newest: it has had no time to ask. */
function leastNeeded(open: ReadonlyMap<Socket, boolean>, newest: Socket): Socket {
  for (const [socket, hasAsked] of open) if (!hasAsked && socket !== newest) return socket;
  return open.keys().next().value!;
}
