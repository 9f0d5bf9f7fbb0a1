import { dirname, resolve } from 'node:path';
import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { CredentialsError } from './credentials-error.ts';
import type { Kubeconfig } from './kubeconfig.ts';

/** What an exec command or an auth-provider gave. */
export interface PluginCredentials {
  /** Value of the Authorization header; null = none. */
  readonly authorization: string | null;
  /** PEM. */
  readonly cert: string | null;
  readonly key: string | null;
}

/** A command that hangs must not hold up the start or every later renewal. */
const PLUGIN_MS_MAX = 60_000;

/**
 * Runs the plugin of a kubeconfig's user (exec, oidc and the legacy providers) through client-node, which is imported
 * here and only here: it costs 0.6 s of CPU and 85 MB, which the other kinds of credentials do not need.
 */
export function createAuthPlugin(kubeconfig: Kubeconfig): (fresh: boolean) => Promise<PluginCredentials> {
  let config: KubeConfig | undefined;
  let last: PluginCredentials | undefined;
  let askAgainAtMs = 0;

  return async (fresh) => {
    const isExec = kubeconfig.user.exec !== null;
    if (last !== undefined && !fresh && Date.now() < askAgainAtMs) return last;
    // client-node keeps what a command printed until it expires; only a new object forgets. An OIDC user must not be
    // forgotten: its refresh token may have been replaced in memory.
    if (config === undefined || (fresh && isExec)) config = await loadConfig(kubeconfig);
    const options: RequestOptions = {};
    await inTime(config.applyToHTTPSOptions(options), kubeconfig);
    const headers = (options.headers ?? {}) as Record<string, string | undefined>;
    last = {
      authorization: headers['Authorization'] ?? null,
      cert: textOf(options.cert),
      key: textOf(options.key),
    };
    // After its first refresh, client-node would ask the OIDC issuer for a new token each time.
    askAgainAtMs = isExec ? 0 : tokenExpiryMs(last.authorization);
    return last;
  };
}

async function loadConfig({ path, cluster, user }: Kubeconfig): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  // The plugin only needs its user; the real server may be plain http on loopback, which client-node refuses.
  config.loadFromClusterAndUser(
    { name: 'cluster', server: 'https://localhost', skipTLSVerify: false },
    {
      name: user.name,
      exec: user.exec === null ? undefined : execConfig(user.exec, path, cluster),
      authProvider: user.authProvider ?? undefined,
    },
  );
  return config;
}

/** Adds what client-node leaves out: KUBERNETES_EXEC_INFO, and commands relative to the kubeconfig. */
function execConfig(
  exec: Record<string, unknown>,
  path: string,
  cluster: Kubeconfig['cluster'],
): Record<string, unknown> {
  const command = exec['command'];
  if (typeof command !== 'string' || command === '')
    throw new CredentialsError(`kubeconfig ${path}: exec.command is not set`);
  const clusterInfo = {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.insecureSkipTlsVerify,
    'certificate-authority-data': cluster.caData,
    'proxy-url': cluster.proxyUrl,
  };
  const info = {
    apiVersion: exec['apiVersion'],
    kind: 'ExecCredential',
    spec: { interactive: false, ...(exec['provideClusterInfo'] === true ? { cluster: clusterInfo } : {}) },
  };
  const env = Array.isArray(exec['env']) ? (exec['env'] as { name: string; value: string }[]) : [];
  return {
    ...exec,
    command: command.includes('/') ? resolve(dirname(path), command) : command,
    args: exec['args'] ?? [],
    env: [...env, { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
  };
}

async function inTime(work: Promise<void>, kubeconfig: Kubeconfig): Promise<void> {
  const at = `kubeconfig ${kubeconfig.path}: users["${kubeconfig.user.name}"]`;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PLUGIN_MS_MAX} ms`)), PLUGIN_MS_MAX);
  });
  try {
    await Promise.race([work, late]);
  } catch (error) {
    const plugin =
      kubeconfig.user.exec === null ? 'auth-provider' : `exec "${String(kubeconfig.user.exec['command'])}"`;
    const reason = error instanceof Error ? error.message.trim() : String(error);
    throw new CredentialsError(`${at}: ${plugin} failed: ${reason}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** `exp` of a JWT in a Bearer header, in milliseconds since the epoch; 0 when there is none to be read. */
function tokenExpiryMs(authorization: string | null): number {
  const payload = authorization?.split('.')[1];
  if (payload === undefined) return 0;
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : 0;
  } catch {
    return 0;
  }
}

function textOf(pem: unknown): string | null {
  if (typeof pem === 'string') return pem;
  return pem instanceof Uint8Array ? Buffer.from(pem).toString() : null;
}
