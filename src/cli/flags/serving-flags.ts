/**
 * Flags of the HTTP servers. Flags that kube-controller-manager has too have its names, defaults and meanings.
 */
import { isIP } from 'node:net';
import { nearest } from '../../lib/nearest.ts';
import type { NamedPair } from '../../node/serving/named-certificates.ts';
import { CIPHER_SUITES, CURVES, opensslCipher, TLS_VERSIONS } from '../../node/serving/tls-names.ts';
import { bool, choice, duration, integer, list, parsed, text, ValueError, type Kind } from './flag-kinds.ts';
import type { OptionsOf } from './flag-table.ts';
import { UsageError } from '../usage.ts';

export interface BindAddress {
  /** '' = all addresses. */
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** Texts, separated by commas. The flag may be repeated; '' gives no text. */
const texts: Kind<readonly string[]> = {
  ...list('<list>'),
  parse: (said) => (said === '' ? [] : said.split(',').map((one) => one.trim())),
};

/** As `texts`. An empty one is refused in kube-controller-manager's words: of a header it would mean every header. */
function filled(name: string): Kind<readonly string[]> {
  return {
    ...texts,
    parse(said) {
      const all = texts.parse(said);
      if (!all.includes('')) return all;
      throw new ValueError(`empty value in "${name}". Allowed: texts that are not empty, separated by commas.`);
    },
  };
}

const suites: Kind<readonly string[]> = {
  ...texts,
  parse(said) {
    const names = texts.parse(said);
    for (const name of names) checkSuite(name);
    return names;
  },
};

const curves: Kind<readonly number[]> = {
  ...texts,
  allowed: Array.from(CURVES, ([id, name]) => `${id} (${name})`).join(', '),
  parse: (said) => texts.parse(said).map(curveId),
};

const paths: Kind<readonly string[]> = {
  ...texts,
  parse(said) {
    const all = texts.parse(said);
    const wrong = all.find((path) => path.slice(0, -1).includes('*'));
    if (wrong === undefined) return all;
    throw new ValueError(`"${wrong}" has a * in its middle. Allowed: paths, and a * at the end of one for any rest.`);
  },
};

/** `cert,key`, or `cert,key:name,name`. */
const namedPairs: Kind<readonly NamedPair[]> = {
  placeholder: '<cert,key[:names]>',
  unit: '',
  allowed: '',
  joins: true,
  parse(said) {
    if (said === '') return [];
    const colon = said.indexOf(':');
    const trimmed = (part: string): string[] => part.split(',').map((one) => one.trim());
    const files = trimmed(colon < 0 ? said : said.slice(0, colon));
    const names = colon < 0 ? [] : trimmed(said.slice(colon + 1));
    const [certFile = '', keyFile = ''] = files;
    if (files.length === 2 && !files.includes('') && !names.includes('')) return [{ certFile, keyFile, names }];
    throw new ValueError('Allowed: CERT,KEY or CERT,KEY:NAME,NAME, two files and the hosts that they are for.');
  },
};

export const SERVING = {
  'secure-port': {
    kind: integer(0, 65_535),
    default: '10267',
    help: 'port of HTTPS for metrics, health and all other pages; 0 turns it off',
  },
  'bind-address': {
    kind: parsed('<ip>', bindIp),
    default: '0.0.0.0',
    help: 'address of --secure-port; 0.0.0.0 and :: are all addresses of both families',
  },
  'tls-cert-file': {
    kind: text('<path>'),
    default: '',
    help: 'certificate to serve with, followed by the intermediate certificates; read again when it changes',
  },
  'tls-private-key-file': {
    kind: text('<path>'),
    default: '',
    help: 'private key of --tls-cert-file; read again when it changes',
  },
  'tls-sni-cert-key': {
    kind: namedPairs,
    default: '',
    help: 'certificate and key for clients that ask for one of these names (SNI), or that ask for no name at one of these addresses; without names, those in the certificate count; may be repeated: whole names come before *.NAME, given names before those in certificates, earlier flags before later ones; both files are read again when they change',
  },
  'cert-dir': {
    kind: text('<path>'),
    default: '',
    help: 'directory to keep a self-signed certificate in, as endpointd.crt and endpointd.key, which is made anew in the last twentieth of its year; without this flag and --tls-cert-file, each start makes a new certificate',
  },
  'tls-min-version': {
    kind: choice('<version>', ['', ...Object.keys(TLS_VERSIONS)]),
    default: '',
    help: 'oldest version of TLS to serve; VersionTLS12 and older ones mean 1.2',
  },
  'tls-cipher-suites': {
    kind: suites,
    default: '',
    help: "cipher suites of TLS 1.2, by Go's names; without it, Node.js's choice; the suites of TLS 1.3 are always on",
  },
  'tls-curve-preferences': {
    kind: curves,
    default: '',
    help: "key exchanges, by the numbers of Go's CurveIDs, in any order; without it, Node.js's choice",
  },
  'client-ca-file': {
    kind: text('<path>'),
    default: '',
    help: 'authorities whose client certificates name a user (CN) and groups (O); without it, the authorities that the API server publishes; read again when it changes',
  },
  'authentication-kubeconfig': {
    kind: text('<path>'),
    default: '',
    help: 'kubeconfig for TokenReviews, and for reading the authorities that the API server publishes; without it, the same credentials as for everything else',
  },
  'authentication-skip-lookup': {
    kind: bool,
    default: 'false',
    help: 'do not read the authorities of clients from the API server',
  },
  'authentication-tolerate-lookup-failure': {
    kind: bool,
    default: 'false',
    help: 'log a warning, not an error, when the authorities of clients cannot be read; in both cases they are read again later',
  },
  'authentication-token-webhook-cache-ttl': {
    kind: duration(0),
    default: '10s',
    help: 'how long the answer to a TokenReview holds',
  },
  'authorization-kubeconfig': {
    kind: text('<path>'),
    default: '',
    help: 'kubeconfig for SubjectAccessReviews; without it, the same credentials as for everything else',
  },
  'authorization-always-allow-paths': {
    kind: paths,
    default: '/healthz,/readyz,/livez',
    help: 'paths that everybody may read, without a question to the API server; a * at the end stands for any rest',
  },
  'authorization-webhook-cache-authorized-ttl': {
    kind: duration(0),
    default: '10s',
    help: 'how long a yes to a SubjectAccessReview holds',
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    kind: duration(0),
    default: '10s',
    help: 'how long a no to a SubjectAccessReview holds',
  },
  'requestheader-client-ca-file': {
    kind: text('<path>'),
    default: '',
    help: 'authorities of proxies that name the user in headers; without it, the authorities that the API server publishes',
  },
  'requestheader-allowed-names': {
    kind: filled('requestheader-allowed-names'),
    default: '',
    help: 'names (CN) that certificates of these proxies may have; none = any name',
  },
  'requestheader-username-headers': {
    kind: filled('requestheader-username-headers'),
    default: 'x-remote-user',
    help: 'headers with the name of the user',
  },
  'requestheader-uid-headers': {
    kind: filled('requestheader-uid-headers'),
    default: '',
    help: 'headers with the UID of the user',
  },
  'requestheader-group-headers': {
    kind: filled('requestheader-group-headers'),
    default: 'x-remote-group',
    help: 'headers with groups of the user',
  },
  'requestheader-extra-headers-prefix': {
    kind: filled('requestheader-extra-headers-prefix'),
    default: 'x-remote-extra-',
    help: 'prefix of headers that tell more of the user',
  },
  'disable-http2-serving': { kind: bool, default: 'false', help: 'no effect: HTTP/2 is never served' },
  'http2-max-streams-per-connection': {
    kind: integer(0, 2 ** 31 - 1),
    default: '0',
    help: 'no effect: HTTP/2 is never served, and a connection takes one request',
  },
  profiling: {
    kind: bool,
    default: 'true',
    help: 'serve CPU and heap profiles at /debug/pprof/profile and /debug/pprof/heap',
  },
  'metrics-bind-address': {
    kind: parsed('<host:port>', bindAddress),
    default: '0',
    help: "address of plain HTTP beside --secure-port: /metrics, which names the Services that are stuck, and health for everybody, all other pages for programs on this machine; '0' turns it off",
  },
} as const;

export type ServingFlags = OptionsOf<typeof SERVING>;

/** Checks flags that depend on each other. @throws UsageError */
export function checkServing({ tlsCertFile, tlsPrivateKeyFile }: ServingFlags): void {
  if ((tlsCertFile === '') !== (tlsPrivateKeyFile === '')) {
    throw new UsageError('--tls-cert-file and --tls-private-key-file must be given together');
  }
}

/**
 * Whether a kubeconfig for the questions of serving gives the credentials of everything else. The flags of
 * kube-controller-manager often name one file three times. --master may name another server than that file.
 */
export function isOwnKubeconfig(
  path: string,
  { kubeconfig, master }: { readonly kubeconfig: string; readonly master: string },
): boolean {
  return path === '' || (path === kubeconfig && master === '');
}

/** `host:port`, `:port`, `[v6]:port`; `0` = off. */
function bindAddress(said: string): BindAddress | 'off' {
  if (said === '0' || said === '') return 'off';
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(said);
  const port = match === null ? Number.NaN : Number(match[3]);
  if (match !== null && port <= 65_535) return { host: allIfUnspecified(match[1] ?? match[2] ?? ''), port };
  throw new ValueError('Allowed: host:port, [IPv6]:port, :port for all addresses, or 0 for none.');
}

/** '' = all addresses. */
function bindIp(said: string): string {
  const host = allIfUnspecified(said);
  if (host === '' || isIP(host) !== 0) return host;
  throw new ValueError('Allowed: an IP address, such as 127.0.0.1 or 0.0.0.0.');
}

/** As Go, which takes the unspecified address of either family for all addresses of both. */
function allIfUnspecified(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '' : host;
}

function checkSuite(name: string): void {
  if (!CIPHER_SUITES.includes(name)) {
    const other = nearest(name, CIPHER_SUITES);
    const hint = other === null ? 'such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256' : `the nearest is ${other}`;
    throw new ValueError(`"${name}" is no cipher suite. Allowed: Go's names of suites; ${hint}.`);
  }
  if (opensslCipher(name) === null) throw new ValueError(`"${name}" is too weak: Node.js no longer has it.`);
}

/** Go reads 0x1d too. */
function curveId(said: string): number {
  const id = Number(said);
  if (CURVES.has(id)) return id;
  throw new ValueError(`"${said}" is no key exchange that is known here. Allowed: ${curves.allowed}.`);
}
