/** Without a token, whatever runs on this machine may change the cluster: programs, but no page in a browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { request } from 'undici';
import { createApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi, type ApiServerHttp } from '../../src/node/apiserver-http.ts';
import { createFaultGate, FAULTS_PATH } from '../../src/node/fault-gate.ts';

let http: ApiServerHttp;
let secured: ApiServerHttp;

before(async () => {
  const prng = createPrng(1);
  const random = (): number => nextFloat(prng);
  const faults = createFaultGate([], true, random)!;
  http = await serveApi(createApiServer({ random }), { faults });
  secured = await serveApi(createApiServer({ random }), { faults, token: 'secret' });
});

after(async () => {
  await http.close();
  await secured.close();
});

async function statusOf(
  method: 'GET' | 'PUT',
  path: string,
  headers: Record<string, string>,
  server = http,
): Promise<number> {
  const body = method === 'PUT' && path !== FAULTS_PATH ? JSON.stringify({ metadata: { name: 'a' } }) : null;
  const reply = await request(server.url + path, { method, headers, body });
  await reply.body.dump();
  return reply.statusCode;
}

const ENDPOINTS = '/api/v1/namespaces/default/endpoints/a';

for (const path of [FAULTS_PATH, ENDPOINTS]) {
  describe(`${path} of a server without a token`, () => {
    before(() => statusOf('PUT', ENDPOINTS, {}));

    for (const host of ['localhost', 'LOCALHOST:80', 'localhost.:1', '127.0.0.1:8080', '127.1.2.3', '[::1]:8080']) {
      it(`${path} without a token is served to a client that calls it ${host}`, async () => {
        assert.deepEqual([await statusOf('GET', path, { host }), await statusOf('PUT', path, { host })], [200, 200]);
      });
    }

    for (const host of [
      'rebound.example',
      'localhost.rebound.example',
      '127.0.0.1.rebound.example',
      '10.0.0.1',
      'a@localhost',
    ]) {
      it(`${path} without a token is not served to a client that calls it ${host}`, async () => {
        assert.deepEqual([await statusOf('GET', path, { host }), await statusOf('PUT', path, { host })], [403, 403]);
      });
    }

    const pages: [title: string, headers: Record<string, string>, status: number][] = [
      ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://page.example' }, 403],
      ['another port of this machine', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' }, 403],
      ['another site in an older browser', { origin: 'https://page.example' }, 403],
      ['a file or a sandbox', { origin: 'null' }, 403],
      ['its own', { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }, 200],
      ['its own in an older browser', { origin: 'http://localhost', host: 'localhost' }, 200],
      ['no page: the user', { 'sec-fetch-site': 'none' }, 200],
    ];
    for (const [title, headers, status] of pages) {
      it(`${path} without a token answers ${status} to a write of ${title}`, async () => {
        assert.equal(await statusOf('PUT', path, headers), status);
      });
    }
  });
}

it('a server with a token is served under any name, for no page has the token', async () => {
  const host = 'server.example';
  assert.equal(await statusOf('GET', '/api/v1/pods', { host, authorization: 'Bearer secret' }, secured), 200);
  assert.equal(await statusOf('GET', '/api/v1/pods', { host }, secured), 401);
});
