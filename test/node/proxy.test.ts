/** The transport through proxies. In a file of its own: what else loads undici's index would hide what is missing here. */
import assert from 'node:assert/strict';
import { createServer as createHttpServer, request as httpRequestTo, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import type { Access } from '../../src/node/access.ts';
import { PKI } from '../support/pki.ts';
import { plainAccess, socketWorld } from '../support/scripted-server.ts';
import { httpRequest } from '../suites/transport.ts';

interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** `host:port` or URL of everything that went through. */
  readonly passed: string[];
}

function join(client: Socket, host: string, port: number, hello: string | Uint8Array): void {
  const upstream = connect(port, host, () => {
    client.write(hello);
    client.pipe(upstream).pipe(client);
  });
  upstream.on('error', () => client.destroy());
  client.on('error', () => upstream.destroy());
}

async function start(server: Server, scheme: string, passed: string[]): Promise<Proxy> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Tunnels for CONNECT, and forwards requests with an absolute URL. */
function httpProxy(): Promise<Proxy> {
  const passed: string[] = [];
  const server = createHttpServer((request, response) => {
    passed.push(request.url!);
    const { method, headers } = request;
    const onward = httpRequestTo(request.url!, { method, headers }, (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    passed.push(request.url!);
    const [host, port] = request.url!.split(':');
    join(client, host!, Number(port), 'HTTP/1.1 200 OK\r\n\r\n');
  });
  return start(server, 'http', passed);
}

/** RFC 1928 without authentication, CONNECT to an IPv4 address only. */
function socksProxy(): Promise<Proxy> {
  const passed: string[] = [];
  const server = createServer((client) => {
    client.once('data', () => {
      client.write(Uint8Array.of(5, 0));
      client.once('data', (request: Buffer) => {
        const [host, port] = [request.subarray(4, 8).join('.'), request.readUInt16BE(8)];
        passed.push(`${host}:${port}`);
        join(client, host, port, Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
      });
    });
  });
  return start(server, 'socks5', passed);
}

for (const [kind, makeProxy] of [
  ['http', httpProxy],
  ['socks5', socksProxy],
] as const) {
  test(`TLS goes through a ${kind} proxy, in one connection that is kept`, async () => {
    await using proxy = await makeProxy();
    const { tls } = plainAccess('');
    const accessOf = (origin: string): Access => ({
      ...plainAccess(origin),
      proxyUrl: proxy.url,
      tls: { ...tls, ca: PKI.ca, serverName: 'kubernetes.test' },
      headers: { 'Impersonate-User': 'x', 'Impersonate-Group': ['a', 'b'] },
    });
    const world = await socketWorld(
      () => ({ status: 200, body: '' }),
      { accessOf },
      (handler) => createTlsServer({ cert: PKI.serverCert, key: PKI.serverKey }, handler),
    );
    try {
      for (let i = 1; i <= 3; i++) {
        world.transport.send(httpRequest());
        await world.until(() => world.events.length === i);
      }
      assert.deepEqual(
        world.events.map((event) => event.type === 'response' && event.status),
        [200, 200, 200],
      );
      assert.deepEqual(proxy.passed, [new URL(world.origin).host]);
      assert.equal(world.seen[0]!.headers['impersonate-group'], 'a, b');
    } finally {
      await world.close();
    }
  });

  test(`plain http goes through a ${kind} proxy`, async () => {
    await using proxy = await makeProxy();
    const world = await socketWorld(() => ({ status: 200, body: '' }), {
      accessOf: (origin) => ({ ...plainAccess(origin), proxyUrl: proxy.url }),
    });
    try {
      world.transport.send(httpRequest());
      await world.until(() => world.events.length === 1);
      assert.equal(world.events[0]!.type, 'response');
      assert.equal(proxy.passed.length, 1);
    } finally {
      await world.close();
    }
  });
}

/** What becomes of a write to a server behind the proxy, to which there is no way. */
async function failedWrite(proxyUrl: string, connectMs?: number): Promise<[kind: string, mayHaveArrived: boolean]> {
  const world = await socketWorld(() => ({ status: 200, body: '' }), {
    accessOf: (origin) => ({ ...plainAccess(origin.replace('http:', 'https:')), proxyUrl }),
    ...(connectMs === undefined ? {} : { connectMs }),
  });
  try {
    world.transport.send(httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array([1]), timeoutMs: 60_000 }));
    await world.until(() => world.events.length === 1);
    const failure = world.events[0]!;
    assert.ok(failure.type === 'failure');
    return [failure.kind, failure.mayHaveArrived];
  } finally {
    await world.close();
  }
}

function connectProxy(onConnect: (client: Socket) => void): Promise<Proxy> {
  const server = createHttpServer();
  server.on('connect', (_request: IncomingMessage, client: Socket) => onConnect(client));
  return start(server, 'http', []);
}

test('an absent proxy is a refusal, so the request certainly did not arrive', async () => {
  assert.deepEqual(await failedWrite('http://127.0.0.1:1'), ['refused', false]);
});

test('a proxy that finds no server is a refusal, too', async () => {
  const unavailable = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n';
  await using proxy = await connectProxy((client) => client.end(unavailable));
  assert.deepEqual(await failedWrite(proxy.url), ['refused', false]);
});

test('a proxy that never answers CONNECT is given up', async () => {
  await using proxy = await connectProxy(() => undefined);
  assert.deepEqual(await failedWrite(proxy.url, 200), ['timeout', false]);
});
