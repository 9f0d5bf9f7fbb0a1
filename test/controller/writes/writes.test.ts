/** The queue of writes alone: what goes when, what holds it back, and what an answer does to the rest. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createState } from '../../../src/controller/initial-state.ts';
import { createOutbox } from '../../../src/controller/outbox.ts';
import { ensureService, ensureSlice, ensureUnit } from '../../../src/controller/caches/services.ts';
import type { WriteOutcome } from '../../../src/controller/writes/write-outcome.ts';
import {
  createWrites,
  flushWrites,
  readWriteAnswer,
  queueWrite,
  takeBackWrites,
  type QueuedWrite,
  type WriteHands,
  type WritePurpose,
  type Writes,
} from '../../../src/controller/writes/writes.ts';
import { createTokenBucket } from '../../../src/lib/token-bucket.ts';
import { createMetricStore, histogramSamples } from '../../../src/metrics/store.ts';
import type { TransportEvent } from '../../../src/ports/transport.ts';
import type { PlannedWrite } from '../../../src/shard/protocol.ts';
import { answered, failedWith, refusedWith } from '../../support/answers.ts';
import { DEFAULT_OPTIONS } from '../../support/sim.ts';

interface Limits {
  readonly qps?: number;
  readonly burst?: number;
  readonly inFlightMax?: number;
}

class World {
  readonly writes: Writes;
  readonly hands: WriteHands;
  readonly moot = new Set<string>();
  readonly withdrawn: string[] = [];
  readonly requests: string[] = [];
  /** Names, in the order in which they went. */
  readonly sent: string[] = [];
  readonly lines: string[] = [];
  reached = { resourceVersion: '7', answeredVersion: '', askedAtMs: -Infinity };
  nowMs = 0;
  readonly #queued = new Map<string, QueuedWrite>();
  readonly #metrics = createMetricStore();
  readonly #state = createState(
    { options: { ...DEFAULT_OPTIONS, slices: true }, metrics: this.#metrics, host: 'test' },
    1,
    1,
  );

  constructor({ qps = 0, burst = 1, inFlightMax = 100 }: Limits = {}) {
    this.writes = createWrites(createTokenBucket(qps, burst));
    const outbox = createOutbox<WritePurpose>();
    this.hands = {
      outbox: {
        ...outbox,
        send: (purpose, request) => {
          const body = request.method === 'DELETE' ? ` ${Buffer.from(request.body!).toString()}` : '';
          this.requests.push(`${request.method} ${request.path}${body}`);
          this.sent.push(purpose.queued.write.name);
          return outbox.send(purpose, request);
        },
        log: (_level, v, message) => {
          if (v === 0) this.lines.push(message);
        },
      },
      interner: this.#state.interner,
      metrics: this.#state.instruments,
      fence: () => ({ query: '' }),
      inFlightMax,
      isMoot: ({ write }) => this.moot.has(write.name),
      withdraw: ({ write }) => this.withdrawn.push(write.name),
      reachedOf: () => this.reached,
    };
  }

  queue(
    name: string,
    lane: 'fresh' | 'chore' = 'fresh',
    verb: PlannedWrite['verb'] = 'update',
    namespace = 'shop',
  ): QueuedWrite {
    const controller = this.#state.controllers.find((one) => one.name === 'endpointslice')!;
    const unit = ensureUnit(ensureService(this.#state, namespace, 'web'), controller);
    const [uid, resourceVersion] = verb === 'create' ? ['', ''] : [`${name}-uid`, '5'];
    const queued: QueuedWrite = {
      unit,
      object: ensureSlice(this.#state, unit, name),
      write: {
        id: 1,
        verb,
        name,
        uid,
        resourceVersion,
        phase: 1,
        waits: false,
        family: 'IPv4',
        body: new Uint8Array(verb === 'delete' ? 0 : 8),
      },
      lane,
      queuedAtMs: this.nowMs,
      tokenWaitBeforeMs: -1,
      sentAtMs: -1,
      reachedBefore: '',
    };
    this.#queued.set(name, queued);
    queueWrite(this.writes, queued);
    return queued;
  }

  /** Names of what goes now. */
  flush(): string[] {
    const from = this.sent.length;
    this.wakeMs = flushWrites(this.writes, this.hands, { nowMs: this.nowMs, wallMs: 0 });
    return this.sent.slice(from);
  }
  /** What the last flush has asked to be woken at. */
  wakeMs = Infinity;

  /** Of all writes that were sent, together. */
  tokenWaitSeconds(): number {
    const all = histogramSamples(this.#metrics, 'rest_client_rate_limiter_duration_seconds');
    return all.reduce((sum, { histogram }) => sum + histogram.sum, 0);
  }

  answer(name: string, event: TransportEvent): WriteOutcome {
    const queued = this.#queued.get(name)!;
    const outcome = readWriteAnswer(this.writes, this.hands, queued, event, { nowMs: this.nowMs, wallMs: 0 });
    queued.object.sent = null;
    return outcome;
  }
}

function sliceAnswer(name: string, resourceVersion = '8', status = 200): TransportEvent {
  const metadata = { name, namespace: 'shop', uid: `${name}-uid`, resourceVersion };
  return answered(status, { kind: 'EndpointSlice', apiVersion: 'discovery.k8s.io/v1', metadata });
}

describe('what goes when', () => {
  it('a change goes before chores, of which one goes after three changes', () => {
    const world = new World();
    for (const name of ['chore-1', 'chore-2']) world.queue(name, 'chore');
    for (const name of ['a', 'b', 'c', 'd']) world.queue(name);
    assert.deepEqual(world.flush(), ['a', 'b', 'c', 'chore-1', 'd', 'chore-2']);
  });

  it('a write waits for its token, and is woken when there is one', () => {
    const world = new World({ qps: 10, burst: 2 });
    for (const name of ['a', 'b', 'c']) world.queue(name);
    assert.deepEqual([world.flush(), world.wakeMs], [['a', 'b'], 100]);
    world.nowMs = 99;
    assert.deepEqual([world.flush(), world.wakeMs], [[], 100]);
    world.nowMs = 100;
    assert.deepEqual([world.flush(), world.wakeMs], [['c'], Infinity]);
  });

  it('no more writes are under way than allowed, and an answer makes room', () => {
    const world = new World({ inFlightMax: 2 });
    world.queue('a');
    for (const name of ['b', 'c']) world.queue(name, 'fresh', 'update', 'bank');
    assert.deepEqual([world.flush(), world.writes.inFlight], [['a', 'b'], 2]);
    world.answer('b', sliceAnswer('b'));
    assert.deepEqual([world.flush(), world.writes.inFlight], [['c'], 2]);
  });

  it('a namespace whose writes hang leaves an eighth of the places to others', () => {
    for (const [inFlightMax, places] of [
      [1, 1],
      [2, 1],
      [9, 8],
      [64, 56],
    ] as const) {
      const world = new World({ inFlightMax });
      const hanging = Array.from({ length: 70 }, (_, i) => `hanging-${i}`);
      for (const name of hanging) world.queue(name);
      assert.deepEqual(world.flush(), hanging.slice(0, places));
      world.queue('a', 'chore', 'update', 'bank');
      assert.deepEqual(world.flush(), inFlightMax === 1 ? [] : ['a']);
      if (inFlightMax > 1) world.answer('a', sliceAnswer('a'));
      assert.deepEqual(world.flush(), []);
      world.answer('hanging-0', sliceAnswer('hanging-0'));
      assert.deepEqual(world.flush(), [hanging[places]]);
    }
  });

  it('a write without a reason is withdrawn where its namespace has all its places', () => {
    const world = new World({ inFlightMax: 2 });
    for (const name of ['a', 'b']) world.queue(name);
    world.moot.add('b');
    assert.deepEqual([world.flush(), world.withdrawn], [['a'], ['b']]);
  });

  it('nothing is kept of a namespace without a write under way', () => {
    const world = new World();
    world.queue('a');
    world.flush();
    assert.deepEqual([...world.writes.inFlightOf], [['shop', 1]]);
    world.answer('a', sliceAnswer('a'));
    assert.equal(world.writes.inFlightOf.size, 0);
  });

  it('the wait for a token is told from the moment at which the write was queued', () => {
    const world = new World({ qps: 10, burst: 1 });
    world.queue('a');
    world.queue('b');
    world.flush();
    world.nowMs = 40;
    world.queue('c');
    world.flush();
    world.nowMs = 100;
    world.flush();
    world.nowMs = 200;
    world.flush();
    // `b` for 100 ms, and `c` from 40 to 200 ms.
    assert.deepEqual([world.sent, world.tokenWaitSeconds()], [['a', 'b', 'c'], 0.26]);
  });

  it('a main thread that comes late to a token has not waited for it', () => {
    const world = new World({ qps: 1000, burst: 1 });
    for (const name of ['a', 'b']) world.queue(name);
    world.flush();
    world.nowMs = 100;
    assert.deepEqual([world.flush(), world.tokenWaitSeconds()], [['b'], 0.001]);
  });

  it('the wait for a place among the writes in flight is no wait for a token', () => {
    const world = new World({ qps: 1000, burst: 10, inFlightMax: 1 });
    for (const name of ['a', 'b']) world.queue(name);
    world.flush();
    world.nowMs = 5000;
    world.answer('a', sliceAnswer('a'));
    assert.deepEqual([world.flush(), world.tokenWaitSeconds()], [['b'], 0]);
  });

  it('a write without a reason is withdrawn, and costs no token', () => {
    const world = new World({ qps: 10, burst: 1 });
    world.queue('a');
    world.queue('b');
    world.moot.add('a');
    assert.deepEqual([world.flush(), world.withdrawn], [['b'], ['a']]);
  });

  it('a write that is taken back is not sent', () => {
    const world = new World();
    world.queue('b', 'chore');
    world.queue('a');
    assert.deepEqual(
      takeBackWrites(world.writes).map(({ write }) => write.name),
      ['a', 'b'],
    );
    assert.deepEqual(world.flush(), []);
  });
});

describe('what is sent', () => {
  it('creates go to the collection, deletes carry preconditions', () => {
    const world = new World();
    world.queue('web-1', 'fresh', 'create');
    world.queue('web-2');
    world.queue('web-3', 'fresh', 'delete');
    world.flush();
    const slices = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices';
    assert.deepEqual(world.requests, [
      `POST ${slices}`,
      `PUT ${slices}/web-2`,
      `DELETE ${slices}/web-3 ` +
        '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"web-3-uid","resourceVersion":"5"}}',
    ]);
  });

  it('a write remembers the version of its resource at which it was sent', () => {
    const world = new World();
    const queued = world.queue('a');
    world.reached = { resourceVersion: '7', answeredVersion: '12', askedAtMs: 0 };
    world.flush();
    assert.equal(queued.reachedBefore, '12');
  });

  it('two writes of one object at once are a bug, and so is an answer to none', () => {
    const world = new World();
    world.queue('a');
    world.queue('a', 'chore');
    assert.throws(() => world.flush(), /two writes of a at once/);
    const other = new World();
    other.queue('b');
    assert.throws(() => other.answer('b', sliceAnswer('b')), /an answer to a write of b that was not sent/);
  });
});

describe('a pause that the API server asks for', () => {
  const OVERLOADED = answered(429, 'too many', { retryAfterSeconds: 3, priorityLevel: 'level' });

  it('a pause holds all writes; then one goes alone, and its answer frees the rest', () => {
    const world = new World();
    world.queue('a');
    world.flush();
    world.answer('a', OVERLOADED);
    for (const name of ['e', 'f']) world.queue(name);
    assert.deepEqual([world.flush(), world.wakeMs], [[], 3000]);
    world.nowMs = 3000;
    assert.deepEqual([world.flush(), world.wakeMs], [['e'], 6500]);
    world.answer('e', sliceAnswer('e'));
    assert.deepEqual(world.flush(), ['f']);
    assert.deepEqual(world.lines, ['All writes wait, as the API server asks', 'Writes go on']);
  });

  it('a trial that hangs lets the others go after 3.5 s, and its answer tells nothing', () => {
    const world = new World();
    world.queue('a');
    world.flush();
    world.answer('a', OVERLOADED);
    for (const name of ['e', 'f', 'g']) world.queue(name);
    world.nowMs = 3000;
    assert.deepEqual(world.flush(), ['e']);
    world.nowMs = 6499;
    assert.deepEqual([world.flush(), world.wakeMs], [[], 6500]);
    world.nowMs = 6500;
    assert.deepEqual([world.flush(), world.wakeMs], [['f', 'g'], Infinity]);
    world.answer('e', sliceAnswer('e'));
    assert.deepEqual(world.lines, ['All writes wait, as the API server asks', 'Writes go on']);
  });

  it('a pause that another answer prolongs meanwhile outlasts a trial that hangs', () => {
    const world = new World();
    for (const name of ['a', 'b']) world.queue(name);
    world.flush();
    world.answer('a', OVERLOADED);
    for (const name of ['e', 'f']) world.queue(name);
    world.nowMs = 3000;
    world.flush();
    world.nowMs = 5000;
    world.answer('b', OVERLOADED);
    assert.deepEqual([world.flush(), world.wakeMs], [[], 8000]);
  });

  it('a pause is no wait for a token', () => {
    const world = new World({ qps: 10, burst: 1 });
    world.queue('a');
    world.flush();
    world.queue('b');
    world.flush();
    world.nowMs = 40;
    world.answer('a', OVERLOADED);
    world.flush();
    world.nowMs = 3040;
    // Only the 40 ms before the pause are a wait for a token.
    assert.deepEqual([world.flush(), world.tokenWaitSeconds()], [['b'], 0.04]);
  });

  it('a pause begins again if the trial gets the same answer', () => {
    const world = new World();
    world.queue('a');
    world.flush();
    world.answer('a', OVERLOADED);
    world.queue('b');
    world.queue('c');
    world.nowMs = 3000;
    world.flush();
    world.answer('b', OVERLOADED);
    assert.deepEqual([world.flush(), world.wakeMs], [[], 6000]);
  });

  it('the Retry-After of a webhook begins no pause, because it is about one object', () => {
    const world = new World();
    world.queue('a');
    world.flush();
    world.answer('a', refusedWith(503, 'ServiceUnavailable', 'admission webhook "x" denied the request'));
    world.queue('b');
    assert.deepEqual(world.flush(), ['b']);
  });
});

describe('what an answer means', () => {
  /** `<result> <class of the failure>`, `?` = only a look at the server tells, `!` = news for an operator. */
  function meaning(verb: PlannedWrite['verb'], event: TransportEvent): string {
    const world = new World();
    world.queue('a', 'fresh', verb);
    world.flush();
    const { result, failure, mustRead, withoutEvent } = world.answer('a', event);
    return `${result}${failure === null ? '' : ` ${failure.class}`}${mustRead ? ' ?' : ''}${withoutEvent ? '' : ' !'}`;
  }

  it('the outcome of a success depends on its body', () => {
    assert.equal(meaning('create', sliceAnswer('a', '8', 201)), 'applied');
    assert.equal(meaning('update', sliceAnswer('a')), 'applied');
    assert.equal(meaning('update', sliceAnswer('other')), 'unknown server ?');
    assert.equal(meaning('update', answered(200, 'Please sign in')), 'unknown server ?');
    assert.equal(meaning('delete', refusedWith(200)), 'applied');
    assert.equal(meaning('delete', refusedWith(404, 'NotFound')), 'applied');
    assert.equal(meaning('delete', answered(200, 'Please sign in')), 'unknown server ? !');
  });

  it('the outcome of a refusal depends on its status and on the verb', () => {
    const table: [number, string, string, string][] = [
      // status, create, update, delete
      [400, 'refused invalid !', 'refused invalid !', 'refused invalid !'],
      [401, 'refused server !', 'refused server !', 'refused server !'],
      [403, 'refused forbidden !', 'refused forbidden !', 'refused forbidden !'],
      [404, 'refused forbidden', 'unknown conflict ?', 'unknown conflict ?'],
      [409, 'refused conflict ?', 'unknown conflict ?', 'unknown conflict ?'],
      [422, 'refused invalid !', 'refused invalid !', 'refused invalid !'],
      [429, 'refused throttled', 'refused throttled', 'refused throttled'],
      [500, 'unknown server ? !', 'unknown server ? !', 'unknown server ? !'],
      [503, 'refused server !', 'refused server !', 'refused server !'],
    ];
    for (const [status, ...expected] of table) {
      const found = (['create', 'update', 'delete'] as const).map((verb) => meaning(verb, refusedWith(status)));
      assert.deepEqual([status, ...found], [status, ...expected]);
    }
  });

  it('the outcome without an answer depends on whether the request may have arrived', () => {
    assert.equal(meaning('update', failedWith('refused', false)), 'refused unreachable');
    assert.equal(meaning('update', failedWith('timeout', true)), 'unknown server ?');
  });

  it('the outcome of a delete is unknown if a list was asked for since it was sent', () => {
    const world = new World();
    world.queue('a', 'fresh', 'delete');
    world.flush();
    world.reached = { ...world.reached, askedAtMs: 0 };
    assert.equal(world.answer('a', refusedWith(200)).result, 'unknown');
  });
});
