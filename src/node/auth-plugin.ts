import { parseErrorText } from '../lib/parse-error.ts';
import { CredentialsError } from './credentials-error.ts';
import { createExecPlugin } from './exec-plugin.ts';
import { failureMessage } from './failure.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { createOidc } from './oidc.ts';
import type { AuthPlugin } from './plugin-credentials.ts';

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
    throw new CredentialsError(`${at}.auth-provider: "${name}" is not supported: use oidc, or exec with a command`);
  }
  return naming(`${at}: auth-provider`, createOidc(kubeconfig, msMax));
}

/** Makes errors name the plugin. They quote nothing of a text that could not be parsed. */
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
