/** Reads of an API server as promises, for a command that reads each thing once. */
import { JSON_TYPE } from '../../kube/media-type.ts';
import type { ObjectSource } from '../../kube/source.ts';
import { isApiAnswer, readStatus } from '../../kube/status.ts';
import { createAsker } from '../../node/asker.ts';
import { createClock } from '../../node/clock.ts';
import type { ListQuery } from '../../lists/list-pages.ts';
import { createListReader, type ListResult } from '../../lists/list-reader.ts';
import type { ApiConnection } from '../api-connection.ts';

export interface ApiReader {
  /** Reads one object as JSON. @throws ReadError */
  readonly get: (path: string) => Promise<ObjectSource>;
  /**
   * Reads every object of a collection. Only what `take` returns stays in memory; null = nothing of the object is kept.
   * @throws ReadError
   */
  readonly list: <T>(query: ReaderQuery, options: ListOptions<T>) => Promise<T[]>;
}

export type ReaderQuery = Pick<ListQuery, 'path'> & Partial<ListQuery>;

export interface ListOptions<T> {
  /** Called when the list is begun, and begun anew: what `take` has counted is of a list that has expired. */
  readonly begin?: () => void;
  readonly take: (item: ObjectSource) => T | null;
  /** Called after each page with the number of objects that have come. */
  readonly progress?: (count: number) => void;
}

/** A read has failed. `message` is one line. It is the server's, where the server has answered. */
export class ReadError extends Error {
  /** The HTTP status; 0 = no API server has answered. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message.replaceAll(/\s+/g, ' '));
    this.name = 'ReadError';
    this.status = status;
  }
}

/** How often a list is begun that expires between two pages, before the read fails. */
const LISTS_MAX = 4;
const GONE = 410;

export function createApiReader({ origin, transport }: Pick<ApiConnection, 'origin' | 'transport'>): ApiReader {
  const ask = createAsker(transport);
  const reader = createListReader(transport, createClock(), 0, 1);

  function errorOf(status: number, message: string): ReadError {
    return new ReadError(status, status === 0 ? `no answer from ${origin}: ${message}` : message);
  }

  function listOnce<T>(
    query: ListQuery,
    { begin, take, progress }: ListOptions<T>,
  ): Promise<ListResult & { kept: T[] }> {
    const kept: T[] = [];
    begin?.();
    let count = 0;
    return new Promise((resolve) => {
      reader.read(
        query,
        ({ items }) => {
          for (const item of items) {
            const taken = take(item);
            if (taken !== null) kept.push(taken);
          }
          count += items.length;
          progress?.(count);
        },
        (result) => resolve({ ...result, kept }),
      );
    });
  }

  return {
    async get(path) {
      const reply = await ask({ method: 'GET', path, accept: JSON_TYPE });
      if (reply.type === 'failure') throw errorOf(0, `${reply.kind}: ${reply.message}`);
      const { contentType, status, body } = reply;
      if (!isApiAnswer(contentType, body)) throw errorOf(0, `no answer of an API server: HTTP status ${status}`);
      if (status !== 200) throw errorOf(status, readStatus(contentType, status, body).message ?? `status ${status}`);
      const value = JSON.parse(Buffer.from(body).toString()) as { kind: string; apiVersion: string };
      return { encoding: 'json', kind: value.kind, apiVersion: value.apiVersion, value };
    },
    async list(query, options) {
      const whole: ListQuery = { fieldSelector: '', labelSelector: '', form: 'records', ...query };
      for (let tries = 1; ; tries++) {
        const { kept, ...result } = await listOnce(whole, options);
        if ('version' in result) return kept;
        if (result.status !== GONE || tries === LISTS_MAX) throw errorOf(result.status, result.failure);
      }
    },
  };
}
