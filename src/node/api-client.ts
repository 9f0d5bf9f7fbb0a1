/**
 * A plain client of an API server that speaks JSON. It is for work beside the controller, such as filling a cluster or
 * looking at it independently. The controller itself never uses it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { KubeObject } from '../kube/types.ts';

export interface ApiAccess {
  /** Such as https://127.0.0.1:6443. */
  readonly url: string;
  readonly token?: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca?: string;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly contentType?: string;
  readonly body?: object;
}

export interface ApiClient {
  /**
   * The parsed body of a 2xx answer.
   * @throws ApiError for any other answer
   */
  readonly send: (request: ApiRequest) => Promise<unknown>;
  /** The body of a 2xx answer that is no object, such as `/metrics`. @throws as `send` */
  readonly text: (path: string) => Promise<string>;
  /** Every object of a collection. */
  readonly list: (path: string) => Promise<{ resourceVersion: string; items: KubeObject[] }>;
  /**
   * Events of a collection after a list's resourceVersion, until `stop`. A server ends watches in good order, at their
   * time limit or because the reader is slow: then it goes on after the last event. It ends early only with an error.
   */
  readonly watch: (path: string, resourceVersion: string, onEvent: OnWatchEvent) => ApiWatch;
  readonly close: () => Promise<void>;
}

/** @param bytes the length of the event on the wire, decompressed */
export type OnWatchEvent = (type: string, object: KubeObject, bytes: number) => void;

export interface ApiWatch {
  readonly stop: () => void;
  /** Settles when the watch is over. It rejects unless the watch was stopped. */
  readonly ended: Promise<void>;
}

export class ApiError extends Error {
  readonly status: number;

  constructor(request: ApiRequest, status: number, text: string) {
    super(`${request.method} ${request.path}: ${status} ${text.slice(0, 300)}`);
    this.name = 'ApiError';
    this.status = status;
  }
}

/** The pause before a watch that has ended without an event goes on. */
const EMPTY_WATCH_PAUSE_MS = 100;

/** `connections` bounds the requests under way at once, watches aside. */
export function createApiClient(access: ApiAccess, connections: number): ApiClient {
  const connect = access.ca === undefined ? {} : { connect: { ca: access.ca } };
  const pool = new Pool(access.url, { connections, pipelining: 1, allowH2: false, ...connect });
  const watchPool = new Pool(access.url, { pipelining: 1, allowH2: false, bodyTimeout: 0, ...connect });
  const headers: Record<string, string> = { accept: 'application/json' };
  if (access.token !== undefined) headers['authorization'] = `Bearer ${access.token}`;

  async function answer(request: ApiRequest): Promise<string> {
    const { method, path, contentType = 'application/json', body } = request;
    const response = await pool.request({
      method,
      path,
      headers: body === undefined ? headers : { ...headers, 'content-type': contentType },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new ApiError(request, response.statusCode, text);
    return text;
  }

  async function send(request: ApiRequest): Promise<unknown> {
    const text = await answer(request);
    return text === '' ? null : JSON.parse(text);
  }

  async function list(path: string): Promise<{ resourceVersion: string; items: KubeObject[] }> {
    const page = (await send({ method: 'GET', path })) as {
      metadata: { resourceVersion: string };
      items: KubeObject[] | null;
    };
    return { resourceVersion: page.metadata.resourceVersion, items: page.items ?? [] };
  }

  function watch(path: string, resourceVersion: string, onEvent: OnWatchEvent): ApiWatch {
    const abort = new AbortController();
    const once = (from: string): Promise<string> => watchOnce(path, from, abort.signal, onEvent);
    return { stop: () => abort.abort(), ended: goOn(once, resourceVersion, abort.signal) };
  }

  /** Resolves with the version of the last event when the server has ended the watch in good order. */
  async function watchOnce(path: string, from: string, signal: AbortSignal, onEvent: OnWatchEvent): Promise<string> {
    const request = { method: 'GET' as const, path: `${path}?watch=1&resourceVersion=${from}` };
    const response = await watchPool.request({ method: 'GET', path: request.path, headers, signal });
    if (response.statusCode >= 300) throw new ApiError(request, response.statusCode, await response.body.text());
    let last = from;
    for await (const { line, bytes } of lines(response.body)) {
      const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
      if (type === 'ERROR') throw new ApiError(request, 200, line);
      onEvent(type, object, bytes);
      last = object.metadata.resourceVersion ?? last;
    }
    return last;
  }

  async function close(): Promise<void> {
    await Promise.all([pool.destroy(), watchPool.destroy()]);
  }

  return { send, text: (path) => answer({ method: 'GET', path }), list, watch, close };
}

/** Opens one watch after the other until the signal. @param once resolves with the version of the last event */
async function goOn(
  once: (from: string) => Promise<string>,
  resourceVersion: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (let from = resourceVersion; !signal.aborted;) {
      const last = await once(from);
      if (last === from) await sleep(EMPTY_WATCH_PAUSE_MS, undefined, { signal });
      from = last;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Text lines of a stream; an unfinished last one is dropped. */
async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<{ line: string; bytes: number }, void, void> {
  let parts: Buffer[] = [];
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end));
      const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      yield { line: line.toString(), bytes: line.length + 1 };
      parts = [];
      from = end + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  }
}
