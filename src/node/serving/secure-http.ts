import type { Asker } from '../asker.ts';
import type { MetricStore } from '../../metrics/store.ts';
import { watchLife, type LifeNames } from '../certificate-life.ts';
import type { LogLine } from '../log.ts';
import type { TlsIdentity } from '../self-signed.ts';
import {
  lookUpPublished,
  PUBLISHED,
  readAuthority,
  readProxyAuthority,
  type ProxyFlags,
  type Published,
} from './authority-files.ts';
import type { ClientAuthorities } from './client-authorities.ts';
import { delegatedGate, type DelegatedGateConfig } from './delegated-gate.ts';
import { createHandshakes, type Handshakes, type TlsSettings } from './handshakes.ts';
import { startHttp, type HttpConfig, type HttpServer } from './http.ts';
import { readNamed, type NamedIdentity, type NamedPair } from './named-certificates.ts';
import { startReread, type Reread } from './reread.ts';
import { certificateReader, type CertificateReader, type CertificateSource } from './serving-certificate.ts';

export interface SecureHttpConfig
  extends
    Omit<HttpConfig, 'handshakes' | 'gate'>,
    Omit<DelegatedGateConfig, 'authorities'>,
    Omit<CertificateSource, 'host'>,
    Pick<TlsSettings, 'minVersion' | 'ciphers' | 'curves'> {
  /** `--tls-sni-cert-key`. */
  readonly named: readonly NamedPair[];
  /** `--client-ca-file`; '' = the authority that kube-apiserver publishes. */
  readonly clientCaFile: string;
  /** With `clientCaFile` '' those that kube-apiserver publishes. */
  readonly proxies: ProxyFlags;
  /** Asks the API server for the published authorities; null = they are not looked up. */
  readonly lookUp: Asker | null;
  /** Whether a failed look-up is logged as an error; else as a warning. */
  readonly lookUpMatters: boolean;
  /** Most handshakes that begin in a second; default as `createHandshakes`. */
  readonly handshakesPerSecond?: number;
  readonly metrics: MetricStore;
  /** How often files are read again; default 10 s. */
  readonly filesEveryMs?: number;
}

const FILES_EVERY_MS = 10_000;
const LOOK_UP_EVERY_MS = 30_000;

/** Clients refuse a certificate whose dates are wrong, so the operator should hear of it here. */
const LIFE: LifeNames = {
  expiration: 'endpointd_serving_certificate_expiration_timestamp_seconds',
  lifetime: 'endpointd_serving_certificate_lifetime_seconds',
  warningOf({ name, isLong }) {
    if (name === 'soon') return isLong ? 'Serving certificate ends soon: renew it' : null;
    return name === 'valid' ? null : 'Serving certificate is not valid today';
  },
};

interface Known {
  identity: TlsIdentity;
  named: readonly NamedIdentity[];
  given: ClientAuthorities;
  published: Published;
}

/**
 * Serves pages with TLS to clients that the API server allows. Certificate, key and authorities are read again while it
 * runs; open connections go on as they are. If no authorities are published, or they cannot be read, serving goes on,
 * and certificates of clients prove nothing meanwhile.
 * @throws Error when a file cannot be used, or the address cannot be listened on
 */
export async function startSecureHttp(config: SecureHttpConfig): Promise<HttpServer> {
  const certificate = certificateReader(config);
  const known: Known = {
    identity: await certificate.read(),
    named: await readNamed(config.named),
    given: await readGiven(config),
    published: { users: null, proxies: null },
  };
  const life = watchLife({ metrics: config.metrics, log: config.log, wallMs: () => Date.now() }, LIFE);
  const lookAtDates = (): void => life(known.identity.cert);
  lookAtDates();
  const handshakes = createHandshakes(settingsOf(config, known), config.handshakesPerSecond);
  const { host, port, pages, onAcceptError, onPageError } = config;
  const gate = delegatedGate({ ...config, authorities: () => authoritiesOf(known) });
  const http = await startHttp({ host, port, pages, onAcceptError, onPageError, handshakes, gate });
  const rereads = startRereads(config, certificate, lookAtDates, learner(config, known, handshakes));
  return {
    address: http.address,
    async close() {
      for (const reread of rereads) reread.stop();
      await http.close();
    },
  };
}

/** Takes what has changed into use. Throws, and takes nothing, if TLS cannot use it. */
type Learn = (changed: Partial<Known>, message: string) => void;

function learner(config: SecureHttpConfig, known: Known, handshakes: Handshakes): Learn {
  let inUse = JSON.stringify(settingsOf(config, known));
  return (changed, message) => {
    const next = { ...known, ...changed };
    const settings = settingsOf(config, next);
    const wanted = JSON.stringify(settings);
    if (wanted !== inUse) {
      handshakes.use(settings);
      inUse = wanted;
      config.log({ level: 'info', v: 0, message, fields: {} });
    }
    Object.assign(known, next);
  };
}

function startRereads(
  config: SecureHttpConfig,
  certificate: CertificateReader,
  lookAtDates: () => void,
  learn: Learn,
): Reread[] {
  const { log, lookUp, named, clientCaFile, proxies, filesEveryMs = FILES_EVERY_MS } = config;
  const failing = (message: string, level: LogLine['level'] = 'error') => {
    return (err: string): void => log({ level, v: 0, message, fields: { err } });
  };
  const rereads = [
    startReread({
      everyMs: config.certFile === '' ? certificate.everyMs : filesEveryMs,
      read() {
        // Of the one in use, which stays in use when the files cannot be read.
        lookAtDates();
        return certificate.read();
      },
      take: (identity) => learn({ identity }, 'Serving certificate changed, new connections use it'),
      failed: failing('Cannot read the serving certificate again, going on with the last one'),
    }),
  ];
  if (named.length > 0) {
    const pairs = startReread({
      everyMs: filesEveryMs,
      read: () => readNamed(named),
      take: (identities) => learn({ named: identities }, 'Certificates by name changed, new connections use them'),
      failed: failing('Cannot read the certificates by name again, going on with the last ones'),
    });
    rereads.push(pairs);
  }
  if (clientCaFile !== '' || proxies.clientCaFile !== '') {
    const files = startReread({
      everyMs: filesEveryMs,
      read: () => readGiven(config),
      take: (given) => learn({ given }, 'Authorities of clients changed, new connections use them'),
      failed: failing('Cannot read the authorities of clients again, going on with the last ones'),
    });
    rereads.push(files);
  }
  if (lookUp !== null && (clientCaFile === '' || proxies.clientCaFile === '')) {
    const look = startReread({
      everyMs: LOOK_UP_EVERY_MS,
      read: () => lookUpPublished(lookUp),
      take: (published) => learn({ published }, 'Authorities of clients are those that the API server publishes'),
      failed: failing(
        `Cannot read ${PUBLISHED}, going on with what is known`,
        config.lookUpMatters ? 'error' : 'warning',
      ),
    });
    rereads.push(look);
    void look.now();
  }
  return rereads;
}

function authoritiesOf({ given, published }: Known): ClientAuthorities {
  return { users: given.users ?? published.users, proxies: given.proxies ?? published.proxies };
}

/** @throws Error that names the flag and the file */
async function readGiven({ clientCaFile, proxies }: SecureHttpConfig): Promise<ClientAuthorities> {
  return {
    users: clientCaFile === '' ? null : await readAuthority('client-ca-file', clientCaFile),
    proxies: proxies.clientCaFile === '' ? null : await readProxyAuthority(proxies),
  };
}

function settingsOf({ minVersion, ciphers, curves }: SecureHttpConfig, known: Known): TlsSettings {
  const { users, proxies } = authoritiesOf(known);
  const clientAuthorities = [users, proxies].flatMap((authority) => (authority === null ? [] : [authority.pem]));
  return { ...known.identity, named: known.named, clientAuthorities, minVersion, ciphers, curves };
}
