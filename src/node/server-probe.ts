/**
 * Sends one request and tells exactly what becomes of it. The server may not exist, or not be the one that it should
 * be.
 */
import { isIP } from 'node:net';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import type { Dispatcher } from 'undici';
import type { Access } from './access.ts';
import { errorCode, failureMessage, isAboutCertificates } from './failure.ts';
import { createPools } from './pools.ts';

export type Probe = ProbeAnswer | ProbeFailure;

export interface ProbeAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly contentType: string;
  /** The server's clock by its Date header, milliseconds since the epoch; null = it does not tell. */
  readonly dateMs: number | null;
  readonly body: Uint8Array;
}

export interface ProbeFailure {
  readonly kind: 'failure';
  /** A code of Node, OpenSSL or undici, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
  readonly code: string;
  readonly message: string;
  /** The server's certificate, if that is the trouble and there is no proxy in between; else null. */
  readonly certificate: ServerCertificate | null;
}

export interface ServerCertificate {
  /** Milliseconds since the epoch. */
  readonly validFromMs: number;
  readonly validToMs: number;
  /** Such as `DNS:kubernetes, IP Address:10.0.0.1`. */
  readonly names: string;
  /** Common name of the issuer; '' = none. */
  readonly issuer: string;
}

const ANSWER_MS_MAX = 10_000;
const BODY_BYTES_MAX = 65_536;

/** GET of a path below the server's base path. Never rejects. */
export async function probeServer(access: Access, path: string, userAgent: string): Promise<Probe> {
  const pools = createPools(access, 1);
  const failure = await new Promise<Probe>((resolve) => {
    const { list } = pools;
    const late = setTimeout(
      () => resolve(failed(new Error(`no answer within ${ANSWER_MS_MAX} ms`), 'ETIMEDOUT')),
      ANSWER_MS_MAX,
    );
    const done = (probe: Probe): void => {
      clearTimeout(late);
      resolve(probe);
    };
    try {
      const headers = { ...access.headers, 'User-Agent': userAgent, Accept: 'application/json' };
      list.dispatch({ origin: access.origin, method: 'GET', path: access.basePath + path, headers }, handlerOf(done));
    } catch (error) {
      done(failed(error));
    }
  });
  await Promise.all(Object.values(pools).map((pool) => pool.destroy()));
  if (failure.kind === 'answer' || !isAboutCertificates(failure.code) || access.proxyUrl !== null) return failure;
  return { ...failure, certificate: await certificateOf(access) };
}

function handlerOf(done: (probe: Probe) => void): Dispatcher.DispatchHandler {
  let answer = { status: 0, contentType: '', dateMs: null as number | null };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return {
    onRequestStart() {},
    onResponseStart(_controller, status, headers) {
      const dateMs = Date.parse(textOf(headers['date']));
      answer = { status, contentType: textOf(headers['content-type']), dateMs: Number.isNaN(dateMs) ? null : dateMs };
    },
    onResponseData(controller, chunk) {
      bytes += chunk.byteLength;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      else controller.abort(new Error('too much'));
    },
    onResponseEnd() {
      done({ kind: 'answer', ...answer, body: Buffer.concat(chunks) });
    },
    onResponseError(_controller, error) {
      // The beginning is enough of an answer that goes on and on.
      if (bytes > BODY_BYTES_MAX) done({ kind: 'answer', ...answer, body: Buffer.concat(chunks) });
      else done(failed(error));
    },
  };
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

function failed(error: unknown, code: string = errorCode(error)): ProbeFailure {
  return { kind: 'failure', code, message: failureMessage(error), certificate: null };
}

/** Looks at the certificate of a server that cannot be trusted, and sends it nothing. null = it shows none in time. */
function certificateOf({ origin, tls }: Access): Promise<ServerCertificate | null> {
  const { hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, '');
  const servername = tls.serverName ?? (isIP(host) === 0 ? host : '');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port || 443),
      servername,
      rejectUnauthorized: false,
      timeout: ANSWER_MS_MAX,
    });
    const done = (certificate: ServerCertificate | null): void => {
      socket.destroy();
      resolve(certificate);
    };
    socket.once('secureConnect', () => done(shown(socket.getPeerCertificate(true))));
    socket.once('timeout', () => done(null));
    socket.once('error', () => done(null));
  });
}

/** The dates are those of the whole chain, because no certificate is good for longer than the one that signed it. */
function shown(leaf: DetailedPeerCertificate): ServerCertificate | null {
  if (leaf.valid_from === undefined) return null;
  const chain = new Set<DetailedPeerCertificate>();
  for (let each = leaf; each !== undefined && !chain.has(each); each = each.issuerCertificate) chain.add(each);
  return {
    validFromMs: Math.max(...[...chain].map(({ valid_from: from }) => Date.parse(from))),
    validToMs: Math.min(...[...chain].map(({ valid_to: to }) => Date.parse(to))),
    names: leaf.subjectaltname ?? '',
    issuer: String(leaf.issuer.CN ?? ''),
  };
}
