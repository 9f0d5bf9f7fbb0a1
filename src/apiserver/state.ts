import type { ResourceName } from '../kube/types.ts';
import { createBodyCache, type BodyCache } from './body-cache.ts';
import { RESOURCES, type Resource } from './resource.ts';
import { createRecord, type StoredRecord } from './record.ts';
import type { ApiObject } from './object.ts';
import { createServiceAddresses, type ServiceAddresses } from './service-addresses.ts';
import { createStore, putRecord, remember, removeRecord, type Store, type StoreEvent } from './store.ts';
import { RULES } from './rules/all.ts';
import type { Watcher } from './watch.ts';

/** YAML comes from outside: reading it takes a package. */
export interface YamlFormat {
  /** @throws Error when it is no YAML */
  readonly parse: (text: string) => unknown;
  readonly format: (value: unknown) => string;
}

export interface ApiServerConfig {
  /** Uniform in [0, 1): names, uids, addresses, lengths of watches. */
  readonly random: () => number;
  /** Wall-clock milliseconds: creation time of what is there from the start. Default 0. */
  readonly startWallMs?: number;
  /** False = as a server without the WatchList feature: `sendInitialEvents` is refused. Default true. */
  readonly watchList?: boolean;
  /** Default ['10.96.0.0/12']; a second one of the other family makes the cluster dual-stack. */
  readonly serviceClusterIPRanges?: readonly string[];
  /** Most changes that are kept for each resource, for watches that start in the past. Default 10,000. */
  readonly historyEventsMax?: number;
  /** The same in bytes, about. Default 64 MiB. */
  readonly historyBytesMax?: number;
  /** Most bytes of encoded objects that are kept to be sent again. Default 128 MiB. */
  readonly bodyCacheBytesMax?: number;
  /** Most changes that wait for a watcher before it is closed. Default 10,000. */
  readonly watchOutboxEventsMax?: number;
  /** Bookmarks come this often. Default 60,000. */
  readonly bookmarkPeriodMs?: number;
  /** Null = bodies in YAML are refused with 415, and none are sent. Default null. */
  readonly yaml?: YamlFormat | null;
}

export interface ApiServer {
  readonly config: Required<ApiServerConfig>;
  /** Of the last write, of any resource. */
  revision: number;
  /** Wall-clock milliseconds of the last request or tick. */
  nowMs: number;
  readonly stores: ReadonlyMap<ResourceName, Store>;
  /** Open watches by `watchersKey`, so that a write meets only those that may want to hear of it. No set is empty. */
  readonly watchers: Map<string, Set<Watcher>>;
  readonly addresses: ServiceAddresses;
  readonly bodies: BodyCache;
  /** Answers so far, by the labels of apiserver_request_total. */
  readonly requests: Map<string, number>;
  /** Writes are checked and answered, but nothing is kept and nobody is told. */
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

/** @param namespace '' = watches of all namespaces */
function watchersKey(resource: Resource, namespace: string): string {
  return `${resource.name}/${namespace}`;
}

export function addWatcher({ watchers }: ApiServer, watcher: Watcher): void {
  const key = watchersKey(watcher.resource, watcher.namespace);
  const others = watchers.get(key);
  if (others === undefined) watchers.set(key, new Set([watcher]));
  else others.add(watcher);
}

/** Does nothing when it is there no more. */
export function removeWatcher({ watchers }: ApiServer, watcher: Watcher): void {
  const key = watchersKey(watcher.resource, watcher.namespace);
  const others = watchers.get(key);
  if (others?.delete(watcher) === true && others.size === 0) watchers.delete(key);
}
