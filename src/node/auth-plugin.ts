import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { parseErrorText } from '../lib/parse-error.ts';
import { CredentialsError } from './credentials-error.ts';
import { createExecPlugin } from './exec-plugin.ts';
import { failureMessage } from './failure.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import type { AuthPlugin, PluginCredentials } from './plugin-credentials.ts';

/** A command that hangs must not hold up the start or every later renewal. */
const PLUGIN_MS_MAX = 60_000;

/** What a kubeconfig's user has in place of credentials: an exec command, or OIDC. @throws CredentialsError */
export function createAuthPlugin(kubeconfig: Kubeconfig, msMax: number = PLUGIN_MS_MAX): AuthPlugin {
  const { path, user } = kubeconfig;
  const at = `kubeconfig ${path}: users["${user.name}"]`;
  if (user.exec !== null) {
    return naming(`${at}: exec "${String(user.exec['command'])}"`, createExecPlugin(kubeconfig, user.exec, msMax));
  }
  const name = String(user.authProvider?.['name']);
  if (name !== 'oidc') {
    throw new CredentialsError(
      `${at}.auth-provider: "${name}" is not supported, only oidc is; Kubernetes has exec for it`,
    );
  }
  return naming(`${at}: auth-provider`, createOidc(kubeconfig, msMax));
}

/** Errors that name their source and quote nothing of what could not be parsed. */
function naming(plugin: string, ask: AuthPlugin): AuthPlugin {
  return async (fresh) => {
    try {
      return await ask(fresh);
    } catch (error) {
      if (error instanceof CredentialsError) throw error;
      const reason = error instanceof SyntaxError ? `its answer is ${parseErrorText(error)}` : failureMessage(error);
      throw new CredentialsError(`${plugin} failed: ${reason}`);
    }
  };
}

/** Asks through client-node, which is imported here and only here: it costs 0.6 s of CPU and 85 MB. */
function createOidc(kubeconfig: Kubeconfig, msMax: number): AuthPlugin {
  let config: KubeConfig | undefined;
  let last: PluginCredentials | undefined;
  let askAgainAtMs = 0;

  return async (fresh) => {
    if (last !== undefined && !fresh && Date.now() < askAgainAtMs) return last;
    const options: RequestOptions = {};
    config ??= await loadConfig(kubeconfig);
    await inTime(config.applyToHTTPSOptions(options), msMax);
    const headers = (options.headers ?? {}) as Record<string, string | undefined>;
    last = { authorization: headers['Authorization'] ?? null, cert: null, key: null };
    // After its first refresh, client-node would ask the issuer for a new token each time.
    askAgainAtMs = tokenExpiryMs(last.authorization);
    return last;
  };
}

async function loadConfig({ user }: Kubeconfig): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  // Only the user matters. The real server may be plain http on loopback, which client-node refuses.
  config.loadFromClusterAndUser(
    { name: 'cluster', server: 'https://localhost', skipTLSVerify: false },
    { name: user.name, authProvider: user.authProvider ?? undefined },
  );
  return config;
}

async function inTime(work: Promise<void>, msMax: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${msMax} ms`)), msMax);
  });
  try {
    await Promise.race([work, late]);
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
