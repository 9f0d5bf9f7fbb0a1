/** Asks the API server whether this process may do something (SelfSubjectAccessReview). */
import { JSON_TYPE } from '../../kube/media-type.ts';
import { isApiAnswer, readStatus } from '../../kube/status.ts';
import type { Asker } from '../../node/asker.ts';
import { rightText, ruleText, type Right } from './rights.ts';

/** The answer about one right. unknown: the server did not say; `reason` says why. */
export interface Reviewed {
  readonly right: Right;
  readonly verdict: 'yes' | 'no' | 'unknown';
  /** The reason of the authorizer or of the server; '' = it gives none. */
  readonly reason: string;
}

const AUTHORIZATION = 'authorization.k8s.io/v1';
const AUTHENTICATION = 'authentication.k8s.io/v1';
/** The most questions at a time, so that a start does not burden the server. */
const AT_ONCE = 4;

/** The answers in the order of `rights`. After a question that nobody has answered, the others are not asked. */
export async function reviewRights(ask: Asker, rights: readonly Right[]): Promise<Reviewed[]> {
  const answers: Answer[] = [];
  for (let from = 0; from < rights.length; from += AT_ONCE) {
    const lost = answers.find((answer) => 'failure' in answer);
    const some = rights.slice(from, from + AT_ONCE);
    if (lost === undefined) answers.push(...(await Promise.all(some.map((right) => review(ask, right)))));
    else answers.push(...some.map(() => lost));
  }
  return rights.map((right, index) => reviewedOf(right, answers[index]!));
}

/** Whether the process has all rights that are needed everywhere. */
export function verdictOf(reviewed: readonly Reviewed[]): Reviewed['verdict'] {
  const needed = reviewed.filter(({ right }) => right.rule.only === '').map(({ verdict }) => verdict);
  return needed.includes('no') ? 'no' : needed.includes('unknown') ? 'unknown' : 'yes';
}

export interface MissingRights {
  readonly count: number;
  /** One line that names the rights and the files that give them; null = no right is missing. */
  readonly text: string | null;
}

/** The missing rights, of those that are needed everywhere. */
export function missingRights(reviewed: readonly Reviewed[]): MissingRights {
  const missing = reviewed.filter(({ right, verdict }) => verdict === 'no' && right.rule.only === '');
  if (missing.length === 0) return { count: 0, text: null };
  const rights = missing.map(({ right }) => rightText(right)).join(', ');
  const rules = new Set(missing.map(({ right }) => ruleText(right.rule)));
  const files = new Set(missing.map(({ right }) => right.rule.role.file));
  const apply = [...files].map((file) => `kubectl apply -f ${file}`).join(', ');
  const text = `Missing: ${rights}. Given by ${[...rules].join('; ')}: ${apply}, for the service account kube-system/endpointd alone. Installed elsewhere, apply the overlay again or helm upgrade; any other user needs a binding of its own.`;
  return { count: missing.length, text };
}

function review(ask: Asker, right: Right): Promise<Answer> {
  const { verb, group, namespace, name } = right;
  const [resource, subresource = ''] = right.resource.split('/');
  const resourceAttributes = { verb, group, resource, subresource, namespace, name };
  return post(ask, AUTHORIZATION, 'SelfSubjectAccessReview', { resourceAttributes });
}

function reviewedOf(right: Right, answer: Answer): Reviewed {
  if ('failure' in answer) return { right, verdict: 'unknown', reason: answer.failure };
  const { allowed, reason = '', evaluationError = '' } = answer.status as Partial<AccessStatus>;
  if (allowed === true) return { right, verdict: 'yes', reason };
  // An authorizer that could not be asked might have allowed it.
  if (evaluationError !== '') return { right, verdict: 'unknown', reason: evaluationError };
  return { right, verdict: allowed === false ? 'no' : 'unknown', reason };
}

interface AccessStatus {
  readonly allowed: boolean;
  readonly reason: string;
  readonly evaluationError: string;
}

/** The user as whom the server knows this process; '' = the server does not tell (before Kubernetes 1.28). */
export async function reviewUser(ask: Asker): Promise<string> {
  const answer = await post(ask, AUTHENTICATION, 'SelfSubjectReview', undefined);
  if ('failure' in answer) return '';
  const { username } = (answer.status['userInfo'] ?? {}) as { readonly username?: unknown };
  return typeof username === 'string' ? username : '';
}

type Answer = { readonly status: Readonly<Record<string, unknown>> } | { readonly failure: string };

async function post(ask: Asker, apiVersion: string, kind: string, spec: object | undefined): Promise<Answer> {
  const body = Buffer.from(JSON.stringify({ apiVersion, kind, spec }));
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
  const reply = await ask({ method: 'POST', path, accept: JSON_TYPE, contentType: JSON_TYPE, body });
  if (reply.type === 'failure') return { failure: `no answer: ${reply.message}` };
  const { contentType, status } = reply;
  if (!isApiAnswer(contentType, reply.body)) return { failure: `no answer of an API server: HTTP status ${status}` };
  if (status !== 200 && status !== 201) {
    const { message = '' } = readStatus(contentType, status, reply.body);
    return { failure: `${status} ${message}`.trim() };
  }
  const object = JSON.parse(Buffer.from(reply.body).toString()) as { readonly status?: unknown };
  return { status: (object.status ?? {}) as Readonly<Record<string, unknown>> };
}
