import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Access, ReadAccess, TlsMaterial } from './access.ts';
import { createAuthPlugin } from './auth-plugin.ts';
import { CredentialsError } from './credentials-error.ts';
import { parseKubeconfig, type Kubeconfig, type KubeconfigUser } from './kubeconfig.ts';
import { trustMachineAuthorities } from './machine-authorities.ts';
import type { AuthPlugin, PluginCredentials } from './plugin-credentials.ts';
import { isLoopback, proxyFromEnvironment } from './proxy-env.ts';
import { errorMessage } from '../lib/error-message.ts';

export interface CredentialsConfig {
  /** `--kubeconfig`; empty = none. */
  readonly kubeconfig: string;
  /** `--master`; empty = none. */
  readonly master: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the service account's token and CA are mounted. */
  readonly serviceAccountDirectory: string;
}

export interface Credentials {
  /** Reads every file again, and asks the plugin again if its answer has expired. @throws CredentialsError */
  readonly read: ReadAccess;
  /** Whether a call of `read` is under way. */
  readonly reading: () => boolean;
  /** How often `read` should be called. */
  readonly refreshMs: number;
}

export const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * client-go keeps the token of a file for a minute and renews it ten seconds early. Certificates are read at the same
 * time.
 */
const FILES_REFRESH_MS = 50_000;
/** Only asking the plugin shows whether its answer has expired. A cached answer costs microseconds. */
const PLUGIN_REFRESH_MS = 10_000;

/**
 * Finds the API server and the credentials for it by kube-controller-manager's rules: from the kubeconfig, with
 * `--master` in place of its server; from the pod's service account if neither is given. The kubeconfig is read again
 * too, so credentials in it are renewed without a restart. A kubeconfig that is just being written is an error, and the
 * last access stays in use.
 *
 * The cluster stays that of the first read: its caches are of it, and a leader would write them into another one. So
 * `kubectl config use-context` changes nothing, and another address of the server is an error.
 */
export function createCredentials(config: CredentialsConfig): Credentials {
  let last: ReadKubeconfig | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function readKubeconfig(): Promise<ReadKubeconfig> {
    const text = await readText(config.kubeconfig, 'kubeconfig');
    if (last?.text !== text) {
      const parsed = await parseKubeconfig(config.kubeconfig, text, last?.kubeconfig.context);
      const kubeconfig = withMaster(parsed, config.master);
      if (last !== undefined) checkServer(serverOf(last.kubeconfig, config), serverOf(kubeconfig, config), config);
      last = { text, kubeconfig, plugin: pluginFor(kubeconfig, last) };
    }
    return last;
  }

  /**
   * Reads go one after another. Two reads of a new file would make two plugins, and both would spend its refresh token.
   */
  function readInTurn(): Promise<ReadKubeconfig> {
    const read = turn.then(readKubeconfig);
    turn = read.catch(() => undefined);
    return read;
  }

  async function accessNow(why: 'refresh' | 'unauthorized'): Promise<Access> {
    if (config.kubeconfig !== '') {
      const { kubeconfig, plugin } = await readInTurn();
      const fromPlugin = plugin === undefined ? null : await plugin(why === 'unauthorized');
      return kubeconfigAccess(kubeconfig, fromPlugin, config);
    }
    if (config.master !== '')
      return access(parseServer(config.master, '--master', false), null, NO_TLS, {}, config, '--master');
    const found = await inCluster(config, hadClusterCa);
    hadClusterCa = found.tls.ca !== null;
    return found;
  }

  let hadClusterCa = false;
  let reads = 0;
  let hadCredentials = false;
  async function read(why: 'refresh' | 'unauthorized'): Promise<Access> {
    reads++;
    try {
      const found = await accessNow(why);
      const { tls, headers } = found;
      const hasCredentials = tls.cert !== null || 'Authorization' in headers;
      // The server would take an anonymous client for one without rights (403), so nobody would read them again.
      if (hadCredentials && !hasCredentials) {
        throw new CredentialsError(`kubeconfig ${config.kubeconfig}: its user has no credentials any more`);
      }
      hadCredentials = hasCredentials;
      return found;
    } finally {
      reads--;
    }
  }

  return {
    read,
    reading: () => reads > 0,
    get refreshMs() {
      return last?.plugin === undefined ? FILES_REFRESH_MS : PLUGIN_REFRESH_MS;
    },
  };
}

/** Looks at a new file before any plugin of it is asked. @throws CredentialsError */
function checkServer(before: URL, now: URL, { kubeconfig }: CredentialsConfig): void {
  const [first, server] = [before, now].map(({ origin, pathname }) => origin + basePathOf(pathname));
  if (first === server) return;
  throw new CredentialsError(
    `kubeconfig ${kubeconfig}: its server is ${server}, and was ${first} at the start: only a restart changes the cluster`,
  );
}

/** @throws CredentialsError */
function serverOf({ path, cluster, user }: Kubeconfig, { master }: CredentialsConfig): URL {
  const { caData, caFile, insecureSkipTlsVerify } = cluster;
  const speaksTls = caData + caFile + user.certData + user.certFile !== '' || insecureSkipTlsVerify;
  return parseServer(cluster.server, master === '' ? `kubeconfig ${path}: server` : '--master', speaksTls);
}

function basePathOf(pathname: string): string {
  return pathname.replace(/\/+$/, '');
}

interface ReadKubeconfig {
  readonly text: string;
  readonly kubeconfig: Kubeconfig;
  readonly plugin: AuthPlugin | undefined;
}

const NO_TLS: TlsMaterial = { ca: null, cert: null, key: null, serverName: null, verify: true };

/** As client-go: `--master` takes the place of the server, and the name that its certificate should have goes with it. */
function withMaster(kubeconfig: Kubeconfig, master: string): Kubeconfig {
  if (master === '') return kubeconfig;
  return { ...kubeconfig, cluster: { ...kubeconfig.cluster, server: master, tlsServerName: '' } };
}

/**
 * A plugin knows more than the file: the newest refresh token of an issuer that takes each once. So it stays for as long as
 * its user and its cluster are the same, whatever else changes in the file.
 */
function pluginFor(kubeconfig: Kubeconfig, last: ReadKubeconfig | undefined): AuthPlugin | undefined {
  if (!needsPlugin(kubeconfig.user)) return undefined;
  const { cluster, user } = kubeconfig;
  const isSame =
    last !== undefined && isDeepStrictEqual([last.kubeconfig.cluster, last.kubeconfig.user], [cluster, user]);
  return (isSame ? last.plugin : undefined) ?? createAuthPlugin(kubeconfig);
}

/** As client-go: a token, a password or a certificate in the kubeconfig goes before its plugin. */
function needsPlugin(user: KubeconfigUser): boolean {
  const own = user.token + user.tokenFile + user.username + user.certFile + user.certData;
  return own === '' && (user.exec !== null || user.authProvider !== null);
}

async function kubeconfigAccess(
  kubeconfig: Kubeconfig,
  plugin: PluginCredentials | null,
  config: CredentialsConfig,
): Promise<Access> {
  const { path, cluster, user } = kubeconfig;
  const at = `kubeconfig ${path}`;
  const server = serverOf(kubeconfig, config);
  const ca = withCertificate(
    await pem(cluster.caData, cluster.caFile, `${at}: certificate-authority`),
    `${at}: certificate-authority${cluster.caData === '' ? ` ${cluster.caFile}` : '-data'}`,
  );
  if (ca !== null && cluster.insecureSkipTlsVerify) {
    throw new CredentialsError(`${at}: certificate-authority and insecure-skip-tls-verify exclude each other`);
  }
  const { cert, key } = plugin?.cert ? plugin : await readPair(user, at);
  const tls: TlsMaterial = {
    ca,
    cert,
    key,
    serverName: cluster.tlsServerName === '' ? null : cluster.tlsServerName,
    verify: !cluster.insecureSkipTlsVerify,
  };
  const headers = impersonation(user);
  const authorization = plugin === null ? await authorizationOf(user, at) : plugin.authorization;
  if (authorization !== null) headers['Authorization'] = authorization;
  const proxyUrl = cluster.proxyUrl === '' ? null : parseProxy(cluster.proxyUrl, `${at}: proxy-url`);
  return access(server, proxyUrl, tls, headers, config, at);
}

type ClientPair = Pick<TlsMaterial, 'cert' | 'key'>;

/** A certificate and a key that cannot be used are read once more, at once: both may be replaced between the two reads. */
function readPair(user: KubeconfigUser, at: string): Promise<ClientPair> {
  return readPairOnce(user, at).catch(() => readPairOnce(user, at));
}

async function readPairOnce(user: KubeconfigUser, at: string): Promise<ClientPair> {
  const cert = await pem(user.certData, user.certFile, `${at}: client-certificate`);
  const key = await pem(user.keyData, user.keyFile, `${at}: client-key`);
  checkTls({ ...NO_TLS, cert, key }, at);
  return { cert, key };
}

/** @param hadCa whether the CA file was there at the last read */
async function inCluster(config: CredentialsConfig, hadCa: boolean): Promise<Access> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = config.env;
  if (!host || !port) {
    throw new CredentialsError(
      'no API server: neither --kubeconfig nor --master is given, and this is no pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)',
    );
  }
  const token = await readToken(`${config.serviceAccountDirectory}/token`);
  const caFile = `${config.serviceAccountDirectory}/ca.crt`;
  const ca = withCertificate(await clusterCa(caFile, hadCa), caFile);
  const server = parseServer(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`, 'KUBERNETES_SERVICE_HOST', true);
  return access(server, null, { ...NO_TLS, ca }, { Authorization: `Bearer ${token}` }, config, 'in-cluster');
}

/**
 * The text of the CA file. As client-go, a missing file means the authorities of the machine (null): the server is still
 * verified before it sees the token. client-go decides that once, at its start. So a file that goes away later is an
 * error, and the last access stays: the machine's authorities are others, and would not know the server.
 */
async function clusterCa(path: string, hadCa: boolean): Promise<string | null> {
  try {
    return await readText(path, 'CA file');
  } catch (error) {
    const { code } = (error as CredentialsError).cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !hadCa) return null;
    throw error;
  }
}

/** The checks that all sources share. */
function access(
  server: URL,
  proxyUrl: string | null,
  tls: TlsMaterial,
  headers: Record<string, string | string[]>,
  config: CredentialsConfig,
  at: string,
): Access {
  // A proxy is somewhere else, and would read them.
  const staysHere = isLoopback(server.hostname) && proxyUrl === null;
  if (server.protocol === 'http:' && 'Authorization' in headers && !staysHere) {
    const where = isLoopback(server.hostname) ? 'without a proxy' : 'on loopback';
    throw new CredentialsError(`${at}: ${server.origin} is plain http, credentials are only sent to it ${where}`);
  }
  const proxy = proxyUrl ?? environmentProxy(server, config.env);
  if (proxy !== null && proxy.startsWith('socks') && (isIpv6Literal(server) || isIpv6Literal(new URL(proxy)))) {
    // undici would hand the brackets on as a part of the name.
    throw new CredentialsError(
      `${at}: neither a SOCKS proxy nor the server behind it may be an IPv6 address: use names`,
    );
  }
  if ((tls.cert === null) !== (tls.key === null)) {
    throw new CredentialsError(`${at}: client-certificate and client-key must be given together`);
  }
  checkTls(tls, at);
  if (server.protocol === 'https:' && tls.ca === null && tls.verify) trustMachineAuthorities();
  return {
    origin: server.origin,
    basePath: basePathOf(server.pathname),
    proxyUrl: proxy,
    tls,
    headers,
  };
}

function isIpv6Literal({ hostname }: URL): boolean {
  return hostname.startsWith('[');
}

/** Sees that a certificate has been replaced and its key has not. Otherwise every later connection would fail. */
function checkTls(tls: TlsMaterial, at: string): void {
  if (tls.ca === null && tls.cert === null) return;
  try {
    createSecureContext({ ca: tls.ca ?? undefined, cert: tls.cert ?? undefined, key: tls.key ?? undefined });
  } catch (error) {
    const reason = errorMessage(error);
    throw new CredentialsError(`${at}: certificate-authority, client-certificate or client-key: ${reason}`, {
      cause: error,
    });
  }
}

async function authorizationOf(user: KubeconfigUser, at: string): Promise<string | null> {
  if (user.tokenFile !== '') return `Bearer ${await readToken(user.tokenFile)}`;
  if (user.token !== '') return `Bearer ${checkedToken(user.token, `${at}: token`)}`;
  if (user.username === '') return null;
  return `Basic ${Buffer.from(`${user.username}:${user.password}`).toString('base64')}`;
}

function impersonation(user: KubeconfigUser): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  if (user.as !== '') headers['Impersonate-User'] = user.as;
  if (user.asUid !== '') headers['Impersonate-Uid'] = user.asUid;
  if (user.asGroups.length > 0) headers['Impersonate-Group'] = [...user.asGroups];
  for (const [key, values] of Object.entries(user.asUserExtra)) {
    headers[`Impersonate-Extra-${encodeURIComponent(key.toLowerCase())}`] = [...values];
  }
  return headers;
}

async function readToken(path: string): Promise<string> {
  return checkedToken((await readText(path, 'token file')).trim(), `token file ${path}`);
}

/** Text that is no token must not get into a header. It may be a secret, so it must not get into the message. */
function checkedToken(token: string, at: string): string {
  if (token === '') throw new CredentialsError(`${at} is empty`);
  if (/[^!-~]/.test(token)) throw new CredentialsError(`${at} holds characters that no token has`);
  return token;
}

async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new CredentialsError(`cannot read ${what} ${path}: ${code}`, { cause: error });
  }
}

/**
 * The PEM text of `data` (in base64), else of the file; null = neither is given. A file that is being written may be
 * empty. To OpenSSL that is no certificate at all, and the next connection would be anonymous. @throws CredentialsError
 */
async function pem(data: string, path: string, at: string): Promise<string | null> {
  if (data === '' && path === '') return null;
  const text = data === '' ? await readText(path, `${at}:`) : Buffer.from(data, 'base64').toString();
  if (text.includes('-----BEGIN ')) return text;
  throw new CredentialsError(data === '' ? `${at}: ${path} is not PEM` : `${at}-data: is not PEM in base64`);
}

/**
 * Refuses a text without a certificate. To OpenSSL that is an empty list, and it would trust nobody. @throws
 * CredentialsError
 */
function withCertificate(text: string | null, at: string): string | null {
  if (text === null || /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(text)) return text;
  throw new CredentialsError(`${at}: holds no certificate (PEM, "-----BEGIN CERTIFICATE-----")`);
}

/**
 * As client-go: an address without a scheme is https if the configuration tells of certificates, and else http.
 * @throws CredentialsError
 */
function parseServer(text: string, at: string, speaksTls: boolean): URL {
  const address = text.includes('://') ? text : `${speaksTls ? 'https' : 'http'}://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    // The text may hold a password.
    const shown = text.replace(/^.*@/, '...@');
    throw new CredentialsError(`${at}: "${shown}" is no http or https URL`);
  }
  return url;
}

function environmentProxy(server: URL, env: CredentialsConfig['env']): string | null {
  const proxy = proxyFromEnvironment(server, env);
  return proxy === null ? null : parseProxy(proxy, 'HTTPS_PROXY or HTTP_PROXY');
}

function parseProxy(text: string, at: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && ['http:', 'https:', 'socks5:'].includes(url.protocol)) return text;
  throw new CredentialsError(`${at}: is no http, https or socks5 URL`);
}
