/**
 * An independent watcher of what the controllers write for each service: what the server holds, how often it was written,
 * and who waits for what.
 */
import type { Judges } from '../judge/judges.ts';
import type { KubeObject } from '../kube/types.ts';
import type { ApiClient, OnWatchEvent } from '../node/api-client.ts';

/** What one kind of object is to a view. */
export interface Viewed {
  readonly path: string;
  /** For messages, in the plural. */
  readonly title: string;
  /** `<namespace>/<name>` of the service that it is for; null = it is for none. */
  readonly serviceOf: (object: KubeObject) => string | null;
  /** Names the controller that has made the object. */
  readonly managedByLabel: string;
  /** Whether a client that reads all objects of a service would send traffic to the address. */
  readonly sendsTo: (objects: Iterable<KubeObject>, address: string) => boolean;
}

export interface ServiceView {
  /** Creates, updates and deletes seen since the start, of objects with that value of the managed-by label or of all. */
  readonly writes: (managedBy?: string) => number;
  /** Resolves when every service is judged right. Rejected when the watch breaks or at the time limit. */
  readonly converged: (judges: Judges, timeoutMs: number) => Promise<void>;
  /** Calls `onSeen` once an event of the service's objects shows the address among the ready ones, or no longer. */
  readonly expectAddress: (service: string, address: string, ready: boolean, onSeen: () => void) => void;
  /** Expectations that nothing has met. */
  readonly waiting: () => number;
  readonly stop: () => void;
}

interface Awaited {
  readonly address: string;
  readonly ready: boolean;
  readonly onSeen: () => void;
}

interface Convergence {
  readonly judges: Judges;
  readonly wrong: Set<string>;
  readonly done: () => void;
}

/** What the server holds, as told so far. */
interface State {
  readonly viewed: Viewed;
  /** By service, then by name. */
  readonly objects: Map<string, Map<string, KubeObject>>;
  readonly serviceByObject: Map<string, string>;
  readonly awaited: Map<string, Awaited[]>;
  /** By the value of the managed-by label. */
  readonly writes: Map<string, number>;
  convergence: Convergence | null;
}

/** @param onEvent is called with each event of the watch, bookmarks aside, and before it with each object that is there */
export async function watchServices(
  client: Pick<ApiClient, 'list' | 'watch'>,
  viewed: Viewed,
  onEvent: OnWatchEvent = () => undefined,
): Promise<ServiceView> {
  const state: State = {
    viewed,
    objects: new Map(),
    serviceByObject: new Map(),
    awaited: new Map(),
    writes: new Map(),
    convergence: null,
  };
  const { awaited, writes } = state;
  const { resourceVersion, items } = await client.list(viewed.path);
  for (const object of items) {
    take(state, object, true);
    onEvent('LISTED', object, 0);
  }
  const watch = client.watch(viewed.path, resourceVersion, (type, object, bytes) => {
    if (type === 'BOOKMARK') return;
    onEvent(type, object, bytes);
    const managedBy = object.metadata.labels?.[viewed.managedByLabel] ?? '';
    writes.set(managedBy, (writes.get(managedBy) ?? 0) + 1);
    take(state, object, type !== 'DELETED');
    meet(state, viewed.serviceOf(object));
  });
  // Told by whoever waits; without a waiter a broken watch shows as a time limit.
  const broken = watch.ended.then(() => new Promise<never>(() => undefined));
  broken.catch(() => undefined);
  return {
    writes: (managedBy) =>
      managedBy === undefined
        ? [...writes.values()].reduce((sum, count) => sum + count, 0)
        : (writes.get(managedBy) ?? 0),
    converged: (judges, timeoutMs) => converged(state, judges, timeoutMs, broken),
    expectAddress: (service, address, ready, onSeen) => {
      const expectations = awaited.get(service) ?? [];
      // A newer state of the same address makes the older expectation void.
      awaited.set(service, [...expectations.filter((other) => other.address !== address), { address, ready, onSeen }]);
    },
    waiting: () => [...awaited.values()].reduce((sum, expectations) => sum + expectations.length, 0),
    stop: watch.stop,
  };
}

function objectsOf({ objects }: State, service: string): KubeObject[] {
  return [...(objects.get(service)?.values() ?? [])];
}

function isRight(state: State, judges: Judges, service: string): boolean {
  return judges.get(service)?.(objectsOf(state, service)) !== false;
}

function take(state: State, object: KubeObject, isThere: boolean): void {
  const { serviceByObject, viewed } = state;
  const name = `${object.metadata.namespace}/${object.metadata.name}`;
  const [before, service] = [serviceByObject.get(name), isThere ? viewed.serviceOf(object) : null];
  if (before !== service) place(state, before, name, null);
  if (service === null) serviceByObject.delete(name);
  else {
    serviceByObject.set(name, service);
    place(state, service, name, object);
  }
}

/** @param object null = the service has none of that name any more */
function place(state: State, service: string | undefined, name: string, object: KubeObject | null): void {
  if (service === undefined) return;
  const { objects, convergence } = state;
  const ofService = objects.get(service) ?? new Map<string, KubeObject>();
  if (object === null) ofService.delete(name);
  else ofService.set(name, object);
  if (ofService.size === 0) objects.delete(service);
  else objects.set(service, ofService);
  if (convergence === null) return;
  const { judges, wrong, done } = convergence;
  if (isRight(state, judges, service)) wrong.delete(service);
  else wrong.add(service);
  if (wrong.size === 0) done();
}

/** Tells whoever waits for what the service's objects show now. */
function meet(state: State, service: string | null): void {
  const { awaited, viewed } = state;
  const expectations = service === null ? undefined : awaited.get(service);
  if (service === null || expectations === undefined) return;
  const ofService = objectsOf(state, service);
  const rest = expectations.filter(({ address, ready, onSeen }) => {
    if (viewed.sendsTo(ofService, address) !== ready) return true;
    onSeen();
    return false;
  });
  if (rest.length === 0) awaited.delete(service);
  else awaited.set(service, rest);
}

async function converged(state: State, judges: Judges, timeoutMs: number, broken: Promise<never>): Promise<void> {
  const wrong = new Set<string>();
  for (const service of judges.keys()) if (!isRight(state, judges, service)) wrong.add(service);
  if (wrong.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const [first] = wrong;
      reject(new Error(`${wrong.size} ${state.viewed.title} are not right after ${timeoutMs} ms, such as ${first}`));
    }, timeoutMs);
  });
  const done = new Promise<void>((resolve) => {
    state.convergence = { judges, wrong, done: resolve };
  });
  try {
    await Promise.race([done, limit, broken]);
  } finally {
    clearTimeout(timer);
    state.convergence = null;
  }
}
