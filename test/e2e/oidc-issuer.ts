import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { selfSigned } from '../../src/node/self-signed.ts';
import { jsonAnswer, startStub, type StubAnswer } from '../support/stub-server.ts';

/** One that kube-apiserver takes: it signs what it issues, and spends each refresh token once. */
export interface Issuer extends AsyncDisposable {
  readonly url: string;
  /** PEM: its authority. */
  readonly cert: string;
  readonly clientSecret: string;
  /** The one that is good now. */
  readonly refreshToken: () => string;
  /** How often it was asked for a new id token, and gave one. */
  readonly grants: () => number;
  /** All tokens that it gave. */
  readonly issued: ReadonlySet<string>;
}

/** @param seconds of the life of an id token */
export async function startIssuer(subject: string, clientId: string, seconds: number): Promise<Issuer> {
  const tls = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const clientSecret = randomBytes(12).toString('hex');
  const issued = new Set<string>();
  let refreshToken = newToken();
  let grants = 0;

  function newToken(): string {
    const token = randomBytes(12).toString('hex');
    issued.add(token);
    return token;
  }

  function idToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: stub.url, aud: clientId, sub: subject, iat: now, exp: now + seconds };
    const text = [{ alg: 'RS256', kid: 'one' }, claims].map(base64url).join('.');
    const token = `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
    issued.add(token);
    return token;
  }

  function grant(form: URLSearchParams, authorization = ''): StubAnswer {
    const credentials = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();
    // As in a form, says RFC 6749.
    if (decodeURIComponent(credentials) !== `${clientId}:${clientSecret}`)
      return jsonAnswer({ error: 'invalid_client' }, 401);
    if (form.get('refresh_token') !== refreshToken) return jsonAnswer({ error: 'invalid_grant' }, 400);
    grants++;
    refreshToken = newToken();
    const token = { access_token: newToken(), token_type: 'bearer', id_token: idToken(), refresh_token: refreshToken };
    return jsonAnswer(token);
  }

  const stub = await startStub(({ path, body, headers }) => {
    if (path === '/keys') {
      const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
      return jsonAnswer({ keys: [key] });
    }
    if (path === '/token') return grant(new URLSearchParams(body), headers.authorization);
    return jsonAnswer({
      issuer: stub.url,
      authorization_endpoint: `${stub.url}/authorize`,
      token_endpoint: `${stub.url}/token`,
      jwks_uri: `${stub.url}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  }, tls);

  return {
    url: stub.url,
    cert: tls.cert,
    clientSecret,
    refreshToken: () => refreshToken,
    grants: () => grants,
    issued,
    [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose](),
  };
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
