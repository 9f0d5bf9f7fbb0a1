/** Decides who may ask for what. A server asks its gate before it looks for a page. */
import type { IncomingMessage } from 'node:http';
import type { X509Certificate } from 'node:crypto';

export interface Peer {
  readonly remoteAddress: string | undefined;
  /** The certificate that the client has shown; null = it has shown none, or there was no handshake. */
  readonly certificate: X509Certificate | null;
  /** Whether TLS has verified that one of the authorities of clients has issued the certificate. */
  readonly isVerified: boolean;
}

export interface Question {
  readonly request: IncomingMessage;
  readonly peer: Peer;
  /** The method, in lower case. */
  readonly verb: string;
  /**
   * The path as it was sent, without its query. It is never decoded, so the path that is judged is the one that is
   * looked up.
   */
  readonly path: string;
}

/** null = the client may have what it asks for. A gate that throws lets nobody through. */
export type Gate = (question: Question) => Promise<Refusal | null>;

export interface Refusal {
  readonly status: 401 | 403 | 500;
  readonly contentType: string;
  readonly body: string;
}

/** A Status object, as the API server words it. */
export function unauthorized(): Refusal {
  return statusOf(401, 'Unauthorized', 'Unauthorized');
}

/** @param why '' = no reason is given */
export function forbidden(user: string, { verb, path }: Question, why: string): Refusal {
  const what = `forbidden: User ${JSON.stringify(user)} cannot ${verb} path ${JSON.stringify(path)}`;
  return statusOf(403, 'Forbidden', why === '' ? what : `${what}: ${why}`, { details: {} });
}

/** The question could not be decided, so the client is let through to nothing. */
export function notAnswered({ path }: Question, why: string): Refusal {
  const body = `Internal Server Error: ${JSON.stringify(path)}: ${why}\n`;
  return { status: 500, contentType: 'text/plain; charset=utf-8', body };
}

function statusOf(status: 401 | 403, reason: string, message: string, more: object = {}): Refusal {
  const object = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...more,
    code: status,
  };
  return { status, contentType: 'application/json', body: `${JSON.stringify(object, null, 2)}\n` };
}
