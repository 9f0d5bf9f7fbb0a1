import { BlockList, isIP } from 'node:net';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for `server`; null = none. The rules are those of Go's httpproxy, which every
 * Kubernetes component follows when its kubeconfig has no `proxy-url`. The server's scheme decides between HTTPS_PROXY
 * and HTTP_PROXY. A name in upper case goes before the same in lower case. NO_PROXY exempts servers. Loopback never has
 * a proxy.
 */
export function proxyFromEnvironment(server: URL, env: Environment): string | null {
  const variable = (name: string): string => env[name] || env[name.toLowerCase()] || '';
  const proxy = variable(server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (proxy === '' || isLoopback(server.hostname) || isExempt(server, variable('NO_PROXY'))) return null;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** @param hostname of a URL: an IPv6 address may have brackets */
export function isLoopback(hostname: string): boolean {
  const host = unbracketed(hostname);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isExempt(server: URL, noProxy: string): boolean {
  const host = unbracketed(server.hostname);
  const port = server.port === '' ? (server.protocol === 'https:' ? '443' : '80') : server.port;
  for (const raw of noProxy.split(',')) {
    const entry = raw.trim().toLowerCase();
    if (entry === '') continue;
    if (entry === '*') return true;
    const range = /^(.+)\/(\d+)$/.exec(entry);
    if (range !== null) {
      if (isIP(host) !== 0 && inRange(host, range[1]!, Number(range[2]))) return true;
      continue;
    }
    const named = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry);
    if (named !== null && named[2] !== port) continue;
    const name = unbracketed(named?.[1] ?? entry);
    if (isIP(name) !== 0 || isIP(host) !== 0) {
      if (host === name) return true;
      continue;
    }
    // `.example.com` and `*.example.com` mean only the subdomains. `example.com` means itself too.
    const suffix = name.startsWith('*.') ? name.slice(1) : name;
    if (suffix.startsWith('.') ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`)) return true;
  }
  return false;
}

function inRange(host: string, network: string, prefix: number): boolean {
  const family = isIP(network);
  if (family === 0 || prefix > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
