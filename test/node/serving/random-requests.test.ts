/** 2,000 random requests to the port with TLS: without rights nothing is served but what is for everybody. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import type { LogLine } from '../../../src/node/log.ts';
import type { HttpServer } from '../../../src/node/serving/http.ts';
import { CLIENTS } from '../../support/client-certificates.ts';
import { startReviewServer, type ReviewServer } from '../../support/review-server.ts';
import { propertyRuns } from '../../support/runs.ts';
import { ask, dial, say, serveSecurely, SERVED } from '../../support/secure-pages.ts';

const OPEN: readonly string[] = ['/healthz', '/readyz', '/livez'];
const OFTEN = { weight: 4 };

let reviews: ReviewServer;
let server: HttpServer;
const log: LogLine[] = [];

before(async () => {
  reviews = await startReviewServer();
  reviews.tokens.set('viewer', { username: 'viewer' });
  reviews.tokens.set('nobody', { username: 'nobody', groups: ['system:unauthenticated'] });
  reviews.rights.add('viewer get /metrics');
  server = await serveSecurely(reviews, log, { handshakesPerSecond: 100_000 });
});
after(async () => {
  await server.close();
  await reviews.close();
});

/** What a client may be tempted to send for a path: other ways to write it, and what other servers would make of it. */
const target = fc
  .tuple(
    fc.oneof(
      { ...OFTEN, arbitrary: fc.constantFrom(...SERVED) },
      fc.constantFrom(
        '/',
        '*',
        '/metrics/slis',
        '/debug/pprof/heap',
        '/flagz',
        '/statusz',
        '/api/v1/pods',
        '/healthz/ping',
      ),
      fc.string({ maxLength: 20 }),
    ),
    fc.oneof(
      { ...OFTEN, arbitrary: fc.constant((path: string) => path) },
      fc.constantFrom(
        (path: string) => `/healthz/..${path}`,
        (path: string) => `${path}/../healthz`,
        (path: string) => `/${path}`,
        (path: string) => `/.${path}`,
        (path: string) => `${path}/`,
        (path: string) => `${path}%00`,
        (path: string) => `${path};/healthz`,
        (path: string) => `${path}#/healthz`,
        (path: string) => `${path}?/healthz`,
        (path: string) => `/healthz?${path}`,
        (path: string) => `https://test${path}`,
        (path: string) => `test${path}`,
        (path: string) => path.toUpperCase(),
        (path: string) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
        (path: string) => path.slice(1),
        (path: string) => path + 'x'.repeat(9000),
      ),
    ),
  )
  .map(([path, change]) => change(path));

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT', 'get', 'PRI', 'X'];

const header = fc.oneof(
  fc.constantFrom(
    'X-Remote-User: root',
    'X-Remote-Group: system:masters',
    'Impersonate-User: root',
    'Impersonate-Group: system:masters',
    'X-Forwarded-For: 127.0.0.1',
    'X-Original-URL: /healthz',
    'X-HTTP-Method-Override: GET',
    'Authorization: Basic cm9vdDpyb290',
    'Authorization: Bearer',
    'Authorization: Bearer wrong',
    'Authorization: bearer  nobody',
    'Authorization: Bearer nobody',
    'Cookie: token=viewer',
    'Upgrade: websocket\r\nConnection: upgrade',
    'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings',
    'Content-Length: 5',
    'Content-Length: -1',
    'Transfer-Encoding: chunked',
    'Expect: 100-continue',
    'Host: other',
    'Accept: application/json',
    ` ${'y'.repeat(50)}`,
    'no colon',
  ),
  fc.string({ maxLength: 30 }),
);

const viewer = 'Authorization: Bearer viewer';

it('without rights only the paths that are always allowed are served', async () => {
  const first = dial(server.address);
  const [session] = (
    await Promise.all([
      once(first, 'session'),
      once(first, 'secureConnect').then(() => first.write('GET /livez HTTP/1.1\r\n\r\n')),
    ])
  )[0] as [Buffer];
  first.destroy();
  let [served, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.oneof({ ...OFTEN, arbitrary: fc.constant('GET') }, fc.constantFrom(...METHODS)),
      target,
      fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', ''),
      fc.array(header, { maxLength: 4 }),
      fc.boolean(),
      fc.constantFrom('', 'body', 'GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n', '0\r\n\r\n'),
      fc.integer({ min: 0, max: 9 }),
      async (method, path, version, headers, isViewer, behind, certificate) => {
        const lines = [`${method} ${path} ${version}`, 'host: test', ...headers, ...(isViewer ? [viewer] : [])];
        const tls = certificate === 0 ? { ...CLIENTS.stranger } : { session };
        const { status, body } = await say(server.address, `${lines.join('\r\n')}\r\n\r\n${behind}`, tls);
        const asked = path.split('?')[0]!;
        const mayGet = OPEN.includes(asked) || (isViewer && asked === '/metrics');
        if (status >= 200 && status < 300) {
          assert.ok(mayGet, `${status} for ${JSON.stringify(lines)}`);
          served++;
        } else {
          assert.ok(!body.includes('page /'), `${status} for ${JSON.stringify(lines)}`);
          assert.ok(status === 0 || status >= 400, `${status} for ${JSON.stringify(lines)}`);
          refused++;
        }
      },
    ),
    propertyRuns(2000),
  );
  assert.ok(served > 50 && refused > 500, `${served} served, ${refused} refused`);
  assert.equal((await ask(server.address, '/metrics', { headers: { authorization: 'Bearer viewer' } })).status, 200);
});
