import { readObjects } from '../../src/testbed/read-objects.ts';
import { SERVICE_NAME_LABEL, TOPOLOGY_MODE_ANNOTATION, TRIGGER_TIME_ANNOTATION } from '../../src/kube/names.ts';
import type { Endpoint, EndpointSlice, KubeObject } from '../../src/kube/types.ts';
import type { ApiClient } from '../../src/node/api-client.ts';
import { keyOf } from './client.ts';
import { normalised } from './normalised.ts';

/** What the three controllers have written on a server, in a form that two servers can be compared by. */
export interface Written {
  /** By `<kind> <namespace>/<service>`: what the object or the slices of a service say, each line a part. */
  readonly texts: ReadonlyMap<string, string>;
  /** Of every object: equal twice = nobody has written in between. */
  readonly versions: string;
}

/**
 * Left out are uids, versions, times and drawn names. Which endpoint is in which of several slices depends on the order in
 * which pods were seen: of slices, what stands around the endpoints is told one by one, the endpoints of all together. So
 * does which endpoint is lent to which zone for its share of CPU: of those hints only whether there are any is told.
 */
export async function readWritten(client: ApiClient): Promise<Written> {
  const { services, endpoints, slices } = await readObjects(client);
  const texts = new Map<string, string>();
  const versions: string[] = [];
  const byService = new Map<string, EndpointSlice[]>();
  for (const object of endpoints) {
    if (isServersOwn(object)) continue;
    versions.push(object.metadata.resourceVersion!);
    texts.set(`Endpoints ${keyOf(object)}`, normalised({ ...object, kind: 'Endpoints' }));
  }
  for (const object of slices) {
    if (isServersOwn(object)) continue;
    versions.push(object.metadata.resourceVersion!);
    const { namespace, labels } = object.metadata;
    const key = `EndpointSlices ${namespace}/${labels?.[SERVICE_NAME_LABEL] ?? ''}`;
    const found = byService.get(key) ?? [];
    byService.set(key, found);
    found.push(object as unknown as EndpointSlice);
  }
  const byCpu = new Set(
    services
      .filter(({ metadata }) => metadata.annotations?.[TOPOLOGY_MODE_ANNOTATION] === 'Auto')
      .map((service) => `EndpointSlices ${keyOf(service)}`),
  );
  for (const [key, found] of byService) texts.set(key, slicesText(found, byCpu.has(key)));
  return { texts, versions: versions.sort().join(' ') };
}

/** One text for each service or object that is not the same on both; at most `shown` lines of each. */
export function writtenDifferences(left: Written, right: Written, shown = 8): string[] {
  const keys = [...new Set([...left.texts.keys(), ...right.texts.keys()])].toSorted();
  return keys.flatMap((key) => {
    const [a, b] = [left.texts.get(key), right.texts.get(key)];
    if (a === b) return [];
    const lines = [
      ...surplus(a, b).map((line) => `  ours  ${line}`),
      ...surplus(b, a).map((line) => `  theirs ${line}`),
    ];
    return [[key, ...lines.slice(0, shown)].join('\n')];
  });
}

/** Lines of `text` that `other` has not as often. */
function surplus(text = '(none)', other = '(none)'): string[] {
  const held = other.split('\n');
  return text.split('\n').filter((line) => {
    const at = held.indexOf(line);
    if (at >= 0) held.splice(at, 1);
    return at < 0;
  });
}

function slicesText(slices: readonly EndpointSlice[], hintsByCpu: boolean): string {
  const frames: string[] = [];
  const groups = new Map<string, string[]>();
  const hinted: string[] = [];
  for (const { metadata, addressType, endpoints, ports } of slices) {
    const { [TRIGGER_TIME_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {};
    const owners = (metadata.ownerReferences ?? []).map(({ uid: __, ...owner }) => owner);
    const { labels } = metadata;
    frames.push(`slice ${addressType} ${textOf({ labels, annotations, owners })}`);
    const group = `${addressType} ${(ports ?? []).map(textOf).toSorted().join(' ')}`;
    const lines = groups.get(group) ?? [];
    groups.set(group, lines);
    for (const endpoint of endpoints ?? []) {
      const { hints, ...others } = endpoint;
      lines.push(`  ${endpointText(hintsByCpu ? others : endpoint)}`);
      if (hintsByCpu) hinted.push(`${addressType} ${hints?.forZones?.length ?? 0} hints`);
    }
  }
  const told = [...frames.toSorted(), ...hinted.toSorted().map((text) => `an endpoint with ${text}`)];
  for (const [group, lines] of [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    told.push(group, ...lines.toSorted());
  return told.join('\n');
}

function endpointText(endpoint: Endpoint): string {
  const { targetRef, ...others } = endpoint;
  const { kind, namespace, name } = targetRef ?? {};
  return `${endpoint.addresses.join()} ${textOf({ ...others, target: `${kind} ${namespace}/${name}` })}`;
}

/** With keys in order of the alphabet. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** kube-apiserver's own, of its own Service. */
function isServersOwn({ metadata }: KubeObject): boolean {
  return metadata.namespace === 'default' && metadata.name === 'kubernetes';
}
