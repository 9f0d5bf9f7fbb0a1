/** Pages on a port of this machine, as `endpointd run` serves them without TLS. */
import assert from 'node:assert/strict';
import { startHttp, type HttpServer } from '../../src/node/serving/http.ts';
import type { Page } from '../../src/node/serving/page.ts';

export function servePages(pages: Readonly<Record<string, Page>>): Promise<HttpServer> {
  return startHttp({
    host: '127.0.0.1',
    port: 0,
    handshakes: null,
    gate: () => Promise.resolve(null),
    pages: (path) => pages[path] ?? null,
    onAcceptError: assert.fail,
    onPageError: () => undefined,
  });
}
