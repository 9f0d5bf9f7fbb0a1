import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { createSecureContext, createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import type { TlsIdentity } from '../self-signed.ts';
import type { Peer } from './gate.ts';
import { byName, chooserOf, type NamedIdentity } from './named-certificates.ts';

/** The settings of TLS handshakes. */
export interface TlsSettings extends TlsIdentity {
  /** Identities for clients that ask for one of their names, or that ask for no name at one of their addresses. */
  readonly named: readonly NamedIdentity[];
  /** PEM bundles of the authorities of clients. A certificate of any other authority is let in, but proves nothing. */
  readonly clientAuthorities: readonly string[];
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names, separated by colons; '' = Node.js's default. */
  readonly ciphers: string;
  /** OpenSSL's names of key exchanges, separated by colons; '' = Node.js's default. */
  readonly curves: string;
}

type Done = (secured: TLSSocket, peer: Peer) => void;

export interface Handshakes {
  /**
   * Makes a handshake when its turn comes. `done` is not called if the handshake fails or the socket closes before.
   * @param goesFirst whether its turn comes before those of the others
   */
  readonly begin: (socket: Socket, goesFirst: boolean, done: Done) => void;
  /**
   * Sets the settings of handshakes that begin from now on. Open connections go on. @throws Error when TLS cannot use
   * the settings
   */
  readonly use: (settings: TlsSettings) => void;
}

/** A handshake takes 1 to 2 ms of CPU, and anybody can ask for one. */
const HANDSHAKES_PER_SECOND = 50;
const AT_ONCE = 25;

/**
 * Limits how many handshakes begin in a second, after a burst of 25. The others wait for their turn, as long as their
 * connections live. Of two that follow each other one at most goes first, so that nobody waits for ever.
 * @throws Error when TLS cannot use the settings
 */
export function createHandshakes(settings: TlsSettings, perSecond: number = HANDSHAKES_PER_SECOND): Handshakes {
  /** By address and port of the client: no two open connections have the same. */
  const underWay = new Map<string, { readonly socket: Socket; readonly done: Done }>();
  const inLine = new Map<Socket, { readonly goesFirst: boolean; readonly done: Done }>();
  let wentFirst = false;
  let serverAt = serversOf(settings, create);
  let tokens = AT_ONCE;
  let filledMs = performance.now();
  let timer: NodeJS.Timeout | undefined;

  /** This server never listens, so another one can take its place at any time. */
  function create(options: TlsOptions): Server {
    const made = createServer(options);
    made.on('secureConnection', (secured) => {
      // A client could ask for one renegotiation after the other, each as costly as a handshake.
      secured.disableRenegotiation();
      const certificate = secured.getPeerX509Certificate() ?? null;
      const { remoteAddress, authorized: isVerified } = secured;
      underWay.get(clientOf(secured))?.done(secured, { remoteAddress, certificate, isVerified });
    });
    made.on('tlsClientError', ({ code }: NodeJS.ErrnoException, failed) => {
      // Go's words for the same.
      if (code === 'ERR_SSL_HTTP_REQUEST') underWay.get(clientOf(failed))?.socket.end(PLAIN_REQUEST);
    });
    return made;
  }

  function next(): void {
    const nowMs = performance.now();
    tokens = Math.min(AT_ONCE, tokens + ((nowMs - filledMs) / 1000) * perSecond);
    filledMs = nowMs;
    while (inLine.size > 0 && tokens >= 1) {
      const waiting = [...inLine];
      const [socket, { goesFirst, done }] = waiting.find(([, one]) => one.goesFirst !== wentFirst) ?? waiting[0]!;
      wentFirst = goesFirst;
      inLine.delete(socket);
      tokens--;
      start(socket, done);
    }
    if (inLine.size === 0 || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      next();
    }, 1000 / perSecond).unref();
  }

  function start(socket: Socket, done: Done): void {
    const client = clientOf(socket);
    underWay.set(client, { socket, done });
    socket.once('close', () => underWay.delete(client));
    serverAt(localAddressOf(socket)).emit('connection', socket);
  }

  return {
    begin(socket, goesFirst, done) {
      inLine.set(socket, { goesFirst, done });
      socket.once('close', () => inLine.delete(socket));
      next();
    },
    use(wanted) {
      serverAt = serversOf(wanted, create);
    },
  };
}

const PLAIN_REQUEST = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

function optionsOf({ cert, key, clientAuthorities, minVersion, ciphers, curves }: TlsSettings): TlsOptions {
  return {
    cert,
    key,
    minVersion,
    ...(ciphers === '' ? {} : { ciphers }),
    ...(curves === '' ? {} : { ecdhCurve: curves }),
    ALPNProtocols: ['http/1.1'],
    // Sessions are not resumed. A resumed one brings the client's certificate without its chain, and nobody looks at
    // its dates again.
    secureOptions: constants.SSL_OP_NO_TICKET,
    requestCert: true,
    // A client without a certificate, or with one of an unknown authority, is judged with its request.
    rejectUnauthorized: false,
    // As in Go, each of these certificates is an authority, whoever has signed it. Without any, no client is verified.
    ca: [...clientAuthorities],
    allowPartialTrustChain: true,
  };
}

/** The server for each address that clients connect to. The address counts for a client that asks for no name. */
function serversOf(settings: TlsSettings, create: (options: TlsOptions) => Server): (address: string) => Server {
  const choice = choiceByName(settings);
  const other = create({ ...optionsOf(settings), ...choice });
  const atAddresses = new Map<string, Server>();
  for (const [name, { cert, key }] of byName(settings.named)) {
    if (isIP(name) !== 0) atAddresses.set(name, create({ ...optionsOf({ ...settings, cert, key }), ...choice }));
  }
  return (address) => atAddresses.get(address) ?? other;
}

/**
 * Chooses the identity for a client that asks for a name, at every address. Node's own choice would be another: the
 * last name that fits, whole or with a `*`.
 */
function choiceByName(settings: TlsSettings): TlsOptions {
  const { cert, key, named } = settings;
  if (named.length === 0) return {};
  const other = { cert, key };
  const contexts = new Map(
    [other, ...named].map((identity) => [identity, createSecureContext(optionsOf({ ...settings, ...identity }))]),
  );
  const choose = chooserOf(other, named);
  return { SNICallback: (host, done) => done(null, contexts.get(choose(host))) };
}

/** A socket that listens on all addresses of both families shows IPv4 as IPv6. */
function localAddressOf({ localAddress = '' }: Socket): string {
  return localAddress.replace(/^::ffff:(?=\d+\.)/, '');
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
