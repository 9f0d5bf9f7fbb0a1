import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../node/api-client.ts';
import type { KubeObject } from '../kube/types.ts';

export interface CollectionFollower {
  /** Called for new and changed objects. After a break of the watch also for unchanged ones. */
  readonly changed: (object: KubeObject) => void;
  /** `namespace` is '' where the resource has no namespaces. */
  readonly gone: (namespace: string, name: string) => void;
}

const PAGE = 500;
const RETRY_MS = 200;

/** Lists and watches a collection until the signal. A broken list or watch begins anew. */
export async function followCollection(
  client: ApiClient,
  path: string,
  follower: CollectionFollower,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, readonly [namespace: string, name: string]>();
  const changed = (object: KubeObject): string => {
    const { namespace = '', name = '' } = object.metadata;
    const key = `${namespace}/${name}`;
    if (!known.has(key)) known.set(key, [namespace, name]);
    follower.changed(object);
    return key;
  };
  const gone = (key: string): void => {
    const found = known.get(key);
    if (found === undefined) return;
    known.delete(key);
    follower.gone(...found);
  };
  while (!signal.aborted) {
    try {
      const seen = new Set<string>();
      let resourceVersion = '';
      for (let token: string | undefined = ''; token !== undefined && !signal.aborted;) {
        const page = await listPage(client, path, token);
        for (const item of page.items ?? []) seen.add(changed(item));
        resourceVersion = page.metadata.resourceVersion;
        token = page.metadata.continue || undefined;
      }
      for (const key of known.keys()) if (!seen.has(key)) gone(key);
      if (signal.aborted) return;
      const watch = client.watch(path, resourceVersion, (type, object) => {
        if (type === 'DELETED') gone(`${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`);
        else if (type !== 'BOOKMARK') changed(object);
      });
      const stop = (): void => watch.stop();
      signal.addEventListener('abort', stop);
      await watch.ended.finally(() => signal.removeEventListener('abort', stop));
    } catch {
      // A broken list or watch begins anew.
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: KubeObject[] | null;
}

async function listPage(client: ApiClient, path: string, token: string): Promise<Page> {
  const page = `${path}?limit=${PAGE}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`;
  return (await client.send({ method: 'GET', path: page })) as Page;
}
