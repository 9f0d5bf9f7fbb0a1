import { readFile } from 'node:fs/promises';
import type { Cluster } from './cluster.ts';

/** A request of a controller that would change an object, whether it was granted or not. */
export interface ObjectWrite {
  /** create, update, patch or delete. */
  readonly verb: string;
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly status: number;
}

interface AuditEntry {
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

export type EndpointsWrite = ObjectWrite;

export function endpointsWrites(cluster: Cluster, program: string): Promise<EndpointsWrite[]> {
  return writesOf(cluster, program, 'endpoints');
}

/** Everything so far; a cluster with `auditLog` writes each entry before the answer leaves. */
export async function writesOf(
  cluster: Cluster,
  program: string,
  resource: 'endpoints' | 'endpointslices',
): Promise<ObjectWrite[]> {
  const writes: ObjectWrite[] = [];
  for (const line of (await readFile(cluster.auditLogPath, 'utf8')).split('\n')) {
    if (!line.includes(`"resource":"${resource}"`)) continue;
    const { verb, userAgent = '', objectRef = {}, responseStatus = {} } = JSON.parse(line) as AuditEntry;
    if (!userAgent.startsWith(program) || !VERBS.has(verb)) continue;
    writes.push({ verb, key: `${objectRef.namespace}/${objectRef.name}`, status: responseStatus.code ?? 0 });
  }
  return writes;
}

const VERBS: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);
