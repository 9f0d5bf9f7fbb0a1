/**
 * The namespace controller's work on a namespace that is being deleted, as a conversation: it yields requests and takes
 * their answers. It ends when the namespace is finalized.
 */

export interface NamespaceRequest {
  readonly method: 'GET' | 'DELETE' | 'PUT';
  readonly path: string;
  readonly body: object | null;
}

/** The parsed body of a 2xx answer; null = another answer, or none. */
export type NamespaceAnswer = {
  readonly items?: readonly unknown[] | null;
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly [field: string]: unknown;
} | null;

/**
 * @param collections paths of the collections with contents, such as `/api/v1/namespaces/<name>/pods`
 * @yields the next request; null = a pause, because some object is not gone yet
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
  // Another client was faster, or there is no answer. The next round will see.
  if (namespace === null) return false;
  const { spec, ...rest } = namespace;
  const finalizers = (spec?.finalizers ?? []).filter((finalizer) => finalizer !== 'kubernetes');
  const body = { ...rest, spec: { ...spec, finalizers } };
  return (yield { method: 'PUT', path: `${path}/finalize`, body }) !== null;
}
