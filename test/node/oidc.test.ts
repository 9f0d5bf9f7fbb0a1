/** The auth-provider `oidc` against an issuer on loopback, as client-go treats one. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createCredentials } from '../../src/node/credentials.ts';
import { CredentialsError } from '../../src/node/credentials-error.ts';
import { selfSigned } from '../../src/node/self-signed.ts';
import { jsonAnswer, startStub, type StubAnswer, type StubServer } from '../support/stub-server.ts';

const TLS = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
const directory = mkdtempSync(join(tmpdir(), 'endpointd-oidc-'));
after(() => rmSync(directory, { recursive: true }));

describe('oidc', () => {
  let issuer: StubServer;
  /** What the issuer was asked for tokens with: the form, and who asks. */
  const grants: string[] = [];
  let answer: () => StubAnswer;
  let methods: string[] | undefined;

  before(async () => {
    issuer = await startStub(({ path, body, headers }) => {
      if (path === '/.well-known/openid-configuration') {
        const token_endpoint = `${issuer.url}/token`;
        return jsonAnswer({ issuer: issuer.url, token_endpoint, token_endpoint_auth_methods_supported: methods });
      }
      grants.push(`${body} ${headers.authorization ?? 'no header'}`);
      return answer();
    }, TLS);
  });
  after(() => issuer[Symbol.asyncDispose]());

  function jwt(name: string, seconds: number, validInSeconds = 0): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer.url, aud: 'me', sub: name, iat: now, nbf: now + validInSeconds, exp: now + seconds };
    return [{ alg: 'RS256' }, claims, name]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
  }

  function tokens(name: string, seconds: number, more: object = {}): StubAnswer {
    return jsonAnswer({ access_token: 'a', token_type: 'bearer', id_token: jwt(name, seconds), ...more });
  }

  /** Who reads the credentials of a user with this configuration. */
  function reader(config: object): ReturnType<typeof createCredentials>['read'] {
    const trusted = { 'idp-certificate-authority-data': Buffer.from(TLS.cert).toString('base64') };
    const whole = { 'idp-issuer-url': issuer.url, 'client-id': 'me', ...trusted, ...config };
    const kubeconfig = join(directory, 'kubeconfig');
    const content = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1' } }],
      users: [{ name: 'u', user: { 'auth-provider': { name: 'oidc', config: whole } } }],
    };
    writeFileSync(kubeconfig, JSON.stringify(content));
    grants.length = 0;
    methods = undefined;
    return createCredentials({ kubeconfig, master: '', env: {}, serviceAccountDirectory: '' }).read;
  }

  /** The subject of the id token that is sent. */
  async function sent(read: ReturnType<typeof reader>, why: 'refresh' | 'unauthorized' = 'refresh'): Promise<string> {
    const authorization = String((await read(why)).headers['Authorization']);
    const payload = Buffer.from(authorization.split('.')[1]!, 'base64url').toString();
    return (JSON.parse(payload) as { sub: string }).sub;
  }

  it('an expired id token is renewed, again and again with one refresh token', async () => {
    const read = reader({ 'id-token': jwt('old', -1), 'refresh-token': 'first', 'client-secret': 's3cret' });
    let renewed = 0;
    // The next one has run out when it is asked for again; the issuer gives no new refresh token.
    answer = () => tokens(`new-${++renewed}`, 5);
    assert.deepEqual([await sent(read), await sent(read), await sent(read)], ['new-1', 'new-2', 'new-3']);
    const basic = `Basic ${Buffer.from('me:s3cret').toString('base64')}`;
    assert.deepEqual(grants, Array(3).fill(`refresh_token=first&grant_type=refresh_token ${basic}`));
  });

  it('a valid id token is kept, and the newest refresh token is used', async () => {
    const read = reader({ 'id-token': jwt('old', -1), 'refresh-token': 'first' });
    answer = () => tokens('new', 3600, { refresh_token: 'second' });
    assert.deepEqual([await sent(read), await sent(read)], ['new', 'new']);
    assert.equal(grants.length, 1);
    assert.equal(await sent(read, 'unauthorized'), 'new');
    assert.match(grants[1]!, /refresh_token=second/);
  });

  it('another change of the file leaves the newest refresh token in use', async () => {
    const read = reader({ 'id-token': jwt('old', -1), 'refresh-token': 'first' });
    // Each id token has run out when it is asked for again.
    answer = () => tokens('new', 5, { refresh_token: `after-${grants.length}` });
    await sent(read);
    const path = join(directory, 'kubeconfig');
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n`);
    await sent(read);
    assert.match(grants[1]!, /refresh_token=after-1/);
  });

  it('a wrong clock here loses neither the token nor the next refresh token', async () => {
    const read = reader({ 'id-token': jwt('old', -1), 'refresh-token': 'first' });
    const [early, late] = [jwt('early', 3600, 120), jwt('late', -120)];
    answer = () => tokens('', 0, { id_token: early, refresh_token: 'second' });
    assert.equal(await sent(read), 'early');
    answer = () => tokens('', 0, { id_token: late, refresh_token: 'third' });
    assert.equal(await sent(read, 'unauthorized'), 'late');
    answer = () => tokens('new', 3600);
    assert.equal(await sent(read), 'new');
    const used = grants.map((form) => /refresh_token=(\w+)/.exec(form)![1]);
    assert.deepEqual(used, ['first', 'second', 'third']);
  });

  it('concurrent reads spend a refresh token once', async () => {
    const read = reader({ 'id-token': jwt('old', -1), 'refresh-token': 'first' });
    let given = 0;
    answer = () => ({ ...tokens('new', 3600, { refresh_token: `next-${++given}` }), afterMs: 50 });
    assert.deepEqual(await Promise.all([sent(read), sent(read, 'unauthorized'), sent(read)]), ['new', 'new', 'new']);
    // One that comes to the refused token late renews once more, with what the issuer has given since.
    assert.deepEqual(grants, [...new Set(grants)]);
  });

  it('a failed renewal is tried again', async () => {
    const read = reader({ 'id-token': jwt('old', -1), 'refresh-token': 'first' });
    answer = () => jsonAnswer({ error: 'temporarily_unavailable' }, 400);
    await assert.rejects(read('refresh'), /the issuer says temporarily_unavailable$/);
    answer = () => tokens('new', 3600);
    assert.equal(await sent(read), 'new');
  });

  it('oidc needs no id token to begin with', async () => {
    const read = reader({ 'refresh-token': 'first' });
    answer = () => tokens('new', 3600);
    assert.equal(await sent(read), 'new');
  });

  it('the secret goes into the body if the issuer takes no header', async () => {
    const read = reader({ 'refresh-token': 'first', 'client-secret': 's3cret' });
    methods = ['client_secret_post'];
    answer = () => tokens('new', 3600);
    await sent(read);
    assert.match(grants[0]!, /client_id=me&client_secret=s3cret no header$/);
  });

  for (const [title, config, reply, message] of [
    [
      'an id token that has expired without a refresh token',
      { 'id-token': 'e30.eyJleHAiOjF9.x' },
      null,
      /users\["u"\]: auth-provider: the id-token has expired at 1970-01-01T00:00:01\.000Z and there is no refresh-token: log in again$/,
    ],
    [
      'a refresh token that the issuer does not take',
      { 'refresh-token': 'withdrawn', 'client-secret': 's3cret' },
      jsonAnswer({ error: 'invalid_grant', error_description: 'withdrawn is unknown' }, 400),
      /auth-provider failed: the issuer says invalid_grant$/,
    ],
    [
      'an answer without an id token',
      { 'refresh-token': 'withdrawn' },
      jsonAnswer({ access_token: 'a', token_type: 'bearer' }),
      /auth-provider failed: the answer of the issuer has no id_token$/,
    ],
    [
      'an issuer of another authority',
      { 'refresh-token': 'withdrawn', 'idp-certificate-authority-data': '' },
      null,
      /auth-provider failed: /,
    ],
    [
      'a user without an issuer',
      { 'refresh-token': 'withdrawn', 'idp-issuer-url': '' },
      null,
      /idp-issuer-url and client-id are needed/,
    ],
  ] as const) {
    it(`oidc refuses ${title}, and tells no secret`, async () => {
      const read = reader(config);
      answer = () => reply ?? assert.fail('nothing is asked for');
      await assert.rejects(read('refresh'), (error) => {
        assert.ok(error instanceof CredentialsError, String(error));
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /withdrawn|s3cret|\n/);
        return true;
      });
    });
  }
});
