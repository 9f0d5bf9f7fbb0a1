import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { oneRequest } from './one-request.ts';

export interface ConnectionLimits {
  /** Most open connections. */
  readonly countMax: number;
  /** From being accepted to being closed, whatever the client does or leaves undone. */
  readonly lifeMsMax: number;
  readonly headerBytesMax: number;
}

export interface ShortServer {
  readonly server: Server;
  readonly destroyConnections: () => void;
}

/**
 * An HTTP server, not listening yet, whose connections make one request each and are closed after the answer: few are
 * open at any time, and none holds more than one answer. One too many takes the place of the oldest that has not sent
 * its request, else of the oldest: who is new always gets in.
 */
export function createShortServer(limits: ConnectionLimits, listener: RequestListener): ShortServer {
  const { countMax, lifeMsMax, headerBytesMax } = limits;
  // The life of a connection bounds the time for its request as well.
  const timeouts = { headersTimeout: 0, requestTimeout: 0 };
  const http = createHttpServer({ maxHeaderSize: headerBytesMax, ...timeouts }, (request, response) => {
    response.setHeader('Connection', 'close');
    listener(request, response);
  });
  /** Oldest first; true = the request has come. */
  const open = new Map<Duplex, boolean>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = oneRequest(socket, () => open.set(connection, true));
    // Whoever answers may have to know who asks.
    Object.assign(connection, { remoteAddress: socket.remoteAddress });
    open.set(connection, false);
    const timer = setTimeout(() => connection.destroy(), lifeMsMax).unref();
    connection.once('close', () => {
      clearTimeout(timer);
      open.delete(connection);
    });
    http.emit('connection', connection);
    if (open.size <= countMax) return;
    const oldest = leastNeeded(open);
    // Now and not on 'close', which comes later than further connections may.
    open.delete(oldest);
    oldest.destroy();
  });
  const destroyConnections = (): void => {
    for (const connection of open.keys()) connection.destroy();
  };
  return { server, destroyConnections };
}

function leastNeeded(open: ReadonlyMap<Duplex, boolean>): Duplex {
  for (const [connection, hasAsked] of open) if (!hasAsked) return connection;
  return open.keys().next().value!;
}
