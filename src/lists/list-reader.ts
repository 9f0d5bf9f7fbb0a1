/** Whole lists of the API server, with a limit of requests a second. It sends GET requests only. */
import type { ListPage } from '../kube/list.ts';
import { DecodeError } from '../kube/protobuf.ts';
import { createTokenBucket, tryTakeToken } from '../lib/token-bucket.ts';
import type { Clock } from '../ports/clock.ts';
import type { Transport, TransportEvent } from '../ports/transport.ts';
import { createPaging, pageRequest, takePage, type ListFailure, type ListQuery, type Paging } from './list-pages.ts';

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

interface Reading {
  readonly paging: Paging;
  readonly onPage: (page: ListPage) => void;
  readonly onDone: (result: ListResult) => void;
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
    transport.send({ id, ...pageRequest(reading.paging) });
  }

  function take(reading: Reading, event: TransportEvent): void {
    const { onPage, onDone } = reading;
    const answer = takePage(reading.paging, event);
    if (answer.type === 'failed') {
      // A list that goes on elsewhere has not one version.
      onDone({ failure: answer.failure, status: answer.status });
      return;
    }
    if (answer.type === 'page') {
      const { page } = answer;
      try {
        onPage(page);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        onDone({ failure: error.message, status: 0 });
        return;
      }
      if (page.continueToken === '') {
        onDone({ version: page.resourceVersion });
        return;
      }
    }
    waiting.push(reading);
  }

  return {
    read(query, onPage, onDone) {
      waiting.push({ paging: createPaging(query), onPage, onDone });
      flush();
    },
    wake: flush,
  };
}
