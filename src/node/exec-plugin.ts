import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { CredentialsError } from './credentials-error.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { AuthPlugin, PluginCredentials } from './plugin-credentials.ts';
import { runCommand, type Command } from './run-command.ts';

const GROUP = 'client.authentication.k8s.io';
const API_VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

/**
 * The credentials that a kubeconfig's command prints (an ExecCredential). As in client-go, the command runs once while
 * the credentials are valid, and again with `fresh`. A command that takes longer than `msMax` is killed.
 */
export function createExecPlugin(
  kubeconfig: Kubeconfig,
  exec: Readonly<Record<string, unknown>>,
  msMax: number,
): AuthPlugin {
  const apiVersion = checkedApiVersion(exec, `kubeconfig ${kubeconfig.path}: exec`);
  let last: ExecCredentials | undefined;

  const renew = oneAtATime(async () => {
    const command = await commandOf(kubeconfig, exec, apiVersion, msMax);
    last = credentialsOf(await runCommand(command), apiVersion);
    return last.credentials;
  });

  return async (fresh) => {
    if (last !== undefined && !fresh && Date.now() < last.expiresAtMs) return last.credentials;
    return await renew();
  };
}

/** @throws CredentialsError also for a command that needs a terminal */
function checkedApiVersion(exec: Readonly<Record<string, unknown>>, at: string): string {
  const apiVersion = String(exec['apiVersion']);
  if (!API_VERSIONS.includes(apiVersion)) {
    throw new CredentialsError(`${at}.apiVersion: must be ${API_VERSIONS.join(' or ')}`);
  }
  if (exec['interactiveMode'] === 'Always') {
    throw new CredentialsError(`${at}.interactiveMode: is Always, but there is no terminal here`);
  }
  return apiVersion;
}

async function commandOf(
  { path: file, cluster }: Kubeconfig,
  exec: Readonly<Record<string, unknown>>,
  apiVersion: string,
  msMax: number,
): Promise<Command> {
  const at = `kubeconfig ${file}: exec`;
  const { command, args, env } = exec;
  if (typeof command !== 'string' || command === '') throw new CredentialsError(`${at}.command is not set`);
  const spec = {
    interactive: false,
    ...(exec['provideClusterInfo'] === true ? { cluster: await clusterInfo(cluster) } : {}),
  };
  return {
    path: command.includes('/') ? resolve(dirname(file), command) : command,
    args: listOf(args, isText, `${at}.args: must be a list of strings`),
    env: {
      ...process.env,
      ...Object.fromEntries(
        listOf(env, isVariable, `${at}.env: must be a list of names and values`).map(({ name, value }) => [
          name,
          value,
        ]),
      ),
      KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion, kind: 'ExecCredential', spec }),
    },
    msMax,
  };
}

function listOf<T>(value: unknown, isItem: (item: unknown) => item is T, message: string): readonly T[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every(isItem)) return value;
  throw new CredentialsError(message);
}

function isText(item: unknown): item is string {
  return typeof item === 'string';
}

function isVariable(item: unknown): item is { readonly name: string; readonly value: string } {
  const { name, value } = (item ?? {}) as Record<string, unknown>;
  return typeof name === 'string' && typeof value === 'string';
}

/** Fields that are not set are left out. */
async function clusterInfo(cluster: Kubeconfig['cluster']): Promise<Record<string, unknown>> {
  const ca = cluster.caFile === '' ? '' : await readFile(cluster.caFile, 'base64');
  return {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName || undefined,
    'insecure-skip-tls-verify': cluster.insecureSkipTlsVerify || undefined,
    'certificate-authority-data': cluster.caData || ca || undefined,
    'proxy-url': cluster.proxyUrl || undefined,
    config: cluster.execConfig,
  };
}

interface ExecCredentials {
  readonly credentials: PluginCredentials;
  /** Infinity = the command has not told. */
  readonly expiresAtMs: number;
}

/** @throws SyntaxError, whose message quotes the output; other errors do not */
function credentialsOf(output: string, apiVersion: string): ExecCredentials {
  const answer = JSON.parse(output) as Answer | null;
  if (answer?.kind !== 'ExecCredential') throw new Error('its answer is no ExecCredential');
  if (answer.apiVersion !== apiVersion) throw new Error(`its answer is of another version than ${apiVersion}`);
  const status = answer.status ?? {};
  const token = text(status, 'token');
  const cert = text(status, 'clientCertificateData');
  const key = text(status, 'clientKeyData');
  if (token === null && cert === null && key === null)
    throw new Error('its answer holds neither token nor certificate');
  if ((cert === null) !== (key === null)) throw new Error('its answer holds a certificate or a key without the other');
  const expires = text(status, 'expirationTimestamp');
  const expiresAtMs = expires === null ? Infinity : Date.parse(expires);
  if (Number.isNaN(expiresAtMs)) throw new Error('status.expirationTimestamp of its answer is no time');
  if (token !== null && /[^!-~]/.test(token))
    throw new Error('status.token of its answer holds characters that no token has');
  return { credentials: { authorization: token === null ? null : `Bearer ${token}`, cert, key }, expiresAtMs };
}

interface Answer {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: Readonly<Record<string, unknown>> | null;
}

/** null = not set. */
function text(status: Readonly<Record<string, unknown>>, field: string): string | null {
  const value = status[field] ?? '';
  if (typeof value !== 'string') throw new Error(`status.${field} of its answer is no string`);
  return value === '' ? null : value;
}
