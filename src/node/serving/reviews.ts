/**
 * The two questions that the API server answers for other servers: whose token is this, and may this user ask for that.
 */
import type { Asker, Reply } from '../asker.ts';
import type { User } from './user.ts';

export interface Reviews {
  /** null = the token is nobody's. @throws ReviewError */
  readonly userOf: (token: string) => Promise<User | null>;
  /** @throws ReviewError */
  readonly mayAsk: (user: User, verb: string, path: string) => Promise<Decision>;
}

export interface Decision {
  readonly allowed: boolean;
  /** In the words of the authorizer; may be empty. */
  readonly reason: string;
}

/** The API server has not answered the question. The message says nothing of the token. */
class ReviewError extends Error {
  override readonly name = 'ReviewError';
}

/** Both tries of a review must fit in the ten seconds for which the client's connection lives. */
export const REVIEW_MS_MAX = 4000;
const AGAIN_AFTER_MS = 300;
const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

/** An asker that is null asks nobody: each of its questions fails. */
export function createReviews(authentication: Asker | null, authorization: Asker | null): Reviews {
  return {
    async userOf(token) {
      const status = await review(authentication, TOKEN_REVIEWS, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token },
      });
      return status['authenticated'] === true ? userFrom(status['user']) : null;
    },
    async mayAsk({ username, uid, groups, extra }, verb, path) {
      const status = await review(authorization, ACCESS_REVIEWS, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          nonResourceAttributes: { path, verb },
          user: username,
          groups,
          ...(uid === '' ? {} : { uid }),
          ...(Object.keys(extra).length === 0 ? {} : { extra }),
        },
      });
      const { allowed, denied, reason } = status;
      return { allowed: allowed === true && denied !== true, reason: typeof reason === 'string' ? reason : '' };
    },
  };
}

type Mapping = Readonly<Record<string, unknown>>;

/** The status of a review. After a failure that may have been an accident, it is sent once more. */
async function review(ask: Asker | null, path: string, object: Mapping): Promise<Mapping> {
  const kind = String(object['kind']);
  if (ask === null) throw new ReviewError(`${kind}: no API server to ask`);
  const question = {
    method: 'POST',
    path,
    accept: 'application/json',
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify(object)),
  } as const;
  let reply = await ask(question);
  if (isAccident(reply)) {
    await new Promise((resolve) => void setTimeout(resolve, AGAIN_AFTER_MS));
    reply = await ask(question);
  }
  if (reply.type === 'failure') throw new ReviewError(`${kind}: ${reply.message}`);
  const answer = parse(reply.body);
  if (reply.status !== 200 && reply.status !== 201) {
    const message = answer?.['message'];
    throw new ReviewError(`${kind}: status ${reply.status}${typeof message === 'string' ? `: ${message}` : ''}`);
  }
  const status = answer?.['kind'] === kind ? mapping(answer['status']) : null;
  if (status === null) throw new ReviewError(`${kind}: the answer has no status`);
  return status;
}

function isAccident(reply: Reply): boolean {
  if (reply.type === 'response') return reply.status === 429 || reply.status >= 500;
  return reply.kind === 'reset' || reply.kind === 'refused';
}

function parse(body: Uint8Array): Mapping | null {
  try {
    return mapping(JSON.parse(Buffer.from(body).toString()));
  } catch {
    return null;
  }
}

function mapping(value: unknown): Mapping | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Mapping) : null;
}

/** @throws ReviewError */
function userFrom(value: unknown): User {
  const { username, uid, groups, extra } = mapping(value) ?? {};
  if (typeof username !== 'string' || username === '') throw new ReviewError('TokenReview: the user has no name');
  return {
    username,
    uid: typeof uid === 'string' ? uid : '',
    groups: texts(groups),
    extra: Object.fromEntries(Object.entries(mapping(extra) ?? {}).map(([key, values]) => [key, texts(values)])),
  };
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}
