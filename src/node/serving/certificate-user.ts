/** The user who asks, by the client's certificate. */
import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isFrom, type ClientAuthorities, type ProxyAuthority } from './client-authorities.ts';
import type { Question } from './gate.ts';
import type { User } from './user.ts';

/**
 * The user that the client's certificate names, or that a proxy names beside its own certificate. null = there is no
 * certificate, or it names nobody. `refused` = no authority of users has issued it.
 */
export function certificateUser({ request, peer }: Question, authorities: ClientAuthorities): User | 'refused' | null {
  const { certificate, isVerified } = peer;
  const { users, proxies } = authorities;
  if (certificate === null) return null;
  const proxied = isVerified && proxies !== null ? proxiedUser(request, certificate, proxies) : null;
  if (proxied !== null) return proxied;
  if (users === null) return null;
  if (!isVerified || !isFrom(users, certificate)) return 'refused';
  const { name, organizations } = subjectOf(certificate);
  if (name === '') return null;
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
  return { username: name, uid: '', groups: organizations, extra };
}

function proxiedUser(request: IncomingMessage, certificate: X509Certificate, proxies: ProxyAuthority): User | null {
  const { allowedNames, usernameHeaders, uidHeaders, groupHeaders, extraPrefixes } = proxies;
  if (!isFrom(proxies, certificate)) return null;
  if (allowedNames.length > 0 && !allowedNames.includes(subjectOf(certificate).name)) return null;
  const headers = request.headersDistinct;
  const username = first(headers, usernameHeaders);
  if (username === '') return null;
  const extra = new Map<string, readonly string[]>();
  for (const [name, values = []] of Object.entries(headers)) {
    const prefix = extraPrefixes.find((one) => name.startsWith(one));
    if (prefix === undefined) continue;
    const key = decoded(name.slice(prefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...values]);
  }
  const groups = groupHeaders.flatMap((name) => headers[name] ?? []);
  return { username, uid: first(headers, uidHeaders), groups, extra: Object.fromEntries(extra) };
}

/** The value of the first of these headers that is not empty; '' = none. */
function first(headers: IncomingMessage['headersDistinct'], names: readonly string[]): string {
  for (const name of names) {
    const value = headers[name]?.[0] ?? '';
    if (value !== '') return value;
  }
  return '';
}

/** The text as it is, if it is no percent-encoding. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface Subject {
  /** The common name, of several the last; '' = none. */
  readonly name: string;
  readonly organizations: readonly string[];
}

function subjectOf(certificate: X509Certificate): Subject {
  const { subject } = certificate.toLegacyObject() as { subject?: Readonly<Record<string, string | string[]>> };
  return { name: [subject?.['CN'] ?? []].flat().at(-1) ?? '', organizations: [subject?.['O'] ?? []].flat() };
}
