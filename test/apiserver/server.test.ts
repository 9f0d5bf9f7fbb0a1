import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  apply,
  compact,
  createApiServer,
  tick,
  type ApiServer,
  type ApiServerConfig,
  type Watch,
} from '../../src/apiserver/server.ts';
import { createWatchReader } from '../../src/kube/watch-framing.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { closeWatches } from '../support/close-watches.ts';

/** Answers of a server under test have no type that can be relied on. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
type Json = any;

const PATH = '/api/v1/namespaces/default/endpoints';
const NOW_MS = 1_700_000_000_000;

interface World {
  readonly server: ApiServer;
  nowMs: number;
  call(method: string, path: string, body?: object, contentType?: string): { status: number; body: Json };
  watch(query: string): Watch;
}

function createWorld(config: Partial<ApiServerConfig> = {}, seed = 1): World {
  const prng = createPrng(seed);
  const server = createApiServer({ random: () => nextFloat(prng), startWallMs: NOW_MS, ...config });
  const request = (method: string, path: string, body?: object, contentType = 'application/json') =>
    apply(server, world.nowMs, {
      method,
      path,
      headers: { accept: 'application/json', contentType },
      body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
    });
  const world: World = {
    server,
    nowMs: NOW_MS,
    call(method, path, body, contentType) {
      const reply = request(method, path, body, contentType);
      assert.ok('body' in reply);
      return { status: reply.status, body: JSON.parse(Buffer.from(reply.body).toString()) };
    },
    watch(query) {
      const reply = request('GET', `${PATH}?watch=1&${query}`);
      assert.ok('watch' in reply);
      return reply.watch;
    },
  };
  return world;
}

/** `TYPE name@version` of everything that waits in the watch. */
function taken(watch: Watch): string[] {
  const reader = createWatchReader('application/json');
  for (let frames = watch.take(); frames.length > 0; frames = watch.take())
    for (const frame of frames) reader.push(frame);
  const lines: string[] = [];
  for (let frame = reader.next(); frame !== null; frame = reader.next()) {
    const { metadata, reason, message } = (frame.object as Json).value;
    lines.push(frame.type === 'ERROR' ? `ERROR ${reason}: ${message}` : `${frame.type} ${metadata.name ?? ''}`.trim());
  }
  return lines;
}

function create(world: World, name: string): number {
  const { status, body } = world.call('POST', PATH, { metadata: { name } });
  assert.equal(status, 201);
  return Number(body.metadata.resourceVersion);
}

describe('history', () => {
  test('a watch from before a compaction gets 410 in a frame, and ends', () => {
    const world = createWorld();
    const version = create(world, 'a');
    const newest = create(world, 'b');
    compact(world.server);
    const old = world.watch(`resourceVersion=${version}`);
    assert.deepEqual(taken(old), [`ERROR Expired: too old resource version: ${version} (${newest})`]);
    assert.equal(old.ended, true);
    const current = world.watch(`resourceVersion=${newest}`);
    create(world, 'c');
    assert.deepEqual([taken(current), current.ended], [['ADDED c'], false]);
  });

  test('open watches go on over a compaction', () => {
    const world = createWorld();
    const watch = world.watch(`resourceVersion=${create(world, 'a')}`);
    compact(world.server);
    create(world, 'b');
    assert.deepEqual(taken(watch), ['ADDED b']);
  });

  test('an old page gets 410 after a compaction, with a token that goes on without it', () => {
    const world = createWorld();
    for (const name of ['a', 'b', 'c']) create(world, name);
    const first = world.call('GET', `${PATH}?limit=1`).body;
    assert.deepEqual(first.items[0].metadata.name, 'a');
    world.call('DELETE', `${PATH}/b`);
    compact(world.server);
    const expired = world.call('GET', `${PATH}?limit=9&continue=${first.metadata.continue}`);
    assert.deepEqual([expired.status, expired.body.reason], [410, 'Expired']);
    const { status, body } = world.call('GET', `${PATH}?limit=9&continue=${expired.body.metadata.continue}`);
    assert.deepEqual([status, body.items.map((item: Json) => item.metadata.name)], [200, ['c', 'kubernetes']]);
  });

  test('an exact list from before a compaction gets 410', () => {
    const world = createWorld();
    const version = create(world, 'a');
    create(world, 'b');
    compact(world.server);
    const { status, body } = world.call('GET', `${PATH}?resourceVersion=${version}&resourceVersionMatch=Exact`);
    assert.deepEqual(
      [status, body.reason, body.message],
      [410, 'Expired', 'The resourceVersion for the provided list is too old.'],
    );
  });

  test('history is bounded by number and by bytes', () => {
    for (const config of [{ historyEventsMax: 5 }, { historyBytesMax: 3000 }]) {
      const world = createWorld(config);
      const version = create(world, 'a');
      for (let i = 0; i < 3; i++) create(world, `b${i}`);
      assert.deepEqual(taken(world.watch(`resourceVersion=${version}`)), ['ADDED b0', 'ADDED b1', 'ADDED b2']);
      for (let i = 3; i < 9; i++) create(world, `b${i}`);
      assert.match(taken(world.watch(`resourceVersion=${version}`))[0]!, /^ERROR Expired/);
    }
  });

  test('the history of one resource does not push out that of another', () => {
    const world = createWorld({ historyEventsMax: 3 });
    const version = create(world, 'a');
    create(world, 'b');
    for (let i = 0; i < 9; i++) world.call('POST', '/api/v1/nodes', { metadata: { name: `n${i}` } });
    assert.deepEqual(taken(world.watch(`resourceVersion=${version}`)), ['ADDED b']);
  });
});

describe('pages', () => {
  test('a page looks at few objects beside its own, also while objects change', () => {
    const world = createWorld();
    for (let i = 0; i < 1000; i++) create(world, `e${String(i).padStart(3, '0')}`);
    const { records } = world.server.stores.get('endpoints')!;
    const looked = records.get.bind(records);
    let looks = 0;
    records.get = (key) => {
      looks++;
      return looked(key);
    };
    const seen: string[] = [];
    const remaining: number[] = [];
    let token: string | undefined = '';
    for (let page = 0; token !== undefined; page++) {
      looks = 0;
      const { metadata, items }: Json = world.call('GET', `${PATH}?limit=50&continue=${token}`).body;
      assert.ok(looks < 150, `page ${page} looks at ${looks} objects`);
      seen.push(...items.map((item: Json) => item.metadata.name));
      remaining.push(metadata.remainingItemCount ?? 0);
      token = metadata.continue;
      create(world, `e${page}-new`);
      world.call('DELETE', `${PATH}/e${998 - page}`);
      world.call('PUT', `${PATH}/e500`, { metadata: { name: 'e500', labels: { page: String(page) } } });
    }
    const names = Array.from({ length: 1000 }, (_, i) => `e${String(i).padStart(3, '0')}`);
    assert.deepEqual(seen, [...names, 'kubernetes']);
    assert.deepEqual(
      remaining,
      Array.from({ length: 21 }, (_, page) => Math.max(0, 951 - 50 * page)),
    );
  });

  test('pages of any size have what was stored at their version', () => {
    const world = createWorld({ historyEventsMax: 400 });
    const prng = createPrng(5);
    const below = (count: number): number => Math.floor(nextFloat(prng) * count);
    const of = (namespace: string): string => `/api/v1${namespace === '' ? '' : `/namespaces/${namespace}`}/endpoints`;
    const wholes: string[][] = [];
    const spaces = ['', 'default', 'kube-public'];
    for (let step = 0; step < 1200; step++) {
      const path = `${of(spaces[1 + below(2)]!)}/${'abc'[below(3)]}${below(step < 600 ? 90 : 9)}`;
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (below(step < 600 ? 4 : 2) === 0) world.call('DELETE', path);
      else world.call('PUT', path, { metadata: { name, labels: { step: String(step) } } });
      const stored = [...world.server.stores.get('endpoints')!.records.keys()].sort();
      wholes[world.server.revision] = stored;
      if (step % 10 !== 0) continue;
      const revision = Math.max(
        world.server.revision - below(300),
        world.server.stores.get('endpoints')!.droppedRevision,
      );
      const whole = wholes[revision];
      if (whole === undefined) continue;
      const namespace = spaces[below(3)]!;
      const expected = whole.filter((key) => namespace === '' || key.startsWith(`${namespace}/`));
      const limit = 1 + below(40);
      const found: string[] = [];
      let query = `resourceVersion=${revision}&resourceVersionMatch=Exact`;
      for (;;) {
        const { metadata, items } = world.call('GET', `${of(namespace)}?limit=${limit}&${query}`).body;
        found.push(...items.map((item: Json) => `${item.metadata.namespace}/${item.metadata.name}`));
        assert.equal(metadata.remainingItemCount ?? 0, expected.length - found.length);
        if (metadata.continue === undefined) break;
        query = `continue=${metadata.continue}`;
      }
      assert.deepEqual(found, expected);
    }
  });
});

describe('watches in time', () => {
  test('bookmarks come every minute, and 2 s before the end', () => {
    const world = createWorld();
    const version = create(world, 'a');
    const watch = world.watch(`resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=100`);
    const seen: string[] = [];
    let next = tick(world.server, world.nowMs);
    while (next < Number.POSITIVE_INFINITY) {
      world.nowMs = next;
      next = tick(world.server, world.nowMs);
      seen.push(`${(world.nowMs - NOW_MS) / 1000}: ${taken(watch).join()}${watch.ended ? 'ended' : ''}`);
    }
    assert.deepEqual(seen, ['60: BOOKMARK', '98: BOOKMARK', '100: ended']);
  });

  test('a watch from a future version gets nothing before that version', () => {
    const world = createWorld();
    const version = create(world, 'a');
    const watch = world.watch(`resourceVersion=${version + 3}&allowWatchBookmarks=true&timeoutSeconds=600`);
    const bookmarkDue = (): string[] => {
      world.nowMs += 60_000;
      tick(world.server, world.nowMs);
      return taken(watch);
    };
    create(world, 'b');
    assert.deepEqual(bookmarkDue(), []);
    create(world, 'c');
    create(world, 'd');
    assert.deepEqual(bookmarkDue(), ['BOOKMARK']);
    create(world, 'e');
    assert.deepEqual(bookmarkDue(), ['ADDED e', 'BOOKMARK']);
  });

  test('without a timeout a watch lasts between 30 and 60 minutes', () => {
    const world = createWorld();
    world.watch('');
    const minutes = (tick(world.server, world.nowMs) - NOW_MS) / 60_000;
    assert.ok(minutes >= 30 && minutes < 60, String(minutes));
  });

  test('a watcher that takes nothing is closed without an error when too much waits', () => {
    const world = createWorld({ watchOutboxEventsMax: 3 });
    const watch = world.watch(`resourceVersion=${create(world, 'a')}`);
    let calls = 0;
    watch.onReady = () => void calls++;
    for (let i = 0; i < 3; i++) create(world, `b${i}`);
    assert.deepEqual([watch.ended, calls], [false, 3]);
    create(world, 'c');
    assert.deepEqual([watch.ended, calls, taken(watch)], [true, 4, []]);
  });

  test('initial objects do not count as waiting', () => {
    const world = createWorld({ watchOutboxEventsMax: 2 });
    for (let i = 0; i < 9; i++) create(world, `b${i}`);
    const watch = world.watch('');
    create(world, 'c');
    assert.equal(taken(watch).length, 11);
  });

  test('take returns about as many bytes as are asked for', () => {
    const world = createWorld();
    for (let i = 0; i < 9; i++) create(world, `b${i}`);
    const watch = world.watch('');
    assert.equal(watch.take(1).length, 1);
    assert.equal(watch.take(1).length, 1);
    assert.equal(taken(watch).length, 8);
  });

  test('watches that are closed end after the frames that they hold', () => {
    const world = createWorld();
    const watch = world.watch(`resourceVersion=${create(world, 'a')}`);
    create(world, 'b');
    closeWatches(world.server);
    assert.equal(watch.ended, false);
    assert.deepEqual([taken(watch), watch.ended], [['ADDED b'], true]);
    assert.equal(tick(world.server, world.nowMs), Number.POSITIVE_INFINITY);
  });

  test('a client that is gone is forgotten', () => {
    const world = createWorld();
    const watch = world.watch('');
    watch.close();
    create(world, 'a');
    assert.deepEqual(
      [watch.take(), watch.ended, tick(world.server, world.nowMs)],
      [[], true, Number.POSITIVE_INFINITY],
    );
  });

  test('watchers of one encoding share the bytes of a change', () => {
    const world = createWorld();
    const version = create(world, 'a');
    const [first, second] = [world.watch(`resourceVersion=${version}`), world.watch(`resourceVersion=${version}`)];
    create(world, 'b');
    assert.equal(first.take()[0], second.take()[0]);
  });
});

describe('the server as a function', () => {
  test('the same seed and requests give the same answers', () => {
    const run = (): string => {
      const world = createWorld({}, 7);
      const answers = [
        world.call('POST', PATH, { metadata: { generateName: 'a-' } }),
        world.call('POST', '/api/v1/namespaces/default/services', {
          metadata: { name: 's' },
          spec: { type: 'NodePort', ports: [{ port: 1 }] },
        }),
        world.call('GET', '/api/v1/namespaces'),
      ];
      return JSON.stringify(answers);
    };
    assert.equal(run(), run());
  });

  test('a patch leaves older versions as they were', () => {
    const world = createWorld();
    const version = create(world, 'a');
    const subsets = [{ addresses: [{ ip: '1.2.3.4' }] }];
    world.call('PATCH', `${PATH}/a`, { metadata: { labels: { b: 'c' } }, subsets }, 'application/merge-patch+json');
    const { body } = world.call('GET', `${PATH}?resourceVersion=${version}&resourceVersionMatch=Exact`);
    assert.deepEqual([body.items[0].metadata.labels, body.items[0].subsets], [undefined, undefined]);
  });

  test('a second delete with another policy keeps the time of the first', () => {
    const world = createWorld();
    world.call('POST', PATH, { metadata: { name: 'a', finalizers: ['a.example/x'] } });
    const first = world.call('DELETE', `${PATH}/a`).body.metadata;
    world.nowMs += 5000;
    const { metadata } = world.call('DELETE', `${PATH}/a`, { propagationPolicy: 'Orphan' }).body;
    assert.deepEqual(
      [metadata.finalizers, metadata.deletionTimestamp],
      [['a.example/x', 'orphan'], first.deletionTimestamp],
    );
  });

  test('a server with two ranges has addresses of two families', () => {
    const world = createWorld({ serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:10:96::/112'] });
    const spec = { ipFamilyPolicy: 'RequireDualStack', ports: [{ port: 80 }] };
    const { status, body } = world.call('POST', '/api/v1/namespaces/default/services', {
      metadata: { name: 's' },
      spec,
    });
    assert.equal(status, 201);
    assert.deepEqual(body.spec.ipFamilies, ['IPv4', 'IPv6']);
    assert.match(body.spec.clusterIPs.join(' '), /^10\.[0-9.]+ fd00:10:96::[0-9a-f]+$/);
  });

  test('an IPv6 address is taken in all its spellings, whichever its Service has', () => {
    const world = createWorld({ serviceClusterIPRanges: ['10.96.0.0/12', 'fd00:10:96::/112'] });
    const create = (name: string, clusterIP: string) =>
      world.call('POST', '/api/v1/namespaces/default/services', {
        metadata: { name },
        spec: { clusterIP, ports: [{ port: 80 }] },
      });
    assert.equal(create('s', 'fd00:10:96:0::00ac').status, 201);
    for (const clusterIP of ['fd00:10:96::ac', 'fd00:10:96:0::00ac', 'FD00:10:96::AC']) {
      const { status, body } = create('t', clusterIP);
      assert.equal(status, 422, clusterIP);
      assert.match(body.message, /: provided IP is already allocated$/);
    }
  });

  test('a Service for which a range has no room is refused, and not stored', () => {
    const world = createWorld({ serviceClusterIPRanges: ['10.96.0.0/29'] });
    const path = '/api/v1/namespaces/default/services';
    const ports = [{ port: 80 }];
    const post = (name: string, spec: object): [number, string, string] => {
      const { status, body } = world.call('POST', path, { metadata: { name }, spec: { ports, ...spec } });
      return [status, body.reason ?? '', body.message ?? ''];
    };
    const full = (what: string): [number, string, string] => [
      500,
      'InternalError',
      `Internal error occurred: failed to allocate a ${what}: range is full`,
    ];
    const { nodePorts } = world.server.addresses;
    for (let port = 30_001; port <= 32_767; port++) nodePorts.add(port);
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
    assert.deepEqual(post('a', local), full('HealthCheck NodePort 0'));
    nodePorts.add(30_000);
    assert.deepEqual(post('a', { type: 'NodePort' }), full('nodePort'));
    // The Service of the API server has the first of six addresses.
    for (let i = 0; i < 5; i++) assert.equal(post(`b${i}`, {})[0], 201);
    assert.deepEqual(post('a', {}), full('serviceIP for Service "a"'));
    assert.equal(world.call('GET', `${path}/a`).status, 404);
    world.call('DELETE', `${path}/b0`);
    assert.equal(post('a', {})[0], 201);
    assert.deepEqual(
      [world.call('PATCH', `${path}/a`, { spec: { type: 'NodePort' } }, 'application/merge-patch+json').status],
      [500],
    );
    assert.equal(world.call('GET', `${path}/a`).body.spec.type, 'ClusterIP');
  });

  test('a path that cannot be decoded is a bad request', () => {
    assert.equal(createWorld().call('GET', '/api/v1/namespaces/%zz/pods').status, 400);
  });
});
