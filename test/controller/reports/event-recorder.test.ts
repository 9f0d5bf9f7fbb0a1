import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_REASONS, type EventReasonName } from '../../../src/controller/reports/event-reasons.ts';
import {
  createEventRecorder,
  nextEventMs,
  nextEventRequest,
  onEventReply,
  recordEvent,
} from '../../../src/controller/reports/event-recorder.ts';
import { createPrng } from '../../../src/lib/prng.ts';

const WALL_MS = Date.UTC(2026, 10, 21, 12, 0, 0);

/** A recorder whose server answers at once, and the requests it got. */
function world(queueMax = 1000) {
  const recorder = createEventRecorder(queueMax, createPrng(1));
  let nowMs = 0;
  const w = {
    recorder,
    wait(ms: number): void {
      nowMs += ms;
    },
    record(
      name: string,
      detail: string,
      reason: EventReasonName = 'FailedToUpdateEndpoint',
      namespace = 'shop',
      component = 'endpoint-controller',
    ): void {
      recordEvent(
        recorder,
        {
          component,
          involvedObject: {
            kind: 'Service',
            apiVersion: 'v1',
            namespace,
            name,
            uid: `uid-${name}`,
            resourceVersion: '7',
          },
          type: EVENT_REASONS[reason].type,
          reason,
          message: EVENT_REASONS[reason].message(`${namespace}/${name}`, detail),
        },
        nowMs,
        WALL_MS + nowMs,
      );
    },
    /** The next request, its body as an object; null when there is none now. */
    next() {
      const request = nextEventRequest(recorder, nowMs);
      return request === null ? null : { ...request, body: JSON.parse(new TextDecoder().decode(request.body)) };
    },
    answer(status: number, retryAfterSeconds = -1): void {
      onEventReply(recorder, { status, retryAfterSeconds }, nowMs);
    },
    /** Sends all there is to send, waiting for tokens. */
    drain() {
      const sent: NonNullable<ReturnType<typeof w.next>>[] = [];
      while (nextEventMs(recorder) !== Infinity) {
        nowMs = Math.max(nowMs, nextEventMs(recorder));
        sent.push(w.next()!);
        w.answer(201);
      }
      return sent;
    },
    nowMs: () => nowMs,
    dueInMs: () => nextEventMs(recorder) - nowMs,
  };
  return w;
}

test('the first event of its kind is created, in the namespace of the service', () => {
  const w = world();
  w.record('web', 'no quota');
  const request = w.next()!;
  assert.equal(`${request.method} ${request.path}`, 'POST /api/v1/namespaces/shop/events');
  assert.equal(request.contentType, 'application/json');
  assert.deepEqual(request.body, {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name: `web.${(BigInt(WALL_MS) * 1_000_000n).toString(16)}`, namespace: 'shop' },
    involvedObject: {
      kind: 'Service',
      apiVersion: 'v1',
      namespace: 'shop',
      name: 'web',
      uid: 'uid-web',
      resourceVersion: '7',
    },
    reason: 'FailedToUpdateEndpoint',
    message: 'Failed to update endpoint shop/web: no quota',
    source: { component: 'endpoint-controller' },
    firstTimestamp: '2026-11-21T12:00:00Z',
    lastTimestamp: '2026-11-21T12:00:00Z',
    count: 1,
    type: 'Warning',
    eventTime: null,
    reportingComponent: 'endpoint-controller',
    reportingInstance: '',
  });
});

test('an object without a namespace has its Event objects in `default`', () => {
  const w = world();
  w.record('web', 'x', 'EndpointsStuck', '');
  const { path, body } = w.next()!;
  assert.equal(path, '/api/v1/namespaces/default/events');
  assert.deepEqual(Object.keys(body.involvedObject), ['kind', 'apiVersion', 'name', 'uid', 'resourceVersion']);
});

test('the same event again patches the count', () => {
  const w = world();
  w.record('web', 'no quota');
  const [created] = w.drain();
  w.wait(60_000);
  w.record('web', 'no quota');
  const request = w.next()!;
  assert.equal(`${request.method} ${request.path}`, `PATCH ${created!.path}/${created!.body.metadata.name}`);
  assert.equal(request.contentType, 'application/strategic-merge-patch+json');
  assert.deepEqual(request.body, {
    count: 2,
    lastTimestamp: '2026-11-21T12:01:00Z',
    message: 'Failed to update endpoint shop/web: no quota',
  });
});

test('a repetition before the request was sent goes into the same request', () => {
  const w = world();
  w.record('web', 'no quota');
  w.wait(2000);
  w.record('web', 'no quota');
  const sent = w.drain();
  assert.deepEqual(
    sent.map(({ method, body }) => [method, body.count, body.firstTimestamp, body.lastTimestamp]),
    [['POST', 2, '2026-11-21T12:00:00Z', '2026-11-21T12:00:02Z']],
  );
});

test('an event that the server has forgotten is created again with its count', () => {
  const w = world();
  w.record('web', 'no quota');
  w.drain();
  w.wait(2 * 3_600_000);
  w.record('web', 'no quota');
  assert.equal(w.next()!.method, 'PATCH');
  w.answer(404);
  const again = w.next()!;
  assert.deepEqual([again.method, again.body.count], ['POST', 2]);
  w.answer(201);
  assert.equal(w.recorder.sentTotal, 2);
});

test('from the tenth different message on, similar events are combined into one', () => {
  const w = world();
  for (let n = 1; n <= 12; n++) w.record('web', `error ${n}`);
  const sent = w.drain().map(({ method, body }) => `${method} ${body.count} ${body.message}`);
  const text = 'Failed to update endpoint shop/web: error';
  assert.deepEqual(sent.slice(8), [`POST 1 ${text} 9`, `POST 3 (combined from similar events): ${text} 12`]);
  w.record('web', 'error 13');
  assert.deepEqual(
    w.drain().map(({ method, body }) => `${method} ${body.count} ${body.message}`),
    [`PATCH 4 (combined from similar events): ${text} 13`],
  );
});

test('ten minutes of quiet end the combining', () => {
  const w = world();
  for (let n = 1; n <= 10; n++) w.record('web', `error ${n}`);
  w.drain();
  w.wait(600_001);
  w.record('web', 'error 11');
  assert.equal(w.drain()[0]!.body.message, 'Failed to update endpoint shop/web: error 11');
});

test('an object has 25 events and one more every five minutes; others are counted', () => {
  const w = world();
  for (let n = 0; n < 40; n++) w.record('web', 'no quota', n % 2 === 0 ? 'FailedToCreateEndpoint' : 'EndpointsStuck');
  assert.equal(w.recorder.suppressedTotal, 15);
  w.record('other', 'no quota');
  assert.equal(w.recorder.suppressedTotal, 15, 'another object has its own');
  w.drain();
  w.wait(300_000);
  w.record('web', 'no quota', 'FailedToCreateEndpoint');
  assert.deepEqual(
    w.drain().map(({ body }) => body.count),
    [21],
    'the count knows of what was not sent',
  );
});

test('controllers do not share counts, combined messages or the budget of an object', () => {
  const slices = 'endpoint-slice-controller';
  const w = world();
  for (let n = 1; n <= 9; n++) w.record('web', `error ${n}`);
  w.record('web', 'error 1', 'FailedToUpdateEndpoint', 'shop', slices);
  w.record('web', 'error 10', 'FailedToUpdateEndpoint', 'shop', slices);
  assert.deepEqual(
    w
      .drain()
      .slice(9)
      .map(({ method, body }) => [method, body.count, body.source, body.reportingComponent, body.message]),
    [
      ['POST', 1, { component: slices }, slices, 'Failed to update endpoint shop/web: error 1'],
      ['POST', 1, { component: slices }, slices, 'Failed to update endpoint shop/web: error 10'],
    ],
  );
  for (let n = 0; n < 25; n++) w.record('other', 'no quota');
  w.record('other', 'no quota', 'FailedToUpdateEndpoint', 'shop', slices);
  assert.equal(w.recorder.suppressedTotal, 0);
});

test('a full queue drops new Event objects and counts them', () => {
  const w = world(2);
  for (const name of ['a', 'b', 'c']) w.record(name, 'x');
  assert.equal(w.recorder.droppedTotal, 1);
  assert.equal(w.drain().length, 2);
});

test('requests go one at a time, 10 at once and then 5 a second', () => {
  const w = world();
  for (let n = 0; n < 12; n++) w.record(`web-${n}`, 'x');
  for (let n = 0; n < 10; n++) {
    assert.notEqual(w.next(), null);
    assert.equal(w.next(), null, 'no second one before the answer');
    assert.equal(w.dueInMs(), Infinity);
    w.answer(201);
  }
  assert.equal(w.next(), null);
  assert.equal(w.dueInMs(), 200);
});

test('a silent server is asked 12 times, ten seconds apart after a random wait', () => {
  const w = world();
  w.record('web', 'x');
  const waits: number[] = [];
  while (w.recorder.failedTotal === 0) {
    assert.equal(w.next()!.method, 'POST');
    w.answer(0);
    if (w.recorder.failedTotal > 0) break;
    waits.push(w.dueInMs());
    w.wait(w.dueInMs());
  }
  assert.equal(waits.length, 11);
  assert.ok(waits[0]! >= 0 && waits[0]! < 10_000);
  assert.deepEqual(new Set(waits.slice(1)), new Set([10_000]));
  assert.equal(w.dueInMs(), Infinity);
});

test('a create that arrived although its answer was lost is not made twice', () => {
  const w = world();
  w.record('web', 'x');
  w.next();
  w.answer(0);
  w.wait(w.dueInMs());
  w.next();
  w.answer(409);
  assert.deepEqual([w.recorder.sentTotal, w.recorder.failedTotal], [1, 0]);
});

test('a refused Event object is not sent again, and Retry-After is respected', () => {
  const w = world();
  w.record('gone', 'x');
  w.record('web', 'x');
  w.next();
  w.answer(403);
  assert.equal(w.recorder.failedTotal, 1);
  w.next();
  w.answer(429, 20);
  assert.equal(w.dueInMs(), 20_000);
});

test('a very long message is cut at a character', () => {
  const w = world();
  w.record('web', 'ä'.repeat(5000));
  const { message } = w.next()!.body;
  assert.ok(Buffer.byteLength(message) <= 1024 && Buffer.byteLength(message) > 1020);
  assert.match(message, /ä\.\.\.$/);
});

test('names of events are unique within a millisecond, and never too long', () => {
  const w = world();
  const long = `${'a'.repeat(236)}-.${'b'.repeat(15)}`;
  w.record(long, 'x');
  w.record(long, 'y');
  const names = w.drain().map(({ body }) => body.metadata.name as string);
  assert.equal(new Set(names).size, 2);
  for (const name of names) assert.match(name, /^a{236}\.[0-9a-f]{16}$/);
});

test('an answer to no request is a bug', () => {
  assert.throws(() => world().answer(200), /event recorder: an answer to no request/);
});
