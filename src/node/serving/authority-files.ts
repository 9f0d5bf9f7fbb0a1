/** Reads the authorities of client certificates from files, and from what kube-apiserver publishes of its own. */
import { readFile } from 'node:fs/promises';
import type { Asker } from '../asker.ts';
import { authorityOf, type Authority, type ProxyAuthority } from './client-authorities.ts';

/** The `--requestheader-*` flags; '' as the file = none. */
export interface ProxyFlags {
  readonly clientCaFile: string;
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

/** @throws Error that names the flag and the file */
export async function readAuthority(flag: string, path: string): Promise<Authority> {
  let pem: string;
  try {
    pem = await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`--${flag}=${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`, { cause: error });
  }
  return authorityOf(pem, `--${flag}=${path}`);
}

/** @throws Error that names the flag and the file */
export async function readProxyAuthority(flags: ProxyFlags): Promise<ProxyAuthority> {
  return {
    ...(await readAuthority('requestheader-client-ca-file', flags.clientCaFile)),
    allowedNames: flags.allowedNames,
    usernameHeaders: flags.usernameHeaders.map(lowerCase),
    uidHeaders: flags.uidHeaders.map(lowerCase),
    groupHeaders: flags.groupHeaders.map(lowerCase),
    extraPrefixes: flags.extraPrefixes.map(lowerCase),
  };
}

export const PUBLISHED = 'ConfigMap kube-system/extension-apiserver-authentication';
const PUBLISHED_PATH = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';

export interface Published {
  readonly users: Authority | null;
  readonly proxies: ProxyAuthority | null;
}

/**
 * Reads the authorities that kube-apiserver publishes.
 * @throws Error when the ConfigMap cannot be read, or its content cannot be understood
 */
export async function lookUpPublished(ask: Asker): Promise<Published> {
  const reply = await ask({ method: 'GET', path: PUBLISHED_PATH, accept: 'application/json' });
  if (reply.type === 'failure') throw new Error(reply.message);
  const body = JSON.parse(Buffer.from(reply.body).toString()) as { message?: string; data?: Record<string, string> };
  if (reply.status !== 200) throw new Error(body.message ?? `status ${reply.status}`);
  return publishedOf(body.data ?? {});
}

function publishedOf(data: Readonly<Record<string, string | undefined>>): Published {
  const users = data['client-ca-file'] ?? '';
  const proxies = data['requestheader-client-ca-file'] ?? '';
  const names = (key: string): string[] => listOf(data[key] ?? '', key);
  return {
    users: users === '' ? null : authorityOf(users, `client-ca-file of ${PUBLISHED}`),
    proxies:
      proxies === ''
        ? null
        : {
            ...authorityOf(proxies, `requestheader-client-ca-file of ${PUBLISHED}`),
            allowedNames: names('requestheader-allowed-names'),
            usernameHeaders: names('requestheader-username-headers').map(lowerCase),
            uidHeaders: names('requestheader-uid-headers').map(lowerCase),
            groupHeaders: names('requestheader-group-headers').map(lowerCase),
            extraPrefixes: names('requestheader-extra-headers-prefix').map(lowerCase),
          },
  };
}

/** A JSON list of texts. */
function listOf(text: string, key: string): string[] {
  if (text === '') return [];
  const value: unknown = JSON.parse(text);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new Error(`${key} of ${PUBLISHED} is no list of texts`);
}

function lowerCase(text: string): string {
  return text.toLowerCase();
}
