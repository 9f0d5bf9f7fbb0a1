/** Who may see what on a port without TLS: metrics and health everybody, the rest this machine. */
import assert from 'node:assert/strict';
import { request, type IncomingMessage } from 'node:http';
import { networkInterfaces } from 'node:os';
import { after, before, describe, it } from 'node:test';
import type { Gate } from '../../../src/node/serving/gate.ts';
import { startHttp, type HttpServer } from '../../../src/node/serving/http.ts';
import { text } from '../../../src/node/serving/page.ts';
import { plainGate } from '../../../src/node/serving/plain-gate.ts';

const GATE = plainGate((path) => path === '/metrics');

function serve(host = '127.0.0.1'): Promise<HttpServer> {
  return startHttp({
    host,
    port: 0,
    handshakes: null,
    gate: GATE,
    pages: () => () => text(200, 'here'),
    onAcceptError: assert.fail,
    onPageError: assert.fail,
  });
}

function statusOf(
  server: HttpServer,
  path: string,
  headers: Record<string, string> = {},
  address = '',
): Promise<number> {
  const [host, port] = server.address.split(':');
  return new Promise((resolve, reject) => {
    const sent = request({ host: address === '' ? host : address, port, path, headers });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode!));
    });
    sent.end();
  });
}

describe('on a port without TLS', () => {
  let server: HttpServer;
  before(async () => {
    server = await serve();
  });
  after(() => server.close());

  it('programs of this machine see every page', async () => {
    assert.deepEqual([await statusOf(server, '/metrics'), await statusOf(server, '/debug/endpointd')], [200, 200]);
  });

  for (const [who, headers] of [
    ['a page whose name was made to resolve to this machine', { host: 'evil.example' }],
    ['what a proxy of this machine brings from elsewhere', { 'x-forwarded-for': '203.0.113.9' }],
  ] as const) {
    it(`${who} sees the pages for everybody`, async () => {
      assert.deepEqual(
        [await statusOf(server, '/metrics', headers), await statusOf(server, '/debug/endpointd', headers)],
        [200, 403],
      );
    });
  }

  it('a page of another server starts no profile', async () => {
    const asked = (site: string): Promise<number> =>
      statusOf(server, '/debug/pprof/profile', site === '' ? {} : { 'sec-fetch-site': site });
    assert.deepEqual(
      await Promise.all(['cross-site', 'same-site', 'same-origin', 'none', ''].map(asked)),
      [403, 403, 200, 200, 200],
    );
  });

  for (const [remoteAddress, isLocal] of [
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['10.0.0.1', false],
    ['::ffff:10.0.0.1', false],
    ['fd00::127.0.0.1', false],
    ['::', false],
    ['10.127.0.1', false],
    [undefined, false],
  ] as const) {
    it(`a client at ${remoteAddress} sees ${isLocal ? 'every page' : 'the pages for everybody'}`, async () => {
      const peer = { remoteAddress, certificate: null, isVerified: false };
      const request = { headers: { host: '127.0.0.1' } } as IncomingMessage;
      const ask = (path: string): ReturnType<Gate> => GATE({ request, peer, verb: 'get', path });
      assert.equal(await ask('/metrics'), null);
      assert.equal((await ask('/configz'))?.status, isLocal ? undefined : 403);
    });
  }

  const address = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

  it(
    'other machines see the pages for everybody',
    { skip: address === undefined && 'this machine has no other address' },
    async () => {
      const open = await serve('0.0.0.0');
      try {
        assert.deepEqual(
          [await statusOf(open, '/metrics', {}, address), await statusOf(open, '/configz', {}, address)],
          [200, 403],
        );
      } finally {
        await open.close();
      }
    },
  );
});
