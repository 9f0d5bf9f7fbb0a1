import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Peer } from './gate.ts';
import { oneRequest } from './one-request.ts';
import type { Handshakes } from './handshakes.ts';
import { clientOf, createKeptAddresses, type KeptAddresses } from './kept-addresses.ts';

// An import would read every export of node:http. One is WebSocket, for which Node loads its own undici: 39 ms of CPU
// and 4 MB at start.
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
  /**
   * Lets the connection live so long from now on. It counts no longer and is never replaced, so this is for few
   * connections.
   */
  readonly extend: (lifeMs: number) => void;
  /** Says that its client was answered on a health path. */
  readonly keep: () => void;
}

export type Listener = (request: IncomingMessage, response: ServerResponse, connection: Connection) => void;

export interface ShortServer {
  readonly server: Server;
  readonly destroyConnections: () => void;
}

/**
 * An HTTP server, not listening yet. Each connection makes one request and is closed after the answer, so few are open
 * at any time, and none holds more than one answer. A new connection always gets in. If there are too many, a
 * connection of the client address that has most is closed: the oldest that has not sent its request, else the oldest.
 * A client that is kept has one place for a second that is not counted.
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
  /** By the object that node:http takes for the socket. */
  const connections = new WeakMap<object, Connection>();
  const http = createHttpServer({ maxHeaderSize: headerBytesMax, ...timeouts }, (request, response) => {
    response.setHeader('Connection', 'close');
    listener(request, response, connections.get(request.socket)!);
  });
  /** Oldest first. */
  const open = new Map<Socket, OpenConnection>();
  const extended = new Set<Socket>();
  const kept = createKeptAddresses();

  function serve(accepted: Socket, socket: Socket | TLSSocket, peer: Peer, hands: Omit<Connection, 'peer'>): void {
    const connection = oneRequest(socket, 2 * headerBytesMax, () => {
      const own = open.get(accepted);
      if (own !== undefined) own.hasAsked = true;
    });
    connections.set(connection, { peer, ...hands });
    http.emit('connection', connection);
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: handshakes !== null }, (socket) => {
    const address = clientOf(socket);
    open.set(socket, { address, sinceMs: performance.now(), hasAsked: false });
    const live = (lifeMs: number): NodeJS.Timeout => setTimeout(() => socket.destroy(), lifeMs).unref();
    let timer = live(lifeMsMax);
    const extend = (lifeMs: number): void => {
      clearTimeout(timer);
      timer = live(lifeMs);
      if (open.delete(socket)) extended.add(socket);
    };
    const hands = { extend, keep: () => kept.keep(address) };
    // 'close' follows.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      open.delete(socket);
      extended.delete(socket);
    });
    if (handshakes === null) {
      const { remoteAddress } = socket;
      serve(socket, socket, { remoteAddress, certificate: null, isVerified: false }, hands);
    } else {
      handshakes.begin(socket, kept.has(address), (secured, peer) => serve(socket, secured, peer, hands));
    }
    if (open.size <= countMax) return;
    const oldest = leastNeeded(open, socket, kept);
    // Deleted now and not on 'close': further connections may come before that.
    open.delete(oldest);
    oldest.destroy();
  });
  const destroyConnections = (): void => {
    for (const socket of [...open.keys(), ...extended]) socket.destroy();
  };
  return { server, destroyConnections };
}

interface OpenConnection {
  /** The client, as `clientOf` names it. */
  readonly address: string;
  /** When it was accepted. */
  readonly sinceMs: number;
  /** Whether the head of its request has come. */
  hasAsked: boolean;
}

/** A probe takes milliseconds, the wait for its handshake included. A connection that takes longer is like any other. */
const FRESH_MS = 1000;

/**
 * The connection to be replaced. It is never the newest, which has had no time to ask, nor one that is spared. It is
 * one of the address that has most of the others, so a client with many connections replaces only its own.
 */
function leastNeeded(open: ReadonlyMap<Socket, OpenConnection>, newest: Socket, kept: KeptAddresses): Socket {
  const spared = sparedOf(open, kept);
  const others = [...open].filter(([socket]) => !spared.has(socket));
  const counts = new Map<string, number>();
  for (const [, { address }] of others) counts.set(address, (counts.get(address) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const few = others.filter(([socket, { address }]) => socket !== newest && counts.get(address) === most);
  const [socket] = few.find(([, { hasAsked }]) => !hasAsked) ?? few[0]!;
  return socket;
}

/** Of each address that is kept, its oldest connection that is fresh. */
function sparedOf(open: ReadonlyMap<Socket, OpenConnection>, kept: KeptAddresses): ReadonlySet<Socket> {
  const freshMs = performance.now() - FRESH_MS;
  const spared = new Map<string, Socket>();
  for (const [socket, { address, sinceMs }] of open) {
    if (sinceMs > freshMs && kept.has(address) && !spared.has(address)) spared.set(address, socket);
  }
  return new Set(spared.values());
}
