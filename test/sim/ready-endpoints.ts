/** A ready endpoint that was in a slice is never in none by our doing. */
import { nameOf, objectsOf } from './hand.ts';
import { isHeld, type Run } from './run.ts';
import type { Reflector } from '../../src/controller/reflectors/reflector.ts';
import { readInputs } from '../../src/judge/check-inputs.ts';
import { oracleSlices, portsKey } from '../../src/judge/slices-oracle.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL, SLICE_MANAGED_BY_VALUE } from '../../src/kube/names.ts';
import type { Endpoint, EndpointSlice, KubeObject } from '../../src/kube/types.ts';

/** Of the resources that the controller watches, as far as it had reached. */
export type Versions = Partial<Record<Reflector['resource'], number>>;

/** Ready endpoints of a slice of the EndpointSlice controller. */
export function readyKeys(object: KubeObject): Set<string> {
  const keys = new Set<string>();
  const { metadata, addressType, endpoints, ports } = object as unknown as EndpointSlice;
  if (metadata.labels?.[SLICE_MANAGED_BY_LABEL] !== SLICE_MANAGED_BY_VALUE) return keys;
  for (const endpoint of endpoints ?? []) {
    if (endpoint.conditions?.ready === true) keys.add(keyOf(addressType, portsKey(ports ?? []), endpoint));
  }
  return keys;
}

/**
 * What a write has taken out of its last slice wrongly: a ready endpoint of which the controller had known, before the sync
 * that planned the write began, that it is wanted; null = nothing. What the controller did not know yet it cannot heed, nor
 * what has become of a write that it has given up. In a namespace that ends nothing can be created.
 * @param view what was known at the start of that sync; null = nobody knows
 * @param after undefined = the slice was deleted
 */
export function takenAway(
  run: Run,
  view: Versions | null,
  before: KubeObject,
  after: KubeObject | undefined,
): string | null {
  const { namespace = '', labels = {} } = before.metadata;
  const service = labels[SERVICE_NAME_LABEL] ?? '';
  const left = after === undefined ? new Set<string>() : readyKeys(after);
  const gone = [...readyKeys(before)].filter((key) => !left.has(key));
  if (gone.length === 0 || view === null || isHeld(run, 'restored') || isEnding(run, namespace)) return null;
  const untouched = gone.filter((key) => !touchedByOthers(run, before, key, view.endpointslices ?? 0));
  const slices = objectsOf(run.sim, 'endpointslices').filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.labels?.[SERVICE_NAME_LABEL] === service,
  );
  const elsewhere = new Set<string>();
  for (const slice of slices) for (const key of readyKeys(slice)) elsewhere.add(key);
  const wanted = knownWanted(run, `${namespace}/${service}`, view);
  const asBefore = untouched.find((key) => !elsewhere.has(key) && wanted.has(key));
  if (asBefore !== undefined) return `${asBefore} of ${namespace}/${service}`;
  // Two slices that exchange endpoints cannot be written at once: of those each takes something in.
  if (after !== undefined && addressesOf(after).some((address) => !addressesOf(before).includes(address))) return null;
  const places = new Set([...elsewhere].map(addressOf));
  const known = new Set([...wanted].map(addressOf));
  const moved = untouched.map(addressOf).find((address) => !places.has(address) && known.has(address));
  return moved === undefined ? null : `${moved} of ${namespace}/${service}`;
}

/** Family, ports, address and pod: two pods may have one address, where one of them has ended. */
function keyOf(family: string, ports: string, { addresses, targetRef }: Endpoint): string {
  return `${family} ${ports} ${addresses[0]}/${targetRef?.uid ?? ''}`;
}

/** Without the ports, which an endpoint may change on its way to another slice. */
function addressOf(key: string): string {
  return `${key.slice(0, key.indexOf(' '))}${key.slice(key.lastIndexOf(' '))}`;
}

function addressesOf(object: KubeObject): string[] {
  return ((object as unknown as EndpointSlice).endpoints ?? []).flatMap(({ addresses }) => addresses);
}

function ipOf(key: string): string {
  return key.slice(key.lastIndexOf(' ') + 1, key.lastIndexOf('/'));
}

function isEnding({ sim }: Run, namespace: string): boolean {
  const object = sim.server.stores.get('namespaces')!.records.get(namespace)?.object;
  return object?.metadata.deletionTimestamp !== undefined;
}

/** What others have done to the endpoint in the service's slices since then the plan could not know, deletions too. */
function touchedByOthers({ sim, ownVersions }: Run, { metadata }: KubeObject, key: string, since: number): boolean {
  const { history, historyStart, droppedRevision } = sim.server.stores.get('endpointslices')!;
  if (droppedRevision > since) return true;
  const address = ipOf(key);
  return history.slice(historyStart).some((event) => {
    const { revision, record, previous } = event!;
    if (revision <= since || ownVersions.has(revision)) return false;
    return [record, previous].some((one) => {
      const { namespace, labels } = one?.object.metadata ?? {};
      if (one === null || namespace !== metadata.namespace) return false;
      if (labels?.[SERVICE_NAME_LABEL] !== metadata.labels?.[SERVICE_NAME_LABEL]) return false;
      return addressesOf(one.object as unknown as KubeObject).includes(address);
    });
  });
}

function version({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion ?? 0);
}

/** Ready endpoints that the service is to have, as far as all that they follow from was known. */
function knownWanted({ sim }: Run, key: string, view: Versions): Set<string> {
  const wanted = new Set<string>();
  const services = objectsOf(sim, 'services').filter((service) => nameOf(service) === key);
  const [service] = services;
  if (service === undefined || version(service) > (view.services ?? 0)) return wanted;
  const pods = objectsOf(sim, 'pods').filter(({ metadata }) => metadata.namespace === service.metadata.namespace);
  const nodes = objectsOf(sim, 'nodes');
  const inputs = readInputs(services, pods, nodes);
  const record = inputs.services.get(key)!;
  if (record.deleting) return wanted;
  const expected = oracleSlices(record, { pods: inputs.podsFor(record), nodes: inputs.nodes });
  const versions = new Map([...pods, ...nodes].map((object) => [nameOf(object), version(object)]));
  for (const { family, groups } of expected?.families ?? []) {
    for (const [ports, endpoints] of groups) {
      for (const endpoint of endpoints) {
        const { conditions, targetRef, nodeName } = endpoint;
        const pod = versions.get(`${targetRef!.namespace}/${targetRef!.name}`) ?? 0;
        const node = versions.get(nodeName ?? '') ?? 0;
        const isKnown = pod <= (view.pods ?? 0) && node <= (view.nodes ?? 0);
        if (conditions?.ready === true && isKnown) wanted.add(keyOf(family, ports, endpoint));
      }
    }
  }
  return wanted;
}
