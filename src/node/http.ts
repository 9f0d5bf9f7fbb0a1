import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type HealthPath = 'healthz' | 'livez' | 'readyz';

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Why not; or how it is. May be empty. */
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
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly health: (path: HealthPath) => Health;
}

export interface HttpServer {
  /** `host:port` that it listens on. */
  readonly address: string;
  close(): Promise<void>;
}

const HEALTH = /^\/(healthz|livez|readyz)(?:\/([^/]+))?$/;

/**
 * Serves /metrics, /healthz, /livez and /readyz, each also with `?verbose`, and `/readyz/<check>`, in kube-apiserver's
 * formats; nothing else.
 * @throws when the address cannot be listened on
 */
export async function startHttp(config: HttpConfig): Promise<HttpServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    void answer(request, response, config).catch((error: unknown) => {
      reply(response, 500, `${error instanceof Error ? error.message : String(error)}\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, config.host, resolve);
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    address: family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, config: HttpConfig): Promise<void> {
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
    const { contentType, body } = await config.metrics();
    reply(response, 200, body, contentType);
    return;
  }
  const match = HEALTH.exec(path);
  if (match === null) {
    reply(response, 404, 'not found\n');
    return;
  }
  const name = match[1] as HealthPath;
  const health = config.health(name);
  if (match[2] === undefined) {
    replyHealth(response, name, health, query.has('verbose'));
    return;
  }
  const check = health.checks.find((candidate) => candidate.name === match[2]);
  if (check === undefined) reply(response, 404, 'not found\n');
  else reply(response, check.ok ? 200 : 500, check.ok ? 'ok' : `${check.message}\n`);
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
  body: string,
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
