/** The lines of an audit log of kube-apiserver, reduced to who uses which resource. */

export type AuditStage = 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';

export interface AuditEvent {
  readonly stage: AuditStage;
  readonly verb: string;
  /** The user whose rights counted: the impersonated user if there is one, else the user who sent the request. */
  readonly user: string;
  readonly userAgent: string;
  /** '' = the request is for no resource. */
  readonly resource: string;
  readonly apiGroup: string;
  readonly namespace: string;
  /** '' = the request is for a collection. */
  readonly name: string;
  /** RFC 3339; '' = not known. */
  readonly time: string;
}

interface Written {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly items?: unknown;
  readonly stage?: unknown;
  readonly verb?: unknown;
  readonly user?: { readonly username?: unknown };
  readonly impersonatedUser?: { readonly username?: unknown };
  readonly userAgent?: unknown;
  readonly objectRef?: Readonly<Record<string, unknown>>;
  readonly requestReceivedTimestamp?: unknown;
}

const GROUP = 'audit.k8s.io/';
const STAGES: readonly string[] = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'];

/**
 * The audit events of a line: one, as the log backend writes it, or the events of an EventList, as the webhook backend
 * sends it. null = the line is no audit event.
 */
export function readAuditLine(line: string): readonly AuditEvent[] | null {
  let value: Written | null;
  try {
    value = JSON.parse(line) as Written | null;
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  if (!textOf(value.apiVersion).startsWith(GROUP)) return null;
  if (value.kind === 'Event') return isEvent(value) ? [eventOf(value)] : null;
  if (value.kind !== 'EventList' || !Array.isArray(value.items)) return null;
  const items = value.items as readonly (Written | null)[];
  return items.every(isEvent) ? items.map(eventOf) : null;
}

function isEvent(value: Written | null): value is Written {
  return typeof value === 'object' && value !== null && STAGES.includes(textOf(value.stage));
}

function eventOf({ stage, verb, user, impersonatedUser, userAgent, objectRef, ...rest }: Written): AuditEvent {
  return {
    stage: stage as AuditStage,
    verb: textOf(verb),
    user: textOf(impersonatedUser?.username) || textOf(user?.username),
    userAgent: textOf(userAgent),
    resource: textOf(objectRef?.['resource']),
    apiGroup: textOf(objectRef?.['apiGroup']),
    namespace: textOf(objectRef?.['namespace']),
    name: textOf(objectRef?.['name']),
    time: textOf(rest.requestReceivedTimestamp),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
