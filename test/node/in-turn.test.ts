/** Requests that a client of the embedded API server sends without waiting for answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { createApiServer } from '../../src/apiserver/server.ts';
import { serveApi } from '../../src/node/apiserver-http.ts';

const PATH = '/api/v1/namespaces/default/endpoints';
const GET = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n\r\n`;

function write(method: string, path: string, object: object): string {
  const body = JSON.stringify(object);
  const headers = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  return `${method} ${path} HTTP/1.1\r\n${headers}\r\n\r\n${body}`;
}

async function withSocket(run: (socket: Socket) => Promise<void>): Promise<void> {
  const http = await serveApi(createApiServer({ random: () => 0.5 }));
  const socket = connect(http.port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    await run(socket);
  } finally {
    socket.destroy();
    await http.close();
  }
}

async function answers(socket: Socket, count: number): Promise<string[]> {
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    const codes = text.match(/HTTP\/1\.1 \d+/g) ?? [];
    if (codes.length === count) return codes.map((line) => line.slice('HTTP/1.1 '.length));
  }
  throw new Error(`the connection ended: ${text}`);
}

describe('requests of one connection, in one packet', () => {
  it('requests of one packet are done in turn: each sees the effects of the last', async () => {
    await withSocket(async (socket) => {
      const object = { metadata: { name: 'a' } };
      const parts = [write('POST', PATH, object), GET(`${PATH}/a`), write('DELETE', `${PATH}/a`, {}), GET(`${PATH}/a`)];
      socket.write(parts.join(''));
      assert.deepEqual(await answers(socket, 4), ['201', '200', '200', '404']);
    });
  });

  it('more than 100 requests behind a watch end the connection', async () => {
    await withSocket(async (socket) => {
      const ended = once(socket, 'close');
      socket.resume();
      socket.write(GET(`${PATH}?watch=true`) + GET(PATH).repeat(101));
      await ended;
    });
  });
});
