/** A client whose watches outlive the API server, for scenarios that restart it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../src/kube/types.ts';
import type { ApiClient, ApiRequest, ApiWatch, OnWatchEvent } from '../../src/node/api-client.ts';

const RETRY_MS = 50;

/**
 * A client like `client`. After a broken watch it lists, and tells the differences as events. States between the two
 * are never seen, so they are no writes.
 */
export function lasting(client: ApiClient): ApiClient {
  return {
    ...client,
    watch: (path, resourceVersion, onEvent) => watchOn(client, path, resourceVersion, onEvent),
    send: (request) => sendUntilTaken(client, request),
  };
}

function watchOn(client: ApiClient, path: string, listed: string, onEvent: OnWatchEvent): ApiWatch {
  const known = new Map<string, KubeObject>();
  const ending = new AbortController();
  const { signal } = ending;
  const note: OnWatchEvent = (type, object, bytes) => {
    if (type === 'DELETED') known.delete(keyOf(object));
    else if (type !== 'BOOKMARK') known.set(keyOf(object), object);
    onEvent(type, object, bytes);
  };
  const follow = async (): Promise<void> => {
    let from = listed;
    const before = await client.list(path);
    for (const object of before.items) if (!known.has(keyOf(object))) known.set(keyOf(object), object);
    while (!signal.aborted) {
      const current = client.watch(path, from, note);
      signal.addEventListener('abort', current.stop, { once: true });
      await current.ended.catch(() => undefined);
      signal.removeEventListener('abort', current.stop);
      if (!signal.aborted) from = await listAgain(client, path, known, note, signal);
    }
  };
  return { stop: () => ending.abort(), ended: follow() };
}

async function listAgain(
  client: ApiClient,
  path: string,
  known: ReadonlyMap<string, KubeObject>,
  note: OnWatchEvent,
  signal: AbortSignal,
): Promise<string> {
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await client.list(path);
      const found = new Set(items.map(keyOf));
      for (const object of items) {
        if (known.get(keyOf(object))?.metadata.resourceVersion !== object.metadata.resourceVersion) {
          note('MODIFIED', object, Buffer.byteLength(JSON.stringify(object)));
        }
      }
      for (const [key, object] of known) if (!found.has(key)) note('DELETED', object, 0);
      return resourceVersion;
    } catch {
      await sleep(RETRY_MS);
    }
  }
  return '';
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Sends requests that may be sent twice, until the server accepts them. */
async function sendUntilTaken(client: ApiClient, request: ApiRequest): Promise<unknown> {
  const untilMs = performance.now() + TAKEN_MS_MAX;
  for (;;) {
    try {
      return await client.send(request);
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await sleep(RETRY_MS);
    }
  }
}

const TAKEN_MS_MAX = 60_000;
