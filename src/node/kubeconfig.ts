import { dirname, resolve } from 'node:path';
import { parseErrorText } from '../lib/parse-error.ts';
import { CredentialsError } from './credentials-error.ts';

/** A context of a kubeconfig with its cluster and user resolved; empty text = field absent. */
export interface Kubeconfig {
  /** Path it was read from, for messages. */
  readonly path: string;
  /** The name of the context. */
  readonly context: string;
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
}

export interface KubeconfigCluster {
  readonly server: string;
  readonly tlsServerName: string;
  readonly insecureSkipTlsVerify: boolean;
  readonly caFile: string;
  /** Base64 of PEM. */
  readonly caData: string;
  readonly proxyUrl: string;
  /** The extension for exec commands, handed on as it is; undefined = absent. */
  readonly execConfig: unknown;
}

export interface KubeconfigUser {
  readonly name: string;
  readonly certFile: string;
  readonly certData: string;
  readonly keyFile: string;
  readonly keyData: string;
  readonly token: string;
  readonly tokenFile: string;
  readonly username: string;
  readonly password: string;
  readonly as: string;
  readonly asUid: string;
  readonly asGroups: readonly string[];
  readonly asUserExtra: Readonly<Record<string, readonly string[]>>;
  /** As in the file; null = absent. */
  readonly exec: Record<string, unknown> | null;
  readonly authProvider: Record<string, unknown> | null;
}

/**
 * Reads the text of a kubeconfig (docs/spec/wire.md "kubeconfig"). JSON is read without loading the YAML parser, which
 * costs 14 ms. Relative paths in it are resolved against its own directory.
 * @param preferred the context that is read if the file has it, in place of the current one
 * @throws CredentialsError
 */
export async function parseKubeconfig(path: string, text: string, preferred = ''): Promise<Kubeconfig> {
  const file = `kubeconfig ${path}`;
  const root = mapping(await parseText(file, text), file);
  const current = string(root, 'current-context', file);
  const contextName = entryOf(root, 'contexts', preferred) === undefined ? current : preferred;
  if (contextName === '') throw new CredentialsError(`${file}: current-context is not set`);
  const contextAt = `${file}: contexts["${contextName}"]`;
  const context = named(root, 'contexts', contextName, 'context', `${file}: current-context`);
  const clusterName = string(context, 'cluster', contextAt);
  const cluster = named(root, 'clusters', clusterName, 'cluster', `${contextAt}.cluster`);
  const userName = string(context, 'user', contextAt);
  const user = userName === '' ? {} : named(root, 'users', userName, 'user', `${contextAt}.user`);
  const clusterAt = `${file}: clusters["${clusterName}"]`;
  const userAt = `${file}: users["${userName}"]`;
  const fileOf = (from: Mapping, field: string, at: string): string => {
    const value = string(from, field, at);
    return value === '' ? '' : resolve(dirname(path), value);
  };
  return {
    path,
    context: contextName,
    cluster: {
      server: string(cluster, 'server', clusterAt),
      tlsServerName: string(cluster, 'tls-server-name', clusterAt),
      insecureSkipTlsVerify: cluster['insecure-skip-tls-verify'] === true,
      caFile: fileOf(cluster, 'certificate-authority', clusterAt),
      caData: string(cluster, 'certificate-authority-data', clusterAt),
      proxyUrl: string(cluster, 'proxy-url', clusterAt),
      execConfig: extension(cluster, 'client.authentication.k8s.io/exec'),
    },
    user: {
      name: userName,
      certFile: fileOf(user, 'client-certificate', userAt),
      certData: string(user, 'client-certificate-data', userAt),
      keyFile: fileOf(user, 'client-key', userAt),
      keyData: string(user, 'client-key-data', userAt),
      token: string(user, 'token', userAt),
      tokenFile: fileOf(user, 'tokenFile', userAt),
      username: string(user, 'username', userAt),
      password: string(user, 'password', userAt),
      as: string(user, 'as', userAt),
      asUid: string(user, 'as-uid', userAt),
      asGroups: strings(user['as-groups'], `${userAt}.as-groups`),
      asUserExtra: extras(user['as-user-extra'], `${userAt}.as-user-extra`),
      exec: optionalMapping(user, 'exec', userAt),
      authProvider: optionalMapping(user, 'auth-provider', userAt),
    },
  };
}

const NAMES_SHOWN = 10;

type Mapping = Record<string, unknown>;

async function parseText(file: string, text: string): Promise<unknown> {
  if (text.trimStart().startsWith('{')) {
    try {
      return JSON.parse(text);
    } catch {
      // YAML may begin with a brace too. If it is wrong, its parser tells where.
    }
  }
  const { load } = await import('js-yaml');
  try {
    return load(text);
  } catch (error) {
    throw new CredentialsError(`${file}: ${parseErrorText(error)}`);
  }
}

function mapping(value: unknown, at: string): Mapping {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Mapping;
  throw new CredentialsError(`${at}: must be a mapping`);
}

function optionalMapping(from: Mapping, field: string, at: string): Mapping | null {
  const value = from[field];
  return value === undefined || value === null ? null : mapping(value, `${at}.${field}`);
}

function string(from: Mapping, field: string, at: string): string {
  const value = from[field];
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw new CredentialsError(`${at}.${field}: must be a string`);
}

function strings(value: unknown, at: string): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new CredentialsError(`${at}: must be a list of strings`);
}

function extras(value: unknown, at: string): Record<string, string[]> {
  if (value === undefined || value === null) return {};
  return Object.fromEntries(
    Object.entries(mapping(value, at)).map(([key, list]) => [key, strings(list, `${at}.${key}`)]),
  );
}

function extension(cluster: Mapping, name: string): unknown {
  const entries = cluster['extensions'];
  if (!Array.isArray(entries)) return undefined;
  return (entries as (Mapping | null)[]).find((entry) => entry?.['name'] === name)?.['extension'];
}

/** `contexts`, `clusters` and `users` are lists of {name, <kind>: {...}}; of equal names the first wins. */
function named(root: Mapping, list: string, name: string, kind: string, at: string): Mapping {
  const entries = root[list];
  const found = entryOf(root, list, name);
  if (found === undefined) {
    const there = Array.isArray(entries) ? entries.map((entry: Mapping | null) => String(entry?.['name'])) : [];
    const known = there.length === 0 ? 'there are none' : `there are: ${there.slice(0, NAMES_SHOWN).join(', ')}`;
    throw new CredentialsError(`${at}: "${name}" is not among ${list} (${known})`);
  }
  const value = found[kind];
  return value === null || value === undefined ? {} : mapping(value, `${list}["${name}"].${kind}`);
}

/** undefined = there is none of that name. */
function entryOf(root: Mapping, list: string, name: string): Mapping | undefined {
  const entries = root[list];
  if (!Array.isArray(entries)) return undefined;
  return (entries as (Mapping | null)[]).find((entry) => entry?.['name'] === name) ?? undefined;
}
