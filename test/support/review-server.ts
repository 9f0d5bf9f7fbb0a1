/** The little of an API server that a server of delegated requests asks: whose token, may they, whose certificates. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAsker, type Asker } from '../../src/node/asker.ts';
import { createClock } from '../../src/node/clock.ts';
import { createTransport } from '../../src/node/transport.ts';

export interface ReviewServer {
  readonly url: string;
  readonly ask: Asker;
  /** Users by their tokens. */
  readonly tokens: Map<string, { readonly username: string; readonly groups?: readonly string[] }>;
  /** `user verb path` that are allowed; `*` as the user is everybody. */
  readonly rights: Set<string>;
  /** Data of the ConfigMap; null = there is none. */
  published: Record<string, string> | null;
  /** What was asked: the path of the URL and the spec. */
  readonly asked: { readonly path: string; readonly spec: Record<string, unknown> }[];
  /** Comes before the answer to a review; throws for status 500. */
  before: () => Promise<void>;
  close(): Promise<void>;
}

export async function startReviewServer(): Promise<ReviewServer> {
  const server = createServer((request, response) => void answer(reviews, request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let close = (): Promise<void> => Promise.resolve();
  const clock = createClock();
  const ask = createAsker((deliver) => {
    const access = {
      origin: url,
      basePath: '',
      proxyUrl: null,
      tls: { ca: null, cert: null, key: null, serverName: null, verify: true },
      headers: {},
    };
    const transport = createTransport(
      {
        access,
        readAccess: () => Promise.resolve(access),
        refreshMs: 60_000,
        userAgent: 'test',
        maxWritesInFlight: 1,
        clock,
        log: () => undefined,
        observe: () => undefined,
      },
      deliver,
    );
    close = () => transport.close();
    return transport;
  }, 2000);
  const reviews: ReviewServer = {
    url,
    ask,
    tokens: new Map(),
    rights: new Set(),
    published: null,
    asked: [],
    before: () => Promise.resolve(),
    async close() {
      clock.close();
      await close();
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
  return reviews;
}

async function answer(reviews: ReviewServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? '';
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const reply = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (path.startsWith('/api/v1/namespaces/kube-system/configmaps/')) {
    const { published } = reviews;
    if (published === null) reply(404, { kind: 'Status', message: 'configmaps "x" not found' });
    else reply(200, { kind: 'ConfigMap', apiVersion: 'v1', data: published });
    return;
  }
  if (chunks.length === 0) {
    reply(503, { kind: 'Status', message: 'not served here' });
    return;
  }
  const object = JSON.parse(Buffer.concat(chunks).toString()) as { kind: string; spec: Record<string, unknown> };
  reviews.asked.push({ path, spec: object.spec });
  try {
    await reviews.before();
  } catch {
    reply(500, { kind: 'Status', message: 'broken on purpose' });
    return;
  }
  reply(201, { ...object, status: statusOf(reviews, object) });
}

function statusOf(
  { tokens, rights }: ReviewServer,
  { kind, spec }: { readonly kind: string; readonly spec: Record<string, unknown> },
): object {
  if (kind === 'TokenReview') {
    const user = tokens.get(String(spec['token']));
    return user === undefined ? { authenticated: false } : { authenticated: true, user: { uid: 'u', ...user } };
  }
  const { path, verb } = spec['nonResourceAttributes'] as { path: string; verb: string };
  const allowed = [String(spec['user']), '*'].some((user) => rights.has(`${user} ${verb} ${path}`));
  return allowed ? { allowed } : { allowed, reason: '' };
}
