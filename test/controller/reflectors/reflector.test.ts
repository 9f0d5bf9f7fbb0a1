/** One reflector, driven by what a server answers: what it asks next, what its cache is told, and whom else it tells. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOutages } from '../../../src/controller/reflectors/outages.ts';
import { onReflectorEvent, wakeReflector } from '../../../src/controller/reflectors/reflector-answers.ts';
import { listAgain, startReflector, stopReflector } from '../../../src/controller/reflectors/reflector-requests.ts';
import {
  createReflector,
  type Reflector,
  type ReflectorHands,
  type ReflectorPurpose,
  type ReflectorTarget,
  type Versioned,
} from '../../../src/controller/reflectors/reflector.ts';
import { createOutbox } from '../../../src/controller/outbox.ts';
import { createInstruments } from '../../../src/controller/reports/instruments.ts';
import { JSON_TYPE } from '../../../src/kube/media-type.ts';
import { DecodeError } from '../../../src/kube/protobuf.ts';
import { checkedVersion } from '../../../src/kube/resource-version.ts';
import { createPrng } from '../../../src/lib/prng.ts';
import { createMetricStore } from '../../../src/metrics/store.ts';
import type { TransportEvent } from '../../../src/ports/transport.ts';

interface Thing extends Versioned {
  readonly name: string;
}

/** A reflector of things, and everything that it does. */
interface World {
  readonly reflector: Reflector;
  /** Name -> version. */
  readonly cache: Map<string, string>;
  /** Requests as `list ...`, `watch ...`, what was cancelled, and what others were told, in order; taken by `done`. */
  done(): string[];
  nowMs: number;
  start(): void;
  stop(): void;
  wake(): void;
  /** Answers the request that was asked for last. */
  page(version: string, things: readonly string[], continueToken?: string): void;
  refuse(status: number): void;
  fail(kind: 'reset' | 'too-big'): void;
  open(): void;
  frames(...frames: readonly object[]): void;
  chunk(text: string): void;
  end(error?: string): void;
  event(event: TransportEvent): void;
  hands: ReflectorHands;
}

function world({ watchList = true } = {}): World {
  const cache = new Map<string, string>();
  const done: string[] = [];
  const requests = createOutbox<ReflectorPurpose>();
  let lastId = 0;
  const things = new Map<string, Thing>();
  const target: ReflectorTarget<Thing> = {
    project: (source) => {
      const { metadata } = (source as { value: { metadata: { name: string; resourceVersion: string } } }).value;
      if (metadata.name === 'unreadable' || metadata.name === '') throw new DecodeError('simulated');
      return { name: metadata.name, resourceVersion: checkedVersion(metadata.resourceVersion) };
    },
    cachedVersion: ({ name }) => cache.get(name) ?? '',
    markOf: (_namespace, name) => (cache.has(name) ? things.get(name) : undefined),
    upsert(thing, _source, upTo) {
      const cached = things.get(thing.name);
      if (cached !== undefined && cache.has(thing.name) && Number(cached.resourceVersion) > Number(upTo)) return cached;
      cache.set(thing.name, thing.resourceVersion);
      things.set(thing.name, thing);
      return thing;
    },
    remove: ({ name }) => void cache.delete(name),
    removeUnmarked(marks, upTo) {
      for (const [name, cached] of things) {
        if (!marks.has(cached) && Number(cached.resourceVersion) <= Number(upTo)) cache.delete(name);
      }
    },
    listing() {},
    awaitedDeletes: () => null,
    forgetVersions(reason) {
      done.push(`versions are forgotten: ${reason}`);
      for (const [name, { name: same }] of things) things.set(name, { name: same, resourceVersion: '0' });
    },
  };
  const hands: ReflectorHands = {
    outbox: {
      send(purpose, request) {
        done.push(
          request.path
            .split('?')[1]!
            .replace(/timeoutSeconds=\d+&/, '')
            .replace('&allowWatchBookmarks=true', ''),
        );
        return (lastId = requests.send(purpose, request));
      },
      cancel(id) {
        if (requests.requests.has(id)) done.push('cancel');
        requests.cancel(id);
      },
      log: (level, _v, message) => void (level === 'info' ? 0 : done.push(message)),
    },
    prng: createPrng(1),
    metrics: createInstruments(createMetricStore(), 'test'),
    outages: createOutages(),
    firstListEnds: () => void done.push('synced'),
    listBegins() {},
    listEnds(_reflector, removal, now) {
      if (removal !== null) target.removeUnmarked(removal.marks, removal.upTo, now);
      return true;
    },
    listRefused: () => void done.push('the list is refused'),
    wentBack: () => void done.push('the others are told'),
  };
  const reflector = createReflector('pods', '/things', target, watchList) as Reflector;
  const now = (): { nowMs: number; wallMs: number } => ({ nowMs: self.nowMs, wallMs: self.nowMs });
  const respond = (status: number, body: object): void =>
    self.event({
      type: 'response',
      id: lastId,
      status,
      contentType: JSON_TYPE,
      retryAfterSeconds: -1,
      priorityLevel: '',
      body: Buffer.from(JSON.stringify(body)),
    });
  const self: World = {
    reflector,
    hands,
    cache,
    done: () => done.splice(0),
    nowMs: 0,
    start: () => startReflector(hands, reflector, now()),
    stop: () => stopReflector(hands, reflector),
    wake() {
      self.nowMs = Math.max(self.nowMs, reflector.wakeAtMs);
      wakeReflector(hands, reflector, now());
    },
    page: (resourceVersion, listed, continueToken = '') =>
      respond(200, {
        kind: 'PodList',
        apiVersion: 'v1',
        metadata: { resourceVersion, continue: continueToken },
        items: listed.map(thing),
      }),
    refuse: (code) => respond(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: 'no' }),
    fail: (kind) => self.event({ type: 'failure', id: lastId, kind, message: 'simulated', mayHaveArrived: true }),
    open: () => respond(200, {}),
    frames: (...frames) => self.chunk(frames.map((frame) => `${JSON.stringify(frame)}\n`).join('')),
    chunk: (text) => self.event({ type: 'chunk', id: lastId, bytes: Buffer.from(text) }),
    end: (error) => self.event({ type: 'ended', id: lastId, error: error ?? null }),
    event(event) {
      requests.takeEvent(event);
      onReflectorEvent(hands, reflector, event, now());
    },
  };
  return self;
}

/** `name@version`. */
function thing(text: string): object {
  const [name, resourceVersion] = text.split('@');
  return { kind: 'Pod', apiVersion: 'v1', metadata: { namespace: 'shop', name, resourceVersion } };
}

const added = (text: string): object => ({ type: 'ADDED', object: thing(text) });
const deleted = (text: string): object => ({ type: 'DELETED', object: thing(text) });

function bookmark(resourceVersion: string, isEnd = false): object {
  const annotations = isEnd ? { 'k8s.io/initial-events-end': 'true' } : {};
  return { type: 'BOOKMARK', object: { kind: 'Pod', apiVersion: 'v1', metadata: { resourceVersion, annotations } } };
}

function error(code: number): object {
  return { type: 'ERROR', object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: 'no' } };
}

const WATCH_LIST = 'watch=true&resourceVersion=&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';

/** A WatchList that has told one object, after 5 s. */
function halfListed(): World {
  const pods = world();
  pods.start();
  pods.open();
  pods.frames(added('a@1'));
  pods.nowMs = 5000;
  return pods;
}

/** Listed at version 10 with `a@1` and `b@2` in the cache, and watching since. */
function watching(): World {
  const pods = world();
  pods.start();
  pods.open();
  pods.frames(added('a@1'), added('b@2'), bookmark('10', true));
  pods.done();
  return pods;
}

describe('a list', () => {
  it('a list comes as the initial events of a stream, which goes on as the watch', () => {
    const pods = world();
    pods.start();
    assert.deepEqual(pods.done(), [WATCH_LIST]);
    pods.open();
    pods.frames(added('b@2'), added('a@1'));
    assert.deepEqual([pods.reflector.phase.name, pods.reflector.synced], ['initial', false]);
    pods.frames(bookmark('10', true), added('c@11'), deleted('a@12'));
    assert.deepEqual(pods.done(), ['synced']);
    assert.deepEqual([pods.reflector.phase.name, pods.reflector.resourceVersion], ['watching', '12']);
    assert.deepEqual(Object.fromEntries(pods.cache), { b: '2', c: '11' });
  });

  it('the end of the first list is told before what came behind it', () => {
    const pods = world();
    const cached: string[] = [];
    Object.assign(pods.hands, { firstListEnds: () => cached.push(...pods.cache.keys()) });
    pods.start();
    pods.open();
    pods.frames(added('a@1'), bookmark('10', true), added('b@11'));
    assert.deepEqual(cached, ['a']);
  });

  it('a list comes in pages if the server refuses streams, and then a watch opens', () => {
    const pods = world();
    pods.start();
    pods.refuse(422);
    pods.page('10', ['a@1'], 'more');
    pods.page('10', ['b@2']);
    assert.deepEqual(pods.done(), [
      WATCH_LIST,
      'limit=500',
      'limit=500&continue=more',
      'synced',
      'watch=true&resourceVersion=10',
    ]);
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '1', b: '2' });
  });

  it('a list removes at its end what it lacks, and nothing before', () => {
    const pods = watching();
    pods.frames(error(410));
    pods.wake();
    pods.open();
    pods.frames(added('a@1'), added('c@11'));
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '1', b: '2', c: '11' });
    pods.frames(bookmark('11', true));
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '1', c: '11' });
  });

  it('a list goes on with half the items after a page that was too big', () => {
    const pods = world({ watchList: false });
    pods.start();
    pods.fail('too-big');
    pods.page('10', ['a@1']);
    assert.deepEqual(pods.done(), ['limit=500', 'limit=250', 'synced', 'watch=true&resourceVersion=10']);
  });

  it('a list keeps what is cached of an object that could not be read', () => {
    const pods = watching();
    pods.reflector.inPages = true;
    pods.frames(error(410));
    pods.wake();
    pods.page('11', ['a@no-version', 'unreadable@11', 'c@11']);
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '1', c: '11' });
  });

  it('a list removes nothing if the name of one of its objects could not be read', () => {
    const pods = watching();
    pods.reflector.inPages = true;
    pods.frames(error(410));
    pods.wake();
    pods.page('11', ['a@1', '@11']);
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '1', b: '2' });
    assert.deepEqual(pods.done(), [
      'cancel',
      'List is tried again',
      'limit=500',
      'What the API server sent cannot be decoded',
      'watch=true&resourceVersion=11',
    ]);
  });

  it('a list is not asked for again while a late enough one is under way', () => {
    const pods = watching();
    pods.nowMs = 1000;
    listAgain(pods.hands, pods.reflector, 1000, { nowMs: 1000, wallMs: 0 });
    listAgain(pods.hands, pods.reflector, 1000, { nowMs: 1001, wallMs: 0 });
    assert.deepEqual(pods.done(), ['cancel', WATCH_LIST]);
    listAgain(pods.hands, pods.reflector, 1001, { nowMs: 1002, wallMs: 0 });
    assert.deepEqual(pods.done(), ['cancel', WATCH_LIST]);
  });
});

describe('a WatchList', () => {
  it('a WatchList that the server ends before its end gives way to pages at once', () => {
    const pods = halfListed();
    pods.end();
    assert.equal(pods.reflector.synced, false);
    assert.deepEqual(pods.done(), [WATCH_LIST, 'WatchList is given up, listing in pages', 'limit=500']);
  });

  it('a WatchList that breaks before its end begins anew after a pause', () => {
    const pods = halfListed();
    pods.end('reset');
    assert.deepEqual([pods.reflector.phase.name, pods.reflector.synced], ['waiting', false]);
    pods.wake();
    assert.deepEqual(pods.done(), [WATCH_LIST, 'List is tried again', WATCH_LIST]);
  });
});

describe('a WatchList that the server cannot do', () => {
  const GIVEN_UP = 'WatchList is given up, listing in pages';

  it('a server says so in the stream where its etcd is too old: pages follow', () => {
    for (const [code, asked] of [
      [500, [GIVEN_UP, 'limit=500']],
      [410, ['List is tried again', WATCH_LIST]],
      [429, ['List is tried again', WATCH_LIST]],
    ] as const) {
      const pods = world();
      pods.start();
      pods.open();
      pods.done();
      pods.frames(error(code));
      pods.wake();
      assert.deepEqual(
        pods.done().filter((line) => line !== 'cancel'),
        asked,
        `${code}`,
      );
    }
  });

  it('a server that fails twice before the stream begins is asked for pages', () => {
    const pods = world();
    pods.start();
    for (let i = 0; i < 2; i++) {
      pods.refuse(501);
      pods.wake();
    }
    assert.deepEqual(pods.done(), [WATCH_LIST, 'List is tried again', WATCH_LIST, 'limit=500']);
  });
});

describe('a WatchList that tells an object older than the cached one', () => {
  const relisted = (): World => {
    const pods = watching();
    pods.frames(bookmark('20'), added('b@15'), error(410));
    pods.wake();
    pods.open();
    pods.frames(added('a@1'), added('b@2'));
    return pods;
  };

  it('the older one counts at the end, because history may have gone back', () => {
    const pods = relisted();
    pods.frames(bookmark('30', true));
    assert.equal(pods.cache.get('b'), '2');
  });

  it('what the stream tells of the object before its end is newer', () => {
    const changed = relisted();
    changed.frames(added('b@25'), bookmark('30', true));
    assert.equal(changed.cache.get('b'), '25');
    const gone = relisted();
    gone.frames({ type: 'DELETED', object: thing('b@26') }, bookmark('30', true));
    assert.equal(gone.cache.has('b'), false);
  });
});

describe('a watch', () => {
  it('a watch that the server ends goes on at once, after a look at the version', () => {
    const pods = watching();
    pods.frames(bookmark('20'));
    pods.nowMs = 300_000;
    pods.end();
    pods.page('21', ['a@1']);
    assert.deepEqual(pods.done(), ['limit=1', 'watch=true&resourceVersion=20']);
    assert.equal(pods.reflector.downSinceMs, 300_000);
    pods.open();
    assert.equal(pods.reflector.downSinceMs, -1);
  });

  it('a broken watch goes on after a pause and a look at the version', () => {
    const pods = watching();
    pods.end('reset');
    assert.equal(pods.reflector.phase.name, 'waiting');
    pods.wake();
    pods.page('10', ['a@1']);
    assert.deepEqual(pods.done(), ['Watch is tried again', 'limit=1', 'watch=true&resourceVersion=10']);
  });

  it('a broken watch was last asked for when its version was looked at', () => {
    const pods = watching();
    pods.nowMs = 1000;
    pods.end('reset');
    assert.equal(pods.reflector.failure, 'reset');
    pods.wake();
    assert.equal(pods.reflector.askedAtMs, pods.nowMs);
    pods.page('10', ['a@1']);
    pods.open();
    assert.equal(pods.reflector.failure, '');
  });

  it('a broken watch is listed anew if history went back, and others are told', () => {
    const pods = watching();
    pods.end('reset');
    pods.wake();
    pods.page('9', ['a@1']);
    assert.deepEqual(pods.done(), [
      'Watch is tried again',
      'limit=1',
      'History went back, as etcd does when it is restored: the cache is replaced',
      'versions are forgotten: restored',
      'the others are told',
      WATCH_LIST,
    ]);
  });

  it('a watch goes on after a 429 in its stream if it can, else it is listed anew', () => {
    for (const [code, asked] of [
      [429, 'limit=1'],
      [410, WATCH_LIST],
      [500, WATCH_LIST],
    ] as const) {
      const pods = watching();
      pods.frames(error(code), added('never@99'));
      pods.wake();
      assert.deepEqual([pods.done().at(-1), pods.cache.has('never')], [asked, false], `${code}`);
    }
  });

  it('a frame that cannot be read makes the watch list anew, then in pages', () => {
    const pods = watching();
    pods.frames(added('unreadable@11'));
    pods.wake();
    pods.open();
    pods.frames(added('unreadable@11'));
    pods.wake();
    pods.page('11', ['unreadable@11', 'b@2']);
    assert.deepEqual(pods.done(), [
      'What the API server sent cannot be decoded',
      'cancel',
      'List is tried again',
      'versions are forgotten: damaged',
      WATCH_LIST,
      'What the API server sent cannot be decoded',
      'cancel',
      // The same reason within a minute is no second warning.
      'versions are forgotten: damaged',
      'limit=500',
      'What the API server sent cannot be decoded',
      'watch=true&resourceVersion=11',
    ]);
    // The object is there: a WatchList would stop at it again, and it damages nothing else.
    pods.open();
    pods.frames(added('unreadable@12'));
    pods.wake();
    assert.deepEqual(pods.done().slice(-3), ['What the API server sent cannot be decoded', 'cancel', 'limit=500']);
  });

  it('what a damaged stream told before it broke goes with the list', () => {
    const pods = watching();
    pods.frames(added('ghost@11'), added('a@999'), added('unreadable@12'));
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '999', b: '2', ghost: '11' });
    pods.wake();
    pods.open();
    pods.frames(added('a@1'), added('b@2'), bookmark('12', true));
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '1', b: '2' });
    assert.ok(!pods.done().some((what) => what.includes('History')));
  });

  it('a watch that ends within a frame is listed anew, unless its connection broke', () => {
    for (const [end, afterMs, asked] of [
      [undefined, 0, WATCH_LIST],
      ['reset', 0, 'limit=1'],
      ['reset', 11_000, WATCH_LIST],
    ] as const) {
      const pods = watching();
      pods.chunk('{"type":"ADDED","object":{');
      pods.nowMs = afterMs;
      pods.end(end);
      pods.wake();
      assert.equal(pods.done().at(-1), asked, `${end} after ${afterMs} ms`);
    }
  });

  it('a WatchList that ends within a frame is damaged', () => {
    const pods = world();
    pods.start();
    pods.open();
    pods.frames(added('ghost@999'));
    pods.chunk('{"type":"ADDED","object":{');
    pods.end();
    pods.page('10', ['a@1']);
    assert.deepEqual(Object.fromEntries(pods.cache), { a: '1' });
    assert.ok(pods.done().includes('versions are forgotten: damaged'));
  });

  it('what a first list could not read is listed again in place of the next watch', () => {
    const pods = world({ watchList: false });
    pods.start();
    pods.page('10', ['a@1', 'unreadable@2']);
    pods.open();
    pods.nowMs = 5000;
    pods.end();
    assert.equal(pods.done().at(-1), 'limit=500');
  });

  it('a watch that is damaged once a minute is listed anew within two seconds', () => {
    const pods = watching();
    for (let minute = 1; minute <= 5; minute++) {
      pods.nowMs = minute * 60_000 + 10_000 * minute;
      const { nowMs } = pods;
      pods.frames(added('unreadable@11'));
      pods.wake();
      assert.ok(pods.nowMs - nowMs <= 1600, `${pods.nowMs - nowMs} ms`);
      pods.open();
      pods.frames(bookmark('10', true));
    }
  });

  it('a version that is not decimal makes its frame unreadable', () => {
    for (const version of ['', '0', '012', '1x', '-1', '\u00b2']) {
      const pods = watching();
      pods.frames(added(`a@${version}`));
      assert.deepEqual(pods.done()[0], 'What the API server sent cannot be decoded', version);
      assert.deepEqual(Object.fromEntries(pods.cache), { a: '1', b: '2' }, version);
    }
  });

  it('a watch without a whole frame for 150 s is opened anew', () => {
    const pods = watching();
    pods.wake();
    assert.deepEqual([pods.nowMs, pods.done()], [150_000, ['cancel', 'limit=1']]);
  });

  it('a watch whose frame has not come whole for 150 s is listed anew', () => {
    const pods = watching();
    pods.chunk('{"type":"ADDED","object":{');
    pods.wake();
    assert.equal(pods.nowMs, 150_000);
    pods.wake();
    assert.deepEqual(pods.done(), [
      'What the API server sent cannot be decoded',
      'cancel',
      'List is tried again',
      'versions are forgotten: damaged',
      WATCH_LIST,
    ]);
  });
});

describe('a watch that ends while an own delete awaits its event', () => {
  const LISTED = ['cancel', WATCH_LIST];

  /** The watch goes on from version 10, and the look before it has found version 20. */
  function goesOn(): { pods: World; tell: () => void } {
    const pods = watching();
    let isAwaited = true;
    Object.assign(pods.reflector.target, { awaitedDeletes: () => () => isAwaited });
    pods.nowMs = 300_000;
    pods.end();
    pods.page('20', ['a@1']);
    assert.deepEqual(pods.done(), ['limit=1', 'watch=true&resourceVersion=10']);
    pods.open();
    return { pods, tell: () => void (isAwaited = false) };
  }

  /** Wakes it for ten seconds. */
  function wakeFor10s(pods: World): void {
    const untilMs = pods.nowMs + 10_000;
    while (pods.reflector.wakeAtMs < untilMs) pods.wake();
    pods.nowMs = untilMs;
  }

  it('the watch goes on, and nothing is listed once it has told of the delete', () => {
    const { pods, tell } = goesOn();
    tell();
    pods.frames(deleted('b@20'));
    wakeFor10s(pods);
    assert.deepEqual(pods.done(), []);
    assert.equal(pods.reflector.owesDeletes, null);
  });

  it('all is listed if the watch is silent for 5 s, for the object may exist again', () => {
    const { pods } = goesOn();
    pods.wake();
    assert.equal(pods.nowMs, 305_000);
    assert.deepEqual(pods.done(), LISTED);
  });

  it('what the watch has missed may take longer, as long as it goes on to tell it', () => {
    const { pods, tell } = goesOn();
    for (let version = 11; version < 20; version++) {
      pods.nowMs += 1000;
      pods.frames(added(`c@${version}`));
      if (pods.reflector.wakeAtMs <= pods.nowMs) pods.wake();
    }
    assert.deepEqual(pods.done(), []);
    tell();
    wakeFor10s(pods);
    assert.deepEqual(pods.done(), []);
  });

  it('all is listed if the watch has told all it missed, and not of the delete', () => {
    const { pods } = goesOn();
    for (let version = 18; version < 22; version++) {
      pods.nowMs += 1500;
      pods.frames(added(`c@${version}`));
      if (pods.reflector.wakeAtMs <= pods.nowMs) pods.wake();
    }
    assert.deepEqual(pods.done(), LISTED);
  });

  it('a watch that ends again owes what it has not told', () => {
    const { pods } = goesOn();
    pods.nowMs += 2000;
    pods.end();
    pods.page('20', ['a@1']);
    assert.deepEqual(pods.done(), ['limit=1', 'watch=true&resourceVersion=10']);
    pods.open();
    pods.wake();
    assert.deepEqual(pods.done(), LISTED);
  });
});

describe('a phase', () => {
  it('a phase holds what it needs and nothing else', () => {
    const keys = ({ reflector }: World): string[] => Object.keys(reflector.phase).sort();
    const pods = world();
    assert.deepEqual(keys(pods), ['name']);
    pods.start();
    assert.deepEqual(keys(pods), ['life', 'list', 'name', 'request']);
    pods.open();
    assert.deepEqual(keys(pods), ['aside', 'life', 'list', 'name', 'reader', 'request']);
    pods.frames(bookmark('10', true));
    assert.deepEqual(keys(pods), ['life', 'name', 'reader', 'request']);
    pods.end('reset');
    assert.deepEqual(keys(pods), ['name', 'next']);
    pods.wake();
    assert.deepEqual(keys(pods), ['name', 'reachedBefore', 'request']);
  });

  it('a phase that ends takes its request along, and a stop is for good', () => {
    const pods = watching();
    pods.stop();
    pods.wake();
    assert.deepEqual([pods.done(), pods.reflector.phase.name], [['cancel'], 'idle']);
  });

  it('a phase takes no answer to the request of another one', () => {
    const pods = watching();
    assert.throws(() => pods.event({ type: 'ended', id: 77, error: null }), /an answer to no request of watching/);
    pods.end('reset');
    assert.throws(() => pods.end(), /an answer to no request of waiting/);
  });
});
