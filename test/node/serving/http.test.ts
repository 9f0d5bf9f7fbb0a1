import assert from 'node:assert/strict';
import { after, before, describe, it, test } from 'node:test';
import { forbidden } from '../../../src/node/serving/gate.ts';
import { healthPages, type HealthCheck } from '../../../src/node/serving/health-pages.ts';
import { startHttp, type HttpServer } from '../../../src/node/serving/http.ts';
import { metricsPage } from '../../../src/node/serving/metrics-page.ts';
import { createSlis } from '../../../src/node/serving/sli-page.ts';

const WELL: HealthCheck = { name: 'watches', ok: true, message: '' };
const SICK: HealthCheck = { name: 'watches', ok: false, message: 'no answer from pods for 90 s' };
const SHARDS: HealthCheck = { name: 'shards', ok: true, message: 'two of two' };

const slis = createSlis(1_795_337_897);
const health = healthPages({
  checksOf: (path) => (path === 'readyz' ? [SICK, SHARDS] : [WELL]),
  observe: slis.observe,
});
/** Those that were told. */
const pageErrors: string[] = [];
const config = {
  host: '127.0.0.1',
  port: 0,
  handshakes: null,
  gate: () => Promise.resolve(null),
  pages: (path: string) => {
    if (path === '/metrics')
      return metricsPage(() => Promise.resolve({ contentType: 'text/plain; version=0.0.4', body: 'up 1\n' }));
    if (path === '/broken') return metricsPage(() => Promise.reject(new Error('collector failed')));
    return path === '/metrics/slis' ? slis.page : health(path);
  },
  onAcceptError: assert.fail,
  onPageError: (path: string, error: unknown) => void pageErrors.push(`${path}: ${String(error)}`),
};

describe('what is served', () => {
  let server: HttpServer;
  before(async () => {
    server = await startHttp(config);
  });
  after(() => server.close());

  const get = (path: string, method = 'GET'): Promise<Response> => fetch(`http://${server.address}${path}`, { method });

  it('a page that throws is told with its path, once a minute', async () => {
    for (const path of ['/broken?secret=1', '/broken', '/broken']) assert.equal((await get(path)).status, 500);
    assert.deepEqual(pageErrors, ['/broken: Error: collector failed']);
  });

  const cases: [path: string, status: number, body: string][] = [
    ['/metrics', 200, 'up 1\n'],
    ['/broken', 500, 'collector failed\n'],
    ['/healthz', 200, 'ok'],
    ['/livez', 200, 'ok'],
    ['/livez?verbose', 200, '[+]watches ok\nlivez check passed\n'],
    ['/livez/watches', 200, 'ok'],
    [
      '/readyz',
      500,
      '[-]watches failed: no answer from pods for 90 s\n[+]shards ok: two of two\nreadyz check failed\n',
    ],
    ['/readyz?exclude=watches', 200, 'ok'],
    [
      '/readyz?verbose&exclude=watches&exclude=x',
      200,
      '[+]watches excluded: ok\n[+]shards ok: two of two\nwarn: some health checks cannot be excluded: no matches for "x"\nreadyz check passed\n',
    ],
    ['/readyz/watches', 500, 'no answer from pods for 90 s\n'],
    ['/readyz/shards', 200, 'ok'],
    ['/readyz/nonsense', 404, 'not found\n'],
    ['/', 404, 'not found\n'],
    ['/metrics/', 404, 'not found\n'],
    ['/%6detrics', 404, 'not found\n'],
    ['/debug/pprof', 404, 'not found\n'],
  ];
  for (const [path, status, body] of cases) {
    it(`GET ${path} has its answer`, async () => {
      const answer = await get(path);
      assert.deepEqual([answer.status, await answer.text()], [status, body]);
    });
  }

  it('metrics keep their content type', async () => {
    assert.equal((await get('/metrics')).headers.get('content-type'), 'text/plain; version=0.0.4');
  });

  it('no page can be written', async () => {
    assert.equal((await get('/metrics', 'POST')).status, 405);
  });

  it('/metrics/slis counts the results of health checks, by path', async () => {
    for (const path of ['/livez', '/readyz', '/readyz/shards']) await get(path);
    const text = await (await get('/metrics/slis')).text();
    assert.match(text, /^kubernetes_healthcheck\{name="watches",type="livez"\} 1$/m);
    assert.match(text, /^kubernetes_healthcheck\{name="watches",type="readyz"\} 0$/m);
    assert.match(text, /^kubernetes_healthchecks_total\{name="watches",status="error",type="readyz"\} [1-9]\d*$/m);
    assert.match(text, /^kubernetes_healthchecks_total\{name="shards",status="success",type="readyz"\} [1-9]\d*$/m);
    assert.match(text, /^process_start_time_seconds 1795337897$/m);
  });
});

test('a refused client is told so before anything is looked up, for every method', async () => {
  const asked: string[] = [];
  const server = await startHttp({
    ...config,
    gate: (question) => Promise.resolve(forbidden('system:anonymous', question, '')),
    pages: (path) => {
      asked.push(path);
      return null;
    },
  });
  try {
    for (const [path, method] of [
      ['/metrics', 'GET'],
      ['/nonsense', 'POST'],
    ] as const) {
      const answer = await fetch(`http://${server.address}${path}`, { method });
      const { message, code } = (await answer.json()) as { message: string; code: number };
      const words = `forbidden: User "system:anonymous" cannot ${method.toLowerCase()} path "${path}"`;
      assert.deepEqual([answer.status, code, message], [403, 403, words]);
    }
    assert.deepEqual(asked, []);
  } finally {
    await server.close();
  }
});

test('a gate that throws lets nobody through', async () => {
  const server = await startHttp({ ...config, gate: () => Promise.reject(new Error('broken')) });
  try {
    assert.equal((await fetch(`http://${server.address}/healthz`)).status, 500);
  } finally {
    await server.close();
  }
});

test('an address that cannot be listened on is an error', async () => {
  const first = await startHttp(config);
  const port = Number(first.address.split(':')[1]);
  await assert.rejects(startHttp({ ...config, port }), /EADDRINUSE/);
  await first.close();
});
