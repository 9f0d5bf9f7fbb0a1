/**
 * The users of v1.Endpoints, summed up from audit events. The number of users is bounded; each is kept with its
 * requests.
 */
import type { AuditEvent, AuditStage } from '../../kube/audit-event.ts';

export interface EndpointsUse {
  readonly groups: Map<string, UserGroup>;
  readonly groupsMax: number;
  /** Requests of users for whom `groups` had no room. */
  readonly beyond: VerbUse;
  events: number;
  /** How many events are reads of any resource. Without any, the log cannot tell who reads. */
  reads: number;
  firstTime: string;
  lastTime: string;
}

/** One user with one user agent. */
interface UserGroup {
  readonly user: string;
  readonly userAgent: string;
  readonly verbs: Map<string, VerbUse>;
  /** The one object that every request named; null = they named several, or one was for a collection. */
  object: string | null;
}

/** Requests of one verb. A request has one event for each stage that the audit policy lets through. */
interface VerbUse {
  readonly stages: Record<AuditStage, number>;
  lastTime: string;
}

export interface UseRow {
  readonly user: string;
  readonly userAgent: string;
  readonly verb: string;
  readonly requests: number;
  /** RFC 3339; '' = the audit events have no time. */
  readonly lastSeen: string;
  /** NAMESPACE/NAME; null = the user has asked for more than this object. */
  readonly object: string | null;
}

export interface UseReport {
  readonly events: number;
  readonly eventsOfReads: number;
  readonly from: string;
  readonly to: string;
  readonly readers: readonly UseRow[];
  readonly writers: readonly UseRow[];
  /** Users of one object and no other, such as a lock, or kube-apiserver's default/kubernetes. */
  readonly keepers: readonly UseRow[];
  /** Requests of users that are not listed, because there are too many users. */
  readonly unlisted: number;
}

const READS: readonly string[] = ['get', 'list', 'watch'];
const WRITES: readonly string[] = ['create', 'update', 'patch', 'delete', 'deletecollection'];

export function createEndpointsUse(groupsMax: number): EndpointsUse {
  return { groups: new Map(), groupsMax, beyond: newVerbUse(), events: 0, reads: 0, firstTime: '', lastTime: '' };
}

export function addAuditEvent(use: EndpointsUse, event: AuditEvent): void {
  use.events += 1;
  if (READS.includes(event.verb) && event.resource !== '') use.reads += 1;
  if (event.time !== '') {
    if (use.firstTime === '' || isBefore(event.time, use.firstTime)) use.firstTime = event.time;
    if (isBefore(use.lastTime, event.time)) use.lastTime = event.time;
  }
  if (event.resource !== 'endpoints' || event.apiGroup !== '') return;
  const group = groupOf(use, event);
  count(group === null ? use.beyond : verbOf(group, event.verb), event);
}

export function reportUse(use: EndpointsUse): UseReport {
  const readers: UseRow[] = [];
  const writers: UseRow[] = [];
  const keepers: UseRow[] = [];
  for (const group of use.groups.values()) {
    const rows = [...group.verbs].map(([verb, { stages, lastTime }]): UseRow => {
      const { user, userAgent, object } = group;
      return { user, userAgent, verb, requests: requestsOf(stages), lastSeen: lastTime, object };
    });
    if (isKeeper(group)) keepers.push(...rows);
    else for (const row of rows) (READS.includes(row.verb) ? readers : writers).push(row);
  }
  return {
    events: use.events,
    eventsOfReads: use.reads,
    from: use.firstTime,
    to: use.lastTime,
    readers: readers.sort(byRequests),
    writers: writers.sort(byRequests),
    keepers: keepers.sort(byRequests),
    unlisted: requestsOf(use.beyond.stages),
  };
}

function groupOf(use: EndpointsUse, { user, userAgent, namespace, name }: AuditEvent): UserGroup | null {
  const key = JSON.stringify([user, userAgent]);
  const object = name === '' ? null : `${namespace}/${name}`;
  let group = use.groups.get(key);
  if (group === undefined) {
    if (use.groups.size >= use.groupsMax) return null;
    group = { user, userAgent, verbs: new Map(), object };
    use.groups.set(key, group);
  }
  if (group.object !== object) group.object = null;
  return group;
}

/**
 * The counts of a verb. All texts that are no verb of the API count as one verb, so that a log cannot make endless
 * rows.
 */
function verbOf(group: UserGroup, verb: string): VerbUse {
  const known = READS.includes(verb) || WRITES.includes(verb) ? verb : 'other';
  const use = group.verbs.get(known) ?? newVerbUse();
  group.verbs.set(known, use);
  return use;
}

function newVerbUse(): VerbUse {
  return { stages: { RequestReceived: 0, ResponseStarted: 0, ResponseComplete: 0, Panic: 0 }, lastTime: '' };
}

function count(use: VerbUse, { stage, time }: AuditEvent): void {
  use.stages[stage] += 1;
  if (isBefore(use.lastTime, time)) use.lastTime = time;
}

/**
 * How many requests there were. A request has at most one event of a stage, and ends with ResponseComplete or Panic.
 */
function requestsOf({ RequestReceived, ResponseStarted, ResponseComplete, Panic }: VerbUse['stages']): number {
  return Math.max(RequestReceived, ResponseStarted, ResponseComplete + Panic);
}

function isKeeper({ object, verbs }: UserGroup): boolean {
  return object !== null && READS.some((verb) => verbs.has(verb)) && WRITES.some((verb) => verbs.has(verb));
}

/** Compares times of one server. All are in UTC, and some may have more digits than others. */
function isBefore(a: string, b: string): boolean {
  return a.replace(/Z$/, '') < b.replace(/Z$/, '');
}

function byRequests(a: UseRow, b: UseRow): number {
  if (a.requests !== b.requests) return b.requests - a.requests;
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
