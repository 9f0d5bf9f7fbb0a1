/** Who may see what on the port with TLS: what the API server says of a certificate, a proxy's headers or a token. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Asker } from '../../../src/node/asker.ts';
import type { LogLine } from '../../../src/node/log.ts';
import { createReviews } from '../../../src/node/serving/reviews.ts';
import type { HttpServer } from '../../../src/node/serving/http.ts';
import { AUTHORITIES, CLIENTS } from '../../support/client-certificates.ts';
import { startReviewServer, type ReviewServer } from '../../support/review-server.ts';
import { ask, serveSecurely, type Said, type Sent } from '../../support/secure-pages.ts';
import { until } from '../../support/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'endpointd-delegated-'));
const usersFile = join(directory, 'users.crt');
const proxiesFile = join(directory, 'proxies.crt');

let reviews: ReviewServer;
let log: LogLine[];

before(async () => {
  writeFileSync(usersFile, AUTHORITIES.users);
  writeFileSync(proxiesFile, AUTHORITIES.proxies);
  reviews = await startReviewServer();
});
after(async () => {
  await reviews.close();
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  log = [];
  reviews.tokens.clear();
  reviews.tokens.set('good', { username: 'bob', groups: ['viewers'] });
  reviews.tokens.set('root', { username: 'root', groups: ['system:masters'] });
  reviews.rights.clear();
  reviews.rights.add('bob get /metrics').add('alice get /metrics').add('below get /metrics').add('carol get /metrics');
  reviews.asked.length = 0;
  reviews.before = () => Promise.resolve();
  reviews.published = null;
});

function closing(server: HttpServer): HttpServer & AsyncDisposable {
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}

const bearer = (token: string): Sent => ({ headers: { authorization: `Bearer ${token}` } });
const accessSpecs = (): Record<string, unknown>[] =>
  reviews.asked.filter(({ path }) => path.endsWith('subjectaccessreviews')).map(({ spec }) => spec);

describe('by a bearer token', () => {
  let server: HttpServer;
  beforeEach(async () => {
    server = await serveSecurely(reviews, log);
  });
  afterEach(() => server.close());
  const get = (path: string, sent: Sent = {}): Promise<Said> => ask(server.address, path, sent);

  it('a user gets a page if the API server allows the verb and the path', async () => {
    assert.equal((await get('/metrics?x=1', bearer('good'))).body, 'page /metrics');
    assert.deepEqual(reviews.asked, [
      { path: '/apis/authentication.k8s.io/v1/tokenreviews', spec: { token: 'good' } },
      {
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        spec: {
          nonResourceAttributes: { path: '/metrics', verb: 'get' },
          user: 'bob',
          uid: 'u',
          groups: ['viewers', 'system:authenticated'],
        },
      },
    ]);
  });

  it('a refused user is told so in the words of the API server', async () => {
    const { status, body } = await get('/configz', bearer('good'));
    assert.equal(status, 403);
    assert.deepEqual(JSON.parse(body), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'forbidden: User "bob" cannot get path "/configz"',
      reason: 'Forbidden',
      details: {},
      code: 403,
    });
  });

  it('a token that nobody has gets status 401 on every path', async () => {
    for (const path of ['/metrics', '/nonsense']) {
      const { status, body } = await get(path, bearer('bad'));
      assert.deepEqual([status, (JSON.parse(body) as { message: string }).message], [401, 'Unauthorized']);
    }
  });

  it('a client without a token is anonymous, with the rights of anonymous users', async () => {
    assert.equal((await get('/metrics')).status, 403);
    reviews.rights.add('system:anonymous get /debug/endpointd');
    assert.equal((await get('/debug/endpointd')).status, 200);
    assert.deepEqual(accessSpecs()[0]!['groups'], ['system:unauthenticated']);
  });

  it('health needs no token, and nobody is asked', async () => {
    for (const path of ['/healthz', '/livez', '/readyz?verbose'])
      assert.equal((await get(path, bearer('bad'))).status, 200);
    assert.equal((await get('/healthz/ping')).status, 403);
    assert.equal(reviews.asked.filter(({ path }) => path.endsWith('tokenreviews')).length, 0);
  });

  it('system:masters may do everything, and the API server is not asked', async () => {
    assert.equal((await get('/configz', bearer('root'))).status, 200);
    assert.deepEqual(accessSpecs(), []);
  });

  it('the method counts: a user who may get may not post', async () => {
    const { status, body } = await get('/metrics', { ...bearer('good'), method: 'POST' });
    assert.equal(status, 403);
    assert.match(body, /cannot post path/);
  });

  it('answers are kept, so the second request asks nobody', async () => {
    for (let i = 0; i < 3; i++) await get('/metrics', bearer('good'));
    assert.equal(reviews.asked.length, 2);
  });

  it('a token, a yes and a no are kept each as long as its flag says', async () => {
    const ttls = { tokenTtlMs: 60_000, authorizedTtlMs: 0, unauthorizedTtlMs: 60_000 };
    await using other = closing(await serveSecurely(reviews, log, ttls));
    for (const path of ['/metrics', '/metrics', '/configz', '/configz']) {
      await ask(other.address, path, bearer('good'));
    }
    const asked = reviews.asked.map(({ spec }) => (spec['nonResourceAttributes'] as { path: string })?.path ?? 'token');
    assert.deepEqual(asked, ['token', '/metrics', '/metrics', '/configz']);
  });

  it('what one authorizer denies is refused, whatever is allowed beside it', async () => {
    const status = { allowed: true, denied: true, reason: 'not on Tuesdays' };
    const body = Buffer.from(JSON.stringify({ kind: 'SubjectAccessReview', status }));
    const denies: Asker = () =>
      Promise.resolve({
        type: 'response',
        id: 1,
        status: 201,
        contentType: 'application/json',
        body,
        retryAfterSeconds: -1,
        priorityLevel: '',
      });
    const both = { reviews: createReviews(reviews.ask, denies) };
    await using other = closing(await serveSecurely(reviews, log, both));
    const said = await ask(other.address, '/metrics', bearer('good'));
    assert.equal(said.status, 403);
    assert.match(said.body, /not on Tuesdays/);
  });

  it('equal questions at the same time are asked once', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    reviews.before = () => promise;
    let inGate = 0;
    const onRequest = (message: unknown): void => {
      const { url } = (message as { request: IncomingMessage }).request;
      if (url === '/metrics' && ++inGate === 3) setImmediate(resolve);
    };
    subscribe('http.server.request.start', onRequest);
    const all = [1, 2, 3].map(() => get('/metrics', bearer('good')));
    await promise;
    unsubscribe('http.server.request.start', onRequest);
    assert.deepEqual(
      (await Promise.all(all)).map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal(reviews.asked.length, 2);
  });

  it('while the API server fails only health is served, and the log says so once', async () => {
    reviews.before = () => Promise.reject(new Error());
    assert.equal((await get('/metrics', bearer('good'))).status, 401);
    const anonymous = await get('/metrics');
    assert.equal(anonymous.status, 500);
    assert.equal(anonymous.body, 'Internal Server Error: "/metrics": the API server could not be asked\n');
    assert.equal((await get('/livez')).status, 200);
    assert.deepEqual(
      log.map(({ message, fields }) => [message, fields['err']]),
      [
        [
          'Cannot ask whose a token is: requests with a token are refused',
          'TokenReview: status 500: broken on purpose',
        ],
      ],
    );
    reviews.before = () => Promise.resolve();
    assert.equal((await get('/metrics', bearer('good'))).status, 200);
  });

  it('a failure of the API server is told once a minute', async () => {
    let nowMs = 0;
    reviews.before = () => Promise.reject(new Error());
    await using other = closing(await serveSecurely(reviews, log, { nowMs: () => nowMs }));
    for (const [ms, lines] of [
      [0, 1],
      [59_999, 1],
      [60_000, 2],
      [119_999, 2],
      [120_000, 3],
    ] as const) {
      nowMs = ms;
      await ask(other.address, '/metrics', bearer('good'));
      assert.equal(log.length, lines, `after ${ms} ms`);
    }
  });

  it('a passing failure is asked again at once, and nobody sees it', async () => {
    let failures = 1;
    reviews.before = () => (failures-- > 0 ? Promise.reject(new Error()) : Promise.resolve());
    assert.equal((await get('/metrics', bearer('good'))).status, 200);
  });
});

describe('by a client certificate', () => {
  let server: HttpServer;
  before(async () => {
    log = [];
    const proxies = {
      clientCaFile: proxiesFile,
      allowedNames: ['front-proxy'],
      usernameHeaders: ['X-Remote-User'],
      uidHeaders: ['X-Remote-Uid'],
      groupHeaders: ['X-Remote-Group'],
      extraPrefixes: ['X-Remote-Extra-'],
    };
    server = await serveSecurely(reviews, log, {
      clientCaFile: usersFile,
      proxies,
      authorizedTtlMs: 0,
      unauthorizedTtlMs: 0,
    });
  });
  after(() => server.close());
  const as = (client: keyof typeof CLIENTS, path = '/metrics', headers: Record<string, string> = {}): Promise<Said> =>
    ask(server.address, path, { headers, tls: { cert: CLIENTS[client].cert, key: CLIENTS[client].key } });

  it("a certificate's common name is the user, its organizations are groups", async () => {
    assert.equal((await as('alice')).status, 200);
    const [spec] = accessSpecs();
    assert.deepEqual([spec!['user'], spec!['groups']], ['alice', ['viewers', 'staff', 'system:authenticated']]);
    const extra = spec!['extra'] as Record<string, string[]>;
    assert.match(extra['authentication.kubernetes.io/credential-id']![0]!, /^X509SHA256=[0-9a-f]{64}$/);
  });

  it('a certificate of system:masters may do everything', async () => {
    assert.equal((await as('master', '/configz')).status, 200);
  });

  it('a certificate may come from an authority below, which the client sends along', async () => {
    assert.equal((await as('below')).status, 200);
  });

  for (const [client, why] of [
    ['stranger', 'from another authority of the same name'],
    ['byleaf', 'signed by a certificate that is no authority'],
    ['expired', 'that is over'],
    ['serveronly', 'for servers'],
    ['proxy', 'of a proxy that names nobody'],
  ] as const) {
    it(`a certificate with ${why} is refused`, async () => {
      assert.equal((await as(client)).status, 401);
      assert.equal((await as(client, '/healthz')).status, 200);
      assert.deepEqual(reviews.asked, []);
    });
  }

  it('a certificate that names nobody is anonymous', async () => {
    assert.equal((await as('nameless')).status, 403);
    assert.equal(accessSpecs()[0]!['user'], 'system:anonymous');
  });

  it('a refused certificate does not spoil a good token', async () => {
    assert.equal((await as('stranger', '/metrics', { authorization: 'Bearer good' })).status, 200);
  });

  it("a proxy's headers name the user with name, UID, groups and more", async () => {
    const headers = {
      'X-Remote-User': 'carol',
      'X-Remote-Uid': '7',
      'X-Remote-Group': 'a\r\nX-Remote-Group: b',
      'X-Remote-Extra-Scopes%2fx': 'read',
    };
    assert.equal((await as('proxy', '/metrics', headers)).status, 200);
    assert.deepEqual(accessSpecs()[0], {
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
      user: 'carol',
      uid: '7',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'scopes/x': ['read'] },
    });
  });

  it("other clients' headers do not count", async () => {
    const headers = { 'X-Remote-User': 'carol', 'X-Remote-Group': 'system:masters' };
    assert.equal((await as('other', '/metrics', headers)).status, 401);
    assert.equal((await as('alice', '/configz', headers)).status, 403);
    assert.equal((await ask(server.address, '/configz', { headers })).status, 403);
    assert.deepEqual(
      accessSpecs().map(({ user }) => user),
      ['alice', 'system:anonymous'],
    );
  });
});

describe('authorities that the API server publishes', () => {
  const alice = { tls: { cert: CLIENTS.alice.cert, key: CLIENTS.alice.key } };
  const publishedAs = (users: string): Record<string, string> => ({
    'client-ca-file': users,
    'requestheader-client-ca-file': AUTHORITIES.proxies,
    'requestheader-allowed-names': '["front-proxy"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  });

  async function untilLogged(count: number): Promise<void> {
    await until(() => log.length >= count);
  }

  it('published authorities count if no file is given', async () => {
    reviews.published = publishedAs(AUTHORITIES.users);
    const server = await serveSecurely(reviews, log, { lookUp: reviews.ask });
    try {
      await untilLogged(1);
      assert.equal((await ask(server.address, '/metrics', alice)).status, 200);
      const proxied = { tls: { ...CLIENTS.proxy }, headers: { 'x-remote-user': 'carol', 'x-remote-uid': '7' } };
      assert.equal((await ask(server.address, '/metrics', proxied)).status, 200);
      const { user, uid } = accessSpecs().at(-1)!;
      assert.deepEqual([user, uid], ['carol', '7']);
    } finally {
      await server.close();
    }
  });

  it('without readable authorities certificates prove nothing, and tokens work', async () => {
    const server = await serveSecurely(reviews, log, { lookUp: reviews.ask });
    try {
      await untilLogged(1);
      assert.equal((await ask(server.address, '/metrics', alice)).status, 403);
      assert.equal((await ask(server.address, '/metrics', bearer('good'))).status, 200);
      assert.equal(accessSpecs()[0]!['user'], 'system:anonymous');
      const [{ level, message, fields }] = log as [LogLine];
      assert.equal(level, 'error');
      assert.equal(
        message,
        'Cannot read ConfigMap kube-system/extension-apiserver-authentication, going on with what is known',
      );
      assert.equal(fields['err'], 'configmaps "x" not found');
    } finally {
      await server.close();
    }
  });

  it('published texts that are no certificates are no authorities', async () => {
    reviews.published = { 'client-ca-file': 'nonsense' };
    const server = await serveSecurely(reviews, log, { lookUp: reviews.ask });
    try {
      await untilLogged(1);
      assert.match(String(log[0]!.fields['err']), /client-ca-file of ConfigMap .* holds no certificate/);
    } finally {
      await server.close();
    }
  });
});
