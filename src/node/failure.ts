import type { TransportEvent } from '../ports/transport.ts';

export type FailureKind = Extract<TransportEvent, { type: 'failure' }>['kind'];

/** By Node's and undici's error codes. A name that does not resolve counts as refused, because nobody is there. */
const KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'refused',
  EAI_AGAIN: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  EADDRNOTAVAIL: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ECONNABORTED: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_PRX_CONN: 'refused',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
};

/** The kind of the first known code in the chain of causes. */
export function failureKind(error: unknown): FailureKind {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = String((cause as NodeJS.ErrnoException).code);
    const kind = KINDS[code];
    if (kind !== undefined) return kind;
    if (isOfProxy(code, cause.message)) return 'refused';
  }
  return 'other';
}

/** Whether a proxy has made no connection to the server. Of an answer to CONNECT undici has no code of its own. */
function isOfProxy(code: string, message: string): boolean {
  return code.startsWith('UND_ERR_SOCKS5') || (code === 'UND_ERR_ABORTED' && message.startsWith('Proxy response ('));
}

/** OpenSSL's and Node's codes for what is wrong with a certificate, of either side. */
const OF_CERTIFICATES = /CERT|SIGNATURE|ISSUER|SELF_SIGNED|_ALERT_/;

/** Whether a connection with this code was not made because one side does not trust the other's certificate. */
export function isAboutCertificates(code: string): boolean {
  return OF_CERTIFICATES.test(code);
}

/** Whether the other side has ended the connection: it may not trust the certificate of this process. */
export function isAlert(code: string): boolean {
  return code.includes('_ALERT_');
}

/** The first code in the chain of causes; '' = there is none. */
export function errorCode(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined) return code;
  }
  return '';
}

/** The words of undici's parser when a connection is closed in the middle of an answer. */
const CLOSED_EARLY = 'Invalid EOF state';

/** The message in one line. An error without a message (AggregateError of several addresses) is named by its code. */
export function failureMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code = error.name } = error as NodeJS.ErrnoException;
  if (error.message.includes(CLOSED_EARLY)) return 'the connection was closed in the middle of an answer';
  const text = error.message === '' ? code : error.message;
  return text.replaceAll(/\s+/g, ' ').trim();
}
