import { X509Certificate } from 'node:crypto';
import type { TlsIdentity } from '../self-signed.ts';
import { readPair } from './serving-certificate.ts';

/** One `--tls-sni-cert-key`. */
export interface NamedPair {
  readonly certFile: string;
  readonly keyFile: string;
  /** Hosts, a `*` for the first label; none = those of the certificate. */
  readonly names: readonly string[];
}

/** What is served to a client that asks for one of the names (SNI). */
export interface NamedIdentity extends TlsIdentity {
  readonly names: readonly string[];
}

/** @throws Error that names the file, also for a certificate that names no host where none is given */
export function readNamed(pairs: readonly NamedPair[]): Promise<NamedIdentity[]> {
  return Promise.all(
    pairs.map(async ({ certFile, keyFile, names }) => {
      const identity = await readPair(certFile, keyFile);
      const all = names.length > 0 ? names : hostsIn(new X509Certificate(identity.cert));
      if (all.length > 0) return { ...identity, names: all };
      throw new Error(`${certFile} names no host: give names behind it, as CERT,KEY:NAME,NAME`);
    }),
  );
}

/** Clients ask for no address by SNI. */
function hostsIn({ subjectAltName = '', subject }: X509Certificate): string[] {
  const hosts = [...subjectAltName.matchAll(/DNS:([^,\s"]+)/g)].map(([, host]) => host!);
  if (subjectAltName !== '') return hosts;
  const [, name] = /^CN=([\w.*-]+)$/m.exec(subject) ?? [];
  return name === undefined ? [] : [name];
}
