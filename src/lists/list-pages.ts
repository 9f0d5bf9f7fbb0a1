/** A list of the API server as a row of requests: what is asked next, and what an answer means. */
import { readList, type ListPage } from '../kube/list.ts';
import { ACCEPT, ACCEPT_METADATA_LIST, JSON_TYPE } from '../kube/media-type.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { isApiAnswer, readStatus } from '../kube/status.ts';
import type { HttpRequest, TransportEvent } from '../ports/transport.ts';

const ACCEPTS = { records: ACCEPT, metadata: ACCEPT_METADATA_LIST, json: JSON_TYPE } as const;
const PAGE_ITEMS_MAX = 500;
const TIMEOUT_MS = 60_000;
const GONE = 410;

export interface ListQuery {
  /** From the server's root, such as `/api/v1/pods`. */
  readonly path: string;
  /** '' = all objects are selected. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
  /** What is read of each object: the whole object, its metadata alone, or the whole object as JSON. */
  readonly form: keyof typeof ACCEPTS;
}

/** How far a list has been read. */
export interface Paging {
  readonly query: ListQuery;
  /** '' = the next page is the first one. */
  continueToken: string;
  /** Halved when a page is too big. */
  pageItems: number;
}

export interface ListFailure {
  /** One line. It is the server's, where the server has answered. */
  readonly failure: string;
  /** 0 = no API server has answered, or its answer cannot be read. */
  readonly status: number;
}

export type PageAnswer =
  /** The page is the last one if its `continueToken` is ''. */
  | { readonly type: 'page'; readonly page: ListPage }
  /** The page was too big: the same request is sent again, for fewer objects. */
  | { readonly type: 'again' }
  /** `goOnToken`: the list goes on with it, in what the server holds by now; '' = it does not go on. */
  | ({ readonly type: 'failed'; readonly goOnToken: string } & ListFailure);

export function createPaging(query: ListQuery): Paging {
  return { query, continueToken: '', pageItems: PAGE_ITEMS_MAX };
}

/** The request for the next page. */
export function pageRequest(paging: Paging): Omit<HttpRequest, 'id'> {
  const { path, form } = paging.query;
  return {
    pool: 'list',
    method: 'GET',
    path: `${path}?${queryText(paging)}`,
    accept: ACCEPTS[form],
    contentType: '',
    body: null,
    stream: false,
    timeoutMs: TIMEOUT_MS,
  };
}

function queryText({ query: { fieldSelector, labelSelector }, continueToken, pageItems }: Paging): string {
  const query = new URLSearchParams({ limit: String(pageItems) });
  if (fieldSelector !== '') query.set('fieldSelector', fieldSelector);
  if (labelSelector !== '') query.set('labelSelector', labelSelector);
  if (continueToken !== '') query.set('continue', continueToken);
  return query.toString();
}

/** Takes the answer to the request for the next page. */
export function takePage(paging: Paging, event: TransportEvent): PageAnswer {
  if (event.type === 'failure' && event.kind === 'too-big' && paging.pageItems > 1) {
    paging.pageItems = Math.floor(paging.pageItems / 2);
    return { type: 'again' };
  }
  if (event.type !== 'response' || event.status !== 200) {
    return { type: 'failed', ...failureOf(event), goOnToken: goOnTokenOf(paging, event) };
  }
  try {
    const page = readList(event.contentType, event.body);
    paging.continueToken = page.continueToken;
    return { type: 'page', page };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { type: 'failed', failure: error.message, status: 0, goOnToken: '' };
  }
}

/** A server that has compacted the version of a list names the token for what is behind the last page. */
function goOnTokenOf({ continueToken }: Paging, event: TransportEvent): string {
  if (event.type !== 'response' || event.status !== GONE) return '';
  const token = readStatus(event.contentType, event.status, event.body).metadata.continue ?? '';
  return token === continueToken ? '' : token;
}

function failureOf(event: TransportEvent): ListFailure {
  if (event.type === 'failure') return { failure: `${event.kind}: ${event.message}`, status: 0 };
  if (event.type !== 'response') return { failure: `${event.type} is no answer to a list`, status: 0 };
  const { contentType, status, body } = event;
  if (!isApiAnswer(contentType, body)) {
    return { failure: `no answer of an API server: HTTP status ${status}`, status: 0 };
  }
  const { message, reason } = readStatus(contentType, status, body);
  return { failure: message ?? reason ?? `HTTP status ${status}`, status };
}
