/**
 * What the namespace controller does with a namespace that is being deleted, as a conversation: requests come out, their
 * answers go in. It ends when the namespace is finalized.
 */

export interface NamespaceRequest {
  readonly method: 'GET' | 'DELETE' | 'PUT';
  readonly path: string;
  readonly body: object | null;
}

/** The parsed body of a 2xx answer; null for any other and for none. */
export type NamespaceAnswer = {
  readonly items?: readonly unknown[] | null;
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly [field: string]: unknown;
} | null;

/**
 * @param collections path of every kind of content, below the namespace: `/api/v1/namespaces/<name>/pods`
 * @yields the next request, or null for a pause: something has not gone yet
 */
export function* endNamespace(
  name: string,
  collections: readonly string[],
): Generator<NamespaceRequest | null, void, NamespaceAnswer> {
  for (;;) {
    for (const path of collections) yield { method: 'DELETE', path, body: null };
    let left = false;
    for (const path of collections) {
      const page = yield { method: 'GET', path: `${path}?limit=1`, body: null };
      left ||= page === null || (page.items ?? []).length > 0;
    }
    if (!left && (yield* finalize(name))) return;
    yield null;
  }
}

function* finalize(name: string): Generator<NamespaceRequest, boolean, NamespaceAnswer> {
  const path = `/api/v1/namespaces/${name}`;
  const namespace = yield { method: 'GET', path, body: null };
  // Somebody else was faster, or there is no answer: then the next round sees.
  if (namespace === null) return false;
  const { spec, ...rest } = namespace;
  const finalizers = (spec?.finalizers ?? []).filter((finalizer) => finalizer !== 'kubernetes');
  const body = { ...rest, spec: { ...spec, finalizers } };
  return (yield { method: 'PUT', path: `${path}/finalize`, body }) !== null;
}
