import type { Watch } from './watch.ts';
import { noSuchPath } from './api-error.ts';
import { RESOURCE_BY_PATH, RESOURCES, type Resource } from './resource.ts';

const GROUPS: ReadonlySet<string> = new Set(RESOURCES.map(({ group }) => group));

/** One HTTP request as data. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query from the server's root, encoded. */
  readonly path: string;
  readonly headers: { readonly accept?: string; readonly contentType?: string; readonly ifNoneMatch?: string };
  readonly body: Uint8Array | null;
}

/** The whole answer, or its head and a stream of watch frames. */
export type ApiReply =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array }
  | { readonly status: 200; readonly headers: Readonly<Record<string, string>>; readonly watch: Watch };

/** The parts of a resource's path; '' = the path has no such part. */
export interface Target {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/**
 * null = the path is not below /api/v1 or the /apis/GROUP/VERSION of a served group, or names nothing below them.
 * @throws ApiError 404 for a resource that is not served
 * @throws URIError for a path that cannot be decoded
 */
export function parseTarget(path: string): Target | null {
  const parts = decodeURIComponent(path).split('/');
  if (parts.at(-1) === '') parts.pop();
  const start = parts[1] === 'api' ? 3 : parts[1] === 'apis' ? 4 : 0;
  if (start === 0 || parts.length <= start) return null;
  if (start === 4 && !GROUPS.has(parts[2]!)) return null;
  const apiVersion = parts.slice(2, start).join('/');
  let at = start;
  let namespace = '';
  // /namespaces/NAME and its two subresources name the namespace itself. A longer path names objects in the namespace.
  if (parts[at] === 'namespaces' && parts.length > at + 2 && !isNamespaceSubresource(parts, at)) {
    namespace = parts[at + 1]!;
    at += 2;
  }
  const resource = RESOURCE_BY_PATH.get(`${apiVersion}/${parts[at]}`);
  if (resource === undefined || parts.length > at + 3) throw noSuchPath();
  const name = parts[at + 1] ?? '';
  const subresource = parts[at + 2] ?? '';
  if (namespace !== '' && !resource.namespaced) throw noSuchPath();
  if (name !== '' && namespace === '' && resource.namespaced) throw noSuchPath();
  if (subresource !== '' && !resource.subresources.includes(subresource)) throw noSuchPath();
  return { resource, namespace, name, subresource };
}

function isNamespaceSubresource(parts: readonly string[], at: number): boolean {
  return parts.length === at + 3 && (parts[at + 2] === 'status' || parts[at + 2] === 'finalize');
}
