import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { selfSigned } from '../../src/node/self-signed.ts';
import { until } from '../support/until.ts';
import { startFaultProxy } from './fault-proxy.ts';
import type { ProxyFault } from './proxy-faults.ts';

const LATE: ProxyFault = { name: 'late', meets: ['read'], chance: 1, at: 'reply', does: { delayMsMax: 3_600_000 } };
/** An answer is held up that long after it was sent. */
const HELD_UP_MS = 200;

test('a healed proxy lets nobody wait for an answer that it has held up', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'proxy-'));
  const caFile = join(directory, 'ca.crt');
  const identity = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  writeFileSync(caFile, identity.cert);
  let answered = 0;
  const server = createServer(identity, (_, response) => response.end('{}', () => answered++));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const proxy = await startFaultProxy({ url, caFile, directory, token: '' }, 1);
  t.after(async () => {
    await proxy.stop();
    server.close();
    rmSync(directory, { recursive: true });
  });
  proxy.setFault(LATE);
  const address = /https:[^"]+/.exec(readFileSync(proxy.kubeconfigPath, 'utf8'))![0];
  let ends = 0;
  // An answer that comes after it is healed, since the machine stood still, goes on.
  const get = request(`${address}/api`, { rejectUnauthorized: false }, (response) =>
    response.resume().on('end', () => ends++),
  );
  get.on('error', () => ends++);
  get.end();
  await until(() => answered === 1);
  await sleep(HELD_UP_MS);
  assert.deepEqual([proxy.struck, ends], [1, 0]);
  proxy.heal();
  await until(() => ends === 1);
});
