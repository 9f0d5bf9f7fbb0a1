/** Watches that only load a server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { type LoadWatch, openLoadWatch, openSocket, receivedBy } from '../../bench/support/http-load.ts';
import { until } from '../support/until.ts';

/** Opens two watches of a server that has sent one event to each, and passes the answers of the server. */
async function watched(
  check: (watches: readonly LoadWatch[], answers: readonly ServerResponse[]) => Promise<void>,
): Promise<void> {
  const answers: ServerResponse[] = [];
  const server = createServer((_request, answer) => {
    answers.push(answer);
    answer.write('an event');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const watches = [await openLoadWatch({ url }, '/', 'a/b'), await openLoadWatch({ url }, '/', 'a/b')];
  try {
    await check(watches, answers);
  } finally {
    for (const { stop } of watches) stop();
    server.closeAllConnections();
    server.close();
  }
}

it('nothing takes an error of an open socket in silence', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = await openSocket({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  assert.equal(socket.listenerCount('error'), 0);
  socket.destroy();
  server.close();
});

describe('watches that only load a server', () => {
  it('what all have received is summed as long as all are open', () =>
    watched(async ([first, second], [answer]) => {
      const before = receivedBy([first!, second!]);
      answer!.write('0\r\n\r\n');
      await until(() => receivedBy([first!, second!]) > before);
      assert.deepEqual([first!.hasEnded(), second!.hasEnded()], [false, false]);
    }));

  for (const [how, end] of [
    ['in good order, and keeps the connection', (answer: ServerResponse) => void answer.end()],
    ['with the connection', (answer: ServerResponse) => void answer.destroy()],
  ] as const) {
    it(`no figure is told of a watch that the server ends ${how}`, () =>
      watched(async ([first, second], [answer]) => {
        end(answer!);
        await until(() => first!.hasEnded());
        assert.throws(() => receivedBy([first!, second!]), /^Error: the server has ended 1 of 2 watches$/);
      }));
  }
});
