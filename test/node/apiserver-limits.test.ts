/** Clients that break the rules of HTTP, or come in masses: an answer or an end, and no harm to others. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { request } from 'undici';
import { apply, createApiServer, type ApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi, type ApiServerHttp } from '../../src/node/apiserver-http.ts';
import { propertyRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';

const SEED = 20_261_121;
const ANSWER_MS_MAX = 5000;

let api: ApiServer;
let http: ApiServerHttp;

before(async () => {
  const prng = createPrng(1);
  api = createApiServer({ random: () => nextFloat(prng) });
  http = await serveApi(api);
});

after(() => http.close());

interface Exchange {
  readonly received: string;
  /** False = the server kept the connection open until we gave up. */
  readonly ended: boolean;
}

/** Sends bytes, and nothing more; gives what came until the server ended, or `enough` of it. */
function exchange(
  bytes: Uint8Array | string,
  options: { halfClose?: boolean; enough?: RegExp } = {},
): Promise<Exchange> {
  const socket = connect({ port: http.port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  return new Promise((resolve) => {
    const finish = (ended: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ received, ended });
    };
    const timer = setTimeout(finish, ANSWER_MS_MAX, false);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      if (options.enough?.test(received) === true) finish(false);
    });
    socket.on('error', () => finish(true));
    socket.on('end', () => finish(true));
    if (options.halfClose === true) socket.end(bytes);
    else socket.write(bytes);
  });
}

async function isHealthy(): Promise<void> {
  const { statusCode, body } = await request(`${http.url}/api/v1/namespaces/default`);
  await body.dump();
  assert.equal(statusCode, 200);
}

const GET = 'GET /api/v1/namespaces/default HTTP/1.1\r\nhost: localhost\r\n';
const WATCH = 'GET /api/v1/endpoints?watch=1 HTTP/1.1\r\nhost: localhost\r\n\r\n';

describe('a client of the embedded API server', () => {
  it('a client that closes its half after the request gets the answer', async () => {
    const { received } = await exchange(`${GET}\r\n`, { halfClose: true });
    assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(received, /"name":"default"/);
  });

  it('a client that closes its half within a body gets at most an error', async () => {
    const head =
      'POST /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n';
    const { received, ended } = await exchange(`${head}{"metadata":`, { halfClose: true });
    assert.ok(ended);
    assert.match(received, /^(HTTP\/1\.1 400 |$)/);
    await isHealthy();
  });

  it('a body over 3 MiB gets 413 before it is sent, and the connection goes on', async () => {
    const head = 'POST /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\n';
    const bytes = `${head}content-type: application/json\r\ncontent-length: 300000000\r\n\r\n${'x'.repeat(4_000_000)}`;
    const { received } = await exchange(bytes, { enough: /\r\n\r\n.*Request entity too large/ });
    assert.match(received, /^HTTP\/1\.1 413 /);
    await isHealthy();
  });

  it('a client that closes its half of a watch ends it', async () => {
    const { ended } = await exchange(WATCH, { halfClose: true });
    assert.ok(ended);
    await until(() => api.watchers.size === 0);
  });

  it('a client may send headers of hundreds of kilobytes', async () => {
    const { received } = await exchange(`${GET}x-long: ${'x'.repeat(500_000)}\r\n\r\n`, { enough: /\r\n\r\n/ });
    assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
  });

  it('headers over a mebibyte get an error', async () => {
    const { received, ended } = await exchange(`${GET}x-long: ${'x'.repeat(1_100_000)}\r\n\r\n`);
    assert.ok(ended);
    assert.match(received, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    assert.match(received, /\r\n\r\n431 Request Header Fields Too Large$/);
    await isHealthy();
  });

  it('a client that does not speak HTTP gets an error', async () => {
    const { received, ended } = await exchange('EHLO example.com\r\n\r\n');
    assert.ok(ended);
    assert.match(received, /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(received, /\r\n\r\n400 Bad Request$/);
    await isHealthy();
  });

  it('a client may send any bytes', async () => {
    const line = fc.constantFrom(
      'GET /api/v1/pods HTTP/1.1',
      'PUT /api/v1/namespaces/default/endpoints/a HTTP/1.1',
      'POST /api/v1/namespaces HTTP/1.1',
      'DELETE /api/v1/namespaces/%zz HTTP/1.0',
      'OPTIONS * HTTP/1.1',
      'GET http://elsewhere/ HTTP/1.1',
      'GET /%00 HTTP/9.9',
    );
    const header = fc.constantFrom(
      'host: localhost',
      'content-length: 10',
      'content-length: -1',
      'content-length: 10\r\ncontent-length: 11',
      'transfer-encoding: chunked',
      'transfer-encoding: gzip',
      'expect: 100-continue',
      'upgrade: websocket\r\nconnection: upgrade',
      'content-type: application/vnd.kubernetes.protobuf',
      'accept: ,;=,',
      ': empty',
    );
    const message = fc
      .tuple(line, fc.array(header, { maxLength: 4 }), fc.uint8Array({ maxLength: 40 }))
      .map(([first, headers, body]) =>
        Buffer.concat([Buffer.from(`${[first, ...headers].join('\r\n')}\r\n\r\n`), body]),
      );
    await fc.assert(
      fc.asyncProperty(fc.oneof(message, fc.uint8Array({ maxLength: 200 })), async (bytes) => {
        const { received, ended } = await exchange(bytes, { halfClose: true, enough: /^HTTP\/1\.1 [2-5]\d\d / });
        assert.ok(ended || /^HTTP\/1\.1 [1-5]\d\d /.test(received), `no answer and no end: ${received}`);
      }),
      propertyRuns(300, SEED),
    );
    await isHealthy();
    await until(() => api.watchers.size === 0);
  });
});

describe('a thousand watchers', () => {
  const COUNT = 1000;

  it('a thousand watchers see a write, and leave nothing behind when they go', async () => {
    const sockets: Socket[] = [];
    let [opened, told] = [0, 0];
    for (let i = 0; i < COUNT; i++) {
      const socket = connect(http.port, '127.0.0.1');
      let received = '';
      socket.on('data', (chunk: Buffer) => {
        if (received === '') opened++;
        const before = received.includes('"name":"seen"');
        received += chunk.toString('latin1');
        if (!before && received.includes('"name":"seen"')) told++;
      });
      socket.write(WATCH);
      sockets.push(socket);
    }
    await until(() => opened === COUNT);
    put('default', 'seen');
    await until(() => told === COUNT);
    for (const socket of sockets) socket.destroy();
    await until(() => api.watchers.size === 0);
  });

  it('a write does not ask watchers of other namespaces', () => {
    const path = '/api/v1/namespaces/kube-system/endpoints?watch=1&resourceVersion=1';
    const reply = apply(api, 0, { method: 'GET', path, headers: {}, body: null });
    assert.ok('watch' in reply);
    const [watchers] = api.watchers.values();
    const [watcher] = watchers!;
    let asked = 0;
    const { offer } = watcher!;
    Object.assign(watcher!, {
      offer: (event: Parameters<typeof offer>[0]) => {
        asked++;
        offer(event);
      },
    });
    put('default', 'elsewhere');
    assert.equal(asked, 0);
    put('kube-system', 'here');
    assert.equal(asked, 1);
    reply.watch.close();
  });
});

function put(namespace: string, name: string): void {
  const body = Buffer.from(JSON.stringify({ metadata: { name } }));
  const reply = apply(api, 0, {
    method: 'PUT',
    path: `/api/v1/namespaces/${namespace}/endpoints/${name}`,
    headers: {},
    body,
  });
  assert.equal(reply.status, 201);
}
