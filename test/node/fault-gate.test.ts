import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { request } from 'undici';
import { apply, createApiServer, type ApiServer } from '../../src/apiserver/server.ts';
import { JSON_TYPE, PROTOBUF } from '../../src/kube/media-type.ts';
import { readStatusSource } from '../../src/kube/status.ts';
import { createWatchReader } from '../../src/kube/watch-framing.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi, type ApiServerHttp } from '../../src/node/apiserver-http.ts';
import { createFaultGate, FAULTS_PATH } from '../../src/node/fault-gate.ts';

let api: ApiServer;
let http: ApiServerHttp;

async function start(rules: readonly string[], admin = false): Promise<void> {
  const prng = createPrng(1);
  const random = (): number => nextFloat(prng);
  api = createApiServer({ random });
  const faults = createFaultGate(rules, admin, random);
  http = await serveApi(api, faults === null ? {} : { faults });
}

afterEach(() => http.close());

const PATH = '/api/v1/namespaces/default/endpoints/a';

async function put(): Promise<number> {
  const { statusCode, body } = await request(http.url + PATH, {
    method: 'PUT',
    body: JSON.stringify({ metadata: { name: 'a' } }),
  });
  await body.dump();
  return statusCode;
}

function isThere(): boolean {
  const reply = apply(api, 0, { method: 'GET', path: PATH, headers: {}, body: null });
  return reply.status === 200;
}

describe('faults on demand', () => {
  it('a lost request is not carried out, and has no answer', async () => {
    await start(['lose-request=1']);
    await assert.rejects(put());
    assert.equal(isThere(), false);
  });

  it('a lost reply is of a request that is carried out', async () => {
    await start(['verb=update,lose-reply=1']);
    await assert.rejects(put());
    assert.equal(isThere(), true);
  });

  it('429 is as that of priority and fairness: plain text, header, Retry-After', async () => {
    await start(['too-many=1']);
    const { statusCode, headers, body } = await request(http.url + PATH);
    await body.dump();
    assert.deepEqual(
      [
        statusCode,
        headers['retry-after'],
        headers['content-type'],
        headers['x-kubernetes-pf-prioritylevel-uid'] !== undefined,
      ],
      [429, '1', 'text/plain; charset=utf-8', true],
    );
  });

  it('410 to a list is as after a compaction', async () => {
    await start(['verb=list,gone=1']);
    const { statusCode, body } = await request(`${http.url}/api/v1/pods?resourceVersion=1`);
    assert.deepEqual([statusCode, ((await body.json()) as { reason: string }).reason], [410, 'Expired']);
  });

  for (const accept of [JSON_TYPE, PROTOBUF]) {
    it(`410 to a watch is one frame of its stream, as after a compaction: ${accept}`, async () => {
      await start(['verb=watch,gone=1']);
      const url = `${http.url}/api/v1/pods?watch=1&resourceVersion=1`;
      const { statusCode, headers, body } = await request(url, { headers: { accept } });
      const contentType = String(headers['content-type']);
      const reader = createWatchReader(contentType);
      reader.push(Buffer.from(await body.arrayBuffer()));
      const frame = reader.next()!;
      const status = readStatusSource(frame.object);
      assert.deepEqual([statusCode, contentType.split(';')[0], frame.type], [200, accept, 'ERROR']);
      assert.deepEqual([status.kind, status.code, status.reason], ['Status', 410, 'Expired']);
      assert.deepEqual([reader.next(), reader.pendingBytes()], [null, 0]);
    });
  }

  for (const [query, status] of [
    // As the Python client writes it.
    ['watch=True', 429],
    ['limit=1&watch', 429],
    ['watch=false', 200],
    ['watch=0', 200],
  ] as const) {
    it(`a rule for watches answers ${status} to ?${query}`, async () => {
      await start(['verb=watch,too-many=1']);
      const { statusCode, body } = await request(`${http.url}/api/v1/pods?${query}`);
      assert.equal(statusCode, status);
      await body.dump();
    });
  }

  it('a watch of a type that is not served is refused, gone or not', async () => {
    await start(['verb=watch,gone=1']);
    const { statusCode, body } = await request(`${http.url}/api/v1/pods?watch=1`, { headers: { accept: 'text/html' } });
    await body.dump();
    assert.equal(statusCode, 406);
  });

  it('5xx is answered and the request is not carried out', async () => {
    await start(['server-error=1']);
    assert.ok((await put()) >= 500);
    assert.equal(isThere(), false);
  });

  it('a late answer comes in the end', async () => {
    await start(['delay=fixed:20ms']);
    const from = performance.now();
    assert.equal(await put(), 201);
    assert.ok(performance.now() - from >= 19);
  });

  it('a late watch whose client has gone meanwhile leaves nothing behind', async () => {
    await start(['delay=fixed:30ms']);
    const gone = AbortSignal.timeout(10);
    await assert.rejects(request(`${http.url}/api/v1/endpoints?watch=1&resourceVersion=1`, { signal: gone }));
    await new Promise((resolve) => void setTimeout(resolve, 40));
    assert.equal(api.watchers.size, 0);
  });

  it('a lagging watch keeps the order and loses nothing', async () => {
    await start(['verb=watch,lag=0.5,delay=fixed:3ms']);
    const { body } = await request(`${http.url}/api/v1/endpoints?watch=1&resourceVersion=${api.revision}`);
    for (let i = 0; i < 20; i++) {
      const bytes = Buffer.from(JSON.stringify({ metadata: { name: 'a', annotations: { at: String(i) } } }));
      apply(api, 0, { method: 'PUT', path: PATH, headers: {}, body: bytes });
      await new Promise((resolve) => void setImmediate(resolve));
    }
    let text = '';
    const seen = (): string[] => [...text.matchAll(/"at":"(\d+)"/g)].map((match) => match[1]!);
    for await (const chunk of body) {
      text += String(chunk);
      if (seen().length === 20) break;
    }
    assert.deepEqual(
      seen(),
      Array.from({ length: 20 }, (_, i) => String(i)),
    );
  });

  it('a watch is cut in the middle', async () => {
    await start(['verb=watch,cut-watch=1']);
    const { body } = await request(`${http.url}/api/v1/endpoints?watch=1&resourceVersion=${api.revision}`);
    assert.equal(await put(), 201);
    await assert.rejects(body.text());
  });

  it('health checks and other clients have no faults', async () => {
    await start(['user-agent=victim,server-error=1', 'resource=pods,server-error=1']);
    assert.equal(await put(), 201);
    const { statusCode, body } = await request(`${http.url}/readyz`, { headers: { 'user-agent': 'victim' } });
    await body.dump();
    assert.equal(statusCode, 200);
  });

  it('faults may be changed over the admin path while the server runs', async () => {
    await start([], true);
    assert.equal(await put(), 201);
    const ask = async (method: string, body?: string): Promise<[number, string]> => {
      const reply = await request(http.url + FAULTS_PATH, { method, body: body ?? null });
      return [reply.statusCode, await reply.body.text()];
    };
    assert.deepEqual(await ask('PUT', 'verb=update,server-error=1\n'), [200, 'verb=update,server-error=1\n']);
    assert.ok((await put()) >= 500);
    assert.deepEqual(await ask('PUT', 'nonsense'), [
      400,
      '"nonsense" is not one of verb, resource, user-agent, lose-request, lose-reply, server-error, too-many, gone, cut-watch, lag, delay\n',
    ]);
    assert.deepEqual(await ask('GET'), [200, 'verb=update,server-error=1\n']);
    assert.deepEqual(await ask('DELETE'), [200, '']);
    assert.equal(await put(), 200);
  });

  it('the admin path takes at most 64 KiB, and more changes nothing', async () => {
    await start(['too-many=1'], true);
    const { port } = http;
    const socket = connect(port, '127.0.0.1');
    const head = `PUT ${FAULTS_PATH} HTTP/1.1\r\nhost: localhost:${port}\r\ncontent-length: 300000000\r\n\r\n`;
    socket.write(head + 'lag=0\n'.repeat(20_000));
    // The answer comes while the client still sends.
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    assert.match(answer.toString(), /^HTTP\/1\.1 413 [^]*\r\n\r\nfault rules have at most 65536 bytes\n$/);
    const { body } = await request(http.url + FAULTS_PATH);
    assert.equal(await body.text(), 'too-many=1\n');
  });

  it('the admin path does not exist unless asked for', async () => {
    await start(['too-many=0']);
    const { statusCode, body } = await request(http.url + FAULTS_PATH);
    await body.dump();
    assert.equal(statusCode, 404);
  });
});
