import type { IncomingMessage } from 'node:http';
import { browserRefusal } from '../browser-guard.ts';
import type { Gate, Question } from './gate.ts';
import { forbidden } from './gate.ts';

/**
 * Who may ask on a port without TLS, where nobody can show who they are: metrics and health are for everybody, all else
 * for programs of this machine. Names of Services and errors of the API server are not everybody's business. What a
 * proxy of this machine brings from elsewhere comes from elsewhere.
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
  const refusal = browserRefusal(request);
  return refusal === null ? null : forbidden(ANYBODY, question, refusal);
}

const ANYBODY = 'system:anonymous';

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address);
}

function isForwarded({ headers }: IncomingMessage): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);
}
