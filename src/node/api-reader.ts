/** Reads of an API server with the credentials of a kubeconfig, for commands that look and never write. */
import { request, type Dispatcher } from 'undici';
import { readList } from '../kube/list.ts';
import { ACCEPT, JSON_TYPE } from '../kube/media-type.ts';
import type { ObjectSource } from '../kube/source.ts';
import { isApiAnswer, readStatus } from '../kube/status.ts';
import type { Access, ReadAccess } from './access.ts';
import { failureMessage } from './failure.ts';
import { createPools } from './pools.ts';

export interface ApiReader {
  /** @throws ReadError */
  readonly get: (path: string) => Promise<ObjectSource>;
  /**
   * Reads every object of a collection, in pages: of half as many objects after one that is too big. Only what `take` keeps stays in memory; null = nothing is kept of it.
   * @param query such as `labelSelector=app%3Dweb`; '' = none
   * @throws ReadError
   */
  readonly list: <T>(path: string, query: string, options: ListOptions<T>) => Promise<T[]>;
  readonly close: () => Promise<void>;
}

export interface ListOptions<T> {
  readonly take: (item: ObjectSource) => T | null;
  /** As JSON, with managedFields and all that a record leaves out. Default false. */
  readonly asJson?: boolean;
  /** Is told after each page how many objects have come. */
  readonly progress?: (count: number) => void;
}

/** What could not be read; `message` is one line, of the server where it has answered. */
export class ReadError extends Error {
  /** 0 = no answer of an API server. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message.replaceAll(/\s+/g, ' '));
    this.name = 'ReadError';
    this.status = status;
  }
}

const PAGE_ITEMS_MAX = 500;
/** An answer with more than `ANSWER_BYTES_MAX` bytes. */
class TooBigError extends ReadError {
  constructor() {
    super(0, `an answer has more than ${ANSWER_BYTES_MAX} bytes`);
  }
}

const ANSWER_MS_MAX = 60_000;
const ANSWER_BYTES_MAX = 64 * 2 ** 20;
/** How often a list that expires between two pages begins anew, before it is given up. */
const LISTS_MAX = 4;
const GONE = 410;

/** @param userAgent as of `userAgent()` */
export function createApiReader(access: Access, readAccess: ReadAccess, userAgent: string): ApiReader {
  const ask = createAsker(access, readAccess, userAgent);
  return {
    async get(path) {
      const { body } = await ask.answer(path, JSON_TYPE);
      const value = JSON.parse(Buffer.from(body).toString()) as { kind: string; apiVersion: string };
      return { encoding: 'json', kind: value.kind, apiVersion: value.apiVersion, value };
    },
    async list<T>(path: string, query: string, options: ListOptions<T>) {
      for (let tries = 1; ; tries++) {
        try {
          return await listOnce(ask, path, query, options);
        } catch (error) {
          if (!(error instanceof ReadError) || error.status !== GONE || tries === LISTS_MAX) throw error;
        }
      }
    },
    close: ask.close,
  };
}

async function listOnce<T>(ask: Asker, path: string, query: string, options: ListOptions<T>): Promise<T[]> {
  const { take, asJson, progress } = options;
  const accept = asJson === true ? JSON_TYPE : ACCEPT;
  const kept: T[] = [];
  let count = 0;
  let items = PAGE_ITEMS_MAX;
  for (let token = ''; ;) {
    const next = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
    let answer: Answer;
    try {
      answer = await ask.answer(`${path}?limit=${items}${query === '' ? '' : `&${query}`}${next}`, accept);
    } catch (error) {
      if (!(error instanceof TooBigError) || items === 1) throw error;
      items = Math.floor(items / 2);
      continue;
    }
    const page = readList(answer.contentType, answer.body);
    for (const item of page.items) {
      const taken = take(item);
      if (taken !== null) kept.push(taken);
    }
    count += page.items.length;
    progress?.(count);
    if (page.continueToken === '') return kept;
    token = page.continueToken;
  }
}

interface Asker {
  /** A good answer. @throws ReadError for any other */
  readonly answer: (path: string, accept: string) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

/** With the credentials read again after the first 401. */
function createAsker(access: Access, readAccess: ReadAccess, userAgent: string): Asker {
  let current = access;
  let pools = createPools(access, 1);
  const all = [pools];

  async function ask(path: string, accept: string): Promise<Answer> {
    try {
      const response = await request(current.origin + current.basePath + path, {
        dispatcher: pools.list,
        headers: { ...current.headers, accept, 'user-agent': userAgent },
        headersTimeout: ANSWER_MS_MAX,
        bodyTimeout: ANSWER_MS_MAX,
      });
      const type = response.headers['content-type'];
      const contentType = typeof type === 'string' ? type : '';
      return { status: response.statusCode, contentType, body: await bodyOf(response.body) };
    } catch (error) {
      if (error instanceof ReadError) throw error;
      throw new ReadError(0, `no answer from ${current.origin}: ${failureMessage(error)}`);
    }
  }

  async function close(): Promise<void> {
    await Promise.all(all.flatMap((each) => Object.values<Dispatcher>(each)).map((pool) => pool.destroy()));
  }

  async function renew(): Promise<void> {
    // Other requests may still be under way on the old ones.
    current = await readAccess('unauthorized');
    pools = createPools(current, 1);
    all.push(pools);
  }

  let renewed: Promise<void> | undefined;
  return {
    async answer(path, accept) {
      let answer = await ask(path, accept);
      if (answer.status === 401) {
        renewed ??= renew();
        await renewed;
        answer = await ask(path, accept);
      }
      const { status, contentType, body } = answer;
      if (!isApiAnswer(contentType, body)) throw new ReadError(0, `no answer of an API server: HTTP status ${status}`);
      if (status === 200) return answer;
      throw new ReadError(status, readStatus(contentType, status, body).message ?? `status ${status}`);
    },
    close,
  };
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

async function bodyOf(stream: AsyncIterable<Buffer>): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new TooBigError();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
