/**
 * Endpoints and their Services, side by side. Both lists are in the order of their keys, and one page of each is kept.
 */
import { projectService } from '../../kube/project.ts';
import type { ListPage } from '../../kube/list.ts';
import { fieldManagersOf } from '../../kube/managed-fields.ts';
import { type MetaRecord, projectMeta } from '../../kube/object-meta.ts';
import { isApiAnswer, readStatus } from '../../kube/status.ts';
import type { ServiceRecord } from '../../kube/types.ts';
import { createInterner } from '../../lib/interner.ts';
import type { Asker, Reply } from '../../node/asker.ts';
import { createPaging, pageRequest, takePage, type ListQuery } from '../../lists/list-pages.ts';
import { StartError } from '../usage.ts';

export interface WrittenMeta extends MetaRecord {
  /** Names of the object's writers in its managedFields; none = managedFields do not tell. */
  readonly managers: readonly string[];
}

export interface EndpointsWithService {
  readonly endpoints: WrittenMeta;
  readonly service: ServiceRecord | null;
}

/**
 * Reads each Endpoints object, in the server's order.
 * @param namespace '' = all namespaces
 * @throws StartError if something cannot be read
 */
export async function* endpointsWithServices(
  ask: Asker,
  namespace: string,
  labelSelector: string,
): AsyncGenerator<EndpointsWithService, void, void> {
  const services = inOrder(servicesOf(ask, namespace));
  let next = await services.next();
  for await (const endpoints of inOrder(endpointsOf(ask, namespace, labelSelector))) {
    const key = keyOf(endpoints);
    while (next.done !== true && keyOf(next.value) < key) next = await services.next();
    const service = next.done !== true && keyOf(next.value) === key ? next.value : null;
    yield { endpoints, service };
  }
}

/**
 * The uid of the object that has this name now; '' = there is none. It is listed, because the right to list is there.
 * @throws StartError if it cannot be read
 */
export async function uidNow(ask: Asker, { namespace, name }: Named): Promise<string> {
  const path = collectionPath(namespace, 'endpoints');
  const query = { path, fieldSelector: `metadata.name=${name}`, labelSelector: '', form: 'metadata' } as const;
  for await (const page of pages(ask, query)) for (const item of page.items) return projectMeta(item).uid;
  return '';
}

/** The path of a collection of the core API, in one namespace or all. */
export function collectionPath(namespace: string, resource: string): string {
  return namespace === '' ? `/api/v1/${resource}` : `/api/v1/namespaces/${namespace}/${resource}`;
}

/** Whether the API server has done what was asked for. A page to sign in comes with a 200, too. */
export function isDone(reply: Reply): reply is Extract<Reply, { type: 'response' }> {
  return reply.type === 'response' && isSuccess(reply.status) && isApiAnswer(reply.contentType, reply.body);
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Why the request has failed, in one line. */
export function failureOf(reply: Reply): string {
  if (reply.type === 'failure') return `${reply.kind}: ${reply.message}`;
  const { contentType, status, body } = reply;
  if (isSuccess(status)) return `no answer of an API server: HTTP status ${status}`;
  return readStatus(contentType, status, body).message ?? `HTTP status ${status}`;
}

async function* endpointsOf(
  ask: Asker,
  namespace: string,
  labelSelector: string,
): AsyncGenerator<WrittenMeta, void, void> {
  const path = collectionPath(namespace, 'endpoints');
  for await (const page of pages(ask, { path, fieldSelector: '', labelSelector, form: 'metadata' })) {
    yield* page.items.map((item) => {
      const managers = fieldManagersOf(item).map(({ manager }) => manager);
      return Object.assign(projectMeta(item), { managers });
    });
  }
}

async function* servicesOf(ask: Asker, namespace: string): AsyncGenerator<ServiceRecord, void, void> {
  const path = collectionPath(namespace, 'services');
  for await (const page of pages(ask, { path, fieldSelector: '', labelSelector: '', form: 'records' })) {
    const interner = createInterner();
    yield* page.items.map((item) => projectService(item, interner));
  }
}

type Named = Pick<MetaRecord, 'namespace' | 'name'>;

/** The key by which etcd orders objects: namespaces and names are ASCII. */
function keyOf({ namespace, name }: Named): string {
  return `${namespace}/${name}`;
}

/** @throws StartError if the keys do not ascend, because two lists could not be read side by side then */
async function* inOrder<T extends Named>(items: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  let last = '';
  for await (const item of items) {
    const key = keyOf(item);
    if (key <= last) throw new StartError(`the server's list is out of order at ${key}, behind ${last}`);
    last = key;
    yield item;
  }
}

/**
 * Reads a list page by page. A list that expires between two pages goes on behind its last key, with a newer version.
 * @throws StartError if it cannot be read
 */
export async function* pages(ask: Asker, query: ListQuery): AsyncGenerator<ListPage, void, void> {
  const paging = createPaging(query);
  for (;;) {
    const { method, path, accept } = pageRequest(paging);
    const answer = takePage(paging, await ask({ method, path, accept }));
    if (answer.type === 'page') {
      yield answer.page;
      if (paging.continueToken === '') return;
    } else if (answer.type === 'failed') {
      if (answer.goOnToken === '') throw new StartError(`cannot list ${query.path}: ${answer.failure}`);
      paging.continueToken = answer.goOnToken;
    }
  }
}
