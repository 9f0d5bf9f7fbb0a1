import type { HttpRequest, Transport, TransportEvent } from '../ports/transport.ts';

type Question = Pick<HttpRequest, 'method' | 'path' | 'accept'> & Partial<Pick<HttpRequest, 'contentType' | 'body'>>;
export type Reply = Extract<TransportEvent, { type: 'response' | 'failure' }>;
/** Never rejects: a failure is a reply, too. */
export type Asker = (question: Question) => Promise<Reply>;

const ANSWER_MS_MAX = 60_000;

/** Makes single requests as promises, for code that does not run in the loop. */
export function createAsker(
  createTransport: (deliver: (events: readonly TransportEvent[]) => void) => Transport,
  timeoutMs: number = ANSWER_MS_MAX,
): Asker {
  const waiting = new Map<number, (reply: Reply) => void>();
  let nextId = 1;
  const transport = createTransport((events) => {
    for (const event of events) {
      if (event.type !== 'response' && event.type !== 'failure') continue;
      waiting.get(event.id)?.(event);
      waiting.delete(event.id);
    }
  });
  return (question) =>
    new Promise((resolve) => {
      const id = nextId++;
      waiting.set(id, resolve);
      transport.send({ id, pool: 'read', contentType: '', body: null, stream: false, timeoutMs, ...question });
    });
}
