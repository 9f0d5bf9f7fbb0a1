/**
 * What a server, or whoever stands in its place, may answer a write with. Each request gets the answer to it or one error, in
 * time, and never the answer to another.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createClock } from '../../src/node/clock.ts';
import { createTransport } from '../../src/node/transport.ts';
import { createPrng, nextInt, type Prng } from '../../src/lib/prng.ts';
import type { Transport, TransportEvent } from '../../src/ports/transport.ts';
import { seeds } from '../support/runs.ts';
import { plainAccess } from '../support/scripted-server.ts';
import { httpRequest } from '../suites/transport.ts';

/** In the order in which they are written; what comes behind the last one. */
interface Script {
  readonly pieces: readonly (string | Buffer)[];
  readonly last: 'keep' | 'close' | 'reset';
}

type Answer = TransportEvent & { type: 'response' | 'failure' };

const REQUEST = /^PUT (\S+) HTTP\/1\.1\r\n[^]*?content-length: (\d+)[^]*?\r\n\r\n/i;

describe('hostile replies', () => {
  const sockets = new Set<Socket>();
  let connections = 0;
  let script: (path: string) => Script = (path) => keep(replyTo(path));
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    let received = '';
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      const match = REQUEST.exec(received);
      if (match === null || received.length < match[0].length + Number(match[2])) return;
      received = received.slice(match[0].length + Number(match[2]));
      void play(socket, script(match[1]!));
    });
  });
  let transport: Transport & { close(): Promise<void> };
  const waiting = new Map<number, (answer: Answer) => void>();

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const access = plainAccess(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    transport = createTransport(
      {
        access,
        readAccess: () => Promise.resolve(access),
        refreshMs: 60_000,
        userAgent: 'endpointd/0.0.0 (test/test)',
        // One connection: each request meets what the one before has left there.
        maxWritesInFlight: 1,
        clock: createClock(),
        log: () => undefined,
        observe: () => undefined,
      },
      (events) => {
        for (const event of events) {
          assert.ok(event.type === 'response' || event.type === 'failure');
          const take = waiting.get(event.id);
          assert.ok(take, `a second event for one request: ${JSON.stringify(event)}`);
          waiting.delete(event.id);
          take(event);
        }
      },
    );
  });
  after(async () => {
    await transport.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  function put(path: string, timeoutMs = 5000): Promise<Answer> {
    const request = httpRequest({ pool: 'write', method: 'PUT', path, body: Buffer.from('body'), timeoutMs });
    return new Promise((resolve) => {
      waiting.set(request.id, resolve);
      transport.send(request);
    });
  }

  async function answeredWith(path: string, reply: Script, timeoutMs?: number): Promise<Answer> {
    script = (of) => (of === path ? reply : keep(replyTo(of)));
    const answer = await put(path, timeoutMs);
    assert.equal(bodyOf(await put('/next')), 'answer to /next');
    return answer;
  }

  it('a reply may be cut at each byte', async () => {
    const whole = replyTo('/cut');
    for (let at = 1; at < whole.length; at++) {
      const answer = await answeredWith('/cut', { pieces: [whole.slice(0, at), whole.slice(at)], last: 'keep' });
      assert.equal(bodyOf(answer), 'answer to /cut', `cut at ${at}`);
    }
  });

  const body = 'answer to /odd';
  const right: Readonly<Record<string, Script>> = {
    'early hints before it': keep(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${replyTo('/odd')}`),
    'chunks with trailers': keep(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6;x=y\r\nanswer\r\n8\r\n to /odd\r\n0\r\nDigest: 1\r\n\r\n`,
    ),
    'no length, and then the end': { pieces: [`HTTP/1.1 200 OK\r\n\r\n${body}`], last: 'close' },
    'Connection: close': keep(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    'bytes behind it': keep(`${replyTo('/odd')}more`),
    'a second reply behind it': keep(replyTo('/odd') + replyTo('/other')),
    'a length that is too short': keep(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}, and more`),
  };
  for (const [what, reply] of Object.entries(right)) {
    it(`${what}: the request gets its answer, and the next one its own`, async () => {
      assert.equal(bodyOf(await answeredWith('/odd', reply)), body);
    });
  }

  const wrong: Readonly<Record<string, Script>> = {
    'nothing, and then the end': { pieces: [], last: 'close' },
    'half a head': { pieces: ['HTTP/1.1 200 OK\r\nContent-'], last: 'close' },
    'half a body': { pieces: ['HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf'], last: 'close' },
    'half a body, and then a reset': { pieces: ['HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf'], last: 'reset' },
    'half a chunk': { pieces: ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nans'], last: 'close' },
    'chunks without the last one': {
      pieces: ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n'],
      last: 'close',
    },
    'a chunk of an odd length': keep('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsix\r\nanswer\r\n0\r\n\r\n'),
    'another protocol': keep('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    'two lengths': keep(`HTTP/1.1 200 OK\r\nContent-Length: 14\r\nContent-Length: 5\r\n\r\n${body}`),
    'a length beside chunks': keep(
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nanswer\r\n0\r\n\r\n',
    ),
    'a head of 40 kB': keep(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(40_000)}\r\nContent-Length: 0\r\n\r\n`),
    'a certificate request of TLS': keep(Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46])),
    'another language': keep('SSH-2.0-OpenSSH_9.9\r\n'),
  };
  for (const [what, reply] of Object.entries(wrong)) {
    it(`${what}: the request fails once, and the next one is answered`, async () => {
      const answer = await answeredWith('/odd', reply);
      assert.ok(answer.type === 'failure', JSON.stringify(answer));
      assert.deepEqual([answer.kind === 'reset' || answer.kind === 'other', answer.mayHaveArrived], [true, true]);
      assert.match(answer.message, /^[^\n]{5,200}$/);
    });
  }

  it('bytes without a request close the connection', async () => {
    assert.equal(bodyOf(await answeredWith('/a', keep(replyTo('/a')))), 'answer to /a');
    const [idle] = sockets;
    const known = connections;
    idle!.write(replyTo('/unasked'));
    await once(idle!, 'close');
    assert.equal(bodyOf(await put('/b')), 'answer to /b');
    assert.equal(connections, known + 1);
  });

  it('a connection that closes while it is idle is replaced', async () => {
    assert.equal(bodyOf(await answeredWith('/a', keep(replyTo('/a')))), 'answer to /a');
    for (const socket of sockets) socket.end();
    assert.equal(bodyOf(await put('/b')), 'answer to /b');
  });

  it('each request on random broken replies gets one answer or error of its own', async () => {
    const { first, count } = seeds({ first: 1, count: 120 });
    for (let n = first; n < first + count; n++) {
      const prng = createPrng(n);
      const reply = mutated(prng, replyTo(`/n-${n}`));
      const last = nextInt(prng, 2) === 0 ? 'close' : 'keep';
      // Where the connection stays open the rest of an answer may never come.
      const answer = await answeredWith(`/n-${n}`, { pieces: [reply], last }, last === 'keep' ? 60 : 5000);
      if (answer.type === 'response') assert.doesNotMatch(bodyOf(answer), /\/next/, `SEED=${n}`);
      else if (last === 'close') assert.notEqual(answer.kind, 'timeout', `SEED=${n}`);
    }
  });
});

async function play(socket: Socket, { pieces, last }: Script): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece, 'latin1');
    // The client, in this process too, reads between two of them: else it would see one piece.
    for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
  }
  if (last === 'close') socket.end();
  if (last === 'reset') socket.resetAndDestroy();
}

function keep(reply: string | Buffer): Script {
  return { pieces: [reply], last: 'keep' };
}

/** It says to which path it belongs. */
function replyTo(path: string): string {
  const body = `answer to ${path}`;
  return `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function bodyOf(answer: Answer): string {
  assert.ok(answer.type === 'response', JSON.stringify(answer));
  return Buffer.from(answer.body).toString('latin1');
}

/** One to three mistakes: a byte is taken out, changed or put in, or twenty are there twice. */
function mutated(prng: Prng, reply: string): string {
  let text = reply;
  for (let left = 1 + nextInt(prng, 3); left > 0; left--) {
    const at = nextInt(prng, text.length);
    const some = String.fromCharCode(nextInt(prng, 256));
    const [before, from] = [text.slice(0, at), text.slice(at)];
    const mistakes = [
      before + from.slice(1),
      before + some + from.slice(1),
      before + some + from,
      before + from.slice(0, 20) + from,
    ];
    text = mistakes[nextInt(prng, mistakes.length)]!;
  }
  return text;
}
