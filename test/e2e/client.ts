import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { endpointsText, expectedEndpoints } from '../../src/judge/endpoints-check.ts';
import { MANAGED_BY_LABEL, MANAGED_BY_VALUE, OVER_CAPACITY_ANNOTATION } from '../../src/kube/names.ts';
import type { KubeObject } from '../../src/kube/types.ts';
import { createApiClient, type ApiClient } from '../../src/node/api-client.ts';
import type { Cluster } from '../../src/testbed/kube-cluster.ts';

const CONNECTIONS = 16;
const POLL_MS = 50;
const RIGHT_MS_MAX = 120_000;
const DIFFERENCES_SHOWN = 5;
const LINES_SHOWN = 12;

export function clientOf(cluster: Cluster): ApiClient {
  return createApiClient(
    { url: cluster.url, token: cluster.token, ca: readFileSync(cluster.caFile, 'utf8') },
    CONNECTIONS,
  );
}

export interface RightOptions {
  /** Only this namespace; default all. */
  readonly namespace?: string;
  /** Objects of these namespaces may be anything. */
  readonly except?: ReadonlySet<string>;
  readonly deadlineMs?: number;
}

/**
 * Waits until every Endpoints object says what the slow oracle says about the pods and services that the server holds.
 * @throws Error at the deadline, naming what differs
 */
export async function expectRight(client: ApiClient, options: RightOptions = {}): Promise<void> {
  const { deadlineMs = RIGHT_MS_MAX } = options;
  const untilMs = Date.now() + deadlineMs;
  for (;;) {
    const wrong = await differences(client, options);
    if (wrong.length === 0) return;
    if (Date.now() > untilMs) {
      const more = wrong.length > DIFFERENCES_SHOWN ? `\nand ${wrong.length - DIFFERENCES_SHOWN} more` : '';
      const shown = wrong.slice(0, DIFFERENCES_SHOWN).join('\n');
      throw new Error(`${wrong.length} Endpoints are not right after ${deadlineMs} ms:\n${shown}${more}`);
    }
    await sleep(POLL_MS);
  }
}

/** One text for each object that is not as the oracle wants it; empty = all are right. */
export async function differences(client: ApiClient, { namespace, except }: RightOptions = {}): Promise<string[]> {
  const scope = namespace === undefined ? '/api/v1' : `/api/v1/namespaces/${namespace}`;
  const listOf = async (resource: string): Promise<KubeObject[]> => (await client.list(`${scope}/${resource}`)).items;
  const [services, pods, endpoints, terminating] = await Promise.all([
    listOf('services'),
    listOf('pods'),
    listOf('endpoints'),
    terminatingNamespaces(client),
  ]);
  const wanted = expectedEndpoints(services, pods);
  const held = new Map(endpoints.map((object) => [keyOf(object), object]));
  const known = new Set(services.map(keyOf));

  const wrong: string[] = [];
  for (const [key, text] of wanted) {
    const object = held.get(key);
    if (object === undefined) {
      // Nothing can be created there any more.
      if (!terminating.has(namespaceOf(key))) wrong.push(`${key}: missing`);
    } else if (endpointsText(object) !== text) wrong.push(`${key}:\n${lineDifference(text, endpointsText(object))}`);
    else if (!['truncated', undefined].includes(object.metadata.annotations?.[OVER_CAPACITY_ANNOTATION]))
      wrong.push(`${key}: over-capacity annotation ${object.metadata.annotations![OVER_CAPACITY_ANNOTATION]}`);
  }
  for (const [key, { metadata }] of held) {
    if (known.has(key) || metadata.labels?.[MANAGED_BY_LABEL] !== MANAGED_BY_VALUE) continue;
    wrong.push(`${key}: is there without a Service`);
  }
  return except === undefined ? wrong : wrong.filter((text) => !except.has(namespaceOf(text)));
}

async function terminatingNamespaces(client: ApiClient): Promise<Set<string>> {
  const { items } = await client.list('/api/v1/namespaces');
  return new Set(
    items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).map(({ metadata }) => metadata.name!),
  );
}

/** `-` = is missing, `+` = is too much. */
function lineDifference(wanted: string, held: string): string {
  const [before, after] = [wanted.split('\n'), held.split('\n')];
  const [beforeSet, afterSet] = [new Set(before), new Set(after)];
  const lines = [
    ...before.filter((line) => !afterSet.has(line)).map((line) => `  - ${line}`),
    ...after.filter((line) => !beforeSet.has(line)).map((line) => `  + ${line}`),
  ];
  if (lines.length === 0)
    return `  the same lines in another order:\n  - ${before.join('\n  - ')}\n  + ${after.join('\n  + ')}`;
  const more = lines.length > LINES_SHOWN ? `\n  and ${lines.length - LINES_SHOWN} more lines` : '';
  return lines.slice(0, LINES_SHOWN).join('\n') + more;
}

/** resourceVersion of every Endpoints object by `<namespace>/<name>`: equal before and after = nobody wrote. */
export async function endpointsVersions(client: ApiClient): Promise<Map<string, string>> {
  const { items } = await client.list('/api/v1/endpoints');
  return new Map(items.map((object) => [keyOf(object), object.metadata.resourceVersion!]));
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}
