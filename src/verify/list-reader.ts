/** Lists of the API server, page by page, with a limit of requests a second. It sends GET requests only. */
import { createTokenBucket, tryTakeToken } from '../controller/writes/rate-limit.ts';
import { readList, type ListPage } from '../kube/list.ts';
import { ACCEPT, ACCEPT_METADATA_LIST, JSON_TYPE } from '../kube/media-type.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { isApiAnswer, readStatus } from '../kube/status.ts';
import type { Clock } from '../ports/clock.ts';
import type { HttpRequest, Transport, TransportEvent } from '../ports/transport.ts';

const ACCEPTS = { records: ACCEPT, metadata: ACCEPT_METADATA_LIST, json: JSON_TYPE } as const;
const PAGE_ITEMS_MAX = 500;
const TIMEOUT_MS = 60_000;

export interface ListQuery {
  /** From the server's root, such as `/api/v1/pods`. */
  readonly path: string;
  /** '' = all objects are selected. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
  /** What is read of each object: the whole object, its metadata alone, or the whole object as JSON. */
  readonly form: keyof typeof ACCEPTS;
}

export interface ListReader {
  /**
   * Reads a whole list at one version. `onPage` takes each page as it comes. `onDone` takes the version, or why there
   * is none.
   */
  read(query: ListQuery, onPage: (page: ListPage) => void, onDone: (result: ListResult) => void): void;
  /** Sends the requests that have waited for the limit. The caller calls it now and then. */
  readonly wake: () => void;
}

export type ListResult = { readonly version: string } | ListFailure;

export interface ListFailure {
  /** One line. It is the server's, where the server has answered. */
  readonly failure: string;
  /** 0 = no API server has answered, or its answer cannot be read. */
  readonly status: number;
}

interface Reading {
  readonly query: ListQuery;
  readonly onPage: (page: ListPage) => void;
  readonly onDone: (result: ListResult) => void;
  continueToken: string;
  /** Halved when a page is too big. */
  pageItems: number;
}

export function createListReader(
  createTransport: (deliver: (events: readonly TransportEvent[]) => void) => Transport,
  clock: Clock,
  qps: number,
  burst: number,
): ListReader {
  const tokens = createTokenBucket(qps, burst);
  const waiting: Reading[] = [];
  const sent = new Map<number, Reading>();
  let nextId = 1;
  const transport = createTransport((events) => {
    for (const event of events) {
      const reading = sent.get(event.id);
      sent.delete(event.id);
      if (reading !== undefined) take(reading, event);
    }
    flush();
  });

  function flush(): void {
    while (waiting.length > 0 && tryTakeToken(tokens, clock.nowMs())) request(waiting.shift()!);
  }

  function request(reading: Reading): void {
    const id = nextId++;
    sent.set(id, reading);
    transport.send({ id, ...requestOf(reading) });
  }

  function take(reading: Reading, event: TransportEvent): void {
    const { onPage, onDone } = reading;
    if (event.type === 'failure' && event.kind === 'too-big' && reading.pageItems > 1) {
      reading.pageItems = Math.floor(reading.pageItems / 2);
      waiting.push(reading);
      return;
    }
    if (event.type !== 'response' || event.status !== 200) {
      onDone(failureOf(event));
      return;
    }
    let page: ListPage;
    try {
      page = readList(event.contentType, event.body);
      onPage(page);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      onDone({ failure: error.message, status: 0 });
      return;
    }
    reading.continueToken = page.continueToken;
    if (page.continueToken === '') onDone({ version: page.resourceVersion });
    else waiting.push(reading);
  }

  return {
    read(query, onPage, onDone) {
      waiting.push({ query, onPage, onDone, continueToken: '', pageItems: PAGE_ITEMS_MAX });
      flush();
    },
    wake: flush,
  };
}

function requestOf(reading: Reading): Omit<HttpRequest, 'id'> {
  const { path, form } = reading.query;
  return {
    lane: 'list',
    method: 'GET',
    path: `${path}?${queryText(reading)}`,
    accept: ACCEPTS[form],
    contentType: '',
    body: null,
    stream: false,
    timeoutMs: TIMEOUT_MS,
  };
}

function queryText({ query: { fieldSelector, labelSelector }, continueToken, pageItems }: Reading): string {
  const query = new URLSearchParams({ limit: String(pageItems) });
  if (fieldSelector !== '') query.set('fieldSelector', fieldSelector);
  if (labelSelector !== '') query.set('labelSelector', labelSelector);
  if (continueToken !== '') query.set('continue', continueToken);
  return query.toString();
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
