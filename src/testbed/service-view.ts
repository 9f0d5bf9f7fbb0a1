/**
 * An independent watcher of what the controllers write for each service: what the server holds, how often it was written,
 * and who waits for what.
 */
import type { Judges } from '../judge/judges.ts';
import type { KubeObject } from '../kube/types.ts';
import type { ApiClient } from '../node/api-client.ts';

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

// oxlint-disable-next-line max-lines-per-function -- one object: its functions share its state, and each of them is short
export async function watchServices(client: Pick<ApiClient, 'list' | 'watch'>, viewed: Viewed): Promise<ServiceView> {
  /** By service, then by name. */
  const objects = new Map<string, Map<string, KubeObject>>();
  const serviceByObject = new Map<string, string>();
  const awaited = new Map<string, Awaited[]>();
  const writes = new Map<string, number>();
  let convergence: Convergence | null = null;

  const isRight = (judges: Judges, service: string): boolean =>
    judges.get(service)?.([...(objects.get(service)?.values() ?? [])]) !== false;
  const place = (service: string | undefined, name: string, object: KubeObject | null): void => {
    if (service === undefined) return;
    const ofService = objects.get(service) ?? new Map<string, KubeObject>();
    if (object === null) ofService.delete(name);
    else ofService.set(name, object);
    if (ofService.size === 0) objects.delete(service);
    else objects.set(service, ofService);
    if (convergence === null) return;
    const { judges, wrong, done } = convergence;
    if (isRight(judges, service)) wrong.delete(service);
    else wrong.add(service);
    if (wrong.size === 0) done();
  };
  const take = (object: KubeObject, isThere: boolean): void => {
    const name = `${object.metadata.namespace}/${object.metadata.name}`;
    const [before, service] = [serviceByObject.get(name), isThere ? viewed.serviceOf(object) : null];
    if (before !== service) place(before, name, null);
    if (service === null) serviceByObject.delete(name);
    else {
      serviceByObject.set(name, service);
      place(service, name, object);
    }
  };
  const meet = (service: string | null): void => {
    const expectations = service === null ? undefined : awaited.get(service);
    if (service === null || expectations === undefined) return;
    const ofService = [...(objects.get(service)?.values() ?? [])];
    const rest = expectations.filter(({ address, ready, onSeen }) => {
      if (viewed.sendsTo(ofService, address) !== ready) return true;
      onSeen();
      return false;
    });
    if (rest.length === 0) awaited.delete(service);
    else awaited.set(service, rest);
  };

  const { resourceVersion, items } = await client.list(viewed.path);
  for (const object of items) take(object, true);
  const watch = client.watch(viewed.path, resourceVersion, (type, object) => {
    if (type === 'BOOKMARK') return;
    const managedBy = object.metadata.labels?.[viewed.managedByLabel] ?? '';
    writes.set(managedBy, (writes.get(managedBy) ?? 0) + 1);
    take(object, type !== 'DELETED');
    meet(viewed.serviceOf(object));
  });
  // Told by whoever waits; without a waiter a broken watch shows as a time limit.
  const broken = watch.ended.then(() => new Promise<never>(() => undefined));
  broken.catch(() => undefined);

  async function converged(judges: Judges, timeoutMs: number): Promise<void> {
    const wrong = new Set<string>();
    for (const service of judges.keys()) if (!isRight(judges, service)) wrong.add(service);
    if (wrong.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const [first] = wrong;
        reject(new Error(`${wrong.size} ${viewed.title} are not right after ${timeoutMs} ms, such as ${first}`));
      }, timeoutMs);
    });
    const done = new Promise<void>((resolve) => {
      convergence = { judges, wrong, done: resolve };
    });
    try {
      await Promise.race([done, limit, broken]);
    } finally {
      clearTimeout(timer);
      convergence = null;
    }
  }

  function expectAddress(service: string, address: string, ready: boolean, onSeen: () => void): void {
    const expectations = awaited.get(service) ?? [];
    // A newer state of the same address makes the older expectation void.
    awaited.set(service, [...expectations.filter((other) => other.address !== address), { address, ready, onSeen }]);
  }

  return {
    writes: (managedBy) =>
      managedBy === undefined
        ? [...writes.values()].reduce((sum, count) => sum + count, 0)
        : (writes.get(managedBy) ?? 0),
    converged,
    expectAddress,
    waiting: () => [...awaited.values()].reduce((sum, expectations) => sum + expectations.length, 0),
    stop: watch.stop,
  };
}
