import { createRequire } from 'node:module';
import type * as undici from 'undici';
import type { Dispatcher } from 'undici';
import type { PoolName } from '../ports/transport.ts';
import type { Access } from './access.ts';

// Pool is loaded by its file, which the package allows, having no exports map. The package's index would also load
// fetch, WebSocket, caches and mocks. That doubles the price: 101 ms of CPU and 27 MB against 43 ms and 18 MB, of some
// 200 ms until the first list.
const require = createRequire(import.meta.url);
const Pool = require('undici/lib/dispatcher/pool.js') as typeof undici.Pool;
// A proxy agent needs the methods that only the index gives to dispatchers.
const loadProxyAgent = (): typeof undici.ProxyAgent => (require('undici') as typeof undici).ProxyAgent;

export type Pools = Readonly<Record<PoolName, Dispatcher>>;

/**
 * How many connections a pool may have. A handful of lists, reads and watches run at a time. Event objects have a
 * budget of a few a second. The Lease has one request at a time, and a second connection for the next one while the
 * first one cannot be made.
 */
function connectionsOf(pool: PoolName, maxWritesInFlight: number): number {
  switch (pool) {
    case 'list':
      return 8;
    case 'watch':
      return 32;
    case 'read':
      return 16;
    case 'write':
      return maxWritesInFlight;
    case 'event':
      return 2;
    case 'lease':
      return 2;
  }
}

/**
 * After 30 s of silence libuv sends ten probes, a second apart. So a watch whose packets are lost gets `ETIMEDOUT`
 * after 40 s. Through a SOCKS proxy it takes 70 s, because undici's delay there is always 60 s.
 */
const KEEPALIVE = { keepAlive: true, keepAliveInitialDelay: 30_000 };

/** A connection is given up after so long. Of a proxy it is so long for each step: itself, its CONNECT, the server. */
const CONNECT_MS = 10_000;

/** HTTP/1.1 only: h2 costs a quarter to half more CPU for our bodies, and one stalled connection would stall all. */
export function createPools(access: Access, maxWritesInFlight: number, connectMs = CONNECT_MS): Pools {
  const tls = {
    ...(access.tls.ca === null ? {} : { ca: access.tls.ca }),
    ...(access.tls.cert === null ? {} : { cert: access.tls.cert }),
    ...(access.tls.key === null ? {} : { key: access.tls.key }),
    ...(access.tls.serverName === null ? {} : { servername: access.tls.serverName }),
    // Said in both cases: else the variable NODE_TLS_REJECT_UNAUTHORIZED would decide.
    rejectUnauthorized: access.tls.verify,
    allowH2: false,
    ...KEEPALIVE,
    timeout: connectMs,
  };
  const create = (pool: PoolName): Dispatcher => {
    const options = {
      connections: connectionsOf(pool, maxWritesInFlight),
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: 60_000,
      // New connections spread the load again after one of several API servers behind an address was away.
      clientTtl: 600_000,
    };
    if (access.proxyUrl === null) return new Pool(access.origin, { ...options, connect: tls });
    const ProxyAgent = loadProxyAgent();
    // undici would speak TLS to a SOCKS proxy as soon as there are options for it.
    const isSocks = access.proxyUrl.startsWith('socks');
    return new ProxyAgent({
      ...options,
      uri: access.proxyUrl,
      requestTls: tls,
      clientFactory: (origin, own) => new Pool(origin, { ...own, headersTimeout: connectMs }),
      ...(isSocks ? {} : { proxyTls: { ...KEEPALIVE, rejectUnauthorized: true, timeout: connectMs } }),
    });
  };
  return {
    list: create('list'),
    watch: create('watch'),
    read: create('read'),
    write: create('write'),
    event: create('event'),
    lease: create('lease'),
  };
}
