import type { ResourceName } from '../kube/types.ts';
import { createBodyCache, type BodyCache } from './body-cache.ts';
import { RESOURCES, type Resource } from './resource.ts';
import { createRecord, type StoredRecord } from './record.ts';
import type { ApiObject } from './object.ts';
import { createServiceAddresses, type ServiceAddresses } from './service-addresses.ts';
import { createStore, putRecord, remember, removeRecord, type Store, type StoreEvent } from './store.ts';
import { RULES } from './rules/all.ts';
import type { Watcher } from './watch.ts';

/** YAML as a port: parsing it takes a package. */
export interface YamlFormat {
  /** @throws Error if the text is no YAML */
  readonly parse: (text: string) => unknown;
  readonly format: (value: unknown) => string;
}

export interface ApiServerConfig {
  /** Uniform in [0, 1). Names, uids, addresses and the lengths of watches are drawn from it. */
  readonly random: () => number;
  /** Wall-clock milliseconds: the creation time of the first objects. Default 0. */
  readonly startWallMs?: number;
  /** false = the server lacks the WatchList feature, so `sendInitialEvents` is refused. Default true. */
  readonly watchList?: boolean;
  /** Default ['10.96.0.0/12']. A second range of the other family makes the cluster dual-stack. */
  readonly serviceClusterIPRanges?: readonly string[];
  /** The most changes of each resource that are kept for watches that begin in the past. Default 10,000. */
  readonly historyEventsMax?: number;
  /** The most bytes of those changes, roughly. Default 64 MiB. */
  readonly historyBytesMax?: number;
  /** The most bytes of encoded objects that are kept for further replies. Default 128 MiB. */
  readonly bodyCacheBytesMax?: number;
  /** The most changes that wait for a watcher. Beyond that it is closed. Default 10,000. */
  readonly watchOutboxEventsMax?: number;
  /** The most bytes of the changes that wait for one watcher, roughly. Beyond that it is closed. Default: 512 MiB. */
  readonly watchOutboxBytesMax?: number;
  /** The time between two bookmarks. Default 60,000. */
  readonly bookmarkPeriodMs?: number;
  /** null = bodies in YAML are refused with 415, and none are sent. Default null. */
  readonly yaml?: YamlFormat | null;
}

export interface ApiServer {
  readonly config: Required<ApiServerConfig>;
  /** The revision of the last write to any resource. */
  revision: number;
  /** Wall-clock milliseconds of the last request or tick. */
  nowMs: number;
  readonly stores: ReadonlyMap<ResourceName, Store>;
  /** Open watches by `watchersKey`, so that a write only meets watchers that may want it. No set is empty. */
  readonly watchers: Map<string, Set<Watcher>>;
  readonly addresses: ServiceAddresses;
  readonly bodies: BodyCache;
  /** The number of answers so far, by the labels of apiserver_request_total. */
  readonly requests: Map<string, number>;
  /** Whether writes are only checked and answered: nothing is kept, and no watcher hears of it. */
  readonly dryRun: boolean;
}

export function createState(config: ApiServerConfig): ApiServer {
  const full: Required<ApiServerConfig> = {
    startWallMs: 0,
    watchList: true,
    serviceClusterIPRanges: ['10.96.0.0/12'],
    historyEventsMax: 10_000,
    historyBytesMax: 64 * 1024 * 1024,
    bodyCacheBytesMax: 128 * 1024 * 1024,
    watchOutboxEventsMax: 10_000,
    watchOutboxBytesMax: 512 * 1024 * 1024,
    bookmarkPeriodMs: 60_000,
    yaml: null,
    ...config,
  };
  return {
    config: full,
    revision: 1,
    nowMs: full.startWallMs,
    stores: new Map(RESOURCES.map((resource) => [resource.name, createStore(resource)])),
    watchers: new Map(),
    addresses: createServiceAddresses(full.serviceClusterIPRanges, full.random),
    requests: new Map(),
    dryRun: false,
    bodies: createBodyCache(full.bodyCacheBytesMax),
  };
}

export function storeOf(server: ApiServer, resource: Resource): Store {
  return server.stores.get(resource.name)!;
}

export function keyOf(resource: Resource, namespace: string, name: string): string {
  return resource.namespaced ? `${namespace}/${name}` : name;
}

/** Writes an object as the next revision and tells the watchers. The object must not be changed afterwards. */
export function write(server: ApiServer, resource: Resource, object: ApiObject, sizeBytes: number): StoredRecord {
  const { namespace = '', name = '' } = object.metadata;
  const key = keyOf(resource, namespace, name);
  if (server.dryRun) return createRecord(server.bodies, resource, key, server.revision, object, sizeBytes);
  const revision = ++server.revision;
  object.metadata.resourceVersion = String(revision);
  const record = createRecord(server.bodies, resource, key, revision, object, sizeBytes);
  const event = putRecord(storeOf(server, resource), record);
  publish(server, resource, event);
  RULES[resource.name].changed?.(object, event.previous?.object ?? null, {
    addresses: server.addresses,
    status: false,
  });
  return record;
}

/** Removes an object as the next revision. @returns its last state at that revision */
export function remove(server: ApiServer, record: StoredRecord): StoredRecord {
  if (server.dryRun) return record;
  const { resource } = record;
  const event = removeRecord(storeOf(server, resource), record, ++server.revision);
  publish(server, resource, event);
  RULES[resource.name].changed?.(null, record.object, { addresses: server.addresses, status: false });
  return event.record;
}

function publish(server: ApiServer, resource: Resource, event: StoreEvent): void {
  remember(storeOf(server, resource), event, server.config.historyEventsMax, server.config.historyBytesMax);
  offer(server, watchersKey(resource, ''), event);
  const { namespace = '' } = event.record.object.metadata;
  if (namespace !== '') offer(server, watchersKey(resource, namespace), event);
}

function offer({ watchers }: ApiServer, key: string, event: StoreEvent): void {
  const concerned = watchers.get(key);
  if (concerned !== undefined) for (const watcher of concerned) watcher.offer(event);
}

/** @param namespace '' = the watches of all namespaces */
function watchersKey(resource: Resource, namespace: string): string {
  return `${resource.name}/${namespace}`;
}

export function addWatcher({ watchers }: ApiServer, watcher: Watcher): void {
  const key = watchersKey(watcher.resource, watcher.namespace);
  const others = watchers.get(key);
  if (others === undefined) watchers.set(key, new Set([watcher]));
  else others.add(watcher);
}

/** Does nothing if the watcher is already removed. */
export function removeWatcher({ watchers }: ApiServer, watcher: Watcher): void {
  const key = watchersKey(watcher.resource, watcher.namespace);
  const others = watchers.get(key);
  if (others?.delete(watcher) === true && others.size === 0) watchers.delete(key);
}
