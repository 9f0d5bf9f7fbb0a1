import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/**
 * Why a request to a server on loopback without credentials is refused; null if it is not. A page in a browser on this
 * machine reaches such a server as well. It is known by headers that scripts cannot set:
 *
 * - `Host` is the page's own name if that has been made to resolve to this machine (DNS rebinding). So only names of
 *   this machine are taken, as `kubectl proxy` does. The port does not matter: tunnels change it, rebinding does not.
 * - `Sec-Fetch-Site`, and `Origin` in older browsers, tell a page of another server. Its reads are harmless, since the
 *   browser keeps the answers from it. Its writes are refused, as Go's `http.CrossOriginProtection` refuses them.
 */
export function browserRefusal({ method = 'GET', headers }: IncomingMessage): string | null {
  const { host } = headers;
  // Browsers always send Host. Clients of HTTP/1.0 may not.
  if (host !== undefined && !isThisMachine(host)) return `host ${JSON.stringify(host)} is no name of this machine`;
  if (SAFE_METHODS.includes(method) || isSameOrigin(headers)) return null;
  return `a page of another server may not ${method}`;
}

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])\.?(:\d+)?$/i;

function isThisMachine(host: string): boolean {
  return LOOPBACK_HOST.test(host);
}

/** Whether no page of another server has sent the request. */
export function isSameOrigin({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || origin === `http://${host}`;
}
