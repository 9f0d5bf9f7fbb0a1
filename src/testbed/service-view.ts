/**
 * An independent watcher of the objects that controllers write for each Service. It knows the objects that the server
 * holds, how often they were written, and who waits for which change.
 */
import type { Judges } from '../judge/cluster-check.ts';
import type { KubeObject } from '../kube/types.ts';
import type { ApiClient, OnWatchEvent } from '../node/api-client.ts';

/** One kind of objects, as a view sees it. */
export interface Viewed {
  readonly path: string;
  /** The plural of the kind's name, for messages. */
  readonly title: string;
  /** `<namespace>/<name>` of the object's Service; null = the object has none. */
  readonly serviceOf: (object: KubeObject) => string | null;
  /** The label that names the controller which has made the object. */
  readonly managedByLabel: string;
  /** Whether a client that reads all objects of a Service would send traffic to the address. */
  readonly sendsTo: (objects: Iterable<KubeObject>, address: string) => boolean;
}

export interface ServiceView {
  /**
   * How many creates, updates and deletes were seen since the start, of objects with this value of the managed-by
   * label, or of all objects.
   */
  readonly writes: (managedBy?: string) => number;
  /**
   * Resolves when every Service is judged right. Rejected when the watch breaks, or with `StillWrong` at the time limit.
   */
  readonly converged: (judges: Judges, timeoutMs: number) => Promise<void>;
  /** Calls `onSeen` once an event of the Service's objects shows that the address is ready, or that it is not. */
  readonly expectAddress: (service: string, address: string, ready: boolean, onSeen: () => void) => void;
  /** How many expectations no event has met. */
  readonly waiting: () => number;
  /** Rejects when the watch breaks: then nothing more is seen. Never resolves. */
  readonly broken: Promise<never>;
  readonly stop: () => void;
}

/** The time limit has passed. */
export class StillWrong extends Error {}

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

/** The objects that the server holds, as far as it has told. */
interface State {
  readonly viewed: Viewed;
  /** Objects by Service, then by name. */
  readonly objects: Map<string, Map<string, KubeObject>>;
  readonly serviceByObject: Map<string, string>;
  readonly awaited: Map<string, Awaited[]>;
  /** Counts by the value of the managed-by label. */
  readonly writes: Map<string, number>;
  convergence: Convergence | null;
}

/** @param onEvent is called with each object of the list, and then with each event of the watch except bookmarks */
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
      // A newer expectation of the same address replaces the older one.
      awaited.set(service, [...expectations.filter((other) => other.address !== address), { address, ready, onSeen }]);
    },
    waiting: () => [...awaited.values()].reduce((sum, expectations) => sum + expectations.length, 0),
    broken,
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

/** @param object null = the Service has no object of this name any more */
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

/** Calls those who wait for what the Service's objects show now. */
function meet(state: State, service: string | null): void {
  const { awaited, viewed } = state;
  const expectations = service === null ? undefined : awaited.get(service);
  if (service === null || expectations === undefined) return;
  const ofService = objectsOf(state, service);
  const isMet = ({ address, ready }: Awaited): boolean => viewed.sendsTo(ofService, address) === ready;
  const { met = [], rest = [] } = Object.groupBy(expectations, (one) => (isMet(one) ? 'met' : 'rest'));
  if (rest.length === 0) awaited.delete(service);
  else awaited.set(service, rest);
  // They may expect something else of the Service now.
  for (const { onSeen } of met) onSeen();
}

async function converged(state: State, judges: Judges, timeoutMs: number, broken: Promise<never>): Promise<void> {
  const wrong = new Set<string>();
  for (const service of judges.keys()) if (!isRight(state, judges, service)) wrong.add(service);
  if (wrong.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const [first] = wrong;
      reject(
        new StillWrong(`${wrong.size} ${state.viewed.title} are still wrong after ${timeoutMs} ms, such as ${first}`),
      );
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
