import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { debugRefusal } from './debug-access.ts';
import { shared } from './shared.ts';
import { createShortServer, type ConnectionLimits } from './short-connections.ts';

export type HealthPath = 'healthz' | 'livez' | 'readyz';

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Why the check fails, or how it is. May be empty. */
  readonly message: string;
}

export interface Health {
  readonly ok: boolean;
  readonly checks: readonly HealthCheck[];
}

export interface HttpConfig {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** Called at most once at a time and once a second, because rendering stops everything else meanwhile. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly health: (path: HealthPath) => Health;
  /** null = there is no such page. */
  readonly debug: DebugConfig | null;
  /** A connection that could not be accepted, for want of file descriptors as a rule. At most one call a minute. */
  readonly onAcceptError: (error: Error) => void;
}

export interface DebugConfig {
  /** `--debug-token-file`; '' = only this machine may see it. */
  readonly tokenFile: string;
  /** How the process is, as JSON or as a page. `service`: `namespace/name` whose changes are asked for; '' = all. */
  readonly page: (format: 'json' | 'html', service: string) => Promise<string>;
}

interface Page {
  readonly contentType: string;
  readonly body: Buffer;
}

export interface HttpServer {
  /** `host:port` that it listens on. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Probes and scrapes take milliseconds each, so a few connections are many. With the up to 55 file descriptors of an idle
 * controller they stay below 64.
 */
const CONNECTIONS: ConnectionLimits = { countMax: 6, lifeMsMax: 10_000, headerBytesMax: 8192 };
const METRICS_KEPT_MS = 1000;
const ACCEPT_ERRORS_EVERY_MS = 60_000;

const HEALTH = /^\/(healthz|livez|readyz)(?:\/([^/]+))?$/;

/**
 * Serves /metrics, /healthz, /livez and /readyz, each also with `?verbose`, and `/readyz/<check>`, in kube-apiserver's
 * formats; to whom it concerns /debug/endpointd; and nothing else. A connection is for one request and has ten seconds. Six are open at most.
 * @throws when the address cannot be listened on
 */
export async function startHttp(config: HttpConfig): Promise<HttpServer> {
  const metrics = shared(METRICS_KEPT_MS, async (): Promise<Page> => {
    const { contentType, body } = await config.metrics();
    return { contentType, body: Buffer.from(body) };
  });
  const { server, destroyConnections } = createShortServer(CONNECTIONS, (request, response) => {
    void answer(request, response, metrics, config).catch((error: unknown) => {
      reply(response, 500, `${error instanceof Error ? error.message : String(error)}\n`);
    });
  });
  await listen(server, config);
  server.on('error', atMostEvery(ACCEPT_ERRORS_EVERY_MS, config.onAcceptError));
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
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function atMostEvery(intervalMs: number, report: (error: Error) => void): (error: Error) => void {
  let nextMs = 0;
  return (error) => {
    const nowMs = performance.now();
    if (nowMs < nextMs) return;
    nextMs = nowMs + intervalMs;
    report(error);
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  metrics: () => Promise<Page>,
  { health: healthOf, debug }: HttpConfig,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    reply(response, 405, 'method not allowed\n');
    return;
  }
  const target = request.url ?? '/';
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  const query = new URLSearchParams(question < 0 ? '' : target.slice(question + 1));
  if (path === '/metrics') {
    const { contentType, body } = await metrics();
    reply(response, 200, body, contentType);
    return;
  }
  if (path === '/debug/endpointd' && debug !== null) {
    await answerDebug(request, response, debug, query);
    return;
  }
  const match = HEALTH.exec(path);
  if (match === null) {
    reply(response, 404, 'not found\n');
    return;
  }
  const name = match[1] as HealthPath;
  const health = healthOf(name);
  if (match[2] === undefined) {
    replyHealth(response, name, health, query.has('verbose'));
    return;
  }
  const check = health.checks.find((candidate) => candidate.name === match[2]);
  if (check === undefined) reply(response, 404, 'not found\n');
  else reply(response, check.ok ? 200 : 500, check.ok ? 'ok' : `${check.message}\n`);
}

async function answerDebug(
  request: IncomingMessage,
  response: ServerResponse,
  { tokenFile, page }: DebugConfig,
  query: URLSearchParams,
): Promise<void> {
  const refusal = await debugRefusal(request, request.socket.remoteAddress, tokenFile);
  if (refusal !== null) {
    if (refusal.status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
    reply(response, refusal.status, `${refusal.message}\n`);
    return;
  }
  const isJson = query.get('format') === 'json' || request.headers.accept === 'application/json';
  const body = await page(isJson ? 'json' : 'html', query.get('service') ?? '');
  response.setHeader('Content-Security-Policy', "frame-ancestors 'none'");
  reply(response, 200, body, isJson ? 'application/json' : 'text/html; charset=utf-8');
}

/** `ok`, or one line for each check, as `kubectl get --raw '/readyz?verbose'` shows them. */
function replyHealth(response: ServerResponse, name: HealthPath, health: Health, verbose: boolean): void {
  if (health.ok && !verbose) {
    reply(response, 200, 'ok');
    return;
  }
  const lines = health.checks.map((check) =>
    check.ok
      ? `[+]${check.name} ok${check.message === '' ? '' : `: ${check.message}`}`
      : `[-]${check.name} failed: ${check.message}`,
  );
  lines.push(`${name} check ${health.ok ? 'passed' : 'failed'}`);
  reply(response, health.ok ? 200 : 500, `${lines.join('\n')}\n`);
}

function reply(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  contentType = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-cache, private',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}
