import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { plainAccess, socketWorld } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';
import { httpRequest, transportContract } from '../suites/transport.ts';

transportContract('undici', (script, config) => socketWorld(script, config));

test('a request has the user agent and credentials, and asks for no compression', async () => {
  const headers = { Authorization: 'Bearer abc', 'Impersonate-User': 'jane', 'Impersonate-Group': ['a', 'b'] };
  await using world = await disposable(
    socketWorld(() => ({ status: 200, body: '' }), {
      accessOf: (origin) => ({ ...plainAccess(origin), basePath: '/k8s/c-1', headers }),
    }),
  );
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 1);
  const seen = world.seen[0]!;
  assert.equal(seen.path, '/k8s/c-1/api/v1/pods');
  assert.equal(seen.headers['user-agent'], 'endpointd/0.0.0 (test/test)');
  assert.equal(seen.headers['authorization'], 'Bearer abc');
  assert.equal(seen.headers['impersonate-user'], 'jane');
  assert.equal(seen.headers['impersonate-group'], 'a, b');
  assert.equal(seen.headers['accept-encoding'], undefined);
  assert.equal(seen.headers['content-type'], undefined);
});

test('connections are kept and reused', async () => {
  await using world = await disposable(socketWorld(() => ({ status: 200, body: 'x' })));
  for (let i = 1; i <= 10; i++) {
    world.transport.send(httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array(10_000) }));
    await world.until(() => world.events.length === i);
  }
  assert.equal(world.connections(), 1);
});

// Of several API servers behind one address, one that was away is used again.
for (const pool of ['list', 'write', 'lease'] as const) {
  test(`a connection of ten minutes gives way to a new one (${pool})`, async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    await using world = await disposable(socketWorld(() => ({ status: 200, body: '' })));
    const send = async (): Promise<void> => {
      const answered = world.events.length;
      world.transport.send(httpRequest({ pool }));
      await world.until(() => world.events.length > answered);
    };
    try {
      await send();
      mock.timers.tick(599_000);
      await send();
      assert.equal(world.connections(), 1);
      mock.timers.tick(2000);
      await send();
      assert.equal(world.connections(), 2);
    } finally {
      mock.timers.reset();
    }
  });
}

test('a write whose time runs out while it waits for a connection is never sent', async () => {
  await using world = await disposable(socketWorld(() => 'hang', { maxWritesInFlight: 1 }));
  const write = { pool: 'write', method: 'PUT', body: new Uint8Array([1]) } as const;
  const first = httpRequest(write);
  world.transport.send(first);
  await world.until(() => world.seen.length === 1);
  const { clock } = world;
  const notAfter = { nowMs: clock.nowMs() + 30, wallMs: clock.wallMs() + 30 };
  world.transport.send(httpRequest({ ...write, path: '/late', notAfter }));
  await world.until(() => clock.nowMs() >= notAfter.nowMs);
  world.transport.cancel(first.id);
  await world.until(() => world.events.length > 0);
  const [failure] = world.events;
  assert.ok(failure?.type === 'failure');
  assert.deepEqual([failure.kind, failure.mayHaveArrived], ['late', false]);
  assert.equal(world.seen.length, 1);
  assert.deepEqual(world.observed, [], 'what was not sent is no request');
});

test('a request that was given up while it waited costs no connection', async () => {
  await using world = await disposable(
    socketWorld(({ path }) => (path === '/slow' ? 'hang' : { status: 200, body: '' }), { maxWritesInFlight: 1 }),
  );
  const write = { pool: 'write', method: 'PUT', body: new Uint8Array([1]) } as const;
  const slow = httpRequest({ ...write, path: '/slow' });
  world.transport.send(slow);
  await world.until(() => world.seen.length === 1);
  world.transport.send(httpRequest({ ...write, path: '/given-up', timeoutMs: 10 }));
  await world.until(() => world.events.length === 1);
  world.transport.cancel(slow.id);
  for (let events = 2; events <= 3; events++) {
    world.transport.send(httpRequest(write));
    await world.until(() => world.events.length === events);
  }
  assert.deepEqual(
    world.seen.map(({ path }) => path),
    ['/slow', '/api/v1/pods', '/api/v1/pods'],
  );
  // The first one was cut with the request that was cancelled.
  assert.equal(world.connections(), 2);
});

test('a write waiting for a connection that times out certainly did not arrive', async () => {
  await using world = await disposable(socketWorld(() => 'hang', { maxWritesInFlight: 1 }));
  const write = { pool: 'write', method: 'PUT', body: new Uint8Array([1]) } as const;
  world.transport.send(httpRequest({ ...write, timeoutMs: 2000 }));
  const waiting = httpRequest({ ...write, timeoutMs: 50 });
  world.transport.send(waiting);
  await world.until(() => world.events.length === 1);
  const failure = world.events[0]!;
  assert.ok(failure.type === 'failure' && failure.id === waiting.id);
  assert.equal(failure.kind, 'timeout');
  assert.equal(failure.mayHaveArrived, false);
});

test('a stream has a connection of its own, also after another stream has ended', async () => {
  await using world = await disposable(socketWorld(() => ({ chunks: ['x'], finish: 'end' })));
  for (let i = 1; i <= 3; i++) {
    world.transport.send(httpRequest({ pool: 'watch', stream: true }));
    await world.until(() => world.events.filter((event) => event.type === 'ended').length === i);
  }
  assert.equal(world.connections(), 3);
});

/** A server that knows one token, and what is read when it knows it no more. */
function refusing(known: string, readAgain: string) {
  const reads: string[] = [];
  const headersOf = (token: string) => ({ Authorization: `Bearer ${token}` });
  const world = disposable(
    socketWorld(({ headers }) => ({ status: headers['authorization'] === `Bearer ${known}` ? 200 : 401, body: '' }), {
      accessOf: (origin) => ({ ...plainAccess(origin), headers: headersOf('old') }),
      readAccess: (why, origin) => {
        reads.push(why);
        return Promise.resolve({ ...plainAccess(origin), headers: headersOf(readAgain) });
      },
    }),
  );
  return { reads, world };
}

test('after a 401 credentials are read once, and the refused request is sent again', async () => {
  const { reads, world: making } = refusing('new', 'new');
  await using world = await making;
  for (let i = 0; i < 5; i++) {
    world.transport.send(httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array([i]) }));
  }
  await world.until(() => world.events.length === 5);
  assert.ok(world.events.every((event) => event.type === 'response' && event.status === 200));
  assert.deepEqual(reads, ['unauthorized']);
  assert.equal(world.observed.filter(({ code }) => code === '401').length, world.seen.length - 5);
});

test('a 401 is delivered if the credentials are the same, or are refused too', async () => {
  for (const readAgain of ['old', 'newer']) {
    const { reads, world: making } = refusing('new', readAgain);
    await using world = await making;
    world.transport.send(httpRequest());
    await world.until(() => world.events.length === 1);
    assert.equal(world.events[0]?.type === 'response' && world.events[0].status, 401);
    assert.deepEqual([reads, world.seen.length], [['unauthorized'], readAgain === 'old' ? 1 : 2]);
  }
});

test('a new token leaves the connections as they are', async () => {
  const { world: making } = refusing('new', 'new');
  await using world = await making;
  for (let i = 1; i <= 3; i++) {
    world.transport.send(httpRequest());
    await world.until(() => world.events.length === i);
  }
  // The second one is for what is sent again before the first one is free.
  assert.ok(world.connections() <= 2, String(world.connections()));
  assert.equal(world.seen.length, 4);
});

test('a request cancelled while credentials are read is not sent again', async () => {
  const read = Promise.withResolvers<void>();
  let reads = 0;
  await using world = await disposable(
    socketWorld(() => ({ status: 401, body: '' }), {
      readAccess: async (_why, origin) => {
        reads++;
        await read.promise;
        return { ...plainAccess(origin), headers: { Authorization: 'Bearer new' } };
      },
    }),
  );
  const request = httpRequest();
  world.transport.send(request);
  await world.until(() => reads === 1);
  world.transport.cancel(request.id);
  read.resolve();
  await world.quiet();
  assert.deepEqual([world.events.length, world.seen.length], [0, 1]);
});

test('a write that is refused is answered with 401, however long credentials are read', async () => {
  await using world = await disposable(
    socketWorld(() => ({ status: 401, body: '' }), { readAccess: () => new Promise(() => undefined) }),
  );
  world.transport.send(httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array([1]), timeoutMs: 50 }));
  await world.until(() => world.events.length === 1);
  assert.equal(world.events[0]?.type === 'response' && world.events[0].status, 401);
});

test('while credentials stay refused, they are read ever more seldom', async (t) => {
  // Whole, so that sums are exact.
  const fromMs = Math.ceil(performance.now());
  let ms = 0;
  t.mock.method(performance, 'now', () => fromMs + ms);
  const readAtMs: number[] = [];
  await using world = await disposable(
    socketWorld(() => ({ status: 401, body: '' }), {
      readAccess: (_why, origin) => {
        const headers = { Authorization: `Bearer ${readAtMs.push(ms)}` };
        return Promise.resolve({ ...plainAccess(origin), headers });
      },
    }),
  );
  const refusedAt = async (atMs: number): Promise<void> => {
    ms = atMs;
    const answered = world.events.length;
    world.transport.send(httpRequest({ timeoutMs: 30_000 }));
    await until(() => world.events.length > answered);
  };
  for (let atMs = 0; atMs <= 12_000; atMs += 500) await refusedAt(atMs);
  assert.deepEqual(readAtMs, [0, 1000, 3000, 7000, 11_000]);
  // A minute without a refusal, and one second is enough again.
  for (const atMs of [72_000, 72_500, 73_000]) await refusedAt(atMs);
  assert.deepEqual(readAtMs.slice(5), [72_000, 73_000]);
});

test('a read of credentials that fails for the same reason is told once', async () => {
  let failures = 0;
  let reason = 'token file is empty';
  await using world = await disposable(
    socketWorld(() => ({ status: 200, body: '' }), {
      refreshMs: 5,
      readAccess: () => {
        failures++;
        return Promise.reject(new Error(reason));
      },
    }),
  );
  await world.until(() => failures >= 5);
  reason = 'token file is gone';
  await world.until(() => failures >= 10);
  assert.deepEqual(
    world.logged.map(({ fields }) => fields['err']),
    ['token file is empty', 'token file is gone'],
  );
});

test('if credentials cannot be read again, the last ones stay in use', async () => {
  await using world = await disposable(
    socketWorld(() => ({ status: 200, body: '' }), {
      refreshMs: 5,
      readAccess: () => Promise.reject(new Error('token file is empty')),
    }),
  );
  await world.until(() => world.logged.length > 0);
  assert.equal(world.logged[0]!.level, 'error');
  assert.equal(world.logged[0]!.fields['err'], 'token file is empty');
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 1);
  assert.equal(world.events[0]!.type, 'response');
});

test('changed credentials open new connections while a stream ends on its old one', async () => {
  let ca: string | null = null;
  await using world = await disposable(
    socketWorld(
      (request) => (request.path === '/watch' ? { chunks: ['a'], finish: 'hang' } : { status: 200, body: '' }),
      {
        refreshMs: 5,
        readAccess: (_why, origin) => Promise.resolve({ ...plainAccess(origin), tls: { ...plainAccess('').tls, ca } }),
      },
    ),
  );
  const watch = httpRequest({ pool: 'watch', stream: true, path: '/watch', timeoutMs: 30_000 });
  world.transport.send(watch);
  world.transport.send(httpRequest());
  await world.until(() => world.events.some((event) => event.type === 'chunk') && world.events.length === 3);
  const before = world.connections();
  ca = 'new';
  await world.until(() => world.logged.some((line) => line.message.startsWith('Credentials changed')));
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 4);
  assert.equal(world.events[3]!.type, 'response', 'the watch is still open');
  assert.equal(world.connections(), before + 1);
});

test('each text of Warning headers is one line, except the deprecation of Endpoints', async () => {
  const warning =
    '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice", 299 - "odd \\"thing\\""';
  await using world = await disposable(socketWorld(() => ({ status: 200, headers: { warning }, body: '' })));
  for (let i = 1; i <= 3; i++) {
    world.transport.send(httpRequest());
    await world.until(() => world.events.length === i);
  }
  assert.deepEqual(
    world.logged.map((line) => [line.level, line.fields['text']]),
    [['warning', 'odd "thing"']],
  );
});

test('each request is observed once', async () => {
  await using world = await disposable(
    socketWorld((request) => (request.method === 'PUT' ? 'reset' : { status: 404, body: '12345' })),
  );
  world.transport.send(httpRequest());
  await world.until(() => world.events.length === 1);
  world.transport.send(httpRequest({ method: 'PUT', body: new Uint8Array(7) }));
  await world.until(() => world.events.length === 2);
  const host = new URL(world.origin).host;
  assert.deepEqual(
    world.observed.map((o) => [o.method, o.host, o.code, o.requestBytes, o.responseBytes, o.durationMs > 0]),
    [
      ['GET', host, '404', 0, 5, true],
      ['PUT', host, '<error>', 7, 0, true],
    ],
  );
});

/** `await using` for a world, so that a failing test does not leave its server open. */
async function disposable<T extends { close(): Promise<void> }>(making: Promise<T>): Promise<T & AsyncDisposable> {
  const world = await making;
  return Object.assign(world, { [Symbol.asyncDispose]: () => world.close() });
}
