/**
 * A peer whose packets are lost: nobody says that it is gone. The server runs in a network namespace of its own, from which
 * the way back is then taken. Needs root, `ip` (iproute2), `unshare` and `nsenter` (util-linux); where a namespace cannot be
 * made, the test says so. The namespace has no name: it ends with the server, and the server with this process. So a run
 * that is killed leaves nothing that lasts, and no other run has its addresses.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readlink } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Access } from '../../src/node/access.ts';
import { createClock } from '../../src/node/clock.ts';
import { createTransport } from '../../src/node/transport.ts';
import type { TransportEvent } from '../../src/ports/transport.ts';
import { PKI } from '../support/pki.ts';
import { plainAccess } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { httpRequest } from '../suites/transport.ts';

const LINK = `epd${process.pid}`;
/** Two addresses of this process alone, from the range for benchmarks (RFC 2544): no route of this machine is in the way. */
const NETWORK = (process.pid % 2 ** 15) * 4;
const HERE = addressOf(NETWORK + 1);
const THERE = addressOf(NETWORK + 2);
const SERVER = fileURLToPath(new URL('../support/silent-server.ts', import.meta.url));
/** 30 s until the first probe, ten probes, and a margin for a busy machine. */
const NOTICED_SECONDS_MAX = 45;

/** The address at an offset in 198.18.0.0/15. */
function addressOf(offset: number): string {
  return `198.${18 + (offset >> 16)}.${(offset >> 8) & 255}.${offset & 255}`;
}

function run(...words: readonly [string, ...string[]]): void {
  const [program, ...args] = words;
  // No limit of the runner is kept meanwhile.
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 30_000, killSignal: 'SIGKILL' });
}

/** Throws where no namespace can be made, or no wire. What it makes ends with it. */
function tryNamespace(): void {
  run('unshare', '--net', 'ip', 'link', 'add', 'here', 'type', 'veth', 'peer', 'name', 'there');
}

/** `ip` in the namespace of the server. */
function ipOf(server: ChildProcess, ...words: readonly string[]): void {
  run('nsenter', `--net=/proc/${server.pid}/ns/net`, 'ip', ...words);
}

/** One end of a wire is here, the other one in the namespace of the server. */
async function connect(server: ChildProcess): Promise<void> {
  const here = await readlink('/proc/self/ns/net');
  await until(async () => (await readlink(`/proc/${server.pid}/ns/net`)) !== here);
  run('ip', 'link', 'add', LINK, 'type', 'veth', 'peer', 'name', 'there', 'netns', String(server.pid));
  run('ip', 'addr', 'add', `${HERE}/30`, 'dev', LINK);
  run('ip', 'link', 'set', LINK, 'up');
  ipOf(server, 'addr', 'add', `${THERE}/30`, 'dev', 'there');
  ipOf(server, 'link', 'set', 'there', 'up');
  ipOf(server, 'link', 'set', 'lo', 'up');
}

async function isListening(): Promise<boolean> {
  try {
    await fetch(`http://${THERE}:8080/`, { signal: AbortSignal.timeout(1000) });
    return true;
  } catch {
    return false;
  }
}

/** Every packet of the server to here is dropped: its answers, its acknowledgements, and that it is gone. */
function losePacketsOf(server: ChildProcess): void {
  ipOf(server, 'route', 'add', 'blackhole', `${HERE}/32`);
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

test(
  `a watch whose packets are lost ends within ${NOTICED_SECONDS_MAX} s, on every way`,
  { timeout: 300_000 },
  async (context) => {
    try {
      tryNamespace();
    } catch (error) {
      const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error);
      context.skip(`NOT RUN: it needs root, iproute2 and util-linux to make a network namespace: ${reason}`);
      return;
    }
    const server = spawn('unshare', ['--net', process.execPath, SERVER], { stdio: ['pipe', 'inherit', 'inherit'] });
    const exited = once(server, 'exit');
    let isConnected = false;
    try {
      await connect(server);
      isConnected = true;
      await until(isListening);
      const watches = await Promise.all(WAYS.map(([, access]) => openWatch(access)));
      losePacketsOf(server);
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
      // Before the namespace ends, because the kernel takes the wire away with it, soon or late.
      if (isConnected && server.exitCode === null) run('ip', 'link', 'del', LINK);
      server.kill('SIGKILL');
      await exited;
    }
  },
);
