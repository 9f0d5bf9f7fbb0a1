/** The watch of `retire-endpoints`: what it does when it is not answered, or nothing comes through it. */
import assert from 'node:assert/strict';
import { describe, it, mock, type TestContext } from 'node:test';
import { watchWrites, type WriteWatch } from '../../src/cli/retire/retire-watch.ts';
import type { HttpRequest, TransportEvent } from '../../src/ports/transport.ts';

const PATH = '/api/v1/endpoints';

interface World {
  readonly watch: WriteWatch;
  readonly sent: HttpRequest[];
  readonly cancelled: number[];
  /** An answer to the request that was sent last. */
  readonly answer: (status: number) => void;
  readonly frame: (type: string, metadata: object) => void;
  readonly end: () => void;
}

function world(context: TestContext): World {
  mock.timers.enable({ apis: ['setTimeout'] });
  const sent: HttpRequest[] = [];
  const cancelled: number[] = [];
  let deliver: (events: readonly TransportEvent[]) => void = () => undefined;
  const watch = watchWrites(
    (onEvents) => {
      deliver = onEvents;
      return { send: (request) => sent.push(request), cancel: (id) => cancelled.push(id) };
    },
    PATH,
    '7',
  );
  context.after(() => {
    watch.close();
    mock.timers.reset();
  });
  const id = (): number => sent.at(-1)!.id;
  return {
    watch,
    sent,
    cancelled,
    answer(status) {
      const head = { contentType: 'application/json', retryAfterSeconds: -1, priorityLevel: '' };
      deliver([{ type: 'response', id: id(), status, ...head, body: new Uint8Array(0) }]);
    },
    frame(type, metadata) {
      const object = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
      deliver([{ type: 'chunk', id: id(), bytes: Buffer.from(`${JSON.stringify({ type, object })}\n`) }]);
    },
    end: () => deliver([{ type: 'ended', id: id(), error: null }]),
  };
}

/** Whether the promise is resolved by now. */
async function isResolved(promise: Promise<void>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => (resolved = true));
  await new Promise((resolve) => setImmediate(resolve));
  return resolved;
}

const versionOf = ({ path }: HttpRequest): string | null =>
  new URL(path, 'http://test').searchParams.get('resourceVersion');

describe('the watch of retire-endpoints', () => {
  it('a watch is open when it has been answered for a moment', async (context) => {
    const { watch, answer } = world(context);
    const opened = watch.opened();
    mock.timers.tick(10_000);
    assert.equal(await isResolved(opened), false);
    answer(200);
    assert.equal(await isResolved(opened), false);
    mock.timers.tick(500);
    assert.equal(await isResolved(opened), true);
    assert.equal(watch.broken(), '');
  });

  it('a watch that is not answered for two minutes is given up', async (context) => {
    const { watch } = world(context);
    mock.timers.tick(119_999);
    assert.equal(watch.broken(), '');
    mock.timers.tick(1);
    assert.equal(watch.broken(), 'it was not open for 2m: no answer');
    assert.equal(await isResolved(watch.over), true);
  });

  it('a watch whose server is away is opened again behind its last event', async (context) => {
    const { watch, sent, answer, frame, end } = world(context);
    answer(200);
    mock.timers.tick(500);
    frame('BOOKMARK', { resourceVersion: '9' });
    end();
    for (const status of [429, 503]) {
      mock.timers.tick(1000);
      answer(status);
    }
    mock.timers.tick(1000);
    assert.equal(await isResolved(watch.opened()), false);
    answer(200);
    mock.timers.tick(500);
    assert.equal(await isResolved(watch.opened()), true);
    assert.deepEqual(sent.map(versionOf), ['7', '9', '9', '9']);
    mock.timers.tick(120_000);
    assert.equal(watch.broken(), '');
  });

  it('a watch that each time ends at once is given up', (context) => {
    const { watch, answer, end } = world(context);
    for (let i = 0; i < 120; i++) {
      answer(200);
      end();
      mock.timers.tick(1000);
    }
    assert.equal(watch.broken(), 'it was not open for 2m: the server has ended it');
  });

  it('a watch that the server refuses is given up at once', (context) => {
    const { watch, answer } = world(context);
    answer(403);
    assert.equal(watch.broken(), 'HTTP status 403');
  });

  it('a watch without any event for 150 s is opened again', (context) => {
    const { watch, sent, cancelled, answer, frame } = world(context);
    answer(200);
    mock.timers.tick(149_000);
    frame('BOOKMARK', { resourceVersion: '9' });
    mock.timers.tick(149_000);
    assert.equal(sent.length, 1);
    mock.timers.tick(1000);
    mock.timers.tick(1000);
    assert.deepEqual([sent.length, cancelled], [2, [1]]);
    assert.equal(watch.broken(), '');
  });

  it('a deletion has to come back through the watch within two minutes', async (context) => {
    const { watch, answer, frame } = world(context);
    answer(200);
    mock.timers.tick(500);
    watch.expectDeletion('web-uid');
    const shown = watch.shown('web-uid');
    frame('DELETED', { resourceVersion: '9', uid: 'other-uid' });
    assert.equal(await isResolved(shown), false);
    frame('DELETED', { resourceVersion: '10', uid: 'web-uid' });
    assert.equal(await isResolved(shown), true);

    watch.expectDeletion('next-uid');
    const missed = watch.shown('next-uid');
    mock.timers.tick(120_000);
    assert.equal(await isResolved(missed), true);
    assert.equal(watch.broken(), 'it does not show a deletion of 2m ago');
  });

  it('of an object that waits for its finalizers the own deletion is no write', (context) => {
    const { watch, answer, frame } = world(context);
    answer(200);
    mock.timers.tick(500);
    const labels = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
    const held = { namespace: 'shop', name: 'web', uid: 'web-uid', labels, finalizers: ['example.com/hold'] };
    watch.expectDeletion('web-uid');
    frame('MODIFIED', { ...held, resourceVersion: '9', deletionTimestamp: '2026-01-01T00:00:00Z' });
    assert.equal(watch.written(), '');
    // A controller was faster than the deletion, which is refused then.
    watch.expectDeletion('web-uid');
    frame('MODIFIED', { ...held, resourceVersion: '10' });
    assert.match(watch.written(), /has written Endpoints shop\/web$/);
  });

  it('an object that loses its finalizers while others are deleted is no write', (context) => {
    const { watch, answer, frame } = world(context);
    answer(200);
    mock.timers.tick(500);
    const labels = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const web = { namespace: 'shop', name: 'web', uid: 'web-uid', labels, deletionTimestamp };
    watch.expectDeletion('web-uid');
    watch.expectDeletion('next-uid');
    frame('MODIFIED', { ...web, resourceVersion: '9', finalizers: ['example.com/a', 'example.com/b'] });
    frame('MODIFIED', { ...web, resourceVersion: '10', finalizers: ['example.com/b'] });
    assert.equal(watch.written(), '');
    // The server has refused to delete this one.
    watch.expectNone('next-uid');
    frame('MODIFIED', { ...web, resourceVersion: '11', uid: 'next-uid' });
    assert.match(watch.written(), /has written Endpoints shop\/web$/);
  });
});
