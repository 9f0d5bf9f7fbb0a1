/** What the transport needs to reach the API server: its address, how to trust it, and the credentials. */
export interface Access {
  /** `https://host:port` without a path. */
  readonly origin: string;
  /** Prefix of every request path, such as `/k8s/clusters/c-1`; empty for most servers. */
  readonly basePath: string;
  /** http, https or socks5 URL of a proxy; null = direct. */
  readonly proxyUrl: string | null;
  readonly tls: TlsMaterial;
  /** Authorization and Impersonate-*. */
  readonly headers: Readonly<Record<string, string | string[]>>;
}

export interface TlsMaterial {
  /** PEM; null = the authorities of the machine. */
  readonly ca: string | null;
  /** PEM client certificate and key; null = none. */
  readonly cert: string | null;
  readonly key: string | null;
  /** Name sent as SNI and verified instead of the URL's host; null = that host. */
  readonly serverName: string | null;
  readonly verify: boolean;
}

/**
 * Reads the access again. `unauthorized` (the server said 401) drops whatever is cached. If this throws, the last good
 * access stays in use.
 */
export type ReadAccess = (why: 'refresh' | 'unauthorized') => Promise<Access>;

/** Connections with equal keys are interchangeable. Headers are not part of a connection. */
export function connectionKey(access: Access): string {
  return JSON.stringify([access.origin, access.proxyUrl, access.tls]);
}
