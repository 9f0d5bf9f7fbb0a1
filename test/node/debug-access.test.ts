/** Who may see /debug/endpointd: this machine, or who has the token. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startHttp, type HttpServer } from '../../src/node/http.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-debug-'));
const tokenFile = join(directory, 'token');

function serve(token: string, host = '127.0.0.1'): Promise<HttpServer> {
  return startHttp({
    host,
    port: 0,
    metrics: () => Promise.resolve({ contentType: '', body: '' }),
    health: () => ({ ok: true, checks: [] }),
    debug: { tokenFile: token, page: (format, service) => Promise.resolve(`${format} ${service}`) },
    onAcceptError: assert.fail,
  });
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

function ask(server: HttpServer, headers: Record<string, string> = {}, query = '', address = ''): Promise<Answer> {
  const [host, port] = server.address.split(':');
  return new Promise((resolve, reject) => {
    const sent = request({ host: address === '' ? host : address, port, path: `/debug/endpointd${query}`, headers });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode!, body, headers: response.headers }));
    });
    sent.end();
  });
}

describe('without a token file', () => {
  let server: HttpServer;
  before(async () => {
    server = await serve('');
  });
  after(() => server.close());

  it('programs of this machine see it, as a page or as JSON', async () => {
    const page = await ask(server);
    assert.deepEqual([page.status, page.body], [200, 'html ']);
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    assert.equal(page.headers['content-security-policy'], "frame-ancestors 'none'");
    assert.equal(page.headers['cache-control'], 'no-cache, private');
    assert.equal((await ask(server, {}, '?format=json&service=shop/web')).body, 'json shop/web');
    assert.equal((await ask(server, { accept: 'application/json' })).body, 'json ');
  });

  for (const [who, headers] of [
    ['a page whose name was made to resolve to this machine', { host: 'evil.example' }],
    ['what a proxy of this machine brings from elsewhere', { 'x-forwarded-for': '203.0.113.9' }],
  ] as const) {
    it(`${who} does not`, async () => {
      assert.equal((await ask(server, headers)).status, 403);
    });
  }

  const address = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

  it('other machines do not', { skip: address === undefined && 'this machine has no other address' }, async () => {
    const open = await serve('', '0.0.0.0');
    try {
      assert.deepEqual(
        [(await ask(open, {}, '', '127.0.0.1')).status, (await ask(open, {}, '', address)).status],
        [200, 403],
      );
    } finally {
      await open.close();
    }
  });
});

describe('with a token file', () => {
  let server: HttpServer;
  before(async () => {
    server = await serve(tokenFile);
  });
  after(async () => {
    await server.close();
    rmSync(directory, { recursive: true });
  });

  it('only who shows the token sees it, from this machine too', async () => {
    writeFileSync(tokenFile, 'secret\n');
    const statusOf = async (authorization: string): Promise<number> => (await ask(server, { authorization })).status;
    assert.deepEqual(
      [await statusOf('Bearer secret'), await statusOf('Bearer secre'), await statusOf('Basic secret')],
      [200, 401, 401],
    );
    const none = await ask(server);
    assert.deepEqual([none.status, none.headers['www-authenticate']], [401, 'Bearer']);
  });

  it('a new token counts from the next request on', async () => {
    writeFileSync(tokenFile, 'other');
    assert.equal((await ask(server, { authorization: 'Bearer secret' })).status, 401);
    assert.equal((await ask(server, { authorization: 'Bearer other' })).status, 200);
  });

  it('nobody sees it while the file is empty, or cannot be read', async () => {
    writeFileSync(tokenFile, '\n');
    assert.equal((await ask(server, { authorization: 'Bearer ' })).status, 403);
    rmSync(tokenFile);
    assert.match((await ask(server, { authorization: 'Bearer other' })).body, /cannot be read/);
  });
});
