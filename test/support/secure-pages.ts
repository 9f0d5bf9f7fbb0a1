/** A port with TLS and delegated authorization, and clients of it. */
import assert from 'node:assert/strict';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { createMetricStore } from '../../src/metrics/store.ts';
import type { LogLine } from '../../src/node/log.ts';
import type { HttpServer } from '../../src/node/serving/http.ts';
import { text } from '../../src/node/serving/page.ts';
import { createReviews } from '../../src/node/serving/reviews.ts';
import { startSecureHttp, type SecureHttpConfig } from '../../src/node/serving/secure-http.ts';
import type { ReviewServer } from './review-server.ts';

export const SERVED: readonly string[] = ['/metrics', '/configz', '/healthz', '/readyz', '/livez', '/debug/endpointd'];

/** Every page says its own path. */
export function serveSecurely(
  reviews: ReviewServer,
  log: LogLine[],
  more: Partial<SecureHttpConfig> = {},
): Promise<HttpServer> {
  return startSecureHttp({
    host: '127.0.0.1',
    port: 0,
    certFile: '',
    keyFile: '',
    directory: '',
    named: [],
    minVersion: 'TLSv1.2',
    ciphers: '',
    curves: '',
    clientCaFile: '',
    proxies: {
      clientCaFile: '',
      allowedNames: [],
      usernameHeaders: ['x-remote-user'],
      uidHeaders: [],
      groupHeaders: ['x-remote-group'],
      extraPrefixes: ['x-remote-extra-'],
    },
    lookUp: null,
    lookUpMatters: true,
    alwaysAllowPaths: ['/healthz', '/readyz', '/livez'],
    reviews: createReviews(reviews.ask, reviews.ask),
    tokenTtlMs: 10_000,
    authorizedTtlMs: 10_000,
    unauthorizedTtlMs: 10_000,
    nowMs: () => performance.now(),
    log: (line) => log.push(line),
    metrics: createMetricStore(),
    pages: (path) => (SERVED.includes(path) ? () => text(200, `page ${path}`) : null),
    onAcceptError: assert.fail,
    onPageError: assert.fail,
    ...more,
  });
}

export interface Said {
  /** 0 = none. */
  readonly status: number;
  readonly body: string;
  readonly head: string;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: ConnectionOptions;
}

export function ask(
  address: string,
  path: string,
  { method = 'GET', headers = {}, tls = {} }: Sent = {},
): Promise<Said> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return say(address, `${method} ${path} HTTP/1.1\r\nhost: test\r\n${lines.join('')}\r\n`, tls);
}

/** All that comes back for these bytes. @throws Error when there is no TLS connection */
export function say(address: string, bytes: string, tls: ConnectionOptions = {}): Promise<Said> {
  const socket = dial(address, tls);
  return new Promise((resolve, reject) => {
    let said = '';
    let isOpen = false;
    socket.once('secureConnect', () => {
      isOpen = true;
      socket.write(bytes, 'latin1');
    });
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    socket.on('error', (error) => {
      if (!isOpen) reject(error);
    });
    socket.on('close', () => {
      // What is said before the answer is none.
      const [head = '', ...rest] = said.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '').split('\r\n\r\n');
      resolve({ status: Number(/^HTTP\/1\.\d (\d+)/.exec(head)?.[1] ?? 0), body: rest.join('\r\n\r\n'), head });
    });
  });
}

export function dial(address: string, tls: ConnectionOptions = {}): TLSSocket {
  const [host, port] = address.split(':');
  return connect({ host, port: Number(port), rejectUnauthorized: false, ...tls });
}
