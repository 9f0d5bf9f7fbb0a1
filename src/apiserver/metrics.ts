import type { ApiReply, ApiRequest, Target } from './request.ts';
import { RESOURCES } from './resource.ts';
import { storeOf, type ApiServer } from './state.ts';

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Counts one answer, as apiserver_request_total does. @param target null = the path names no resource */
export function countRequest(
  counts: Map<string, number>,
  target: Target | null,
  { method, path }: ApiRequest,
  reply: ApiReply,
): void {
  const watch = 'watch' in reply;
  // Methods and dryRun are texts of the client. Only known ones become labels.
  const verb = METHODS.includes(method) ? method : 'other';
  const dryRun = path.includes('dryRun=All') ? 'All' : '';
  const key =
    target === null
      ? `${verb}||||${dryRun}|${reply.status}`
      : `${verbOf(verb, target, watch)}|${target.resource.name}|${target.subresource}|${scopeOf(target, method)}|${dryRun}|${reply.status}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const METHODS: readonly string[] = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'];

function verbOf(method: string, { name }: Target, watch: boolean): string {
  if (watch) return 'WATCH';
  return method === 'GET' && name === '' ? 'LIST' : method;
}

/** The scope of a create is one object, though its path names none. */
function scopeOf({ namespace, name }: Target, method: string): string {
  if (name !== '' || method === 'POST') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

function watchCounts(server: ApiServer): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const watchers of server.watchers.values()) {
    for (const { resource, namespace } of watchers) {
      const { name, group, version } = resource;
      const scope = namespace === '' ? 'cluster' : 'namespace';
      const labels =
        `component="apiserver",group="${group}",resource="${name}",scope="${scope}",subresource="",` +
        `verb="WATCH",version="${version}"`;
      counts.set(labels, (counts.get(labels) ?? 0) + 1);
    }
  }
  return counts;
}

/** The metrics of a kube-apiserver that have a meaning here, in Prometheus' text format and under their own names. */
export function metricsText(server: ApiServer): string {
  const lines: string[] = [];
  const add = (name: string, help: string, type: string): void => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  };
  add('apiserver_longrunning_requests', 'Watches that are open, by resource.', 'gauge');
  for (const [labels, count] of watchCounts(server)) lines.push(`apiserver_longrunning_requests{${labels}} ${count}`);
  add('apiserver_request_total', 'Requests that were answered, by resource, verb and status.', 'counter');
  for (const [key, count] of [...server.requests].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const [verb = '', name = '', subresource = '', scope = '', dryRun = '', code = ''] = key.split('|');
    const { group = '', version = '' } = RESOURCES.find((resource) => resource.name === name) ?? {};
    const labels = [
      `code="${code}"`,
      'component="apiserver"',
      `dry_run="${dryRun}"`,
      `group="${group}"`,
      `resource="${name}"`,
      `scope="${scope}"`,
      `subresource="${subresource}"`,
      `verb="${verb}"`,
      `version="${version}"`,
    ];
    lines.push(`apiserver_request_total{${labels.join(',')}} ${count}`);
  }
  add('apiserver_resource_objects', 'Objects that are stored, by resource.', 'gauge');
  for (const resource of RESOURCES) {
    const labels = `group="${resource.group}",resource="${resource.name}"`;
    lines.push(`apiserver_resource_objects{${labels}} ${storeOf(server, resource).records.size}`);
  }
  return `${lines.join('\n')}\n`;
}
