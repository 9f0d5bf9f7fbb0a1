/** TLS versions, cipher suites and key exchanges by the names that Go has for them, and Kubernetes' flags with it. */
import { getCiphers } from 'node:tls';

/** Versions below TLS 1.2 are not served: a lower minimum means 1.2. */
export const TLS_VERSIONS: Readonly<Record<string, 'TLSv1.2' | 'TLSv1.3'>> = {
  VersionTLS10: 'TLSv1.2',
  VersionTLS11: 'TLSv1.2',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** The suites of TLS 1.3. As in Go, no flag turns them off. */
const TLS13_SUITES: readonly string[] = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
];

/** The suites of TLS 1.2, with OpenSSL's names. */
const TLS12_SUITES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_RC4_128_SHA: 'ECDHE-ECDSA-RC4-SHA',
  TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA: 'ECDHE-RSA-DES-CBC3-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_RC4_128_SHA: 'ECDHE-RSA-RC4-SHA',
  TLS_RSA_WITH_3DES_EDE_CBC_SHA: 'DES-CBC3-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_RSA_WITH_RC4_128_SHA: 'RC4-SHA',
};

/** Every name that Go knows. */
export const CIPHER_SUITES: readonly string[] = [...TLS13_SUITES, ...Object.keys(TLS12_SUITES)];

/** OpenSSL's name for a suite; null = Node.js does not have the suite any more. */
export function opensslCipher(suite: string): string | null {
  const name = TLS12_SUITES[suite] ?? suite;
  return getCiphers().includes(name.toLowerCase()) ? name : null;
}

/** OpenSSL's list of ciphers for these suites; '' = Node.js's default. */
export function opensslCiphers(suites: readonly string[]): string {
  if (suites.length === 0) return '';
  const named = suites.map((suite) => opensslCipher(suite) ?? '').filter((name) => name !== '');
  return [...new Set([...TLS13_SUITES, ...named])].join(':');
}

/** OpenSSL's names of key exchanges by Go's CurveIDs. Those that are preferred come first. */
export const CURVES: ReadonlyMap<number, string> = new Map([
  [4588, 'X25519MLKEM768'],
  [4587, 'SecP256r1MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
  [29, 'X25519'],
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
]);

/** OpenSSL's list of these key exchanges, whose order does not count, as in Go; '' = Node.js's default. */
export function opensslCurves(ids: readonly number[]): string {
  return [...CURVES]
    .filter(([id]) => ids.includes(id))
    .map(([, name]) => name)
    .join(':');
}
