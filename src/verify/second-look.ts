/**
 * A second look at services that differ. Their inputs and outputs are read from the server, past the watches. A plan
 * counts only if the caches that it was made from are as new as what was read.
 */
import { getService, getSlice } from '../controller/caches/services.ts';
import type { ServiceState } from '../controller/caches/service-state.ts';
import type { ControllerName } from '../controller/options.ts';
import type { Reflector } from '../controller/reflectors/reflector.ts';
import type { ControllerState } from '../controller/state.ts';
import { getPod, podsOf, servicesOf } from '../core/selector-index.ts';
import { decodeBare, decodeJson } from '../kube/codec.ts';
import { serviceKey } from '../kube/key.ts';
import { labelsGet, labelsInclude, selectorText } from '../kube/labels.ts';
import type { ListPage } from '../kube/list.ts';
import { SERVICE_NAME_LABEL, SLICE_MANAGED_BY_LABEL } from '../kube/names.ts';
import { projectMeta, type MetaRecord } from '../kube/object-meta.ts';
import { compareResourceVersions } from '../kube/resource-version.ts';
import type { ObjectSource } from '../kube/source.ts';
import type { Endpoints, EndpointSlice, KubeObject } from '../kube/types.ts';
import { lastWriter } from '../core/last-writer.ts';
import type { ListQuery } from '../lists/list-pages.ts';
import type { ListReader, ListResult } from '../lists/list-reader.ts';

/** What is read: one service, a namespace, or the whole cluster. '' = all. */
export interface Scope {
  readonly namespace: string;
  readonly service: string;
}

/** One service as the server has it. */
export interface Sight {
  readonly namespace: string;
  readonly name: string;
  endpoints: Endpoints | null;
  readonly slices: Map<string, EndpointSlice>;
  /** The field manager that has written each object last, by kind and name. */
  readonly writers: Map<string, string>;
  /** The caches are older than what was read, or a plan is under way. So the plan says nothing about what was read. */
  unsettled: boolean;
}

export type Sights = ReadonlyMap<string, Sight>;

/** A unit that differs. Only what its controller reads is read. */
export interface Looked {
  readonly controller: ControllerName;
  readonly namespace: string;
  readonly service: string;
}

type Resources = ReadonlySet<Reflector['resource']>;

/**
 * Looks at these services, all of which are in `scope`.
 * @param done takes their sights by `<namespace>/<name>`, or why there are none
 */
export function lookAgain(
  state: ControllerState,
  reader: ListReader,
  scope: Scope,
  services: readonly Looked[],
  done: (sights: Sights, failure: string | null) => void,
): void {
  const sights = new Map<string, Sight>();
  for (const { namespace, service } of services) {
    const sight = {
      namespace,
      name: service,
      endpoints: null,
      slices: new Map(),
      writers: new Map(),
      unsettled: false,
    };
    sights.set(serviceKey(namespace, service), sight);
  }
  const names = new Set(services.map(({ controller }) => controller));
  const controllers = state.controllers.filter(({ name }) => names.has(name));
  const resources = new Set(controllers.flatMap((controller) => controller.caches(state.options)));
  const steps = stepsOf(state, scope, sights, resources);
  const next = (): void => {
    const step = steps.shift();
    if (step === undefined) {
      for (const sight of sights.values()) if (!outputsAreCached(state, sight, resources)) sight.unsettled = true;
      done(sights, null);
      return;
    }
    reader.read(step.query, step.onPage, (result: ListResult) => {
      if ('failure' in result) {
        done(sights, `${step.query.path}: ${result.status === 0 ? '' : `${result.status} `}${result.failure}`);
        return;
      }
      step.onEnd?.(result.version);
      next();
    });
  };
  next();
}

interface Step {
  readonly query: ListQuery;
  readonly onPage: (page: ListPage) => void;
  readonly onEnd?: (version: string) => void;
}

/** Outputs are read first, so that inputs are never older than they are. */
function stepsOf(
  state: ControllerState,
  { namespace, service }: Scope,
  sights: Map<string, Sight>,
  resources: Resources,
): Step[] {
  const within = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const named = service === '' ? '' : `metadata.name=${service}`;
  const ofService = service === '' ? '' : `,${SERVICE_NAME_LABEL}=${service}`;
  const managedBy = state.controllers.map((controller) => controller.managedBy).filter((value) => value !== '');
  const selector = service === '' ? null : (getService(state, namespace, service)?.record?.selector ?? null);
  const query = (path: string, more: Partial<ListQuery>): ListQuery => {
    return { path, fieldSelector: '', labelSelector: '', form: 'records', ...more };
  };
  const steps: Step[] = [];
  if (resources.has('endpoints')) {
    steps.push({
      query: query(`/api/v1${within}/endpoints`, { fieldSelector: named }),
      onPage: ({ items }) => items.forEach((source) => takeEndpoints(sights, source)),
    });
  }
  if (resources.has('endpointslices')) {
    const labelSelector = `${SLICE_MANAGED_BY_LABEL} in (${managedBy.join(',')})${ofService}`;
    steps.push({
      query: query(`/apis/discovery.k8s.io/v1${within}/endpointslices`, { labelSelector }),
      onPage: ({ items }) => items.forEach((source) => takeSlice(sights, source)),
    });
  }
  steps.push({
    query: query(`/api/v1${within}/services`, { fieldSelector: named, form: 'metadata' }),
    onPage: ({ items }) => items.forEach((source) => compareService(state, sights, projectMeta(source))),
  });
  if (resources.has('pods') && (service === '' || selector !== null)) {
    const seen = new Set<string>();
    steps.push({
      query: query(`/api/v1${within}/pods`, { labelSelector: selectorText(selector ?? []), form: 'metadata' }),
      onPage: ({ items }) => items.forEach((source) => comparePod(state, sights, seen, projectMeta(source))),
      onEnd: (version) => compareMissingPods(state, sights, seen, version),
    });
  }
  return steps;
}

function takeEndpoints(sights: Sights, source: ObjectSource): void {
  const { namespace, name } = projectMeta(source);
  const sight = sights.get(serviceKey(namespace, name));
  if (sight === undefined) return;
  sight.endpoints = decode(source, 'v1', 'Endpoints') as unknown as Endpoints;
  sight.writers.set(objectKey('Endpoints', name), lastWriter(source));
}

function takeSlice(sights: Sights, source: ObjectSource): void {
  const { namespace, name, labels } = projectMeta(source);
  const sight = sights.get(serviceKey(namespace, labelsGet(labels, SERVICE_NAME_LABEL) ?? ''));
  if (sight === undefined) return;
  sight.slices.set(name, decode(source, 'discovery.k8s.io/v1', 'EndpointSlice') as unknown as EndpointSlice);
  sight.writers.set(objectKey('EndpointSlice', name), lastWriter(source));
}

/** The key of an object in `Sight.writers`. */
export function objectKey(kind: 'Endpoints' | 'EndpointSlice', name: string): string {
  return `${kind} ${name}`;
}

function decode(source: ObjectSource, apiVersion: string, kind: string): KubeObject {
  return source.encoding === 'json'
    ? decodeJson(apiVersion, kind, source.value)
    : decodeBare(apiVersion, kind, source.bytes);
}

function isBehind(cachedVersion: string | undefined, version: string): boolean {
  return cachedVersion === undefined || compareResourceVersions(cachedVersion, version) < 0;
}

function compareService(
  state: ControllerState,
  sights: Sights,
  { namespace, name, resourceVersion }: MetaRecord,
): void {
  const sight = sights.get(serviceKey(namespace, name));
  if (sight === undefined) return;
  if (isBehind(getService(state, namespace, name)?.record?.resourceVersion, resourceVersion)) sight.unsettled = true;
}

function comparePod(state: ControllerState, sights: Sights, seen: Set<string>, pod: MetaRecord): void {
  const { namespace, name, resourceVersion, labels } = pod;
  seen.add(serviceKey(namespace, name));
  if (!isBehind(getPod(state.index, namespace, name)?.resourceVersion, resourceVersion)) return;
  for (const service of servicesOf(state.index, namespace, name)) unsettle(sights, service);
  // Services that select the pod by labels which the cache has not seen yet.
  for (const sight of sights.values()) {
    if (sight.unsettled || sight.namespace !== namespace) continue;
    const selector = getService(state, namespace, sight.name)?.record?.selector;
    if (selector != null && labelsInclude(labels, selector)) sight.unsettled = true;
  }
}

function compareMissingPods(state: ControllerState, sights: Sights, seen: ReadonlySet<string>, version: string): void {
  for (const sight of sights.values()) {
    const service = getService(state, sight.namespace, sight.name);
    if (service === undefined) continue;
    for (const { namespace, name, resourceVersion } of podsOf(state.index, service)) {
      if (!seen.has(serviceKey(namespace, name)) && isBehind(resourceVersion, version)) sight.unsettled = true;
    }
  }
}

function unsettle(sights: Sights, { namespace, name }: ServiceState): void {
  const sight = sights.get(serviceKey(namespace, name));
  if (sight !== undefined) sight.unsettled = true;
}

/** Whether the caches hold what was read, and nothing waits to be planned. */
function outputsAreCached(
  state: ControllerState,
  { namespace, name, endpoints, slices }: Sight,
  resources: Resources,
): boolean {
  const service = getService(state, namespace, name);
  if (service === undefined) return endpoints === null && slices.size === 0;
  if (resources.has('endpoints') && service.endpoints.record?.resourceVersion !== endpoints?.metadata.resourceVersion) {
    return false;
  }
  let cached = 0;
  for (const unit of service.units) {
    if (unit.sync !== null || unit.item.waiting !== null || unit.item.freshDueMs < Infinity) return false;
    for (const slice of unit.slices?.values() ?? []) if (slice.record !== null) cached++;
  }
  if (!resources.has('endpointslices')) return true;
  if (cached !== slices.size) return false;
  for (const slice of slices.values()) {
    const known = getSlice(state, namespace, slice.metadata.name ?? '');
    if (known?.record?.resourceVersion !== slice.metadata.resourceVersion) return false;
  }
  return true;
}
