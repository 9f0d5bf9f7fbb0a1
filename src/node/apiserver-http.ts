import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { failure } from '../apiserver/api-error.ts';
import { apply, BODY_BYTES_MAX, tick, type ApiReply, type ApiServer, type Watch } from '../apiserver/server.ts';
import type { Status } from '../kube/types.ts';
import { TIMER_MS_MAX } from '../lib/duration.ts';
import { browserRefusal } from './browser-guard.ts';
import {
  answersAdmin,
  FREE_PASSAGE,
  playFaults,
  type FaultGate,
  type Passage,
  type WatchFaults,
} from './fault-gate.ts';
import { inTurn } from './in-turn.ts';
import { readRequestBody } from './request-body.ts';
import type { TlsIdentity } from './self-signed.ts';

export interface ApiServerHttpOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** When given, requests must carry this bearer token, but for `OPEN_PATHS`. Else only loopback names are served. */
  readonly token?: string;
  /** When given, HTTPS is served instead of HTTP. */
  readonly tls?: TlsIdentity;
  /** Default: none. */
  readonly faults?: FaultGate;
}

export interface ApiServerHttp {
  readonly url: string;
  readonly port: number;
  /** Ends all connections, open watches too. */
  close(): Promise<void>;
}

/** Serves an embedded API server over HTTP/1.1. @throws Error when the address cannot be listened on */
export async function serveApi(api: ApiServer, options: ApiServerHttpOptions = {}): Promise<ApiServerHttp> {
  const { host = '127.0.0.1', port = 0, token = '', tls, faults } = options;
  const ticker = createTicker(api);
  const listener: RequestListener = inTurn((request, response) => {
    const refusal = refusalOf(request, token);
    if (refusal !== null) {
      request.resume();
      sendStatus(response, refusal);
      return;
    }
    if (faults === undefined) {
      receiveBody(request, response, (body) => answer(api, ticker, request, response, body, FREE_PASSAGE));
      return;
    }
    if (answersAdmin(faults, request, response)) return;
    receiveBody(request, response, (body) => {
      playFaults(faults, request, response, (passage) => {
        answer(api, ticker, request, response, body, passage);
      });
    });
  });
  const limits = { maxHeaderSize: HEADER_BYTES_MAX };
  const server = tls === undefined ? createServer(limits, listener) : createTlsServer({ ...limits, ...tls }, listener);
  server.on('clientError', refuseClient);
  server.keepAliveTimeout = IDLE_MS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  // If a connection cannot be accepted, for want of file descriptors, the client tries again.
  server.on('error', () => undefined);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        ticker.stop();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The limit of Go's server, which the real API server uses. Node's own limit is 16 KiB. */
const HEADER_BYTES_MAX = 1024 * 1024;

/** As the real API server. */
const IDLE_MS_MAX = 90_000;

/** Answers what is no HTTP request, in the words of Go's server. */
function refuseClient(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const line = tooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${line}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n${line}`);
}

/**
 * A kubeconfig for that server. An empty token leaves the user without credentials.
 * @param ca PEM of what signed the server's certificate; empty for HTTP
 */
export function kubeconfigFor(url: string, token: string, ca = ''): string {
  const authority = ca === '' ? '' : `, certificate-authority-data: ${Buffer.from(ca).toString('base64')}`;
  const user = token === '' ? '{}' : `{ token: ${JSON.stringify(token)} }`;
  return [
    'apiVersion: v1',
    'kind: Config',
    'current-context: embedded',
    `clusters: [{ name: embedded, cluster: { server: ${JSON.stringify(url)}${authority} } }]`,
    `users: [{ name: embedded, user: ${user} }]`,
    'contexts: [{ name: embedded, context: { cluster: embedded, user: embedded } }]',
    '',
  ].join('\n');
}

/** What a kube-apiserver tells everybody, with any query (the role system:public-info-viewer). */
const OPEN_PATHS: readonly string[] = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

/**
 * Why a request is refused; null = it is not. If there is a token, a request must carry it. If there is none, a request
 * that a page in a browser may have sent is refused.
 */
function refusalOf(request: IncomingMessage, token: string): Status | null {
  if (token !== '') return isAuthorised(request, token) ? null : failure(401, 'Unauthorized', 'Unauthorized');
  const why = browserRefusal(request);
  return why === null ? null : failure(403, 'Forbidden', why);
}

function isAuthorised({ headers, url = '' }: IncomingMessage, token: string): boolean {
  const given = headers.authorization ?? '';
  const [path = ''] = url.split('?', 1);
  return timingSafeEqual(digest(given), digest(`Bearer ${token}`)) || OPEN_PATHS.includes(path);
}

/** Both digests have the same length, so the time that their comparison takes tells nothing of the token. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function receiveBody(request: IncomingMessage, response: ServerResponse, done: (body: Buffer | null) => void): void {
  if (request.method === 'GET') {
    done(null);
    return;
  }
  readRequestBody(request, BODY_BYTES_MAX, (body) => {
    if (body !== null) {
      done(body.length === 0 ? null : body);
      return;
    }
    const message = `Request entity too large: limit is ${BODY_BYTES_MAX}`;
    sendStatus(response, failure(413, 'RequestEntityTooLarge', message));
  });
}

function answer(
  api: ApiServer,
  ticker: Ticker,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer | null,
  { loseReply, watchFaults }: Passage,
): void {
  const { accept = '', 'content-type': contentType = '', 'if-none-match': ifNoneMatch = '' } = request.headers;
  let reply: ApiReply;
  try {
    reply = apply(api, Date.now(), {
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: { accept, contentType, ifNoneMatch },
      body,
    });
  } catch (error) {
    // A fault of this program harms its own request alone, as in the real API server.
    process.emitWarning(`${request.method} ${request.url} failed: ${(error as Error).stack}`);
    sendStatus(response, failure(500, 'InternalError', `Internal error occurred: ${(error as Error).message}`));
    return;
  }
  if (loseReply) {
    if ('watch' in reply) reply.watch.close();
    request.socket.destroy();
  } else if ('watch' in reply && response.destroyed) {
    // The client has gone while a fault held its request.
    reply.watch.close();
  } else if ('watch' in reply) {
    response.writeHead(reply.status, reply.headers);
    response.flushHeaders();
    streamWatch(response, reply.watch, watchFaults);
    ticker.arm();
  } else if (reply.status === 304) {
    response.writeHead(304, reply.headers);
    response.end();
  } else {
    response.writeHead(reply.status, { ...reply.headers, 'content-length': reply.body.length });
    response.end(reply.body);
  }
}

/**
 * Writes frames as long as the connection takes them. Otherwise they wait in the watch. If they become too many, the
 * API server ends the watch.
 */
function streamWatch(response: ServerResponse, watch: Watch, faults: WatchFaults | null): void {
  let scheduled = false;
  let blocked = false;
  let held = false;
  const release = (): void => {
    held = false;
    scheduled = true;
    pump();
  };
  const pump = (): void => {
    scheduled = false;
    if (held) return;
    while (!blocked) {
      const frames = watch.take();
      if (frames.length === 0) break;
      if (faults?.cuts() === true) {
        response.destroy();
        return;
      }
      response.cork();
      for (const frame of frames) blocked = !response.write(frame);
      response.uncork();
    }
    if (watch.ended) response.end();
  };
  // All changes of one turn of the event loop go out together.
  const schedule = (): void => {
    if (scheduled || held) return;
    const holdMs = faults?.holdMs() ?? 0;
    if (holdMs > 0) {
      // Nothing overtakes a piece that is held.
      held = true;
      setTimeout(release, holdMs).unref();
      return;
    }
    scheduled = true;
    setImmediate(pump);
  };
  watch.onReady = schedule;
  response.on('drain', () => {
    blocked = false;
    schedule();
  });
  response.on('close', () => watch.close());
  schedule();
}

function sendStatus(response: ServerResponse, status: Status): void {
  const body = JSON.stringify(status);
  response.writeHead(status.code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

interface Ticker {
  /** A watch was opened, so something may be due earlier. */
  arm(): void;
  stop(): void;
}

function createTicker(api: ApiServer): Ticker {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const arm = (): void => {
    clearTimeout(timer);
    if (stopped) return;
    const nextMs = tick(api, Date.now());
    if (nextMs === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(arm, Math.min(TIMER_MS_MAX, Math.max(1, nextMs - Date.now())));
    timer.unref();
  };
  return {
    arm,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
