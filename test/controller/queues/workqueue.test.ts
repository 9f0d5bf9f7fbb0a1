import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { WorkLane } from '../../../src/controller/queues/lane-share.ts';
import {
  addCheck,
  addWork,
  createWorkItem,
  createWorkQueue,
  doneWork,
  forgetWork,
  longestWorkSeconds,
  nextWorkMs,
  oldestChangeMs,
  retryWork,
  shutDownWork,
  takeWork,
  unfinishedWorkSeconds,
  workDepth,
  type WorkItem,
} from '../../../src/controller/queues/workqueue.ts';
import { propertyRuns } from '../../support/runs.ts';

/** A queue over keys such as `ns/name`, with everything said by key. */
function world(concurrent: number) {
  const queue = createWorkQueue<string>('endpoint', concurrent);
  const items = new Map<string, WorkItem<string>>();
  const item = (key: string): WorkItem<string> => {
    const known = items.get(key) ?? createWorkItem(key, key.split('/')[0]!);
    items.set(key, known);
    return known;
  };
  return {
    queue,
    item,
    add: (key: string, lane: WorkLane, nowMs: number, delayMs = 0) => addWork(queue, item(key), lane, nowMs, delayMs),
    take: (nowMs: number) => takeWork(queue, nowMs)?.key ?? null,
    done: (key: string, nowMs: number) => doneWork(queue, item(key), nowMs),
    /** Takes and finishes one key after the other until none is due. */
    drain(nowMs: number): string[] {
      const taken: string[] = [];
      for (let next = takeWork(queue, nowMs); next !== null; next = takeWork(queue, nowMs)) {
        taken.push(next.key);
        doneWork(queue, next, nowMs);
      }
      return taken;
    },
    /** Takes until no slot is free or nothing is due. */
    takeAll(nowMs: number): string[] {
      const taken: string[] = [];
      for (let next = takeWork(queue, nowMs); next !== null; next = takeWork(queue, nowMs)) taken.push(next.key);
      return taken;
    },
  };
}

test('a key added several times before it is taken runs once', () => {
  const w = world(2);
  w.add('a/x', 'fresh', 0);
  w.add('a/x', 'fresh', 1);
  w.add('a/y', 'fresh', 2);
  assert.equal(workDepth(w.queue), 2);
  assert.deepEqual(w.drain(3), ['a/x', 'a/y']);
  assert.equal(w.queue.addsTotal, 2);
});

test('a key that is added while it is processing runs once more afterwards', () => {
  const w = world(2);
  w.add('a/x', 'fresh', 0);
  assert.equal(w.take(0), 'a/x');
  w.add('a/x', 'fresh', 1);
  w.add('a/x', 'fresh', 2);
  assert.equal(w.take(3), null);
  w.done('a/x', 4);
  assert.deepEqual(w.drain(4), ['a/x']);
});

test('a delay is a window opened by the first event: later events never extend it', () => {
  const w = world(1);
  w.add('a/x', 'fresh', 0, 500);
  w.add('a/x', 'fresh', 400, 500);
  assert.equal(nextWorkMs(w.queue), 500);
  assert.deepEqual(w.drain(499), []);
  assert.deepEqual(w.drain(500), ['a/x']);
  assert.deepEqual(w.drain(1000), []);
});

test('a shorter delay brings the key forward', () => {
  const w = world(1);
  w.add('a/x', 'fresh', 0, 500);
  w.add('a/x', 'fresh', 10, 50);
  assert.equal(nextWorkMs(w.queue), 60);
  assert.deepEqual(w.drain(60), ['a/x']);
});

test('taking a key ends its delay, because the sync has seen that change too', () => {
  const w = world(1);
  w.add('a/x', 'fresh', 0, 500);
  w.add('a/x', 'fresh', 100);
  assert.deepEqual(w.drain(100), ['a/x']);
  assert.equal(nextWorkMs(w.queue), Infinity);
  assert.deepEqual(w.drain(600), []);
});

test('a delay that starts during processing ends at its time or with it', () => {
  const w = world(3);
  w.add('a/x', 'fresh', 0);
  w.add('a/y', 'fresh', 0);
  w.takeAll(0);
  w.add('a/x', 'fresh', 10, 100);
  w.add('a/y', 'fresh', 10, 100);
  w.done('a/x', 50);
  assert.deepEqual(w.drain(109), []);
  assert.deepEqual(w.drain(110), ['a/x']);
  w.done('a/y', 200);
  assert.deepEqual(w.drain(200), ['a/y']);
});

test('fresh work goes first, and adding a waiting chore as fresh promotes it', () => {
  const w = world(4);
  for (const key of ['a/1', 'a/2', 'a/3']) w.add(key, 'chore', 0);
  w.add('a/4', 'fresh', 1);
  w.add('a/3', 'fresh', 1);
  assert.deepEqual(w.drain(1), ['a/4', 'a/3', 'a/1', 'a/2']);
  assert.equal(w.queue.addsTotal, 4, 'a promotion is no add');
});

test('a waiting chore with a delayed fresh add is promoted when the delay ends', () => {
  const w = world(3);
  w.add('a/1', 'chore', 0);
  w.add('a/2', 'chore', 0);
  w.add('a/2', 'fresh', 0, 100);
  w.add('a/3', 'fresh', 100);
  assert.deepEqual(w.drain(100), ['a/3', 'a/2', 'a/1']);

  w.add('a/1', 'chore', 200);
  w.add('a/1', 'fresh', 200, 100);
  assert.deepEqual(w.drain(250), ['a/1']);
  assert.equal(nextWorkMs(w.queue), Infinity, 'the run covered the delayed add');
});

test('one slot is kept for fresh work', () => {
  const w = world(3);
  for (const key of ['a/1', 'b/2', 'c/3', 'd/4']) w.add(key, 'chore', 0);
  assert.deepEqual(w.takeAll(0), ['a/1', 'b/2']);
  w.add('e/5', 'fresh', 1);
  assert.deepEqual(w.takeAll(1), ['e/5']);
});

test('chores get one slot in four while fresh work waits', () => {
  const w = world(2);
  for (let n = 0; n < 8; n++) w.add(`a/fresh${n}`, 'fresh', 0);
  for (let n = 0; n < 3; n++) w.add(`a/chore${n}`, 'chore', 0);
  const order = w.drain(0).map((key) => key.slice(2, 3));
  assert.equal(order.join(''), 'fffcfffcffc');
});

test('with a single slot the lanes alternate', () => {
  const w = world(1);
  for (const key of ['a/f1', 'a/f2', 'a/f3']) w.add(key, 'fresh', 0);
  for (const key of ['a/c1', 'a/c2']) w.add(key, 'chore', 0);
  assert.deepEqual(w.drain(0), ['a/f1', 'a/c1', 'a/f2', 'a/c2', 'a/f3']);
});

test('namespaces take turns, even if one came first with many keys', () => {
  const w = world(1);
  for (const key of ['big/1', 'big/2', 'big/3', 'big/4', 'small/1', 'small/2', 'other/1']) w.add(key, 'fresh', 0);
  assert.deepEqual(w.drain(0), ['big/1', 'small/1', 'other/1', 'big/2', 'small/2', 'big/3', 'big/4']);
});

test('a namespace holds at most half of the slots while another one waits', () => {
  const w = world(4);
  for (let n = 1; n <= 6; n++) w.add(`big/${n}`, 'fresh', 0);
  assert.deepEqual(w.takeAll(0), ['big/1', 'big/2', 'big/3']);
  w.add('small/1', 'fresh', 1);
  w.add('small/2', 'fresh', 1);
  w.add('small/3', 'fresh', 1);
  assert.deepEqual(w.takeAll(1), ['small/1']);
  w.done('big/1', 2);
  assert.deepEqual(w.takeAll(2), ['small/2']);
  w.done('big/2', 3);
  assert.deepEqual(w.takeAll(3), ['big/4'], 'both hold half now');
});

test('a namespace never holds the last slot, and gets it if there is only one', () => {
  for (const [slots, held] of [
    [1, 1],
    [2, 1],
    [3, 2],
    [8, 7],
  ] as const) {
    const w = world(slots);
    for (let n = 1; n <= 10; n++) w.add(`hanging/${n}`, n % 2 === 0 ? 'fresh' : 'chore', 0);
    assert.equal(w.takeAll(0).length, held, `of ${slots} slots`);
    if (slots === 1) continue;
    w.add('other/1', 'fresh', 1);
    assert.deepEqual(w.takeAll(1), ['other/1'], `of ${slots} slots`);
    w.done('other/1', 2);
    assert.deepEqual(w.takeAll(2), [], `of ${slots} slots`);
  }
});

test('a fresh namespace with half of the slots lets a chore of another one in', () => {
  const w = world(4);
  for (let n = 1; n <= 3; n++) w.add(`big/${n}`, 'fresh', 0);
  w.add('small/1', 'chore', 0);
  assert.deepEqual(w.takeAll(0), ['big/1', 'big/2', 'small/1', 'big/3']);
});

test('a forgotten key does not run; one in processing still has to be done', () => {
  const w = world(1);
  w.add('a/x', 'fresh', 0);
  w.add('a/y', 'chore', 0, 10);
  forgetWork(w.queue, w.item('a/x'));
  forgetWork(w.queue, w.item('a/y'));
  assert.deepEqual(w.drain(20), []);

  w.add('a/x', 'fresh', 30);
  w.take(30);
  w.add('a/x', 'fresh', 31);
  forgetWork(w.queue, w.item('a/x'));
  w.done('a/x', 32);
  assert.deepEqual(w.drain(32), []);
  assert.equal(w.queue.namespaces.size, 0, 'nothing is kept of a quiet namespace');
});

test('done without take is a bug, and fails', () => {
  const w = world(1);
  assert.throws(() => w.done('a/x', 0), /work queue endpoint: done, but it was not processing/);
});

test('a key cannot be added with a delay that is no finite number', () => {
  const w = world(1);
  for (const delayMs of [NaN, Infinity]) {
    assert.throws(() => w.add('a/x', 'fresh', 0, delayMs), /work queue: a key is added for no time/);
  }
});

test('after shut-down nothing is added or taken', () => {
  const w = world(2);
  w.add('a/x', 'fresh', 0);
  w.add('a/y', 'fresh', 0);
  assert.equal(w.take(0), 'a/x');
  w.add('a/z', 'fresh', 0, 10);
  shutDownWork(w.queue);
  w.add('a/w', 'fresh', 1);
  retryWork(w.queue, w.item('a/w'), 'fresh', 1, 0);
  assert.equal(w.take(100), null);
  assert.equal(nextWorkMs(w.queue), Infinity);
  w.done('a/x', 100);
  assert.equal(w.queue.retriesTotal, 0);
});

test('waits in metrics start when the delay ends, and retries count as retries', () => {
  const w = world(3);
  w.add('a/x', 'fresh', 0, 1000);
  w.add('a/y', 'fresh', 500);
  w.takeAll(1500);
  assert.equal(w.queue.queueSeconds.count, 2);
  assert.equal(w.queue.queueSeconds.sum, 0.5 + 1);
  assert.equal(unfinishedWorkSeconds(w.queue, 2500), 2);
  w.done('a/y', 3500);
  assert.equal(longestWorkSeconds(w.queue, 4500), 3);
  assert.equal(w.queue.workSeconds.sum, 2);
  assert.equal(w.queue.retriesTotal, 0);
  retryWork(w.queue, w.item('a/y'), 'fresh', 4500, 5);
  assert.equal(w.queue.retriesTotal, 1);
  w.done('a/x', 5000);
  assert.equal(unfinishedWorkSeconds(w.queue, 6000), 0);
  assert.equal(longestWorkSeconds(w.queue, 6000), 0);
});

test("the buckets of the metrics are upstream's", () => {
  // As Go's multiplication leaves them, and so as queries name them.
  const [fourth, fifth] = [9.999999999999999e-6, 9.999999999999999e-5];
  assert.deepEqual(world(1).queue.queueSeconds.bounds, [1e-8, 1e-7, 1e-6, fourth, fifth, 0.001, 0.01, 0.1, 1, 10]);
});

/** The slow model: what is wanted of each key, as a plain list of adds since it was last taken. */
interface Wanted {
  lane: WorkLane;
  dueMs: number;
}

const KEYS = ['a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1'];

const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      key: fc.constantFrom(...KEYS),
      lane: fc.constantFrom<WorkLane>('fresh', 'chore'),
      delayMs: fc.constantFrom(0, 0, 1, 5, 20),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('done' as const), pick: fc.nat(10) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 10 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), key: fc.constantFrom(...KEYS) }) },
);

test('property: the queue agrees with a slow model, and loses no key', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(command, { maxLength: 120, size: 'max' }),
      (concurrent, commands) => {
        const w = world(concurrent);
        const wanted = new Map<string, Wanted[]>(KEYS.map((key) => [key, []]));
        const processing = new Map<string, WorkLane>();
        let nowMs = 0;

        const earliest = (key: string): number => Math.min(...wanted.get(key)!.map((want) => want.dueMs));
        const waitingLane = (key: string): WorkLane | null => {
          const due = wanted.get(key)!.filter((want) => want.dueMs <= nowMs);
          if (due.length === 0 || processing.has(key)) return null;
          return due.some((want) => want.lane === 'fresh') ? 'fresh' : 'chore';
        };
        const holds = (namespace: string): number =>
          [...processing.keys()].filter((key) => key.startsWith(namespace)).length;

        const take = (): void => {
          const item = takeWork(w.queue, nowMs);
          const choreSlots = [...processing.values()].filter((lane) => lane === 'chore').length;
          const eligible = KEYS.filter((key) => {
            const lane = waitingLane(key);
            return lane === 'fresh' || (lane === 'chore' && choreSlots < Math.max(1, concurrent - 1));
          });
          if (item === null) {
            const isLast = (key: string): boolean => concurrent > 1 && holds(key.split('/')[0]!) >= concurrent - 1;
            assert.ok(processing.size === concurrent || eligible.every(isLast), 'a free slot stayed empty');
            return;
          }
          assert.ok(processing.size < concurrent);
          assert.ok(eligible.includes(item.key), `${item.key} was not to run`);
          assert.equal(item.processing, waitingLane(item.key));
          const namespace = item.namespace;
          assert.ok(concurrent === 1 || holds(namespace) < concurrent - 1, 'a namespace holds the last slot');
          if (holds(namespace) >= Math.ceil(concurrent / 2)) {
            assert.ok(
              eligible.every((key) => key.startsWith(`${namespace}/`)),
              'more than half of the slots while another namespace waits',
            );
          }
          wanted.set(item.key, []);
          processing.set(item.key, item.processing!);
        };
        const done = (key: string): void => {
          w.done(key, nowMs);
          processing.delete(key);
        };

        for (const step of commands) {
          switch (step.do) {
            case 'add':
              w.add(step.key, step.lane, nowMs, step.delayMs);
              wanted.get(step.key)!.push({ lane: step.lane, dueMs: nowMs + step.delayMs });
              break;
            case 'take':
              take();
              assert.equal(workDepth(w.queue), KEYS.filter((key) => waitingLane(key) !== null).length);
              break;
            case 'done': {
              const running = [...processing.keys()];
              if (running.length > 0) done(running[step.pick % running.length]!);
              break;
            }
            case 'wait':
              nowMs += step.ms;
              break;
            case 'forget':
              forgetWork(w.queue, w.item(step.key));
              wanted.set(step.key, []);
              break;
          }
          assert.equal(w.queue.slots.held, processing.size);
        }

        // Left alone, every key that is wanted runs, never before its earliest due time.
        for (const key of processing.keys()) done(key);
        while (KEYS.some((key) => wanted.get(key)!.length > 0)) {
          take();
          for (const key of processing.keys()) done(key);
          if (KEYS.every((key) => waitingLane(key) === null)) {
            const next = Math.min(...KEYS.map(earliest));
            assert.equal(nextWorkMs(w.queue), next);
            nowMs = next === Infinity ? nowMs : next;
          }
        }
        assert.equal(nextWorkMs(w.queue), Infinity);
        assert.equal(w.queue.namespaces.size, 0);
      },
    ),
    propertyRuns(400, 20_261_121),
  );
});

test('the oldest change is of a key that waits, is delayed or is processed', () => {
  const w = world(1);
  assert.equal(oldestChangeMs(w.queue), -1);
  w.add('a/delayed', 'fresh', 5, 1000);
  w.add('a/x', 'fresh', 10);
  w.add('a/x', 'fresh', 20);
  assert.equal(oldestChangeMs(w.queue), 5);
  w.take(1005);
  assert.equal(oldestChangeMs(w.queue), 5, 'either key: the other still waits');
  const first = w.queue.processing.first!.key;
  w.done(first, 1010);
  assert.equal(oldestChangeMs(w.queue), first === 'a/x' ? 5 : 10);
  w.drain(2000);
  assert.equal(oldestChangeMs(w.queue), -1);
});

test('a change is settled only by a processing that began after it and succeeded', () => {
  const w = world(1);
  w.add('a/x', 'fresh', 10);
  w.take(10);
  w.add('a/x', 'fresh', 30);
  assert.equal(oldestChangeMs(w.queue), 10);
  w.done('a/x', 40);
  assert.equal(oldestChangeMs(w.queue), 30);
  w.take(40);
  w.done('a/x', 50);
  retryWork(w.queue, w.item('a/x'), 'fresh', 50, 100);
  assert.equal(oldestChangeMs(w.queue), 30);
  w.drain(200);
  assert.equal(oldestChangeMs(w.queue), -1);
});

test('a check without a cause is no change', () => {
  const w = world(1);
  addCheck(w.queue, w.item('a/x'), 'chore', 10);
  assert.equal(oldestChangeMs(w.queue), -1);
  assert.deepEqual(w.drain(10), ['a/x']);
});
