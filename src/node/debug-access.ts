import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { browserRefusal } from './browser-guard.ts';

export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/**
 * Why a request may not see how the process is; null = it may. With a token file whoever shows its token may, which is
 * read again each time, so that it can be replaced. Without one only programs of this machine may: names of Services
 * and errors of the API server are not everybody's business, and who else asks cannot be told (there is no delegated
 * authorization). What a proxy of this machine brings from elsewhere comes from elsewhere.
 * @param remoteAddress of the client's socket
 */
export async function debugRefusal(
  request: IncomingMessage,
  remoteAddress: string | undefined,
  tokenFile: string,
): Promise<Refusal | null> {
  if (tokenFile === '') {
    if (!isLoopback(remoteAddress) || isForwarded(request)) {
      return { status: 403, message: 'only from this machine, or with the token of --debug-token-file' };
    }
    const refusal = browserRefusal(request);
    return refusal === null ? null : { status: 403, message: refusal };
  }
  let token: string;
  try {
    token = (await readFile(tokenFile, 'utf8')).trim();
  } catch {
    return { status: 403, message: 'the file of --debug-token-file cannot be read' };
  }
  if (token === '') return { status: 403, message: 'the file of --debug-token-file is empty' };
  const said = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (said !== undefined && isEqual(said, token)) return null;
  return { status: 401, message: 'a bearer token is needed: the one of --debug-token-file' };
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address);
}

function isForwarded({ headers }: IncomingMessage): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);
}

/** Takes the same time however much of it is right. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
