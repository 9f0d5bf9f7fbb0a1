import { readFile } from 'node:fs/promises';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';

/** A request of a controller that would change an object, whether it was granted or not. */
export interface ObjectWrite {
  /** create, update, patch or delete. */
  readonly verb: string;
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly status: number;
  /** The user, as whom it was asked for if it was impersonated. */
  readonly by: string;
  /** When the server had it, and when it had answered, by its clock: ms since the epoch, with fractions. */
  readonly receivedAtMs: number;
  readonly answeredAtMs: number;
}

interface AuditEntry {
  readonly verb: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

export type EndpointsWrite = ObjectWrite;

type Audited = Pick<Cluster, 'auditLogPath'>;

export function endpointsWrites(cluster: Cluster, program: string): Promise<EndpointsWrite[]> {
  return writesOf(cluster, program, 'endpoints');
}

/** The whole lines so far. The last one may be half written: the server has not answered what it tells of. */
export async function auditLines({ auditLogPath }: Audited): Promise<string[]> {
  const text = await readFile(auditLogPath, 'utf8');
  return text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
}

/** Everything so far; a cluster with `auditLog` writes each entry before the answer leaves. */
export async function writesOf(
  cluster: Audited,
  program: string,
  resource: 'endpoints' | 'endpointslices' | 'leases',
): Promise<ObjectWrite[]> {
  const writes: ObjectWrite[] = [];
  for (const line of await auditLines(cluster)) {
    if (!line.includes(`"resource":"${resource}"`)) continue;
    const entry = JSON.parse(line) as AuditEntry;
    const { verb, userAgent = '', objectRef = {}, responseStatus = {} } = entry;
    if (!userAgent.startsWith(program) || !VERBS.has(verb)) continue;
    writes.push({
      verb,
      key: `${objectRef.namespace}/${objectRef.name}`,
      status: responseStatus.code ?? 0,
      by: (entry.impersonatedUser ?? entry.user).username,
      receivedAtMs: milliseconds(entry.requestReceivedTimestamp),
      answeredAtMs: milliseconds(entry.stageTimestamp),
    });
  }
  return writes;
}

/** What was asked of objects by one who was impersonated, as `<group>/<resource> <verb>`, and with what answers. */
export async function rightsUsed(cluster: Cluster, user: string): Promise<Map<string, Set<number>>> {
  const used = new Map<string, Set<number>>();
  for (const line of await auditLines(cluster)) {
    if (!line.includes(user)) continue;
    const { verb, impersonatedUser, objectRef, responseStatus } = JSON.parse(line) as AuditEntry;
    if (impersonatedUser?.username !== user || objectRef?.resource === undefined) continue;
    const { apiGroup = '', resource, subresource } = objectRef;
    const right = `${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`} ${verb}`;
    const statuses = used.get(right) ?? new Set();
    used.set(right, statuses.add(responseStatus?.code ?? 0));
  }
  return used;
}

const VERBS: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

/** Applied writes, in the order of their answers. */
export function appliedOf(writes: readonly ObjectWrite[]): ObjectWrite[] {
  return writes.filter(({ status }) => status < 300).toSorted((a, b) => a.answeredAtMs - b.answeredAtMs);
}

/**
 * Writes that were applied to an object after a later leader had written it; a line each.
 * @param leases writes of the Lease: whoever writes it, when another one did before, leads from then on
 */
export function overtakenWrites(leases: readonly ObjectWrite[], writes: readonly ObjectWrite[]): string[] {
  const taken = appliedOf(leases);
  const terms = taken.filter(({ by }, at) => by !== taken[at - 1]?.by);
  const termOf = ({ by, receivedAtMs }: ObjectWrite): number =>
    terms.findLastIndex((term) => term.by === by && term.receivedAtMs <= receivedAtMs);
  const newest = new Map<string, number>();
  return appliedOf(writes).flatMap((write) => {
    const term = termOf(write);
    const before = newest.get(write.key) ?? -1;
    newest.set(write.key, Math.max(before, term));
    return term < before
      ? [`${write.by} ${write.verb} ${write.key} at ${write.answeredAtMs}, after ${terms[before]!.by}`]
      : [];
  });
}

/** Microseconds, which Date would cut. */
function milliseconds(timestamp: string): number {
  const micros = /\.\d{3}(\d{3})/.exec(timestamp)?.[1] ?? '0';
  return Date.parse(timestamp) + Number(micros) / 1000;
}
