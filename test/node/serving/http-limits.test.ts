/** Clients of the metrics port that ask for too much, or come in masses: what they cost is bounded, and others are served. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { selfSigned } from '../../../src/node/self-signed.ts';
import { createHandshakes } from '../../../src/node/serving/handshakes.ts';
import { startHttp, type HttpServer } from '../../../src/node/serving/http.ts';
import { metricsPage, type RenderedMetrics } from '../../../src/node/serving/metrics-page.ts';
import { text, type Asked, type Page } from '../../../src/node/serving/page.ts';
import { until } from '../../support/until.ts';

const CONNECTIONS_MAX = 6;
const MASS = 50;
/** The address of the server, and so of the programs of its machine. */
const OWN_ADDRESS = '127.0.0.1';
const SOME_ADDRESS = '127.0.0.9';
const OTHER_ADDRESS = '127.0.0.2';
const PROBES = 3;
const LIFE_MS_MAX = 10_000;
const METRICS_KEPT_MS = 1000;
const ACCEPT_ERRORS_EVERY_MS = 60_000;

let http: HttpServer;
/** Renderings that were asked for and are not done, oldest first. */
let renderings: PromiseWithResolvers<RenderedMetrics>[];
let rendered: number;
/** Requests that are never answered. */
let slow: Asked[];
let acceptErrors: string[];
let sockets: Socket[];

const METRICS = (): Promise<RenderedMetrics> => {
  rendered++;
  const rendering = Promise.withResolvers<RenderedMetrics>();
  renderings.push(rendering);
  return rendering.promise;
};

const SLOW: Page = (asked) => {
  slow.push(asked);
  return new Promise(() => undefined);
};

let isSecure = false;

async function start(): Promise<void> {
  [renderings, rendered, slow, acceptErrors, sockets] = [[], 0, [], [], []];
  const identity = selfSigned({ hosts: ['127.0.0.1'], nowMs: Date.now(), days: 1 });
  const settings = {
    ...identity,
    named: [],
    clientAuthorities: [],
    minVersion: 'TLSv1.2',
    ciphers: '',
    curves: '',
  } as const;
  const metrics = metricsPage(METRICS);
  http = await startHttp({
    host: OWN_ADDRESS,
    port: 0,
    handshakes: isSecure ? createHandshakes(settings) : null,
    gate: () => Promise.resolve(null),
    pages: (path) => ({ '/metrics': metrics, '/slow': SLOW })[path] ?? (() => text(200, 'ok')),
    onAcceptError: ({ message }) => acceptErrors.push(message),
    onPageError: () => undefined,
  });
}

interface Client {
  readonly socket: Socket;
  /** All that the server says until it closes the connection. */
  readonly answer: Promise<string>;
}

/** @param localAddress of the client; Linux has all of 127.0.0.0/8 */
function client(bytes = '', localAddress = SOME_ADDRESS): Client {
  const to = { port: Number(http.address.split(':')[1]), host: OWN_ADDRESS, localAddress };
  const socket = isSecure ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
  sockets.push(socket);
  const answer = new Promise<string>((resolve) => {
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(said));
  });
  if (bytes !== '') socket.write(bytes);
  return { socket, answer };
}

function get(path: string, version = '1.1'): string {
  return `GET ${path} HTTP/${version}\r\nhost: a\r\nconnection: keep-alive\r\n\r\n`;
}

async function rendering(): Promise<PromiseWithResolvers<RenderedMetrics>> {
  // Turn by turn: who has closed its half is answered only if the answer comes before that is noticed.
  const endMs = Date.now() + 30_000;
  while (renderings.length === 0) {
    assert.ok(Date.now() < endMs, 'the page is not asked for');
    await new Promise((resolve) => void setImmediate(resolve));
  }
  return renderings.shift()!;
}

async function finish(body = 'up 1\n'): Promise<void> {
  (await rendering()).resolve({ contentType: 'text/plain', body });
}

/** What the clock shows while it stands still, but where a test moves it. Whole, so that sums are exact. */
let nowMs: number;
/** In this time, as many handshakes are allowed as ever. */
const ALL_TOKENS_MS = 500;
/** More than the time for one handshake, less than for two. */
const ONE_TOKEN_MS = 21;
const HANDSHAKES_AT_ONCE = 25;

function stopClock(): void {
  nowMs = Math.ceil(performance.now());
  mock.method(performance, 'now', () => nowMs);
}

/** The server's ends of the next connections that it accepts. */
function accepted(count: number): Promise<Socket[]> {
  return new Promise((resolve) => {
    const ends: Socket[] = [];
    const accept = (message: unknown): void => {
      ends.push((message as { socket: Socket }).socket);
      if (ends.length < count) return;
      unsubscribe('net.server.socket', accept);
      resolve(ends);
    };
    subscribe('net.server.socket', accept);
  });
}

/** Asks for health, and waits until the server has forgotten the connection. */
async function probe(localAddress: string): Promise<void> {
  nowMs += ALL_TOKENS_MS;
  const ends = accepted(1);
  const { answer } = client(get('/livez'), localAddress);
  const [end] = await ends;
  const closed = once(end!, 'close');
  assert.match(await answer, /ok$/);
  await closed;
}

/** Connections of as many addresses, or of one, that do nothing. The server has accepted them in this order. */
async function idleOnes(count: number, addressOf: (i: number) => string): Promise<Client[]> {
  const ends = accepted(count);
  const idle: Client[] = [];
  for (let i = 0; i < count; i++) {
    idle.push(client('', addressOf(i)));
    await once(idle.at(-1)!.socket, 'connect');
  }
  await ends;
  return idle;
}

/** Whether a request that comes slowly is answered although connections of 50 other addresses come meanwhile. */
async function outlivesFlood(localAddress: string): Promise<boolean> {
  nowMs += ALL_TOKENS_MS;
  const ends = accepted(1);
  const { socket, answer } = client('GET /slow-to-come HTTP/1.1\r\n', localAddress);
  await Promise.all([ends, once(socket, isSecure ? 'secureConnect' : 'connect')]);
  const flood = await idleOnes(MASS, (i) => `127.0.1.${i + 1}`);
  await Promise.all(flood.slice(0, MASS - CONNECTIONS_MAX).map((one) => one.answer));
  if (!socket.destroyed) socket.write('host: a\r\n\r\n');
  const said = await answer;
  for (const one of flood) one.socket.destroy();
  return answersIn(said) === 1;
}

/** After which the server has seen what was sent before. */
async function isAlive(): Promise<void> {
  assert.match(
    await client('GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n').answer,
    /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/,
  );
}

function answersIn(said: string): number {
  return said.match(/HTTP\/1\.1 \d/g)?.length ?? 0;
}

for (const secure of [false, true]) {
  describe(secure ? 'with TLS' : 'without TLS', () => {
    beforeEach(async () => {
      isSecure = secure;
      await start();
    });

    afterEach(async () => {
      for (const socket of sockets) socket.destroy();
      await http.close();
      mock.timers.reset();
      mock.restoreAll();
    });

    describe('a connection', () => {
      for (const version of ['1.1', '1.0']) {
        it(`a connection makes one request, the rest of a packet none (HTTP/${version})`, async () => {
          const { answer } = client(get('/metrics', version).repeat(1700));
          await isAlive();
          await finish();
          const said = await answer;
          assert.deepEqual([answersIn(said), rendered], [1, 1]);
          assert.match(said, /\r\nConnection: close\r\n/);
        });
      }

      it('a connection may send its request in pieces of any size', async () => {
        const { socket, answer } = client();
        socket.setNoDelay();
        for (const byte of `${get('/livez')}${get('/livez')}`) {
          socket.write(byte);
          await new Promise((resolve) => void setImmediate(resolve));
        }
        assert.equal(answersIn(await answer), 1);
      });

      // TLS knows no half.
      if (!secure) {
        it('a connection that closes its half after the request gets the answer', async () => {
          const { socket, answer } = client();
          socket.end(get('/metrics'));
          await finish();
          assert.match(await answer, /\r\n\r\nup 1\n$/);
        });
      }

      it('a connection that does not read its answer delays nobody', async () => {
        const { socket } = client(get('/metrics'));
        socket.pause();
        await finish('x'.repeat(50_000_000));
        await isAlive();
      });

      it('a connection cannot send headers of more than 8 KiB', async () => {
        const said = await client(`GET /livez HTTP/1.1\r\nx: ${'x'.repeat(10_000)}\r\n\r\n`).answer;
        assert.match(said, /^HTTP\/1\.1 431 /);
      });

      it('a connection may send some empty lines before its request', async () => {
        assert.match(await client(`\r\n\r\n\n${get('/livez')}`).answer, /^HTTP\/1\.1 200 /);
      });

      for (const [what, begin] of [
        ['empty lines', '\r\n'.repeat(10_000)],
        ['spaces in a head', `GET ${' '.repeat(20_000)}`],
      ] as const) {
        it(`a connection is closed after more than 16 KiB of ${what}`, async () => {
          assert.equal(await client(begin).answer, '');
        });
      }

      it('headers that are too large get an error, also if they come at once', async () => {
        const said = await client(`GET /livez HTTP/1.1\r\nx: ${'x'.repeat(60_000)}\r\n\r\n`).answer;
        assert.match(said, /^HTTP\/1\.1 431 /);
      });

      it('a request is answered before its body, which is not read', async () => {
        const said = await client('POST /metrics HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n').answer;
        assert.match(said, /^HTTP\/1\.1 405 /);
      });
    });

    describe('the life of a connection ends after ten seconds', () => {
      const cases: [title: string, bytes: string][] = [
        ['without a request', ''],
        ['with a request that does not get finished', 'GET /livez HTTP/1.1\r\nx: y'],
        ['with an answer that is not read', get('/metrics')],
      ];
      for (const [title, bytes] of cases) {
        it(title, async () => {
          mock.timers.enable({ apis: ['setTimeout'] });
          const { socket } = client(bytes);
          socket.pause();
          if (bytes.includes('/metrics')) await finish('x'.repeat(50_000_000));
          await isAlive();
          mock.timers.tick(LIFE_MS_MAX);
          socket.resume();
          await once(socket, 'close');
          assert.ok(socket.bytesRead < 50_000_000);
        });
      }
    });

    describe('connections in masses', () => {
      it('connections that only stay open are replaced, the oldest first', async () => {
        const idle = Array.from({ length: MASS }, () => client());
        await Promise.all(idle.map(({ socket }) => once(socket, 'connect')));
        await isAlive();
        const replaced = idle.slice(0, MASS - CONNECTIONS_MAX + 1);
        await Promise.all(replaced.map(({ answer }) => answer));
        const kept = idle.slice(MASS - CONNECTIONS_MAX + 1);
        kept[0]!.socket.write(get('/livez'));
        assert.match(await kept[0]!.answer, /ok$/);
        assert.ok(kept.slice(1).every(({ socket }) => !socket.destroyed));
      });

      it('masses of connections do not replace one that waits for its answer', async () => {
        const { answer } = client(get('/metrics'));
        const { resolve } = await rendering();
        const idle = Array.from({ length: MASS }, () => client());
        await Promise.all(idle.map(({ socket }) => once(socket, 'connect')));
        await isAlive();
        resolve({ contentType: 'text/plain', body: 'up 1\n' });
        assert.match(await answer, /\r\n\r\nup 1\n$/);
      });

      it('masses of connections that all wait for answers let a new one in', async () => {
        for (let i = 0; i < MASS; i++) client(get('/metrics'));
        await rendering();
        await isAlive();
      });
    });

    describe('connections that hold all places', () => {
      it('connections that hold all places and wait for answers let a new one in', async () => {
        for (let i = 0; i < CONNECTIONS_MAX; i++) client(get('/slow'));
        await until(() => slow.length === CONNECTIONS_MAX);
        await isAlive();
      });

      it('connections with empty lines are replaced before one that waits', async () => {
        const { answer } = client(get('/metrics'));
        const { resolve } = await rendering();
        const empty = Array.from({ length: CONNECTIONS_MAX - 2 }, () => client('\r\n\r\n'));
        await isAlive();
        const late = [client(), client()];
        assert.equal(await empty[0]!.answer, '');
        assert.ok(late.every(({ socket }) => !socket.destroyed));
        resolve({ contentType: 'text/plain', body: 'up 1\n' });
        assert.match(await answer, /\r\n\r\nup 1\n$/);
      });
    });

    describe('connections of one address', () => {
      it('connections of one address do not replace a slow one of another', async () => {
        const other = client('GET /livez HTTP/1.1\r\n', OTHER_ADDRESS);
        await once(other.socket, isSecure ? 'secureConnect' : 'connect');
        for (let i = 0; i < MASS; i++) client(get('/slow'));
        await isAlive();
        other.socket.write('host: a\r\n\r\n');
        assert.equal(answersIn(await other.answer), 1);
      });

      it('endless connections of one address leave the probes of another alone', async () => {
        let isOver = false;
        const flood = (): void => {
          if (!isOver) client().socket.once('close', flood);
        };
        for (let i = 0; i < MASS; i++) flood();
        try {
          for (let i = 0; i < PROBES; i++) {
            assert.equal(answersIn(await client(get('/livez'), OTHER_ADDRESS).answer), 1);
          }
        } finally {
          isOver = true;
        }
      });

      it('connections of one address give way to other addresses, each in its turn', async () => {
        for (let i = 0; i < CONNECTIONS_MAX; i++) client(get('/slow'));
        await until(() => slow.length === CONNECTIONS_MAX);
        const others = Array.from({ length: CONNECTIONS_MAX - 1 }, (_, i) =>
          client(get('/metrics'), `127.0.0.${i + 2}`),
        );
        await rendering().then(({ resolve }) => resolve({ contentType: 'text/plain', body: 'up 1\n' }));
        for (const { answer } of others) assert.match(await answer, /up 1\n$/);
      });
    });

    describe('an address that has probed', () => {
      beforeEach(stopClock);

      it('an address that has probed is answered although many addresses flood the port', async () => {
        await client(get('/other'), OTHER_ADDRESS).answer;
        assert.equal(await outlivesFlood(OTHER_ADDRESS), false);
        await probe(OTHER_ADDRESS);
        assert.equal(await outlivesFlood(OTHER_ADDRESS), true);
      });

      it('two addresses are kept as long as they probe, then a third one', async () => {
        const [first, second, third] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const;
        for (const address of [first, second, third]) await probe(address);
        assert.equal(await outlivesFlood(third), false);
        assert.equal(await outlivesFlood(second), true);
        nowMs += 55_000;
        await probe(third);
        assert.equal(await outlivesFlood(third), false);
        await probe(first);
        nowMs += 2000;
        await probe(third);
        const outlive = [await outlivesFlood(first), await outlivesFlood(second), await outlivesFlood(third)];
        assert.deepEqual(outlive, [true, false, true]);
      });

      it('programs of the own machine have a place always, and take none of the two', async () => {
        await probe(OWN_ADDRESS);
        const others = ['127.0.0.2', '127.0.0.3'];
        for (const address of others) await probe(address);
        const outlive: boolean[] = [];
        for (const address of [OWN_ADDRESS, ...others]) outlive.push(await outlivesFlood(address));
        assert.deepEqual(outlive, [true, true, true]);
      });

      it('an address that has probed keeps one connection, for a second', async () => {
        await probe(OTHER_ADDRESS);
        const idle = await idleOnes(MASS, () => OTHER_ADDRESS);
        nowMs += ALL_TOKENS_MS;
        const others = await idleOnes(CONNECTIONS_MAX - 1, (i) => `127.0.1.${i + 1}`);
        await Promise.all(idle.slice(1).map(({ answer }) => answer));
        const open = [idle[0]!, ...others];
        assert.ok(open.every(({ socket }) => !socket.destroyed));
        nowMs += ALL_TOKENS_MS;
        await isAlive();
        assert.equal(await idle[0]!.answer, '');
        for (const { socket, answer } of others) {
          socket.write(get('/other'));
          assert.match(await answer, /ok$/);
        }
      });

      it('addresses that have probed leave a place to others', async () => {
        const kept = ['127.0.0.2', '127.0.0.3'];
        for (const address of kept) await probe(address);
        await idleOnes(MASS, (i) => kept[i % 2]!);
        await probe('127.0.0.4');
      });

      if (secure) {
        it('an address that has probed is first in line, but not twice in a row', async () => {
          await probe(OTHER_ADDRESS);
          for (let i = 1; i < HANDSHAKES_AT_ONCE; i++) await client(get('/other')).answer;
          const order: number[] = [];
          const addresses = ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.1.4', OTHER_ADDRESS, OTHER_ADDRESS];
          const inLine = await idleOnes(CONNECTIONS_MAX, (i) => addresses[i]!);
          inLine.forEach(({ socket }, i) => socket.once('secureConnect', () => order.push(i)));
          for (let i = 0; i < CONNECTIONS_MAX; i++) {
            nowMs += ONE_TOKEN_MS;
            await until(() => order.length > i);
          }
          assert.deepEqual(order, [4, 0, 5, 1, 2, 3]);
        });
      }
    });

    describe('a rendering of the metrics', () => {
      it('a rendering is shared by all who ask meanwhile and in the second after', async () => {
        mock.timers.enable({ apis: ['setTimeout'] });
        const [first, second] = [client(get('/metrics')), client(get('/metrics'))];
        await isAlive();
        await finish('up 1\n');
        assert.match(await first.answer, /up 1\n$/);
        assert.match(await second.answer, /up 1\n$/);
        assert.match(await client(get('/metrics')).answer, /up 1\n$/);
        assert.equal(rendered, 1);
        mock.timers.tick(METRICS_KEPT_MS);
        const later = client(get('/metrics'));
        await finish('up 2\n');
        assert.match(await later.answer, /up 2\n$/);
      });

      it('a failed rendering is not kept', async () => {
        const failing = client(get('/metrics'));
        (await rendering()).reject(new Error('collector failed'));
        assert.match(await failing.answer, /^HTTP\/1\.1 500 [^]*collector failed\n$/);
        const next = client(get('/metrics'));
        await finish();
        assert.match(await next.answer, /up 1\n$/);
      });
    });

    it('a failed accept is logged once a minute, and the port goes on', async () => {
      stopClock();
      let server: Socket['server'];
      const listen = (message: unknown): void => void ({ server } = (message as { socket: Socket }).socket);
      subscribe('net.server.socket', listen);
      await isAlive();
      unsubscribe('net.server.socket', listen);
      for (let minute = 1; minute <= 2; minute++) {
        for (let i = 0; i < 3; i++) server!.emit('error', new Error('accept EMFILE'));
        assert.deepEqual(acceptErrors, Array<string>(minute).fill('accept EMFILE'));
        nowMs += ACCEPT_ERRORS_EVERY_MS - 1;
        server!.emit('error', new Error('accept EMFILE'));
        assert.equal(acceptErrors.length, minute, 'a millisecond before the minute is over');
        nowMs++;
      }
      await isAlive();
    });
  });
}
