/** An independent watcher of all Endpoints: what the server holds, how often it was written, and who waits for what. */
import type { EndpointSubset, KubeObject } from '../kube/types.ts';
import type { ApiClient } from '../node/api-client.ts';
import { endpointsText } from './endpoints-check.ts';
import type { ExpectedEndpoints } from './endpoints-check.ts';

export interface EndpointsView {
  /** Creates, updates and deletes seen since the start. */
  readonly writes: () => number;
  /** Resolves when every expected object is as it should be. Rejected when the watch breaks or at the time limit. */
  readonly converged: (expected: ExpectedEndpoints, timeoutMs: number) => Promise<void>;
  /** Calls `onSeen` once an event of the service's Endpoints shows the address among the ready ones, or no longer. */
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
  readonly expected: ExpectedEndpoints;
  readonly wrong: Set<string>;
  readonly done: () => void;
}

const PATH = '/api/v1/endpoints';

export async function watchEndpoints(client: Pick<ApiClient, 'list' | 'watch'>): Promise<EndpointsView> {
  const objects = new Map<string, KubeObject>();
  const awaited = new Map<string, Awaited[]>();
  let convergence: Convergence | null = null;
  let writes = 0;

  const take = (key: string, object: KubeObject | null): void => {
    if (object === null) objects.delete(key);
    else objects.set(key, object);
    if (convergence !== null) judge(convergence, key, object);
  };
  const { resourceVersion, items } = await client.list(PATH);
  for (const object of items) take(keyOf(object), object);
  const watch = client.watch(PATH, resourceVersion, (type, object) => {
    if (type === 'BOOKMARK') return;
    writes++;
    const key = keyOf(object);
    take(key, type === 'DELETED' ? null : object);
    const expectations = awaited.get(key);
    if (expectations === undefined) return;
    const rest = expectations.filter((expectation) => !meets(object, expectation));
    if (rest.length === 0) awaited.delete(key);
    else awaited.set(key, rest);
  });
  // Told by whoever waits; without a waiter a broken watch shows as a time limit.
  const broken = watch.ended.then(() => new Promise<never>(() => undefined));
  broken.catch(() => undefined);

  async function converged(expected: ExpectedEndpoints, timeoutMs: number): Promise<void> {
    const wrong = new Set<string>();
    for (const [key, text] of expected) if (!isRight(text, objects.get(key))) wrong.add(key);
    if (wrong.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const [first] = wrong;
        reject(new Error(`${wrong.size} Endpoints are not right after ${timeoutMs} ms, such as ${first}`));
      }, timeoutMs);
    });
    const done = new Promise<void>((resolve) => {
      convergence = { expected, wrong, done: resolve };
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
    writes: () => writes,
    converged,
    expectAddress,
    waiting: () => [...awaited.values()].reduce((sum, expectations) => sum + expectations.length, 0),
    stop: watch.stop,
  };
}

function judge({ expected, wrong, done }: Convergence, key: string, object: KubeObject | null): void {
  const text = expected.get(key);
  if (text === undefined) return;
  if (isRight(text, object)) wrong.delete(key);
  else wrong.add(key);
  if (wrong.size === 0) done();
}

function isRight(text: string, object: KubeObject | null | undefined): boolean {
  return object !== null && object !== undefined && endpointsText(object) === text;
}

function meets(object: KubeObject, { address, ready, onSeen }: Awaited): boolean {
  const subsets = (object['subsets'] ?? []) as readonly EndpointSubset[];
  const isReady = subsets.some(({ addresses }) => addresses?.some(({ ip }) => ip === address) === true);
  if (isReady !== ready) return false;
  onSeen();
  return true;
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
