/**
 * A peer whose packets are lost: nobody says that it is gone. The server runs in a network namespace of its own, from which
 * the way back is then taken. Needs root and `ip` (iproute2); where a namespace cannot be made, the test says so.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Access } from '../../src/node/access.ts';
import { createClock } from '../../src/node/clock.ts';
import { createTransport } from '../../src/node/transport.ts';
import type { TransportEvent } from '../../src/ports/transport.ts';
import { PKI } from '../support/pki.ts';
import { plainAccess } from '../support/scripted-server.ts';
import { httpRequest } from '../suites/transport.ts';

const NAME = `epd${process.pid}`;
/** From a range for documentation: no route of this machine is in the way. */
const HERE = '198.51.100.1';
const THERE = '198.51.100.2';
const SERVER = fileURLToPath(new URL('../support/silent-server.ts', import.meta.url));
/** 30 s until the first probe, ten probes, and a margin for a busy machine. */
const NOTICED_SECONDS_MAX = 45;

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Two ends of a wire, one of them in the namespace. */
function makeNamespace(): void {
  ip('netns', 'add', NAME);
  ip('link', 'add', NAME, 'type', 'veth', 'peer', 'name', 'there', 'netns', NAME);
  ip('addr', 'add', `${HERE}/30`, 'dev', NAME);
  ip('link', 'set', NAME, 'up');
  ip('-n', NAME, 'addr', 'add', `${THERE}/30`, 'dev', 'there');
  ip('-n', NAME, 'link', 'set', 'there', 'up');
  ip('-n', NAME, 'link', 'set', 'lo', 'up');
}

function removeNamespace(): void {
  for (const what of ['link', 'netns']) {
    try {
      ip(what, 'del', NAME);
    } catch {
      // It was never made.
    }
  }
}

/** Every packet of the server to here is dropped: its answers, its acknowledgements, and that it is gone. */
function loseItsPackets(): void {
  ip('-n', NAME, 'route', 'add', 'blackhole', `${HERE}/32`);
}

const plain = plainAccess(`http://${THERE}:8080`);
const tls: Access = {
  ...plainAccess(`https://${THERE}:8443`),
  tls: { ...plain.tls, ca: PKI.ca, serverName: 'kubernetes.test' },
};
const proxyUrl = `http://${THERE}:8080`;
const WAYS: readonly [name: string, access: Access][] = [
  ['http', plain],
  ['TLS', tls],
  ['http through a proxy', { ...plain, origin: 'http://apiserver.test', proxyUrl }],
  ['TLS through a proxy', { ...tls, proxyUrl }],
];

/** A watch that has begun. */
async function openWatch(access: Access): Promise<{ ended: Promise<TransportEvent>; close(): Promise<void> }> {
  const began = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<TransportEvent>();
  const transport = createTransport(
    {
      access,
      readAccess: () => Promise.resolve(access),
      refreshMs: 600_000,
      userAgent: 'endpointd/0.0.0 (test/test)',
      maxWritesInFlight: 1,
      clock: createClock(),
      log: () => undefined,
      observe: () => undefined,
    },
    (events) => {
      for (const event of events) {
        if (event.type === 'chunk') began.resolve();
        else if (event.type === 'ended') ended.resolve(event);
        else if (event.type === 'failure') began.reject(new Error(event.message));
      }
    },
  );
  transport.send(httpRequest({ pool: 'watch', stream: true, timeoutMs: 30_000 }));
  await began.promise;
  return { ended: ended.promise, close: () => transport.close() };
}

async function untilItListens(server: ChildProcess): Promise<void> {
  for (;;) {
    assert.equal(server.exitCode, null, 'the server has ended');
    try {
      await fetch(`http://${THERE}:8080/`, { signal: AbortSignal.timeout(1000) });
      return;
    } catch {
      await sleep(50);
    }
  }
}

test(`a watch whose packets are lost ends within ${NOTICED_SECONDS_MAX} s, on every way`, async (context) => {
  try {
    makeNamespace();
  } catch (error) {
    removeNamespace();
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error);
    context.skip(`NOT RUN: it needs root and iproute2 to make a network namespace: ${reason}`);
    return;
  }
  const server = spawn('ip', ['netns', 'exec', NAME, process.execPath, SERVER], { stdio: 'inherit' });
  try {
    await untilItListens(server);
    const watches = await Promise.all(WAYS.map(([, access]) => openWatch(access)));
    loseItsPackets();
    const lostAtMs = performance.now();
    const noticed = await Promise.all(
      watches.map(async ({ ended }, i) => {
        const late = sleep((NOTICED_SECONDS_MAX + 60) * 1000, null, { ref: false });
        const event = await Promise.race([ended, late]);
        return { way: WAYS[i]![0], event, seconds: (performance.now() - lostAtMs) / 1000 };
      }),
    );
    for (const { way, event, seconds } of noticed) {
      context.diagnostic(`${way}: ${seconds.toFixed(1)} s`);
      assert.ok(event?.type === 'ended' && event.error !== null, way);
      assert.ok(seconds < NOTICED_SECONDS_MAX, `${way}: ${seconds.toFixed(1)} s`);
    }
    await Promise.all(watches.map((watch) => watch.close()));
  } finally {
    server.kill('SIGKILL');
    await once(server, 'exit');
    removeNamespace();
  }
});
