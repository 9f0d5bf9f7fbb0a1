/** The authorities of client certificates: of users, and of proxies that speak for users. */
import { X509Certificate } from 'node:crypto';

export interface ClientAuthorities {
  /** The authority of certificates that name their user; null = no certificate does. */
  readonly users: Authority | null;
  /** The authority of proxies that name the user in headers; null = nobody may. */
  readonly proxies: ProxyAuthority | null;
}

export interface Authority {
  /** PEM, one or more certificates. */
  readonly pem: string;
  readonly certificates: readonly X509Certificate[];
}

export interface ProxyAuthority extends Authority {
  /** Common names that proxies may have; empty = any. */
  readonly allowedNames: readonly string[];
  /** In lower case, as all headers here. */
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * @param at where the text is from, for messages
 * @throws Error when the text holds no certificate, or one that cannot be read
 */
export function authorityOf(pem: string, at: string): Authority {
  const found = pem.match(CERTIFICATES) ?? [];
  if (found.length === 0) throw new Error(`${at} holds no certificate`);
  try {
    return { pem: found.join('\n'), certificates: found.map((one) => new X509Certificate(one)) };
  } catch (error) {
    throw new Error(`${at} holds a certificate that cannot be read`, { cause: error });
  }
}

/** Most certificates between a client's and its authority's. */
const STEPS_MAX = 8;

/**
 * Whether this authority has issued a certificate, directly or through certificates that the client has sent along. TLS
 * has already verified its dates, its purpose, and that one of all authorities has issued it. This tells which one.
 */
export function isFrom({ certificates }: Authority, leaf: X509Certificate): boolean {
  let current = leaf;
  for (let step = 0; step < STEPS_MAX; step++) {
    const issued = current;
    if (certificates.some((issuer) => isIssuedBy(issued, issuer))) return true;
    const next: X509Certificate | undefined = current.issuerCertificate;
    if (next === undefined || !isIssuedBy(current, next)) return false;
    current = next;
  }
  return false;
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
