import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TransportEvent } from '../../src/ports/transport.ts';
import type { Access } from '../../src/node/access.ts';
import type { LogLine } from '../../src/node/log.ts';
import { createClock } from '../../src/node/clock.ts';
import { createTransport, type RequestObservation, type TransportConfig } from '../../src/node/transport.ts';
import type { Answer, SeenRequest, TransportWorld } from '../suites/transport.ts';

/** The real transport and a node:http server on loopback that answers as scripted. */
export interface SocketWorld extends TransportWorld {
  readonly origin: string;
  readonly logged: LogLine[];
  readonly observed: RequestObservation[];
  /** How many connections the server has taken. */
  connections(): number;
}

export interface Overrides extends Partial<Omit<TransportConfig, 'access' | 'readAccess'>> {
  readonly accessOf?: (origin: string) => Access;
  readonly readAccess?: (why: 'refresh' | 'unauthorized', origin: string) => Promise<Access>;
}

export function plainAccess(origin: string): Access {
  const tls = { ca: null, cert: null, key: null, serverName: null, verify: true };
  return { origin, basePath: '', proxyUrl: null, tls, headers: {} };
}

export async function socketWorld(
  script: (request: SeenRequest) => Answer,
  overrides: Overrides = {},
  makeServer: (handler: http.RequestListener) => http.Server = (handler) => http.createServer(handler),
): Promise<SocketWorld> {
  const seen: SeenRequest[] = [];
  const events: TransportEvent[] = [];
  const logged: LogLine[] = [];
  const observed: RequestObservation[] = [];
  let connections = 0;
  const server = makeServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const entry: SeenRequest = {
        method: request.method!,
        path: request.url!,
        headers: Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)])),
        body: Buffer.concat(chunks).toString(),
      };
      seen.push(entry);
      void respond(response, script(entry));
    });
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { accessOf = plainAccess, readAccess, ...config } = overrides;
  const access = accessOf(origin);

  const clock = createClock();
  const transport = createTransport(
    {
      access,
      readAccess: (why) => readAccess?.(why, origin) ?? Promise.resolve(access),
      refreshMs: 60_000,
      userAgent: 'endpointd/0.0.0 (test/test)',
      maxWritesInFlight: 16,
      clock,
      log: (line) => logged.push(line),
      observe: (observation) => observed.push(observation),
      ...config,
    },
    (together) => {
      for (const event of together) {
        events.push(event);
        world.onEvent(event);
      }
    },
  );

  async function stopServer(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  const world: SocketWorld = {
    transport,
    events,
    seen,
    origin,
    logged,
    observed,
    clock,
    onEvent: () => undefined,
    connections: () => connections,
    async until(done) {
      const deadlineMs = performance.now() + 20_000;
      while (!done()) {
        if (performance.now() > deadlineMs) throw new Error(`not within 20 s; events: ${JSON.stringify(events)}`);
        await sleep(1);
      }
    },
    async quiet() {
      await sleep(20);
    },
    stopServer,
    async close() {
      await transport.close();
      if (server.listening) await stopServer();
    },
  };
  return world;
}

async function respond(response: http.ServerResponse, answer: Answer): Promise<void> {
  if (answer === 'hang') return;
  if (answer === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if ('status' in answer) {
    response
      .writeHead(answer.status, { 'content-length': Buffer.byteLength(answer.body), ...answer.headers })
      .end(answer.body);
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  for (const chunk of answer.chunks) {
    await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
    await sleep(1);
  }
  if (answer.finish === 'end') response.end();
  if (answer.finish === 'reset') response.socket?.destroy();
}
