import type { IncomingMessage } from 'node:http';
import { browserRefusal, isSameOrigin } from '../browser-guard.ts';
import type { Gate, Question } from './gate.ts';
import { forbidden } from './gate.ts';

/**
 * The gate of a port without TLS, where no client can show who it is. Health is for everybody, and so are metrics, although
 * they name the Services that are stuck: a scraper elsewhere may have no token to show. Everything else has errors of the
 * API server and the last changes, and is only for programs of this machine. A request that a proxy on this machine passes
 * on counts as coming from elsewhere.
 * @param isOpen whether a path is for everybody
 */
export function plainGate(isOpen: (path: string) => boolean): Gate {
  return (question) => Promise.resolve(isOpen(question.path) ? null : elsewhere(question));
}

function elsewhere(question: Question): ReturnType<typeof forbidden> | null {
  const { request, peer } = question;
  if (!isLoopback(peer.remoteAddress) || isForwarded(request)) {
    return forbidden(ANYBODY, question, 'only from this machine, or on --secure-port');
  }
  const refusal = browserRefusal(request) ?? profileRefusal(question);
  return refusal === null ? null : forbidden(ANYBODY, question, refusal);
}

/** A profile takes CPU of the main thread, so a page of another server may not even read it. */
function profileRefusal({ path, request }: Question): string | null {
  const isProfile = path.startsWith('/debug/pprof/');
  return isProfile && !isSameOrigin(request.headers) ? 'a page of another server may not start a profile' : null;
}

const ANYBODY = 'system:anonymous';

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address);
}

function isForwarded({ headers }: IncomingMessage): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);
}
