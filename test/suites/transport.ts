/**
 * The contract of the transport port (src/ports/transport.ts) for any implementation: the real one over sockets, the
 * simulated one in virtual time. An implementation brings a world: a transport, and a server that answers as scripted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../src/ports/clock.ts';
import type { HttpRequest, Transport, TransportEvent } from '../../src/ports/transport.ts';

/** What the server saw. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the server does about it. */
export type Answer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: string }
  /** Status 200 and a stream of chunks, each seen as one or more events, then the end given. */
  | { readonly chunks: readonly string[]; readonly finish: 'end' | 'reset' | 'hang' }
  /** The connection is cut without an answer. */
  | 'reset'
  /** Never answers. */
  | 'hang';

export interface TransportWorld {
  readonly transport: Transport;
  /** By which `notAfter` is said. */
  readonly clock: Pick<Clock, 'nowMs' | 'wallMs'>;
  /** Everything delivered so far, oldest first. */
  readonly events: readonly TransportEvent[];
  readonly seen: readonly SeenRequest[];
  /** Called for each event as it is delivered; replaceable. */
  onEvent: (event: TransportEvent) => void;
  /** Runs the world until `done()`; rejects when it does not come true. */
  until(done: () => boolean): Promise<void>;
  /** Lets everything end that is under way, to show that nothing more comes. */
  quiet(): Promise<void>;
  /** The server stops taking connections. */
  stopServer(): Promise<void>;
  close(): Promise<void>;
}

export type MakeWorld = (
  script: (request: SeenRequest) => Answer,
  config: { readonly replyBytesMax: number },
) => Promise<TransportWorld>;

/** Most bytes of one answer in these worlds. */
const REPLY_BYTES_MAX = 1000;

let lastId = 0;

export function httpRequest(fields: Partial<HttpRequest> = {}): HttpRequest {
  return {
    id: ++lastId,
    pool: 'read',
    method: 'GET',
    path: '/api/v1/pods',
    accept: 'application/json',
    contentType: 'application/json',
    body: null,
    stream: false,
    timeoutMs: 5000,
    ...fields,
  };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function eventsOf(world: TransportWorld, id: number): TransportEvent[] {
  return world.events.filter((event) => event.id === id);
}

/** Kinds in order, neighbouring chunks as one: how bytes are cut into chunks is nobody's promise. */
function shape(world: TransportWorld, id: number): string {
  const kinds = eventsOf(world, id).map((event) => event.type);
  return kinds.filter((kind, i) => kind !== 'chunk' || kinds[i - 1] !== 'chunk').join(' ');
}

export function transportContract(name: string, makeWorld: MakeWorld): void {
  function contract(
    title: string,
    script: (request: SeenRequest) => Answer,
    story: (world: TransportWorld) => Promise<void>,
  ): void {
    test(`${name}: ${title}`, async () => {
      const world = await makeWorld(script, { replyBytesMax: REPLY_BYTES_MAX });
      try {
        await story(world);
      } finally {
        await world.close();
      }
    });
  }

  contract(
    'a request is answered by exactly one response',
    () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: '{"kind":"PodList"}' }),
    async (world) => {
      const request = httpRequest();
      world.transport.send(request);
      await world.until(() => world.events.length > 0);
      await world.quiet();
      const [response, ...more] = world.events;
      assert.deepEqual(more, []);
      assert.equal(response?.type, 'response');
      assert.deepEqual(
        { ...response, body: text(response.body) },
        {
          type: 'response',
          id: request.id,
          status: 200,
          contentType: 'application/json',
          retryAfterSeconds: -1,
          priorityLevel: '',
          body: '{"kind":"PodList"}',
        },
      );
    },
  );

  contract(
    'a write arrives as it was sent',
    () => ({ status: 201, body: '' }),
    async (world) => {
      const body = new TextEncoder().encode('....k8s body....').subarray(4, 12);
      const path = '/api/v1/namespaces/a/endpoints?fieldManager=x';
      world.transport.send(
        httpRequest({ pool: 'write', method: 'POST', path, contentType: 'application/vnd.kubernetes.protobuf', body }),
      );
      await world.until(() => world.events.length > 0);
      const seen = world.seen[0]!;
      assert.equal(seen.method, 'POST');
      assert.equal(seen.path, path);
      assert.equal(seen.body, 'k8s body');
      assert.equal(seen.headers['content-type'], 'application/vnd.kubernetes.protobuf');
      assert.equal(seen.headers['accept'], 'application/json');
    },
  );

  contract(
    'an error status is a response with its body, also of a stream request',
    () => ({
      status: 429,
      headers: { 'retry-after': '7', 'content-type': 'text/plain', 'X-Kubernetes-PF-PriorityLevel-UID': 'p-1' },
      body: 'too many',
    }),
    async (world) => {
      const requests = [httpRequest(), httpRequest({ pool: 'watch', stream: true })];
      for (const request of requests) world.transport.send(request);
      await world.until(() => world.events.length === 2);
      await world.quiet();
      for (const request of requests) {
        const [response, ...more] = eventsOf(world, request.id);
        assert.deepEqual(more, []);
        assert.ok(response?.type === 'response');
        assert.equal(response.status, 429);
        assert.equal(response.retryAfterSeconds, 7);
        assert.equal(response.priorityLevel, 'p-1');
        assert.equal(text(response.body), 'too many');
      }
    },
  );

  contract(
    'a stream is a response without a body, its chunks in order, and an end',
    () => ({ chunks: ['one ', 'two ', 'three'], finish: 'end' }),
    async (world) => {
      const { id } = httpRequest();
      world.transport.send(httpRequest({ id, pool: 'watch', stream: true }));
      await world.until(() => world.events.some((event) => event.type === 'ended'));
      assert.equal(shape(world, id), 'response chunk ended');
      const events = eventsOf(world, id);
      assert.equal(events[0]!.type === 'response' && events[0]!.body.byteLength, 0);
      assert.equal(events.map((event) => (event.type === 'chunk' ? text(event.bytes) : '')).join(''), 'one two three');
      assert.deepEqual(events.at(-1), { type: 'ended', id, error: null });
    },
  );

  contract(
    'an empty stream ends too',
    () => ({ chunks: [], finish: 'end' }),
    async (world) => {
      const request = httpRequest({ pool: 'watch', stream: true });
      world.transport.send(request);
      await world.until(() => world.events.length === 2);
      assert.equal(shape(world, request.id), 'response ended');
    },
  );

  contract(
    'a stream that is cut ends with an error, after its last chunk',
    () => ({ chunks: ['half'], finish: 'reset' }),
    async (world) => {
      const request = httpRequest({ pool: 'watch', stream: true });
      world.transport.send(request);
      await world.until(() => world.events.some((event) => event.type === 'ended'));
      assert.equal(shape(world, request.id), 'response chunk ended');
      const ended = world.events.at(-1)!;
      assert.ok(ended.type === 'ended' && ended.error !== null && ended.error !== '');
    },
  );

  contract(
    'a stream that is open may be silent for as long as it likes',
    ({ path }) => (path === '/late' ? 'hang' : { chunks: ['hello'], finish: 'hang' }),
    async (world) => {
      const request = httpRequest({ pool: 'watch', stream: true, timeoutMs: 1000 });
      world.transport.send(request);
      await world.until(() => world.events.some((event) => event.type === 'chunk'));
      // Twice as long as the stream's own limit.
      world.transport.send(httpRequest({ path: '/late', timeoutMs: 2000 }));
      await world.until(() => world.events.some((event) => event.type === 'failure'));
      assert.equal(shape(world, request.id), 'response chunk');
    },
  );

  contract(
    'a stream without a response in time is a timeout',
    () => 'hang',
    async (world) => {
      const { id } = httpRequest();
      world.transport.send(httpRequest({ id, pool: 'watch', stream: true, timeoutMs: 150 }));
      await world.until(() => world.events.length > 0);
      await world.quiet();
      assert.equal(shape(world, id), 'failure');
      const failure = world.events[0]!;
      assert.ok(failure.type === 'failure' && failure.kind === 'timeout');
    },
  );

  contract(
    'an answer with more bytes than the transport takes is too big, and names request and bound',
    ({ path }) => ({ status: 200, body: 'x'.repeat(path === '/big' ? REPLY_BYTES_MAX + 1 : REPLY_BYTES_MAX) }),
    async (world) => {
      world.transport.send(httpRequest({ pool: 'list', path: '/fits' }));
      await world.until(() => world.events.length === 1);
      assert.equal(world.events[0]!.type, 'response');
      world.transport.send(httpRequest({ pool: 'list', path: '/big' }));
      await world.until(() => world.events.length === 2);
      await world.quiet();
      assert.equal(world.events.length, 2);
      const failure = world.events[1]!;
      assert.ok(failure.type === 'failure');
      assert.equal(failure.kind, 'too-big');
      assert.equal(failure.mayHaveArrived, true);
      assert.equal(failure.message, 'answer to GET /big is bigger than 1000 bytes');
    },
  );

  contract(
    'no answer in time is a timeout that may have arrived',
    () => 'hang',
    async (world) => {
      const request = httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array([1]), timeoutMs: 150 });
      world.transport.send(request);
      await world.until(() => world.events.length > 0);
      await world.quiet();
      assert.equal(world.events.length, 1);
      const failure = world.events[0]!;
      assert.ok(failure.type === 'failure');
      assert.equal(failure.id, request.id);
      assert.equal(failure.kind, 'timeout');
      assert.equal(failure.mayHaveArrived, true);
    },
  );

  contract(
    'a connection cut instead of an answer is a reset that may have arrived',
    () => 'reset',
    async (world) => {
      world.transport.send(httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array([1]) }));
      await world.until(() => world.events.length > 0);
      const failure = world.events[0]!;
      assert.ok(failure.type === 'failure');
      assert.equal(failure.kind, 'reset');
      assert.equal(failure.mayHaveArrived, true);
    },
  );

  contract(
    'a server that is not there is a refusal that certainly did not arrive',
    () => 'hang',
    async (world) => {
      await world.stopServer();
      world.transport.send(httpRequest({ pool: 'write', method: 'PUT', body: new Uint8Array([1]) }));
      world.transport.send(httpRequest({ pool: 'watch', stream: true }));
      await world.until(() => world.events.length === 2);
      for (const failure of world.events) {
        assert.ok(failure.type === 'failure');
        assert.equal(failure.kind, 'refused');
        assert.equal(failure.mayHaveArrived, false);
      }
    },
  );

  contract(
    'after cancel nothing more comes for that id, others go on',
    ({ path }) => ({ chunks: ['hello'], finish: path === '/kept' ? 'end' : 'hang' }),
    async (world) => {
      const [gone, kept] = [
        httpRequest({ pool: 'watch', stream: true }),
        httpRequest({ pool: 'watch', stream: true, path: '/kept' }),
      ];
      const early = httpRequest();
      world.onEvent = (event) => {
        if (event.type === 'chunk' && event.id === gone.id) world.transport.cancel(gone.id);
      };
      world.transport.send(gone);
      world.transport.send(kept);
      world.transport.send(early);
      world.transport.cancel(early.id);
      await world.until(
        () => shape(world, gone.id) === 'response chunk' && world.events.some((event) => event.type === 'ended'),
      );
      await world.quiet();
      assert.equal(shape(world, gone.id), 'response chunk');
      assert.equal(shape(world, kept.id), 'response chunk ended');
      assert.equal(shape(world, early.id), '');
    },
  );

  contract(
    'cancel of an id that is done or was never sent does nothing',
    () => ({ status: 200, body: 'x' }),
    async (world) => {
      const request = httpRequest();
      world.transport.cancel(request.id);
      world.transport.send(request);
      await world.until(() => world.events.length === 1);
      world.transport.cancel(request.id);
      await world.quiet();
      assert.equal(world.events.length, 1);
    },
  );

  contract(
    'nothing is called back from within send or cancel',
    (request) => (request.path === '/bad' ? 'reset' : { status: 200, body: 'x' }),
    async (world) => {
      let inside = false;
      let calledInside = false;
      const call = (perform: () => void): void => {
        inside = true;
        perform();
        inside = false;
      };
      let more = 20;
      world.onEvent = () => {
        calledInside ||= inside;
        if (more-- <= 0) return;
        call(() => world.transport.send(httpRequest({ path: more % 3 === 0 ? '/bad' : '/good' })));
        const cancelled = httpRequest();
        call(() => world.transport.send(cancelled));
        call(() => world.transport.cancel(cancelled.id));
      };
      call(() => world.transport.send(httpRequest()));
      await world.until(() => world.events.length === 21);
      assert.equal(calledInside, false);
    },
  );

  for (const [whose, monoMs, wallMs] of [
    ['monotonic', 0, 10_000],
    ['wall', 10_000, 0],
  ] as const) {
    contract(
      `what its ${whose} clock calls late is not sent`,
      () => ({ status: 200, body: '' }),
      async (world) => {
        const { clock } = world;
        const soon = { nowMs: clock.nowMs() + 10_000, wallMs: clock.wallMs() + 10_000 };
        const late = httpRequest({ notAfter: { nowMs: clock.nowMs() + monoMs, wallMs: clock.wallMs() + wallMs } });
        const early = httpRequest({ path: '/early', notAfter: soon });
        world.transport.send(late);
        world.transport.send(early);
        await world.until(() => world.events.length === 2);
        const [failure] = eventsOf(world, late.id);
        assert.ok(failure?.type === 'failure');
        assert.deepEqual([failure.kind, failure.mayHaveArrived], ['late', false]);
        assert.deepEqual(
          world.seen.map(({ path }) => path),
          ['/early'],
        );
      },
    );
  }

  contract(
    'many requests side by side are each answered once',
    (request) => ({ status: 200, body: request.path }),
    async (world) => {
      const requests = Array.from({ length: 60 }, (_, i) =>
        httpRequest({ path: `/n/${i}`, pool: i % 2 === 0 ? 'write' : 'read' }),
      );
      for (const request of requests) world.transport.send(request);
      await world.until(() => world.events.length === requests.length);
      await world.quiet();
      assert.equal(world.events.length, requests.length);
      for (const request of requests) {
        const [response] = eventsOf(world, request.id);
        assert.ok(response?.type === 'response');
        assert.equal(text(response.body), request.path);
      }
    },
  );
}
