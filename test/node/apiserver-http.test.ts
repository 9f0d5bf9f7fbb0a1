import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { request } from 'undici';
import { apply, createApiServer, type ApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { kubeconfigFor, serveApi, type ApiServerHttp } from '../../src/node/apiserver-http.ts';
import { until } from '../support/until.ts';

async function withServer(
  token: string,
  run: (http: ApiServerHttp, api: ApiServer) => Promise<void>,
  watchOutboxEventsMax = 100,
): Promise<void> {
  const prng = createPrng(1);
  const api = createApiServer({ random: () => nextFloat(prng), watchOutboxEventsMax });
  const http = await serveApi(api, { token });
  try {
    await run(http, api);
  } finally {
    await http.close();
  }
}

/** A write of somebody else, of about `bytes` bytes. */
function touch(api: ApiServer, value: number, bytes = 0): void {
  const metadata = { name: 'a', annotations: { value: String(value), filler: 'x'.repeat(bytes) } };
  const reply = apply(api, 0, {
    method: 'PUT',
    path: '/api/v1/namespaces/default/endpoints/a',
    headers: {},
    body: Buffer.from(JSON.stringify({ metadata })),
  });
  assert.ok(reply.status < 300);
}

describe('the HTTP shell of the embedded API server', () => {
  test('the shell asks for the token, but not for health and version', async () => {
    await withServer('secret', async ({ url }) => {
      const status = async (path: string, authorization?: string): Promise<number> => {
        const headers = authorization === undefined ? {} : { authorization };
        const { statusCode, body } = await request(url + path, { headers });
        await body.dump();
        return statusCode;
      };
      assert.equal(await status('/api/v1/pods'), 401);
      assert.equal(await status('/api/v1/pods', 'Bearer wrong'), 401);
      assert.equal(await status('/api/v1/pods', 'Bearer secret'), 200);
      for (const path of ['/readyz', '/readyz?verbose', '/livez?exclude=etcd', '/version', '/version/?timeout=32s']) {
        assert.equal(await status(path), 200, path);
      }
      for (const path of ['/metrics', '/versions', '/api?/version']) {
        assert.equal(await status(path), 401, path);
      }
    });
  });

  test('changes are streamed as they happen, those of one turn in one piece', async () => {
    await withServer('', async ({ url }, api) => {
      const { body } = await request(`${url}/api/v1/endpoints?watch=1&resourceVersion=${api.revision}`);
      const chunks = body[Symbol.asyncIterator]();
      for (let value = 0; value < 3; value++) touch(api, value);
      const { value } = await chunks.next();
      assert.equal(String(value).trim().split('\n').length, 3);
      body.on('error', () => {});
      body.destroy();
    });
  });

  test('a watch ends if its client does not read', async () => {
    await withServer(
      '',
      async ({ port }, api) => {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        socket.pause();
        socket.write('GET /api/v1/endpoints?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
        await until(() => api.watchers.size === 1);
        let value = 0;
        await until(() => {
          touch(api, value++, 200_000);
          return api.watchers.size === 0;
        });
        socket.destroy();
      },
      3,
    );
  });

  test('a watch is forgotten when its client is gone', async () => {
    await withServer('', async ({ url }, api) => {
      const { body } = await request(`${url}/api/v1/pods?watch=1`);
      assert.equal(api.watchers.size, 1);
      body.on('error', () => {});
      body.destroy();
      await until(() => api.watchers.size === 0);
    });
  });

  test("a fault of the server's own code is a 500 for its request alone", async (t) => {
    const warn = t.mock.method(process, 'emitWarning', () => undefined);
    let isBroken = false;
    const random = (): number => {
      if (isBroken) throw new Error('a defect');
      return 0.5;
    };
    const http = await serveApi(createApiServer({ random }));
    isBroken = true;
    try {
      // The length of a watch is drawn, and a list draws nothing.
      const { statusCode, body } = await request(`${http.url}/api/v1/pods?watch=1`);
      const { message } = (await body.json()) as { message: string };
      assert.deepEqual([statusCode, message], [500, 'Internal error occurred: a defect']);
      const [warning] = warn.mock.calls.map((call) => String(call.arguments[0]).split('\n')[0]);
      assert.equal(warning, 'GET /api/v1/pods?watch=1 failed: Error: a defect');
      const next = await request(`${http.url}/api/v1/pods`);
      await next.body.dump();
      assert.equal(next.statusCode, 200);
    } finally {
      await http.close();
    }
  });

  test('close ends everything', async () => {
    const api = createApiServer({ random: () => 0.5 });
    const http = await serveApi(api);
    const { body } = await request(`${http.url}/api/v1/pods?watch=1`);
    const ended = assert.rejects(body.text());
    await http.close();
    await ended;
  });

  test('the kubeconfig names the server, and the token if there is one', () => {
    const text = kubeconfigFor('http://127.0.0.1:1234', 'secret');
    assert.match(text, /server: "http:\/\/127.0.0.1:1234"/);
    assert.match(text, /token: "secret"/);
    assert.doesNotMatch(kubeconfigFor('http://127.0.0.1:1234', ''), /token/);
  });
});
