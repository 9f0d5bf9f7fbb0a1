import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createMonitor, MonitorError } from '../../src/node/monitor-client.ts';

test('an answer that comes bit by bit without an end is given up', async () => {
  const server = createServer((_request, response) => {
    // Longer than any test waits, but not for ever.
    let left = 250;
    const timer = setInterval(() => (left-- > 0 ? response.write('x') : response.end()), 20);
    response.on('close', () => clearInterval(timer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const monitor = createMonitor({
    url,
    readToken: () => Promise.resolve(''),
    ca: null,
    verify: true,
    answerMsMax: 500,
  });
  try {
    await assert.rejects(monitor.get('/metrics'), new MonitorError(0, `no whole answer from ${url} in 0.5 s`));
  } finally {
    await monitor.close();
    server.close();
  }
});
