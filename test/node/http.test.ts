import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttp, type Health } from '../../src/node/http.ts';

const HEALTHY: Health = { ok: true, checks: [{ name: 'watches', ok: true, message: '' }] };
const SICK: Health = {
  ok: false,
  checks: [
    { name: 'watches', ok: false, message: 'no answer from pods for 90 s' },
    { name: 'shards', ok: true, message: 'two of two' },
  ],
};

async function get(
  path: string,
  method = 'GET',
): Promise<{ status: number; body: string; contentType: string | null }> {
  const server = await startHttp({
    host: '127.0.0.1',
    port: 0,
    metrics: () =>
      path.includes('broken')
        ? Promise.reject(new Error('collector failed'))
        : Promise.resolve({ contentType: 'text/plain; version=0.0.4', body: 'up 1\n' }),
    health: (kind) => (kind === 'readyz' ? SICK : HEALTHY),
    debug: null,
    onAcceptError: assert.fail,
  });
  try {
    const response = await fetch(`http://${server.address}${path}`, { method });
    return { status: response.status, body: await response.text(), contentType: response.headers.get('content-type') };
  } finally {
    await server.close();
  }
}

const cases: [path: string, status: number, body: string][] = [
  ['/metrics', 200, 'up 1\n'],
  ['/metrics?broken', 500, 'collector failed\n'],
  ['/healthz', 200, 'ok'],
  ['/livez', 200, 'ok'],
  ['/livez?verbose', 200, '[+]watches ok\nlivez check passed\n'],
  ['/livez/watches', 200, 'ok'],
  ['/readyz', 500, '[-]watches failed: no answer from pods for 90 s\n[+]shards ok: two of two\nreadyz check failed\n'],
  ['/readyz/watches', 500, 'no answer from pods for 90 s\n'],
  ['/readyz/shards', 200, 'ok'],
  ['/readyz/nonsense', 404, 'not found\n'],
  ['/', 404, 'not found\n'],
  ['/metrics/', 404, 'not found\n'],
  ['/debug/pprof', 404, 'not found\n'],
];
for (const [path, status, body] of cases) {
  test(`GET ${path}`, async () => {
    const answer = await get(path);
    assert.deepEqual([answer.status, answer.body], [status, body]);
  });
}

test('metrics keep their content type', async () => {
  assert.equal((await get('/metrics')).contentType, 'text/plain; version=0.0.4');
});

test('nothing can be written', async () => {
  assert.equal((await get('/metrics', 'POST')).status, 405);
});

test('an address that cannot be listened on is an error', async () => {
  const metrics = () => Promise.resolve({ contentType: '', body: '' });
  const config = { host: '127.0.0.1', metrics, health: () => HEALTHY, debug: null, onAcceptError: assert.fail };
  const first = await startHttp({ ...config, port: 0 });
  const port = Number(first.address.split(':')[1]);
  await assert.rejects(startHttp({ ...config, port }), /EADDRINUSE/);
  await first.close();
});
