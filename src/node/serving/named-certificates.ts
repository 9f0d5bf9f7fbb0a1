import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { TlsIdentity } from '../self-signed.ts';
import { readPair } from './serving-certificate.ts';

/** One `--tls-sni-cert-key`. */
export interface NamedPair {
  readonly certFile: string;
  readonly keyFile: string;
  /** Hosts and addresses. The first label of a host may be `*`. None = the hosts of the certificate. */
  readonly names: readonly string[];
}

/** What is served to a client that asks for one of the names (SNI). */
export interface NamedIdentity extends TlsIdentity {
  readonly names: readonly string[];
  /** Whether the flag gives the names. Else they are the certificate's. */
  readonly areGiven: boolean;
}

/** @throws Error that names the file, also if neither the flag nor the certificate names a host */
export function readNamed(pairs: readonly NamedPair[]): Promise<NamedIdentity[]> {
  return Promise.all(
    pairs.map(async ({ certFile, keyFile, names: given }) => {
      const identity = await readPair(certFile, keyFile);
      const areGiven = given.length > 0;
      const names = areGiven ? given : hostsIn(new X509Certificate(identity.cert));
      if (names.length > 0) return { ...identity, names, areGiven };
      throw new Error(`${certFile} names no host: give names behind it, as CERT,KEY:NAME,NAME`);
    }),
  );
}

/**
 * Identities by name, in lower case. If several have a name, one whose flag gives it goes before one whose certificate
 * has it. Then the first flag counts.
 */
export function byName(named: readonly NamedIdentity[]): ReadonlyMap<string, NamedIdentity> {
  const inOrder = [...named.filter(({ areGiven }) => areGiven), ...named.filter(({ areGiven }) => !areGiven)];
  const entries = inOrder.flatMap((identity) => identity.names.map((name) => [name.toLowerCase(), identity] as const));
  // A map keeps the last of several entries for a name.
  return new Map(entries.toReversed());
}

/**
 * Chooses the identity for a client that asks for a host. The whole name goes before a name with `*` as its first
 * label. If no name fits, it is the first identity whose certificate is valid for the host, `other` before the named
 * ones; else it is `other`. Upstream chooses the same, except that chance decides between several valid ones.
 */
export function chooserOf(other: TlsIdentity, named: readonly NamedIdentity[]): (host: string) => TlsIdentity {
  const names = byName(named);
  const all = [other, ...named].map((identity) => ({ identity, certificate: new X509Certificate(identity.cert) }));
  return (host) => {
    const name = host.toLowerCase();
    const asked = names.get(name) ?? names.get(name.replace(/^[^.]*/, '*'));
    if (asked !== undefined) return asked;
    const valid = all.find(({ certificate }) => certificate.checkHost(name, { subject: 'never' }) !== undefined);
    return valid?.identity ?? other;
  };
}

/**
 * The hosts of a certificate. The common name counts too, as upstream. Addresses do not, because clients cannot ask for
 * one by SNI.
 */
function hostsIn({ subjectAltName = '', subject }: X509Certificate): string[] {
  const commonName = /^CN=(.+)$/m.exec(subject)?.[1] ?? '';
  const hosts = [...subjectAltName.matchAll(/DNS:([^,\s"]+)/g)].map(([, host]) => host!);
  return isIP(commonName) === 0 && HOST.test(commonName) ? [commonName, ...hosts] : hosts;
}

/** A DNS subdomain (RFC 1123), also with a `*` for its first label. */
const HOST = /^(\*|(\*\.)?[a-z\d]([a-z\d.-]*[a-z\d])?)$/;
