/** Connections that cannot be made. */
import assert from 'node:assert/strict';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { PKI } from '../support/pki.ts';
import { plainAccess, socketWorld } from '../support/scripted-server.ts';
import { httpRequest } from '../suites/transport.ts';

test('a renewal does not wait for the connection that the one before did not get', async () => {
  const sockets: Socket[] = [];
  let target = 0;
  // Takes the first connection and never says a word, as a load balancer whose backend is dead.
  const balancer = createServer((client) => {
    if (sockets.push(client) === 1) return;
    const server = connect(target, '127.0.0.1');
    sockets.push(server);
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
  const world = await socketWorld(
    () => ({ status: 200, body: '' }),
    {
      accessOf: (origin) => {
        target = Number(new URL(origin).port);
        const { tls, ...rest } = plainAccess(`https://127.0.0.1:${(balancer.address() as AddressInfo).port}`);
        return { ...rest, tls: { ...tls, ca: PKI.ca, serverName: 'kubernetes.test' } };
      },
    },
    (handler) => createTlsServer({ cert: PKI.serverCert, key: PKI.serverKey }, handler),
  );
  try {
    for (const timeoutMs of [200, 5000]) world.transport.send(httpRequest({ pool: 'lease', timeoutMs }));
    await world.until(() => world.events.length === 2);
    assert.deepEqual(world.events.map(({ type }) => type).toSorted(), ['failure', 'response']);
  } finally {
    await world.close();
    for (const socket of sockets) socket.destroy();
    balancer.close();
  }
});
