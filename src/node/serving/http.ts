import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { errorMessage } from '../../lib/error-message.ts';
import type { Gate, Question } from './gate.ts';
import type { Handshakes } from './handshakes.ts';
import { HEALTH_PATH } from './health-pages.ts';
import { text, type Answer, type Asked, type FindPage } from './page.ts';
import { createShortServer, type Connection, type ConnectionLimits } from './short-connections.ts';

export interface HttpConfig {
  /** '' = all addresses of all families. */
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** null = without TLS. */
  readonly handshakes: Handshakes | null;
  readonly gate: Gate;
  readonly pages: FindPage;
  /**
   * Called when a connection could not be accepted, as a rule for want of file descriptors. At most one call a minute.
   */
  readonly onAcceptError: (error: Error) => void;
  /** Called when a page could not be made, or the gate could not be asked. At most one call a minute. */
  readonly onPageError: (path: string, error: unknown) => void;
}

export interface HttpServer {
  /** `host:port` that it listens on. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Probes and scrapes take milliseconds each, so a few connections are enough. An idle controller has up to 55 file
 * descriptors, and with these it stays below 64.
 */
const CONNECTIONS: ConnectionLimits = { countMax: 6, lifeMsMax: 10_000, headerBytesMax: 8192 };
const ERRORS_EVERY_MS = 60_000;
const PATH_SHOWN_MAX = 100;

/**
 * Serves pages to those whom the gate lets through. A connection is for one request and has ten seconds. Six are open
 * at most.
 * @throws when the address cannot be listened on
 */
export async function startHttp(config: HttpConfig): Promise<HttpServer> {
  const onPageError = atMostEvery(ERRORS_EVERY_MS, config.onPageError);
  const { server, destroyConnections } = createShortServer(
    CONNECTIONS,
    config.handshakes,
    (request, response, connection) => {
      void answer(request, response, connection, config).catch((error: unknown) => {
        reply(response, text(500, `${errorMessage(error)}\n`));
        onPageError(splitTarget(request).path.slice(0, PATH_SHOWN_MAX), error);
      });
    },
  );
  await listen(server, config);
  server.on('error', atMostEvery(ERRORS_EVERY_MS, config.onAcceptError));
  const { address, family, port } = server.address() as AddressInfo;
  return {
    address: family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      destroyConnections();
      await closed;
    },
  };
}

function listen(server: Server, { port, host }: HttpConfig): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function atMostEvery<Args extends unknown[]>(intervalMs: number, report: (...args: Args) => void): typeof report {
  let nextMs = 0;
  return (...args) => {
    const nowMs = performance.now();
    if (nowMs < nextMs) return;
    nextMs = nowMs + intervalMs;
    report(...args);
  };
}

/** The gate comes first: a client that may not ask does not learn which pages there are. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { peer, extend, keep }: Connection,
  { gate, pages }: HttpConfig,
): Promise<void> {
  const { path, query } = splitTarget(request);
  const question: Question = { request, peer, verb: (request.method ?? 'GET').toLowerCase(), path };
  const left = new AbortController();
  response.once('close', () => left.abort());
  const refusal = await gate(question);
  if (left.signal.aborted) return;
  if (refusal !== null) {
    reply(response, refusal);
    return;
  }
  const page = pages(path);
  if (page === null) {
    reply(response, text(404, 'not found\n'));
    return;
  }
  const { method } = request;
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    reply(response, text(405, 'method not allowed\n'));
    return;
  }
  const asked: Asked = {
    method,
    path,
    query: new URLSearchParams(query),
    accept: request.headers.accept ?? '',
    left: left.signal,
    extend,
  };
  reply(response, await page(asked));
  if (HEALTH_PATH.test(path)) keep();
}

function splitTarget({ url = '/' }: IncomingMessage): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

function reply(response: ServerResponse, { status, contentType, body, headers }: Answer): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-cache, private',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  });
  response.end(body);
}
