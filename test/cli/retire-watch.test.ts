/** The watch of `retire-endpoints`: what it does when it is not answered, or nothing comes through it. */
import assert from 'node:assert/strict';
import { describe, it, mock, type TestContext } from 'node:test';
import { watchWrites, type WriteWatch } from '../../src/cli/retire/retire-watch.ts';
import type { Reply } from '../../src/node/asker.ts';
import type { HttpRequest, TransportEvent } from '../../src/ports/transport.ts';

const PATH = '/api/v1/endpoints';

interface World {
  readonly watch: WriteWatch;
  readonly sent: HttpRequest[];
  readonly cancelled: number[];
  /** An answer to the request that was sent last. */
  readonly answer: (status: number) => void;
  readonly frame: (type: string, metadata: object) => void;
  /** An ERROR frame. */
  readonly fail: (code: number, message: string) => void;
  /** What the server answers to a list: its version, and the metadata of the objects. 0 = it refuses to list. */
  list: readonly [version: number, ...objects: object[]];
  /** Lists that were asked for. */
  lists: number;
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
    () => {
      made.lists += 1;
      return Promise.resolve(listAnswer(made.list));
    },
    PATH,
    '7',
  );
  context.after(() => {
    watch.close();
    mock.timers.reset();
  });
  const id = (): number => sent.at(-1)!.id;
  const made: World = {
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
    fail(code, message) {
      const object = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, message };
      const bytes = Buffer.from(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      const ended = { type: 'ended', id: id(), error: null } as const;
      deliver([{ type: 'chunk', id: id(), bytes }, ended]);
    },
    end: () => deliver([{ type: 'ended', id: id(), error: null }]),
    list: [0],
    lists: 0,
  };
  return made;
}

function listAnswer([version, ...objects]: World['list']): Reply {
  const items = objects.map((metadata) => ({ metadata }));
  const metadata = { resourceVersion: String(version) };
  const list = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items };
  const status = version === 0 ? { kind: 'Status', apiVersion: 'v1', metadata: {}, message: 'no lists' } : null;
  return {
    type: 'response',
    id: 1,
    status: version === 0 ? 403 : 200,
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify(status ?? list)),
    retryAfterSeconds: -1,
    priorityLevel: '',
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

  const GONE = 410;
  const labels = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
  const web = { namespace: 'shop', name: 'web', uid: 'web-uid', labels };
  const forgets = {
    answer: ({ end, answer }: World) => {
      end();
      mock.timers.tick(1000);
      answer(GONE);
    },
    event: ({ fail }: World) => fail(GONE, 'too old resource version'),
  };

  for (const [how, forget] of Object.entries(forgets)) {
    it(`a version that the server forgets by an ${how} is replaced by a list`, async (context) => {
      const made = world(context);
      const { watch, answer, frame } = made;
      answer(200);
      mock.timers.tick(500);
      frame('BOOKMARK', { resourceVersion: '9' });
      watch.expectDeletion('gone-uid');
      watch.expectDeletion('other-uid');
      made.list = [20, { ...web, resourceVersion: '9' }, { ...web, uid: 'other-uid', resourceVersion: '8' }];
      forget(made);
      assert.equal(await isResolved(watch.shown('gone-uid')), true);
      assert.equal(await isResolved(watch.shown('other-uid')), false);
      assert.equal(await isResolved(watch.opened()), false);
      mock.timers.tick(1000);
      assert.equal(versionOf(made.sent.at(-1)!), '20');
      answer(200);
      mock.timers.tick(500);
      assert.equal(await isResolved(watch.opened()), true);
      assert.deepEqual([watch.written(), watch.broken(), made.lists], ['', '', 1]);
    });
  }

  it('the list behind a forgotten version tells what a controller has written', async (context) => {
    const made = world(context);
    made.answer(200);
    mock.timers.tick(500);
    made.watch.expectDeletion('marked-uid');
    const marked = { ...web, uid: 'marked-uid', name: 'marked', deletionTimestamp: '2026-01-01T00:00:00Z' };
    made.list = [20, { ...marked, resourceVersion: '11' }, { ...web, resourceVersion: '12' }];
    made.fail(GONE, 'too old resource version');
    assert.equal(await isResolved(made.watch.over), true);
    assert.match(made.watch.written(), /has written Endpoints shop\/web$/);
  });

  for (const [what, version, why] of [
    ['no list', 0, 'cannot list /api/v1/endpoints: no lists'],
    ['a list that is older', 6, "the server's history went back; start the command again"],
  ] as const) {
    it(`a forgotten version and ${what} end the watch`, async (context) => {
      const made = world(context);
      made.answer(200);
      mock.timers.tick(500);
      made.list = [version];
      made.fail(GONE, 'too old resource version');
      assert.equal(await isResolved(made.watch.over), true);
      assert.equal(made.watch.broken(), why);
    });
  }

  it('another error ends the watch, and advises a new start', (context) => {
    const { watch, answer, fail } = world(context);
    answer(200);
    fail(500, 'etcd is away');
    assert.equal(watch.broken(), 'etcd is away; start the command again');
  });

  it('a server that forgets each new version is given up', async (context) => {
    const made = world(context);
    made.list = [9];
    for (let i = 0; i < 120; i++) {
      made.answer(GONE);
      assert.equal(await isResolved(made.watch.over), false);
      mock.timers.tick(1000);
    }
    assert.equal(await isResolved(made.watch.over), true);
    assert.equal(made.watch.broken(), 'it was not open for 2m: HTTP status 410');
  });
});
