/** The auth-provider `oidc` of a kubeconfig: an id token, renewed at its issuer with a refresh token. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import type { Configuration, TokenEndpointResponse } from 'openid-client';
import { CredentialsError } from './credentials-error.ts';
import { failureMessage } from './failure.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { trustMachineAuthorities } from './machine-authorities.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { AuthPlugin, PluginCredentials } from './plugin-credentials.ts';
import { proxyFromEnvironment } from './proxy-env.ts';

/** As client-go: a token is not used in its last seconds. */
const EARLY_MS = 10_000;

/**
 * Follows client-go's rules. The id token of the kubeconfig is used while it is valid, then one that the issuer gives
 * for the refresh token. What the issuer gives is kept in memory: the kubeconfig is never written. So if the issuer
 * takes a refresh token only once, a restart needs a new login.
 * @param msMax most milliseconds for each of the issuer's answers
 */
export function createOidc(kubeconfig: Kubeconfig, msMax: number): AuthPlugin {
  const config = (kubeconfig.user.authProvider?.['config'] ?? {}) as Config;
  let idToken = config['id-token'] ?? '';
  let refreshToken = config['refresh-token'] ?? '';
  let issuer: Promise<Issuer> | undefined;

  // An issuer that takes a refresh token only once withdraws the login if it comes twice.
  const renew = oneAtATime(async () => {
    if (refreshToken === '') {
      const why = idToken === '' ? 'no id-token' : `the id-token has expired at ${expiryText(idToken)}`;
      throw new CredentialsError(`${atOf(kubeconfig)}: ${why} and there is no refresh-token: log in again`);
    }
    issuer ??= openIssuer(kubeconfig, config, msMax);
    issuer.catch(() => (issuer = undefined));
    const answer = await (await issuer)(refreshToken);
    if (answer.id_token === undefined) throw new Error('the answer of the issuer has no id_token');
    idToken = answer.id_token;
    refreshToken = answer.refresh_token ?? refreshToken;
  });

  return async (fresh): Promise<PluginCredentials> => {
    const isValid = expiryMs(idToken) > Date.now() + EARLY_MS;
    // A token that is valid and refused may have been withdrawn.
    if (!isValid || (fresh && refreshToken !== '')) await renew();
    return { authorization: `Bearer ${idToken}`, cert: null, key: null };
  };
}

type Config = Readonly<Partial<Record<string, string>>>;
type Issuer = (refreshToken: string) => Promise<TokenEndpointResponse>;

function atOf({ path, user }: Kubeconfig): string {
  return `kubeconfig ${path}: users["${user.name}"]: auth-provider`;
}

/** The library is loaded only here, because most kubeconfigs have no such user. */
async function openIssuer(kubeconfig: Kubeconfig, config: Config, msMax: number): Promise<Issuer> {
  const { 'idp-issuer-url': url = '', 'client-id': clientId = '', 'client-secret': secret = '' } = config;
  if (!URL.canParse(url) || clientId === '') {
    throw new CredentialsError(`${atOf(kubeconfig)}: idp-issuer-url and client-id are needed to renew the id-token`);
  }
  const oidc = await import('openid-client');
  // The secret goes where the issuer wants it. The standard's default is the header.
  const { ClientSecretBasic, ClientSecretPost, None } = oidc;
  const auth: typeof oidc.ClientSecretPost =
    () =>
    (server, ...rest) => {
      if (secret === '') return None()(server, ...rest);
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      return (methods.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost)(secret)(server, ...rest);
    };
  const options = { [oidc.customFetch]: await fetchOf(kubeconfig, config, new URL(url)), timeout: msMax / 1000 };
  // As in client-go, the API server alone judges the dates of a token. An answer that is thrown away because of a wrong
  // clock here may have the only refresh token that the issuer takes from now on.
  const anyDate = { [oidc.clockTolerance]: Number.MAX_SAFE_INTEGER };
  const found: Configuration = await oidc.discovery(new URL(url), clientId, anyDate, auth(), options);
  return async (refreshToken) => {
    try {
      return await oidc.refreshTokenGrant(found, refreshToken);
    } catch (error) {
      // Only the code is told, because an issuer may describe an error with the token that it was given.
      if (error instanceof oidc.ResponseBodyError) throw new Error(`the issuer says ${error.error}`, { cause: error });
      throw error;
    }
  };
}

/** With the authority of the kubeconfig, and through the proxy of the environment. */
async function fetchOf(kubeconfig: Kubeconfig, config: Config, issuer: URL): Promise<CustomFetch> {
  const { Agent, ProxyAgent, fetch } = await import('undici');
  const ca = await authorityOf(kubeconfig, config);
  const proxy = proxyFromEnvironment(issuer, process.env);
  if (ca === null) trustMachineAuthorities();
  // Else the variable NODE_TLS_REJECT_UNAUTHORIZED would decide.
  const verified = { rejectUnauthorized: true };
  const tls = ca === null ? verified : { ...verified, ca };
  const dispatcher =
    proxy === null ? new Agent({ connect: tls }) : new ProxyAgent({ uri: proxy, requestTls: tls, proxyTls: verified });
  return (url, init) => fetch(url, { ...init, dispatcher });
}

type CustomFetch = (url: string, init: object) => Promise<Response>;

async function authorityOf({ path }: Kubeconfig, config: Config): Promise<string | null> {
  const data = config['idp-certificate-authority-data'] ?? '';
  if (data !== '') return Buffer.from(data, 'base64').toString();
  const file = config['idp-certificate-authority'] ?? '';
  if (file === '') return null;
  try {
    return await readFile(resolve(dirname(path), file), 'utf8');
  } catch (error) {
    throw new CredentialsError(`kubeconfig ${path}: idp-certificate-authority: ${failureMessage(error)}`);
  }
}

/** `exp` of a JWT in milliseconds since the epoch; 0 when there is none to be read. */
function expiryMs(token: string): number {
  try {
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
    const { exp } = JSON.parse(payload) as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : 0;
  } catch {
    return 0;
  }
}

function expiryText(token: string): string {
  return new Date(expiryMs(token)).toISOString();
}
