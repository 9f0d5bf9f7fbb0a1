import { createHash } from 'node:crypto';
import { errorMessage } from '../../lib/error-message.ts';
import type { LogLine } from '../log.ts';
import { createAnswers, type Answers } from './answers.ts';
import { certificateUser } from './certificate-user.ts';
import type { ClientAuthorities } from './client-authorities.ts';
import { forbidden, notAnswered, unauthorized, type Gate, type Question } from './gate.ts';
import type { Decision, Reviews } from './reviews.ts';
import { ANONYMOUS, authenticated, type User } from './user.ts';

export interface DelegatedGateConfig {
  /** Paths that are open to everybody. A `*` at the end stands for any rest. */
  readonly alwaysAllowPaths: readonly string[];
  readonly authorities: () => ClientAuthorities;
  readonly reviews: Reviews;
  readonly tokenTtlMs: number;
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly nowMs: () => number;
  readonly log: (line: LogLine) => void;
}

const KEPT_MAX = 512;
const IN_FLIGHT_MAX = 32;
const TOLD_EVERY_MS = 60_000;
/** The group that may do everything. The API server asks nobody about it either. */
const MASTERS = 'system:masters';

/**
 * A client certificate, a proxy or a bearer token tells who asks. A client that shows none of these is anonymous. The
 * API server decides whether the user may ask. While it does not answer, nobody gets through, except by an answer
 * that is still kept, with a certificate of `system:masters`, or to the open paths.
 */
export function delegatedGate(config: DelegatedGateConfig): Gate {
  const { authorities, reviews, nowMs, log, authorizedTtlMs, unauthorizedTtlMs } = config;
  const limits = { keptMax: KEPT_MAX, inFlightMax: IN_FLIGHT_MAX, nowMs };
  const users = createAnswers<User | null>({ ...limits, ttlMs: () => config.tokenTtlMs });
  const decisions = createAnswers<Decision>({
    ...limits,
    ttlMs: ({ allowed }) => (allowed ? authorizedTtlMs : unauthorizedTtlMs),
  });
  const isOpen = pathMatcher(config.alwaysAllowPaths);
  let toldMs = Number.NEGATIVE_INFINITY;

  function tell(message: string, error: unknown): void {
    if (nowMs() - toldMs < TOLD_EVERY_MS) return;
    toldMs = nowMs();
    const err = errorMessage(error);
    log({ level: 'warning', v: 0, message, fields: { err } });
  }

  async function userOf(question: Question): Promise<User | null> {
    const shown = certificateUser(question, authorities());
    if (shown !== null && shown !== 'refused') return authenticated(shown);
    const token = bearerToken(question);
    if (token !== '') {
      const user = await tokenUser(users, reviews, token);
      return user === null ? null : authenticated(user);
    }
    return shown === 'refused' ? null : ANONYMOUS;
  }

  return async (question) => {
    const { verb, path } = question;
    if (isOpen(path)) return null;
    let user: User | null;
    try {
      user = await userOf(question);
    } catch (error) {
      tell('Cannot ask whose a token is: requests with a token are refused', error);
      return unauthorized();
    }
    if (user === null) return unauthorized();
    if (user.groups.includes(MASTERS)) return null;
    const known = user;
    try {
      const key = JSON.stringify([known, verb, path]);
      const { allowed, reason } = await decisions.get(key, () => reviews.mayAsk(known, verb, path));
      return allowed ? null : forbidden(known.username, question, reason);
    } catch (error) {
      tell('Cannot ask who may see metrics and pages: requests for them are refused', error);
      return notAnswered(question, 'the API server could not be asked');
    }
  };
}

/** Answers are kept by the token's hash. The token itself is not kept. */
function tokenUser(users: Answers<User | null>, reviews: Reviews, token: string): Promise<User | null> {
  return users.get(createHash('sha256').update(token).digest('base64'), () => reviews.userOf(token));
}

/** '' = none. */
function bearerToken({ request }: Question): string {
  const [scheme = '', token = ''] = (request.headers.authorization ?? '').trim().split(' ');
  return scheme.toLowerCase() === 'bearer' ? token : '';
}

/** Whether a path is among the patterns. A slash in front does not matter. */
function pathMatcher(patterns: readonly string[]): (path: string) => boolean {
  const plain = patterns.map((pattern) => pattern.replace(/^\//, ''));
  const whole = new Set(plain.filter((pattern) => !pattern.endsWith('*')));
  const starts = plain.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (path) => {
    const rest = path.replace(/^\//, '');
    return whole.has(rest) || starts.some((start) => rest.startsWith(start));
  };
}
