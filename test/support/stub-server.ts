/** A server on loopback that says of itself what a test wants, in plain HTTP or with a certificate. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface StubAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Until it is sent. Default 0. */
  readonly afterMs?: number;
}

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface StubServer extends AsyncDisposable {
  readonly url: string;
}

export async function startStub(
  answer: (request: StubRequest) => StubAnswer,
  tls: { readonly cert: string; readonly key: string } | null = null,
  port = 0,
): Promise<StubServer> {
  const listener: RequestListener = (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const reply = answer({ method, path: url, headers, body });
      const headed = { 'content-type': 'application/json', ...reply.headers };
      const send = (): unknown => response.writeHead(reply.status, headed).end(reply.body);
      if (reply.afterMs === undefined) send();
      else setTimeout(send, reply.afterMs);
    });
  };
  const server = tls === null ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${tls === null ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** As an API server refuses: a Status. */
export function refusal(code: number, reason: string, message: string): StubAnswer {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
  return { status: code, body: JSON.stringify(status) };
}

export function jsonAnswer(value: object, status = 200): StubAnswer {
  return { status, body: JSON.stringify(value) };
}
