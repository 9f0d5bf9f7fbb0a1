import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import type { Peer } from './gate.ts';
import type { NamedIdentity } from './named-certificates.ts';

/** What a TLS handshake goes by. */
export interface TlsSettings {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /** In place of these for who asks for a name of them; of several with a name the first. */
  readonly named: readonly NamedIdentity[];
  /** PEM bundles that client certificates may lead to; any other certificate is let in, but verifies nothing. */
  readonly clientAuthorities: readonly string[];
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** As OpenSSL writes them, separated by colons; '' = those of Node.js. */
  readonly ciphers: string;
}

type Done = (secured: TLSSocket, peer: Peer) => void;

export interface Handshakes {
  /** In its turn; `done` is not called where it fails or the socket is closed before. */
  readonly begin: (socket: Socket, done: Done) => void;
  /** For the handshakes that begin from now on; what is open goes on. @throws Error when they make no sense */
  readonly use: (settings: TlsSettings) => void;
}

/** A handshake takes 1 to 2 ms of CPU, whoever asks for it. */
const HANDSHAKES_PER_SECOND = 50;
const AT_ONCE = 25;

/**
 * So few begin in a second, after some at once. All others wait for their turn, as long as their connections live.
 * @throws Error when the settings make no sense
 */
export function createHandshakes(settings: TlsSettings, perSecond: number = HANDSHAKES_PER_SECOND): Handshakes {
  /** By address and port of the client: no two open connections have the same. */
  const underWay = new Map<string, { readonly socket: Socket; readonly done: Done }>();
  const inLine = new Map<Socket, Done>();
  let server = create(settings);
  let tokens = AT_ONCE;
  let filledMs = performance.now();
  let timer: NodeJS.Timeout | undefined;

  /** It never listens, so another one can take its place at any time. */
  function create(wanted: TlsSettings): Server {
    const made = createServer(optionsOf(wanted));
    // Of several contexts for a name Node takes the last one.
    for (const { names, cert, key } of wanted.named.toReversed()) {
      for (const name of names) made.addContext(name.toLowerCase(), optionsOf({ ...wanted, cert, key }));
    }
    made.on('secureConnection', (secured) => {
      // A client could ask for one after the other, each as costly as a handshake.
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
    for (const [socket, done] of inLine) {
      if (tokens < 1) break;
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
    server.emit('connection', socket);
  }

  return {
    begin(socket, done) {
      inLine.set(socket, done);
      socket.once('close', () => inLine.delete(socket));
      next();
    },
    use(wanted) {
      server = create(wanted);
    },
  };
}

const PLAIN_REQUEST = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

function optionsOf({ cert, key, clientAuthorities, minVersion, ciphers }: TlsSettings): TlsOptions {
  return {
    cert,
    key,
    minVersion,
    ...(ciphers === '' ? {} : { ciphers }),
    ALPNProtocols: ['http/1.1'],
    // A session that is resumed brings the client's certificate without its chain, and its dates are not looked at again.
    secureOptions: constants.SSL_OP_NO_TICKET,
    requestCert: true,
    // Who shows none, or one that leads nowhere, is judged with the request.
    rejectUnauthorized: false,
    // As Go: an authority that is given is one, whoever has signed it. Without any, nobody is verified.
    ca: [...clientAuthorities],
    allowPartialTrustChain: true,
  };
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
