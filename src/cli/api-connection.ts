/** The API server for a command: with the credentials of `run`, and without a controller. */
import process from 'node:process';
import { createClock } from '../node/clock.ts';
import { createCredentials, type Credentials, SERVICE_ACCOUNT_DIRECTORY } from '../node/credentials.ts';
import type { LogLine } from '../node/log.ts';
import { readOnly } from '../node/read-only-transport.ts';
import { createTransport } from '../node/transport.ts';
import { userAgent } from '../node/version.ts';
import type { Transport, TransportEvent } from '../ports/transport.ts';

export interface ApiConnection {
  /** `https://host:port` */
  readonly origin: string;
  readonly transport: (deliver: (events: readonly TransportEvent[]) => void) => Transport;
  /** Ends all connections. */
  readonly close: () => Promise<void>;
}

export function credentialsOf(flags: { readonly kubeconfig: string; readonly master: string }): Credentials {
  const { kubeconfig, master } = flags;
  const { env } = process;
  return createCredentials({ kubeconfig, master, env, serviceAccountDirectory: SERVICE_ACCOUNT_DIRECTORY });
}

/** @throws CredentialsError */
export async function connect(
  flags: { readonly kubeconfig: string; readonly master: string },
  log: (line: LogLine) => void,
  guard?: (transport: Transport) => Transport,
): Promise<ApiConnection> {
  return connectWith(credentialsOf(flags), log, guard);
}

/**
 * @param guard stands before each transport, so that a command can only send the requests that it should
 * @throws CredentialsError
 */
export async function connectWith(
  credentials: Credentials,
  log: (line: LogLine) => void,
  guard: (transport: Transport) => Transport = readOnly,
): Promise<ApiConnection> {
  const access = await credentials.read('refresh');
  const { read: readAccess, refreshMs } = credentials;
  const clock = createClock();
  const closers: (() => Promise<void>)[] = [];
  return {
    origin: access.origin,
    transport(deliver) {
      const more = { userAgent: userAgent(), maxWritesInFlight: 1, clock, log, observe: () => undefined };
      const transport = createTransport({ access, readAccess, refreshMs, ...more }, deliver);
      closers.push(() => transport.close());
      return guard(transport);
    },
    async close() {
      await Promise.all(closers.map((close) => close()));
    },
  };
}
