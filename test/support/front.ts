/** A proxy on loopback before an API server. It can keep, refuse or lose what a test chooses. */
import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { refusal, type StubAnswer } from './stub-server.ts';

/**
 * pass: to the server. hang: no answer. silent: 200 and nothing more. lose: the server carries it out, and its answer
 * is lost.
 */
export type Passage = 'pass' | 'hang' | 'silent' | 'lose' | StubAnswer;

export interface Front extends AsyncDisposable {
  readonly url: string;
  /** Cuts the connections of all requests that are under way. */
  readonly cut: () => void;
}

/** @param choose gets the method and the path with its query */
export async function startFront(
  target: string,
  choose: (method: string, path: string) => Passage | Promise<Passage>,
): Promise<Front> {
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const passage = await choose(request.method!, request.url!);
    if (passage === 'pass' || passage === 'lose') forward(target, request, response, passage === 'lose');
    else if (passage === 'silent') response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    else if (passage !== 'hang') response.writeHead(passage.status, headersOf(passage)).end(passage.body);
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A server that is busy, and says so. */
export const BUSY: StubAnswer = {
  ...refusal(429, 'TooManyRequests', 'the server is busy'),
  headers: { 'retry-after': '1' },
};

function headersOf({ headers }: StubAnswer): Record<string, string> {
  return { 'content-type': 'application/json', ...headers };
}

function forward(target: string, request: IncomingMessage, response: ServerResponse, lose: boolean): void {
  const { method, url, headers } = request;
  const onward = send(new URL(url!, target), { method: method!, headers }, (answer) => {
    if (lose) {
      answer.resume().on('end', () => response.socket?.destroy());
      return;
    }
    response.writeHead(answer.statusCode!, answer.headers).flushHeaders();
    answer.on('error', () => response.destroy()).pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
